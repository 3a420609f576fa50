"""Building and asking from Python."""

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from conspectus.query.conversation.history import Conversation
from conspectus.query.types import Answer, Evidence, Say, nobody
from conspectus.storage.errors import UsageError
from conspectus.storage.settings import Settings, load_settings

if TYPE_CHECKING:
    from conspectus.pipelines.exchange.export_result import Exported
    from conspectus.query.context import Context
    from conspectus.query.explain.types import Explanation
    from conspectus.query.walk.trace import WalkTrace
    from conspectus.storage.records import Merge, Report
    from conspectus.storage.verify import Problem

QUESTIONS_AT_ONCE = 64
"""Questions of `retrieve_many` that are on their way together."""
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Index:
    """An index open for questions: read-only, one version, safe to share between threads.

    What asks takes a filter: `where` over the documents' metadata ('year >= 2020 and lang = "en"'), and `access`, the
    tags that are held. Only what permitted documents support is then looked at, and shown to a model.
    """

    context: "Context"

    def permitted(self, where: str | None = None, access: Sequence[str] | None = None) -> "Index":
        """Return the index narrowed to what a filter permits; of one that is narrowed already, to what both do.

        UsageError says what is wrong with a filter, and at which character.
        """
        from conspectus.filtered import narrow

        return Index(narrow(self.context, where, access))

    def ask(
        self,
        question: str,
        method: str = "auto",
        say: Say | None = None,
        history: Conversation | None = None,
        topics: Sequence[str] = (),
        *,
        where: str | None = None,
        access: Sequence[str] | None = None,
    ) -> Answer:
        """Return a cited answer; UnknownMethod names the nearest known method.

        `say` is called with the answer piece by piece as a model makes it. With `history` the question may be a
        follow-up: what the turns before it add is looked up too, and stands in the answer's `standalone`. `topics` are
        names of the things that the question is about, where a walk over the graph then begins; UsageError where the
        method makes none. `where` and `access` narrow the index (see `permitted`); of `history` the turns count that
        were narrowed to the same. Whether what a sentence cites supports it stands in the answer's `checks`; what
        becomes of one that nothing supports, the section `citations` of the settings says.
        """
        return _wait(self.ask_async(question, method, say, history, topics, where=where, access=access))

    async def ask_async(
        self,
        question: str,
        method: str = "auto",
        say: Say | None = None,
        history: Conversation | None = None,
        topics: Sequence[str] = (),
        *,
        where: str | None = None,
        access: Sequence[str] | None = None,
    ) -> Answer:
        """The same for code that is asynchronous already."""
        from conspectus.filtered import narrow, told
        from conspectus.query.citations.verification import verified
        from conspectus.query.conversation.follow_up import ShapedAnswerer
        from conspectus.query.menu import find_method
        from conspectus.query.types import AnswersAbout

        context = narrow(self.context, where, access)
        answerer = find_method(method).answerer(context)
        if topics:
            if not isinstance(answerer, AnswersAbout):
                raise UsageError(f"the method {method!r} does not walk from topics; name one that does, like tog2")
            if history is not None:
                raise UsageError("topics are for a question that stands alone, not for one of a conversation")
            answer = await answerer.answer_about(question, topics, say or nobody)
        else:
            if history is not None:
                answerer = ShapedAnswerer(context, answerer, history)
            answer = await answerer.answer(question, say or nobody)
        return told(context, await verified(context, answer))

    def retrieve(
        self,
        question: str,
        method: str = "ppr",
        k: int = 5,
        history: Conversation | None = None,
        *,
        where: str | None = None,
        access: Sequence[str] | None = None,
    ) -> Evidence:
        """Return the `k` best passages without answering; with `history` the question may be a follow-up.

        `where` and `access` narrow the index (see `permitted`).
        """
        return _wait(self.retrieve_async(question, method, k, history, where=where, access=access))

    async def retrieve_async(
        self,
        question: str,
        method: str = "ppr",
        k: int = 5,
        history: Conversation | None = None,
        *,
        where: str | None = None,
        access: Sequence[str] | None = None,
    ) -> Evidence:
        """The same for code that is asynchronous already."""
        from conspectus.filtered import narrow, told_of
        from conspectus.query.conversation.follow_up import ShapedRetriever
        from conspectus.query.menu import find_retriever

        _check_k(k)
        context = narrow(self.context, where, access)
        retriever = find_retriever(method, context)
        if history is not None:
            retriever = ShapedRetriever(context, retriever, history)
        return told_of(context, await retriever.retrieve(question, k))

    def retrieve_many(
        self,
        questions: Sequence[str],
        method: str = "ppr",
        k: int = 5,
        *,
        where: str | None = None,
        access: Sequence[str] | None = None,
    ) -> list[Evidence]:
        """Return for each question what `retrieve` returns for it.

        Faster than one by one: `QUESTIONS_AT_ONCE` are embedded together, and what a model is asked for one does not
        wait for another. An error is raised when those asked together with it are answered.
        """
        return _wait(self.retrieve_many_async(questions, method, k, where=where, access=access))

    async def retrieve_many_async(
        self,
        questions: Sequence[str],
        method: str = "ppr",
        k: int = 5,
        *,
        where: str | None = None,
        access: Sequence[str] | None = None,
    ) -> list[Evidence]:
        """The same for code that is asynchronous already."""
        from conspectus.filtered import narrow, told_of
        from conspectus.prompts.client.gather import together
        from conspectus.query.menu import find_retriever

        _check_k(k)
        context = narrow(self.context, where, access)
        retriever = find_retriever(method, context)
        found: list[Evidence] = []
        for start in range(0, len(questions), QUESTIONS_AT_ONCE):
            batch = questions[start : start + QUESTIONS_AT_ONCE]
            context.embedder.embed_queries(batch)  # kept until each is asked for
            found += await together(retriever.retrieve(each, k) for each in batch)
        return [told_of(context, each) for each in found]

    def explain(
        self,
        question: str,
        method: str = "ppr",
        k: int = 5,
        *,
        passage: int | None = None,
        chunk: str | None = None,
        paths: int = 5,
        where: str | None = None,
        access: Sequence[str] | None = None,
    ) -> "Explanation":
        """Return why the `k` best passages were found, at most `paths` paths for each.

        `passage` asks for the one of that rank only, `chunk` for the one with that chunk id, found or not. UsageError
        for a method that cannot be explained; `conspectus.render.explanation_svg` draws the result. `where` and
        `access` narrow the index (see `permitted`).
        """
        from conspectus.filtered import narrow
        from conspectus.query.explain.explain import explain

        context = narrow(self.context, where, access)
        return _wait(explain(context, question, method, k, passage=passage, chunk=chunk, paths=paths))

    def draw(self, answer: Answer, form: Literal["svg", "html"] = "svg") -> str:
        """Return the picture of the walk or the subgraph that an answer rests on, as SVG.

        A subgraph also as a page of HTML. UsageError where the method made neither.
        """
        from conspectus.query.walk.graph import open_graph
        from conspectus.render.subgraph_svg import subgraph_html, subgraph_svg
        from conspectus.render.walk_svg import walk_svg

        found = answer.evidence.subgraph
        if found is not None:
            draw = subgraph_html if form == "html" else subgraph_svg
            return draw(found, answer.question, answer.method, answer.names)
        if form == "html":
            raise UsageError("a walk is drawn as SVG; only a subgraph is drawn as HTML too")
        return walk_svg(_walk_of(answer), open_graph(self._asked(answer)), answer.question, answer.method, answer.names)

    def walk_text(self, answer: Answer) -> str:
        """Return the same walk decision by decision, for people to read."""
        from conspectus.query.walk.graph import open_graph
        from conspectus.render.walk import text

        return text(_walk_of(answer), open_graph(self._asked(answer)))

    def walk_json(self, answer: Answer) -> dict[str, Any]:
        """Return the same walk as plain values, with the ids and names of what it went over."""
        from conspectus.query.walk.graph import open_graph
        from conspectus.render.walk import as_json

        return as_json(_walk_of(answer), open_graph(self._asked(answer)))

    def _asked(self, answer: Answer) -> "Context":
        """Return what an answer was made over; UsageError where that is another index than this."""
        context = self.permitted().context
        if context.narrowed != answer.narrowed:
            raise UsageError(f"the answer is from the index narrowed to: {answer.narrowed or 'all'}; ask that one")
        return context

    def chat(
        self,
        method: str = "auto",
        history: Conversation | None = None,
        *,
        where: str | None = None,
        access: Sequence[str] | None = None,
    ) -> "Chat":
        """Begin a conversation, or go on with one; `where` and `access` narrow the index (see `permitted`)."""
        return Chat(self.permitted(where, access), method, history)

    def reports(self, level: str | None = None) -> "list[Report]":
        """Return the reports of one level, "c0" the coarsest, or all of them; best rated first on each level.

        UsageError where the hierarchy does not reach so deep.
        """
        from conspectus.reports import entries

        return [each.report for each in entries(self.permitted().context, level)]

    def merges(self) -> "list[Merge]":
        """Return the names that were taken for one thing's, those that were taken back among them, by the kept name.

        None of an index that is narrowed: they may name what other documents say.
        """
        from conspectus.storage.records import Merge

        rows = self.permitted().context.index.rows(Merge)
        return sorted(rows, key=lambda each: (each.name, each.alias, each.id))

    def export(
        self,
        name: str,
        to: str | Path,
        *,
        force: bool = False,
        where: str | None = None,
        access: Sequence[str] | None = None,
    ) -> "Exported":
        """Write the index in a format that other programs read, at `to`; return the files and what is in them.

        `conspectus.exporting.EXPORTS` has the formats by name. It is written whole or not at all; UsageError for a
        format that there is not, and where something is at `to` already. With `force` that is replaced: a file, or a
        folder that holds nothing but what this format writes. `where` and `access` narrow the index (see `permitted`).
        """
        from conspectus.exporting import export

        return export(self.permitted(where, access).context.index, name, Path(to), force=force)

    def verify(self) -> "list[Problem]":
        """Return everything that is wrong with the index on disk: nothing, if all is well.

        UsageError for one that is narrowed: it is not on disk.
        """
        from conspectus.storage.verify import verify

        if self.context.narrowed:
            raise UsageError(f"the index is narrowed ({self.context.narrowed}); verify the whole one")
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
    from conspectus.query.context import Context
    from conspectus.storage.index import Index as Stored

    return Index(Context(Stored.open(path), settings or load_settings()))


