"""Asking an index from Python.

`conspectus.open` and `conspectus.build` return an `Index`. Its methods block; `index.aio` has the same questions as
coroutines. The examples below run over an index of three short notes:

    >>> import conspectus
    >>> index = conspectus.open("notes.index")
"""

import asyncio
import functools
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar

from conspectus.query.conversation.history import Conversation
from conspectus.query.menu import DEFAULT_METHOD, DEFAULT_RETRIEVER
from conspectus.query.types import Answer, Evidence, Say, ignore_pieces
from conspectus.storage.errors import UsageError
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.threads import one_blas_thread

if TYPE_CHECKING:
    from conspectus.chat import Chat
    from conspectus.pipelines.build_report import BuildReport
    from conspectus.pipelines.exchange.export_result import ExportResult
    from conspectus.query.context import Context
    from conspectus.query.explain.types import Explanation
    from conspectus.query.sparql.result import SparqlResult
    from conspectus.storage.manifest import Manifest
    from conspectus.storage.records import Failure, Link, Merge, Report
    from conspectus.storage.structure.outline import DocumentOutline
    from conspectus.storage.verify import Problem

QUESTIONS_AT_ONCE = 64
"""Questions of `retrieve_many` that are embedded, and put to a model, together."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, repr=False)
class AsyncIndex:
    """The questions that an `Index` answers, as coroutines. `index.aio` returns it."""

    context: "Context"

    def __repr__(self) -> str:
        """Return the folder, the version and the numbers of documents and passages."""
        return f"AsyncIndex({self.context})"

    async def ask(
        self,
        question: str,
        method: str = DEFAULT_METHOD,
        say: Say | None = None,
        history: Conversation | None = None,
        topics: Sequence[str] = (),
    ) -> Answer:
        """Answer a question, citing the documents.

        Args:
            question: the question, in any language that the index's encoder knows.
            method: a name of `conspectus methods`; `auto` chooses one and says why in the answer's trace.
            say: called with each piece of the answer while a model writes it.
            history: the conversation before. The question may then be a follow-up ("and who directed it?"); what it
                was taken to mean stands in `Answer.standalone`.
            topics: names of graph entities from which a walk starts, instead of those that the question names.

        Returns:
            The answer: its text with marks like [1], the citations that the marks point to, the evidence, what it
            cost, and a trace of the steps. `Answer.known` is false where nothing supports an answer.

        Raises:
            UnknownMethod: no method has that name; the message names the nearest one.
            UsageError: the question is empty; or `topics` are given for a method that does not walk, or together with
                `history`.
            NeedsModel: the method needs a language model and the settings name none.
            ModelError: the model's server gave no usable answer.
            BudgetReached: the next call could pass the budget of the settings.

        Example:
            >>> answer = index.ask("Who repaired the lighthouse lamp?", method="ppr")
            >>> [citation.title for citation in answer.citations][:1]
            ['lighthouse']
            >>> "Mara Quill" in answer.text
            True
        """
        from conspectus.query.citations.verification import verified
        from conspectus.query.conversation.follow_up import ShapedAnswerer
        from conspectus.query.filter.view import with_filter_step
        from conspectus.query.menu import find_method
        from conspectus.query.types import TopicAnswerer

        context = self._asked(question)
        answerer = find_method(method).answerer(context)
        if topics:
            if not isinstance(answerer, TopicAnswerer):
                raise UsageError(f"method {method!r} does not walk from topics; choose one that does, such as tog2")
            if history is not None:
                raise UsageError("topics cannot be combined with a conversation")
            answer = await answerer.answer_about(question, topics, say or ignore_pieces)
        else:
            if history is not None:
                answerer = ShapedAnswerer(context, answerer, history)
            answer = await answerer.answer(question, say or ignore_pieces)
        return with_filter_step(context, await verified(context, answer))

    async def retrieve(
        self, question: str, method: str = DEFAULT_RETRIEVER, k: int = 5, history: Conversation | None = None
    ) -> Evidence:
        """Find the best passages for a question, without answering it.

        Args:
            question: the question.
            method: a method that finds passages.
            k: the number of passages, at least 1.
            history: the conversation before, where the question may be a follow-up.

        Returns:
            At most `k` passages, best first, ties by chunk id. Scores compare passages of one call only.

        Raises:
            UnknownMethod: no method has that name.
            UsageError: a question is empty, `k` is below 1, or the method finds no passages.

        Example:
            >>> found = index.retrieve("lighthouse lamp", method="bm25", k=1)
            >>> found.passages[0].title
            'lighthouse'
        """
        return (await self.retrieve_many([question], method, k, history))[0]

    async def retrieve_many(
        self, questions: Sequence[str], method: str = DEFAULT_RETRIEVER, k: int = 5, history: Conversation | None = None
    ) -> list[Evidence]:
        """Find the best passages for each of many questions.

        Faster than one question at a time: `QUESTIONS_AT_ONCE` questions are embedded together, and calls to a model
        run side by side.

        Args:
            questions: the questions.
            method: a method that finds passages.
            k: the number of passages for each question, at least 1.
            history: the conversation before, the same for each question.

        Returns:
            What `retrieve` returns for each question, in their order.

        Raises:
            UnknownMethod: no method has that name.
            UsageError: a question is empty, `k` is below 1, or the method finds no passages.

        Example:
            >>> found = index.retrieve_many(["lighthouse lamp", "harbour dredging"], method="bm25", k=1)
            >>> [evidence.passages[0].title for evidence in found]
            ['lighthouse', 'harbour']
        """
        from conspectus.prompts.client.event_loop import gather_all
        from conspectus.query.conversation.follow_up import ShapedRetriever
        from conspectus.query.filter.view import with_filter_step_of_evidence
        from conspectus.query.menu import find_retriever

        if k < 1:
            raise UsageError(f"k is the number of passages, at least 1, not {k}")
        context = self._asked(*questions)
        retriever = find_retriever(method, context)
        if history is not None:
            retriever = ShapedRetriever(context, retriever, history)
        found: list[Evidence] = []
        for start in range(0, len(questions), QUESTIONS_AT_ONCE):
            batch = questions[start : start + QUESTIONS_AT_ONCE]
            if len(batch) > 1:
                context.embedder.embed_queries(batch)  # cached until each question asks for its vector
            found += await gather_all(retriever.retrieve(question, k) for question in batch)
        return [with_filter_step_of_evidence(context, evidence) for evidence in found]

    async def explain(
        self,
        question: str,
        method: str = DEFAULT_RETRIEVER,
        k: int = 5,
        *,
        passage: int | None = None,
        chunk: str | None = None,
        paths: int = 5,
    ) -> "Explanation":
        """Explain why a method ranks passages as it does: the graph paths, shared words and cosines behind each.

        Args:
            question: the question.
            method: `ppr`, `ppr:hipporag1`, `ppr:hipporag2`, `bm25`, `dense` or `hybrid`.
            k: the number of passages to explain.
            passage: explain the passage of this rank only, from 1.
            chunk: explain the chunk with this id, whether it was found or not.
            paths: the most paths shown for a passage.

        Returns:
            The explanation; `conspectus.render.explanation_svg` draws it.

        Raises:
            UsageError: the question is empty, the method cannot be explained, or no such passage exists.

        Example:
            >>> index.explain("lighthouse lamp", method="bm25", k=1).passages[0].passage.title
            'lighthouse'
        """
        from conspectus.query.explain.explain import explain

        return await explain(self._asked(question), question, method, k, passage=passage, chunk=chunk, paths=paths)

    def _asked(self, *questions: str) -> "Context":
        """Return the documents that may be asked: settings can hide those with access tags by default."""
        from conspectus.query.filter.view import filtered

        if not all(question.strip() for question in questions):
            raise UsageError("the question is empty")
        return filtered(self.context, None, None)


def _blocking(
    coroutine: Callable[Concatenate[AsyncIndex, Arguments], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate["Index", Arguments], Result]:
    """Return the method of `Index` that waits for a method of `AsyncIndex`."""

    @functools.wraps(coroutine)
    def wait(self: "Index", /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with one_blas_thread():
            return run_blocking(coroutine(self.aio, *args, **kwargs))

    return wait


def run_blocking(work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of a coroutine, also where a loop runs already (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as other:  # a thread can run one loop only
        return other.submit(asyncio.run, work).result()


@dataclass(frozen=True, slots=True, repr=False)
class Index:
    """One version of an index, open for questions. It never changes, and threads may share it.

    `context` is what methods ask with. `report` is what the build did (failures, cost, notes) where `build`, `add`,
    `remove` or `import_graphrag` returned the index, and None for one that was opened.
    """

    context: "Context"
    report: "BuildReport | None" = None

    def __repr__(self) -> str:
        """Return the folder, the version and the numbers of documents and passages."""
        return f"Index({self.context})"

    ask = _blocking(AsyncIndex.ask)
    retrieve = _blocking(AsyncIndex.retrieve)
    retrieve_many = _blocking(AsyncIndex.retrieve_many)
    explain = _blocking(AsyncIndex.explain)

    @property
    def aio(self) -> AsyncIndex:
        """The same questions as coroutines: `await index.aio.ask("...")`."""
        return AsyncIndex(self.context)

    def filter(self, where: str | None = None, access: Sequence[str] | None = None) -> "Index":
        """Return a view restricted to some documents. Filters combine with AND.

        Only what the documents of the view support is looked at, and shown to a model.

        Args:
            where: a condition over the documents' metadata, such as 'year >= 2020 and lang = "en"'.
            access: the access tags that the reader holds; documents with other tags are left out.

        Raises:
            UsageError: the condition cannot be read; the message names the character.

        Example:
            >>> index.filter('title = "harbour"').retrieve("lamp", method="dense", k=3).passages[0].title
            'harbour'
        """
        from conspectus.query.filter.view import filtered

        return Index(filtered(self.context, where, access), self.report)

    def query(self, text: str, rows: int = 1_000, seconds: float = 10.0) -> "SparqlResult":
        """Query the graph with SPARQL 1.1; nothing can be changed, and no other server is asked.

        Args:
            text: a SELECT, ASK, CONSTRUCT or DESCRIBE. Prefixes and content of the graph: docs/graphs.md.
            rows: the largest number of rows.
            seconds: the longest time; the first query of a version also makes the store that it is put to.

        Returns:
            The rows, a term or None for each variable. `dicts()` has the names of entities.

        Raises:
            SparqlError: the query is wrong, would change something, or passed its limits.

        Example:
            >>> index.query("ASK { ?person rdfs:label 'Mara Quill' }").boolean
            True
        """
        from conspectus.query.filter.view import filtered
        from conspectus.query.sparql.run import query

        return query(filtered(self.context, None, None), text, rows, seconds)

    def chat(self, method: str = DEFAULT_METHOD, history: Conversation | None = None) -> "Chat":
        """Start a conversation, or continue one.

        Args:
            method: the method of all questions that name none.
            history: the conversation to continue.

        Example:
            >>> chat = index.chat(method="ppr")
            >>> _ = chat.ask("Who repaired the lighthouse lamp?")
            >>> len(chat.history.turns)
            1
        """
        from conspectus.chat import Chat

        return Chat(self, method, history)

    def draw(self, answer: Answer, form: Literal["svg", "html"] = "svg") -> str:
        """Return a drawing of the walk or the subgraph behind an answer.

        Args:
            answer: an answer of this index by a method that walks, or by `gretriever`.
            form: "svg", or "html" for a subgraph in a page of its own.

        Raises:
            UsageError: the method made neither a walk nor a subgraph, or another view of the index was asked.
        """
        from conspectus.render.walks import draw

        return draw(answer, self._source_of(answer), form)

    def walk_text(self, answer: Answer) -> str:
        """Return the walk behind an answer as text, one decision a line."""
        from conspectus.render.walks import text_of

        return text_of(answer, self._source_of(answer))

    def walk_json(self, answer: Answer) -> dict[str, Any]:
        """Return the walk behind an answer as plain values: decisions with the ids and names that they were about."""
        from conspectus.render.walks import json_of

        return json_of(answer, self._source_of(answer))

    @property
    def manifest(self) -> "Manifest":
        """What the version says of itself: row counts, models, settings, checksums.

        Example:
            >>> index.manifest.rows["documents"]
            3
        """
        return self.context.index.manifest

    def failures(self) -> "list[Failure]":
        """Return what could not be read, extracted or reported, one row each, with the reason.

        Example:
            >>> index.failures()
            []
        """
        from conspectus.storage.records import SKIP, Failure

        return [failure for failure in self.context.index.rows(Failure) if failure.stage != SKIP]

    def reports(self, level: str | None = None) -> "list[Report]":
        """Return the community reports, best rated first on each level.

        Args:
            level: "c0" (the coarsest), "c1", ...; all levels where it is None.

        Raises:
            UsageError: the hierarchy has no such level.

        Example:
            >>> all(report.title for report in index.reports("c0"))
            True
        """
        from conspectus.reports import entries

        return [entry.report for entry in entries(self.filter().context, level)]

    def outline(self) -> "list[DocumentOutline]":
        """Return the outline of every document: its sections, nested, with the rows of their chunks.

        Example:
            >>> all(section.chunk_rows for document in index.outline() for _, section in document.walk())
            True
        """
        from conspectus.storage.structure.outline import outline

        return outline(self.filter().context.index)

    def links(self) -> "list[Link]":
        """Return the links that the documents' own structure makes between passages, sorted by id.

        Example:
            >>> {link.kind for link in index.links()} <= {"parent", "next", "hyperlink", "reference", "definition"}
            True
        """
        from conspectus.storage.records import Link

        return self.filter().context.index.rows(Link)

    def merges(self) -> "list[Merge]":
        """Return all entity merges, including undone ones, sorted by canonical name.

        A filtered view returns none: merges could name what hidden documents say.
        """
        from conspectus.storage.records import Merge

        rows = self.filter().context.index.rows(Merge)
        return sorted(rows, key=lambda merge: (merge.name, merge.alias, merge.id))

    def export(self, name: str, to: str | Path, *, force: bool = False) -> "ExportResult":
        """Write the index, or the view of a filter, in a format that other programs read.

        Args:
            name: "html", "graphrag", "graphml", "ntriples", "openie", "csv" or "csv:spreadsheet".
            to: the file or folder to write. It is written whole or not at all.
            force: replace what is there, if it is of the same format.

        Returns:
            The files, and how many rows of each kind they hold.

        Raises:
            UsageError: no such format, or something is at `to` already.

        Example:
            >>> [path.name for path in index.export("graphml", "notes.graphml", force=True).files]
            ['notes.graphml']
        """
        from conspectus.exporting import export

        return export(self.filter().context.index, name, Path(to), force=force)

    def verify(self) -> "list[Problem]":
        """Check every checksum, id, span and row count of the index on disk.

        Returns:
            The problems found; an empty list for a sound index.

        Raises:
            UsageError: this is a filtered view, which is not on disk.

        Example:
            >>> index.verify()
            []
        """
        from conspectus.storage.verify import verify

        if self.context.narrowed:
            raise UsageError(f"this is a filtered view ({self.context.narrowed}); verify the whole index")
        return verify(self.context.index)

    def _source_of(self, answer: Answer) -> "Context":
        """Return what an answer was made over; UsageError where that is another view than this."""
        context = self.filter().context
        if context.narrowed != answer.narrowed:
            raise UsageError(f"the answer is from another view of the index ({answer.narrowed or 'all'})")
        return context


def open_index(path: str | Path, settings: Settings | None = None) -> Index:
    """Open the current version of an index.

    Args:
        path: the index folder.
        settings: how to ask (methods, models, budgets). What made the index, such as its encoder, comes from the
            index. Where it is None: the defaults, and the environment (see `load_settings`).

    Raises:
        IndexNotFound: no index is at `path`.
        IndexCorrupt: a file is not what the manifest says.

    Example:
        >>> conspectus.open("notes.index").manifest.rows["chunks"]
        3
    """
    from conspectus.query.context import Context
    from conspectus.storage.index import Index as StoredIndex

    return Index(Context(StoredIndex.open(path), settings or load_settings()))
