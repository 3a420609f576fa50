"""Is a question about the corpus as a whole? Measured by its closeness to typical questions of that kind."""

from importlib.resources import files

import numpy as np
import numpy.typing as npt

from query.context import Context
from query.linking import open_linker


def closeness_to_whole(context: Context, question: str) -> float:
    """Return the greatest cosine of the question with a typical one (`query/global_questions.txt`).

    Titles that the question names are left out once ("the main themes of Moby Dick" asks for main themes).
    """
    embedder = context.embedder
    forms = [embedder.embed_query(each) for each in (question, open_linker(context).without_titles(question))]
    return float((_typical_questions(context) @ np.stack(forms).T).max())


def _typical_questions(context: Context) -> npt.NDArray[np.float32]:
    def load() -> npt.NDArray[np.float32]:
        lines = files("query").joinpath("global_questions.txt").read_text("utf-8").splitlines()
        return context.embedder.embed([line for line in lines if line])

    return context.index.keep("typical questions", load)
