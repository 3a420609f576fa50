"""Building and asking from Python."""

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from query.conversation import Conversation
from query.types import Answer, Evidence, Say
from storage.errors import UsageError
from storage.settings import Settings, load_settings

if TYPE_CHECKING:
    from query.context import Context
    from query.explain.types import Explanation
    from query.walk.trace import WalkTrace
    from storage.records import Report
    from storage.verify import Problem

QUESTIONS_AT_ONCE = 64
"""Questions of `retrieve_many` that are on their way together."""
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Index:
    """An index open for questions: read-only, one version, safe to share between threads."""

    context: "Context"

    def ask(
        self,
        question: str,
        method: str = "auto",
        say: Say | None = None,
        history: Conversation | None = None,
        topics: Sequence[str] = (),
    ) -> Answer:
        """Return a cited answer; UnknownMethod names the nearest known method.

        `say` is called with the answer piece by piece as a model makes it. With `history` the question may be a
        follow-up: what the turns before it add is looked up too, and stands in the answer's `standalone`. `topics` are
        names of the things that the question is about, where a walk over the graph then begins; UsageError where the
        method makes none.
        """
        return _wait(self.ask_async(question, method, say, history, topics))

    async def ask_async(
        self,
        question: str,
        method: str = "auto",
        say: Say | None = None,
        history: Conversation | None = None,
        topics: Sequence[str] = (),
    ) -> Answer:
        """The same for code that is asynchronous already."""
        from query.methods import find_method
        from query.shaping import ShapedAnswerer
        from query.types import AnswersAbout

        answerer = find_method(method).answerer(self.context)
        if topics:
            if not isinstance(answerer, AnswersAbout):
                raise UsageError(f"the method {method!r} does not walk from topics; name one that does, like tog2")
            if history is not None:
                raise UsageError("topics are for a question that stands alone, not for one of a conversation")
            return await answerer.answer_about(question, topics, say or _nobody)
        if history is not None:
            answerer = ShapedAnswerer(self.context, answerer, history)
        return await answerer.answer(question, say or _nobody)

    def retrieve(self, question: str, method: str = "ppr", k: int = 5, history: Conversation | None = None) -> Evidence:
        """Return the `k` best passages without answering; with `history` the question may be a follow-up."""
        return _wait(self.retrieve_async(question, method, k, history))

    async def retrieve_async(
        self, question: str, method: str = "ppr", k: int = 5, history: Conversation | None = None
    ) -> Evidence:
        """The same for code that is asynchronous already."""
        from query.methods import find_retriever
        from query.shaping import ShapedRetriever

        _check_k(k)
        retriever = find_retriever(method, self.context)
        if history is not None:
            retriever = ShapedRetriever(self.context, retriever, history)
        return await retriever.retrieve(question, k)

    def retrieve_many(self, questions: Sequence[str], method: str = "ppr", k: int = 5) -> list[Evidence]:
        """Return for each question what `retrieve` returns for it.

        Faster than one by one: `QUESTIONS_AT_ONCE` are embedded together, and what a model is asked for one does not
        wait for another. An error is raised when those asked together with it are answered.
        """
        return _wait(self.retrieve_many_async(questions, method, k))

    async def retrieve_many_async(self, questions: Sequence[str], method: str = "ppr", k: int = 5) -> list[Evidence]:
        """The same for code that is asynchronous already."""
        from prompts.together import together
        from query.methods import find_retriever

        _check_k(k)
        retriever = find_retriever(method, self.context)
        found: list[Evidence] = []
        for start in range(0, len(questions), QUESTIONS_AT_ONCE):
            batch = questions[start : start + QUESTIONS_AT_ONCE]
            self.context.embedder.embed_queries(batch)  # kept until each is asked for
            found += await together(retriever.retrieve(each, k) for each in batch)
        return found

    def explain(
        self,
        question: str,
        method: str = "ppr",
        k: int = 5,
        *,
        passage: int | None = None,
        chunk: str | None = None,
        paths: int = 5,
    ) -> "Explanation":
        """Return why the `k` best passages were found, at most `paths` paths for each.

        `passage` asks for the one of that rank only, `chunk` for the one with that chunk id, found or not. UsageError
        for a method that cannot be explained; `conspectus.drawing.svg` draws what this returns.
        """
        from query.explain.explain import explain

        return _wait(explain(self.context, question, method, k, passage=passage, chunk=chunk, paths=paths))

    def draw(self, answer: Answer) -> str:
        """Return the picture of the walk that an answer rests on, as SVG; UsageError where it made none."""
        from conspectus.walk_drawing import walk_svg
        from query.walk.graph import open_graph

        return walk_svg(_walk_of(answer), open_graph(self.context), answer.question, answer.method, answer.names)

    def walk_text(self, answer: Answer) -> str:
        """Return the same walk decision by decision, for people to read."""
        from conspectus.walks import text
        from query.walk.graph import open_graph

        return text(_walk_of(answer), open_graph(self.context))

    def walk_json(self, answer: Answer) -> dict[str, Any]:
        """Return the same walk as plain values, with the ids and names of what it went over."""
        from conspectus.walks import as_json
        from query.walk.graph import open_graph

        return as_json(_walk_of(answer), open_graph(self.context))

    def chat(self, method: str = "auto", history: Conversation | None = None) -> "Chat":
        """Begin a conversation, or go on with one."""
        return Chat(self, method, history)

    def reports(self, level: str | None = None) -> "list[Report]":
        """Return the reports of one level, "c0" the coarsest, or all of them; best rated first on each level.

        UsageError where the hierarchy does not reach so deep.
        """
        from conspectus.browse import entries

        return [each.report for each in entries(self.context, level)]

    def verify(self) -> "list[Problem]":
        """Return everything that is wrong with the index on disk: nothing, if all is well."""
        from storage.verify import verify

        return verify(self.context.index)