def build(inputs: Sequence[str | Path] | str | Path, index: str | Path, settings: Settings | None = None) -> Index:
    """Make the index at `index` equal to the documents in `inputs` and open it."""
    from conspectus.pipelines.index import build_index

    settings = settings or load_settings()
    build_index([inputs] if isinstance(inputs, str | Path) else inputs, Path(index), settings)
    return open_index(index, settings)


def import_graphrag(folder: str | Path, index: str | Path, settings: Settings | None = None) -> Index:
    """Make the index at `index` equal to what Microsoft GraphRAG wrote into `folder`, its output, and open it.

    InputError where its tables cannot be read, UsageError where the index was built from documents.
    """
    from conspectus.pipelines.exchange.graphrag.importer import import_graphrag as imported

    settings = settings or load_settings()
    imported(Path(folder), Path(index), settings)
    return open_index(index, settings)


def add(inputs: Sequence[str | Path] | str | Path, index: str | Path, settings: Settings | None = None) -> Index:
    """Add the documents in `inputs` to the index at `index`, in the place of those with the same ids, and open it.

    The result is that of building it from all of them. UsageError where the index was made with other settings.
    """
    from conspectus.pipelines.incremental import add_documents

    settings = settings or load_settings()
    add_documents([inputs] if isinstance(inputs, str | Path) else inputs, Path(index), settings)
    return open_index(index, settings)


