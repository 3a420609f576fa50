"""Ask an index from Python.

`conspectus.open` and `conspectus.build` return an `Index`. Its methods block; `index.aio` has the same methods as
coroutines. The examples below use an index of three short notes:

    >>> import conspectus
    >>> index = conspectus.open("notes.index")
"""

import asyncio
import functools
import weakref
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar

from conspectus import operations
from conspectus.query.conversation.history import Conversation
from conspectus.query.menu import DEFAULT_METHOD
from conspectus.query.types import Answer
from conspectus.query.types.html_display import index_html
from conspectus.storage.blas_threads import one_blas_thread
from conspectus.storage.errors import UsageError
from conspectus.storage.records import Link, Merge
from conspectus.storage.settings import Settings, load_settings

if TYPE_CHECKING:
    import pyarrow as pa
    from conspectus.chat import Chat
    from conspectus.pipelines.build_report import BuildReport
    from conspectus.pipelines.evaluation.checks import CheckResult
    from conspectus.pipelines.exchange.exports import ExportResult
    from conspectus.query.context import Context
    from conspectus.query.sparql.result import SparqlResult
    from conspectus.storage.manifest import Manifest
    from conspectus.storage.records import Link, Merge
    from conspectus.storage.structure.outline import DocumentOutline
    from conspectus.storage.verify import Problem

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def _over(
    operation: Callable[Concatenate["Context", Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """Return the method that runs an operation over the documents that are visible by default."""

    @functools.wraps(operation)
    def method(self: Any, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:  # noqa: ANN401
        from conspectus.query.filter.documents import filtered

        return operation(filtered(self.context, None, None), *args, **kwargs)

    return method


def _blocking(
    coroutine: Callable[Concatenate["Context", Arguments], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate["Index", Arguments], Result]:
    """Return the method of `Index` that blocks on an operation."""

    @functools.wraps(coroutine)
    def wait(self: "Index", /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with one_blas_thread():
            return run_blocking(_over(coroutine)(self, *args, **kwargs))

    return wait


def run_blocking(work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of a coroutine, even if an event loop is running already (in a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as other:  # a thread can run only one event loop
        return other.submit(asyncio.run, work).result()


@dataclass(frozen=True, slots=True, repr=False)
class AsyncIndex:
    """The question methods of `Index` as coroutines. `index.aio` returns it."""

    context: "Context"

    def __repr__(self) -> str:
        """Return the folder, the version and the numbers of documents and passages."""
        return f"AsyncIndex({self.context})"

    ask = _over(operations.ask)
    retrieve = _over(operations.retrieve)
    retrieve_many = _over(operations.retrieve_many)
    explain = _over(operations.explain)


@dataclass(frozen=True, slots=True, repr=False)
class Index:
    """One version of an index, open for questions. It never changes, and threads may share it.

    `context` is what methods receive. `report` is the result of the build (failures, cost, notes) if `build`, `add`,
    `remove` or `import_graphrag` returned the index, and None for one that was opened.
    """

    context: "Context"
    report: "BuildReport | None" = None

    def __repr__(self) -> str:
        """Return the folder, the version and the numbers of documents and passages."""
        return f"Index({self.context})"

    def _repr_html_(self) -> str:
        return index_html(repr(self), self.filter().manifest.rows)

    ask = _blocking(operations.ask)
    retrieve = _blocking(operations.retrieve)
    retrieve_many = _blocking(operations.retrieve_many)
    explain = _blocking(operations.explain)
    status = _over(operations.status)
    methods = _over(operations.methods)
    documents = _over(operations.documents)
    document = _over(operations.document)
    passages = _over(operations.passages)
    filters = _over(operations.filters)
    entities = _over(operations.entities)
    entity = _over(operations.entity)
    neighbours = _over(operations.neighbours)
    timeline = _over(operations.timeline)
    conflicts = _over(operations.conflicts)
    reports = _over(operations.reports)
    report_on = _over(operations.report)
    failures = _over(operations.failures)
    diff = _over(operations.diff)

    @property
    def aio(self) -> AsyncIndex:
        """The question methods as coroutines: `await index.aio.ask("...")`."""
        return AsyncIndex(self.context)

    def filter(
        self,
        where: str | None = None,
        access: Sequence[str] | None = None,
        as_of: str | None = None,
        between: Sequence[str] | None = None,
    ) -> "Index":
        """Return a view restricted to some documents, and to what held at a time. Filters combine with AND.

        Only content that documents of the view support is searched or shown to a model.

        Args:
            where: a condition over the documents' metadata, such as 'year >= 2020 and lang = "en"'.
            access: the access tags of the reader; documents with other tags are left out.
            as_of: a date (2004, 2004-05, 2004-05-31): sentences that are later, or tell what had ended, are left out.
            between: two dates: sentences about other times are left out.

        Raises:
            UsageError: the condition or a date cannot be read; the message gives the position of the character.

        Example:
            >>> index.filter('title = "harbour"').retrieve("lamp", method="dense", k=3).passages[0].title
            'harbour'
        """
        from conspectus.query.filter.documents import filtered

        return Index(filtered(self.context, where, access, as_of, between), self.report)

    def query(self, text: str, rows: int = 1_000, seconds: float = 10.0) -> "SparqlResult":
        """Query the graph with SPARQL 1.1; nothing can be changed, and no other server is called.

        Args:
            text: a SELECT, ASK, CONSTRUCT or DESCRIBE. Prefixes and content of the graph: docs/graphs.md.
            rows: the maximum number of rows.
            seconds: the time limit; the first query of a version also creates the store that queries use.

        Returns:
            The rows, a term or None for each variable. `dicts()` has the names of entities.

        Raises:
            SparqlError: the query is wrong, would change something, or exceeds its limits.

        Example:
            >>> index.query("ASK { ?person rdfs:label 'Mara Quill' }").boolean
            True
        """
        from conspectus.query.filter.documents import filtered
        from conspectus.query.sparql.run import query

        return query(filtered(self.context, None, None), text, rows, seconds)

    def chat(self, method: str = DEFAULT_METHOD, history: Conversation | None = None) -> "Chat":
        """Start a conversation, or continue one.

        Args:
            method: the default method for questions.
            history: the conversation to continue.

        Example:
            >>> chat = index.chat(method="ppr")
            >>> _ = chat.ask("Who repaired the lighthouse lamp?")
            >>> len(chat.history.turns)
            1
        """
        from conspectus.chat import Chat

        return Chat(self, method, history)

    def draw(self, answer: Answer) -> str:
        """Return a drawing of the walk or the subgraph behind an answer, as SVG.

        Args:
            answer: an answer of this index by a method that walks, or by `gretriever`.

        Raises:
            UsageError: the method made neither a walk nor a subgraph, or another view of the index was asked.
        """
        from conspectus.render.walks import draw

        return draw(answer, self._source_of(answer))

    def walk_text(self, answer: Answer) -> str:
        """Return the walk behind an answer as text, one decision per line."""
        from conspectus.render.walks import text_of

        return text_of(answer, self._source_of(answer))

    def walk_json(self, answer: Answer) -> dict[str, Any]:
        """Return the walk behind an answer as plain values: decisions, with the ids and names of what they concern."""
        from conspectus.render.walks import json_of

        return json_of(answer, self._source_of(answer))

    @property
    def manifest(self) -> "Manifest":
        """The description of the version: row counts, models, settings, checksums.

        Example:
            >>> index.manifest.rows["documents"]
            3
        """
        return self.context.index.manifest

    def outline(self) -> "list[DocumentOutline]":
        """Return the outline of every document: its sections, nested, with the rows of their chunks.

        Example:
            >>> all(section.chunk_rows for document in index.outline() for _, section in document.walk())
            True
        """
        from conspectus.storage.structure.outline import outline

        return outline(self.filter().context.index)

    def links(self) -> "list[Link]":
        """Return the links between passages that the documents' own structure defines, sorted by id.

        Example:
            >>> {link.kind for link in index.links()} <= {"parent", "next", "hyperlink", "reference", "definition"}
            True
        """
        return self.filter().context.index.rows(Link)

    def merges(self) -> "list[Merge]":
        """Return all entity merges, including undone ones, sorted by canonical name.

        A filtered view returns none, because merges could reveal names in hidden documents.
        """
        rows = self.filter().context.index.rows(Merge)
        return sorted(rows, key=lambda merge: (merge.name, merge.alias, merge.id))

    def tables(self) -> "dict[str, pa.Table]":
        """Return all tables as Arrow, by name, ready for `pandas`, `polars` and `duckdb`.

        Example:
            >>> index.tables()["documents"].num_rows
            3
        """
        from conspectus.storage.tables import TABLES

        stored = self.filter().context.index
        return {name: stored.arrow(record) for name, record in TABLES.items()}

    def graph(self, library: Literal["networkx", "igraph"] = "networkx") -> Any:  # noqa: ANN401  (of the library)
        """Return entities and relations as a directed graph with parallel edges, for algorithms of other libraries.

        Args:
            library: "networkx" for a MultiDiGraph whose nodes and edges are our ids, or "igraph" for a Graph.

        Returns:
            The graph. Nodes have the attributes name, type, types, description, frequency, degree, and their community
            on each level (c0, c1, ...); edges have predicate, description, weight, strength and chunk_ids.

        Raises:
            UsageError: there is no such library.
            MissingPart: igraph is not installed (it is under the GPL, and the extra `igraph`).

        Example:
            >>> len(index.graph()) == index.tables()["entities"].num_rows
            True
        """
        from conspectus.pipelines.exchange.exports import igraph_of, network

        if library not in ("networkx", "igraph"):
            raise UsageError(f"a graph is given to networkx or igraph, not to {library!r}")
        graph = network(self.filter().context.index)
        return graph if library == "networkx" else igraph_of(graph)

    def export(self, name: str, to: str | Path, *, force: bool = False) -> "ExportResult":
        """Write the index, or the view of a filter, in a format that other programs read.

        Args:
            name: "html", "wiki", "graphrag", "graphml", "gexf", "cypher", "neo4j", "ntriples", "nquads", "openie",
                "csv" or "csv:spreadsheet".
            to: the file or folder to write, atomically; for "neo4j" the address of a server.
            force: replace what exists there, if it is of the same format.

        Returns:
            The files, and the number of rows of each kind.

        Raises:
            UsageError: there is no such format, `to` already exists, or its server refuses.

        Example:
            >>> [path.name for path in index.export("graphml", "notes.graphml", force=True).files]
            ['notes.graphml']
        """
        from conspectus.exporting import export

        return export(self.filter().context.index, name, to, force=force)

    def check(self, file: str | Path) -> "list[CheckResult]":
        """Ask the questions of a file of checks (see `conspectus check --help`).

        Raises:
            InputError: the file cannot be read, or a line is wrong.

        Example:
            >>> line = '{"question": "Who was harbour master of Tarnmouth?", "contains": ["Mara Quill"]}'
            >>> _ = Path("checks.jsonl").write_text(line)
            >>> index.check("checks.jsonl")[0].wrong
            ()
        """
        from conspectus.pipelines.evaluation.checks import read_checks, run_checks

        return run_checks(self.filter().context, read_checks(file))

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
        """Return the context that an answer was made with. Raises UsageError if it belongs to another view."""
        context = self.filter().context
        if context.narrowed != answer.narrowed:
            raise UsageError(f"the answer is from another view of the index ({answer.narrowed or 'all'})")
        return context


def open_index(path: str | Path, settings: Settings | None = None) -> Index:
    """Open the current version of an index.

    Args:
        path: the index folder; or the URL of an index in an object store, "s3://bucket/docs.index", which is copied
            to the user's cache and mapped from there (docs/remote.md).
        settings: how to ask (methods, models, budgets). Settings of the build, such as the encoder, come from the
            index. None for the defaults and the environment (see `load_settings`).

    Raises:
        IndexNotFound: no index is at `path`.
        IndexCorrupt: a file does not match the manifest.
        IndexUnusable: the object store refuses, or gives no answer and there is no copy.
        MissingPart: the library for the URL is not installed.

    Example:
        >>> conspectus.open("notes.index").manifest.rows["chunks"]
        3
    """
    from conspectus.query.context import Context
    from conspectus.storage.index import StoredIndex

    if "://" not in str(path):
        return Index(Context(StoredIndex.open(path), settings or load_settings()))
    from conspectus.pipelines.remote_index.local_copy import located
    from conspectus.storage.publishing import take_lease

    stored = StoredIndex.open(located(path))
    lease = take_lease(stored.root, stored.manifest.version)
    if lease:  # as long as it is open, a newer version that is fetched leaves this one
        weakref.finalize(stored, lease.give_back)
    return Index(Context(stored, settings or load_settings()))
