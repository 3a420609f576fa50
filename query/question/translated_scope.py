"""Is a question in another language than English about the corpus as a whole? By its closeness to translated ones.

The packaged encoder was made for English: any two texts of another language are near to each other in it. So this
closeness is worth nothing against a fixed number, but can be compared with that of passages in the same language.
"""

from importlib.resources import files

from conspectus.query.context import Context
from conspectus.storage.arrays import Vectors
from conspectus.storage.index import per_index


def closeness_in_translation(context: Context, question: str) -> float:
    """Return the greatest cosine of the question with a typical one in German, French, Spanish or Chinese.

    These are `query/global_questions.txt` translated (`query/global_questions_translated.txt`).
    """
    return float((_typical_questions(context) @ context.embedder.embed_query(question)).max())


@per_index
def _typical_questions(context: Context) -> Vectors:
    lines = (
        files("conspectus.query.question").joinpath("global_questions_translated.txt").read_text("utf-8").splitlines()
    )
    return context.embedder.embed([line for line in lines if line])