def remove(names: Sequence[str] | str, index: str | Path, settings: Settings | None = None) -> Index:
    """Remove documents from the index at `index`, by their ids, uris, files or folders, and open it.

    The result is that of building it from the others. UsageError where a name is of none, or none would be left.
    """
    from conspectus.pipelines.incremental import remove_documents

    settings = settings or load_settings()
    remove_documents([names] if isinstance(names, str) else names, Path(index), settings)
    return open_index(index, settings)


def _walk_of(answer: Answer) -> "WalkTrace":
    if answer.evidence.walk is None:
        raise UsageError(f"the method {answer.method!r} made no walk over the graph; fasttog and tog2 do")
    return answer.evidence.walk


def _check_k(k: int) -> None:
    if k < 1:
        raise UsageError(f"k is the number of passages wanted, at least 1, not {k}")


def _wait(work: Coroutine[Any, Any, Result]) -> Result:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # A notebook has a loop running already, and one thread can run but one.
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, work).result()


def undo_merges(names: Sequence[str] | str | None, index: str | Path, settings: Settings | None = None) -> Index:
    """Take merges of names back in the index at `index`, all for None, and open it; later builds keep to it.

    A name is that of an alias, that of what is kept, or an id. UsageError where one names no merge, and where the index
    was made with other settings.
    """
    from conspectus.pipelines.resolution.undo import undo

    settings = settings or load_settings()
    undo([names] if isinstance(names, str) else names, Path(index), settings)
    return open_index(index, settings)


def redo_merges(names: Sequence[str] | str | None, index: str | Path, settings: Settings | None = None) -> Index:
    """Merge again what was taken back, all for None, and open the index; the rest is as for `undo_merges`."""
    from conspectus.pipelines.resolution.undo import redo

    settings = settings or load_settings()
    redo([names] if isinstance(names, str) else names, Path(index), settings)
    return open_index(index, settings)