class Chat:
    """A conversation with an index: each question may build on those before it. One question at a time."""

    def __init__(self, index: Index, method: str = "auto", history: Conversation | None = None) -> None:
        self._index = index
        self._method = method
        self._history = history or Conversation()

    @property
    def history(self) -> Conversation:
        """What was said so far."""
        return self._history

    def ask(self, question: str, method: str | None = None, say: Say | None = None) -> Answer:
        """Return a cited answer and remember it; where there is none, the conversation stays as it was.

        `method` is for this question only.
        """
        return _wait(self.ask_async(question, method, say))

    async def ask_async(self, question: str, method: str | None = None, say: Say | None = None) -> Answer:
        """The same for code that is asynchronous already."""
        answer = await self._index.ask_async(question, method or self._method, say, self._history)
        self._history = self._history.after(answer)
        return answer

    def retrieve(self, question: str, method: str = "ppr", k: int = 5) -> Evidence:
        """Return the `k` best passages for what the question means here; the conversation stays as it is."""
        return self._index.retrieve(question, method, k, self._history)

    def new(self) -> None:
        """Forget what was said."""
        self._history = Conversation()


def open_index(path: str | Path, settings: Settings | None = None) -> Index:
    """Open the current version of an index; IndexNotFound or IndexCorrupt where there is none to open."""
    from query.context import Context
    from storage.index import Index as Stored

    return Index(Context(Stored.open(path), settings or load_settings()))


def build(inputs: Sequence[str | Path] | str | Path, index: str | Path, settings: Settings | None = None) -> Index:
    """Make the index at `index` equal to the documents in `inputs` and open it."""
    from pipelines.index import build_index

    settings = settings or load_settings()
    build_index([inputs] if isinstance(inputs, str | Path) else inputs, Path(index), settings)
    return open_index(index, settings)


def _walk_of(answer: Answer) -> "WalkTrace":
    if answer.evidence.walk is None:
        raise UsageError(f"the method {answer.method!r} made no walk over the graph; fasttog and tog2 do")
    return answer.evidence.walk


def _check_k(k: int) -> None:
    if k < 1:
        raise UsageError(f"k is the number of passages wanted, at least 1, not {k}")


def _nobody(piece: str) -> None:
    """Listen to an answer that is only wanted whole."""


def _wait(work: Coroutine[Any, Any, Result]) -> Result:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # A notebook has a loop running already, and one thread can run but one.
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, work).result()
