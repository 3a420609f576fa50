"""Ask a graph behind a SPARQL endpoint.

>>> import conspectus
>>> graph = conspectus.open_endpoint("http://localhost:7878/query")
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from conspectus.api import Index
from conspectus.query.menu import DEFAULT_METHOD, METHODS, find_method
from conspectus.query.types import Answer
from conspectus.storage.arrays import Vectors
from conspectus.storage.errors import UsageError
from conspectus.storage.settings import Settings, load_settings

if TYPE_CHECKING:
    from conspectus.query.conversation.history import Conversation
    from conspectus.query.remote_graph.graph import LiveGraph
    from conspectus.query.sparql.endpoint import Endpoint
    from conspectus.query.sparql.result import SparqlResult


@dataclass(frozen=True, slots=True, repr=False)
class LiveIndex(Index):
    """The source of the answer to one question: the live graph, or an in-memory index of the part around the question.

    `part` is what has been read of the graph.
    """

    part: "LiveGraph | None" = field(default=None)

    def ask(
        self,
        question: str,
        method: str = DEFAULT_METHOD,
        history: "Conversation | None" = None,
        topics: Sequence[str] = (),
    ) -> Answer:
        """Answer the question; see `Index.ask`. The trace starts with what was and was not read from the endpoint."""
        answer = Index.ask(self, question, method, history, topics)
        assert self.part is not None, "it was made with one"
        return replace(answer, trace=(*self.part.steps(), *answer.trace))


class GraphEndpoint:
    """A graph behind a SPARQL endpoint, open for questions. `open_endpoint` returns it.

    What has been read is cached while the graph is open; open it again to see changes.
    """

    def __init__(self, client: "Endpoint", settings: Settings) -> None:
        self._client = client
        self._settings = settings
        self._vectors: dict[str, Vectors] = {}
        self._whole: LiveIndex | None = None

    def __repr__(self) -> str:
        """Return the URL."""
        return f"GraphEndpoint({self._client.url!r})"

    def ask(self, question: str, method: str = DEFAULT_METHOD, topics: Sequence[str] = ()) -> Answer:
        """Answer a question, citing the statements of the endpoint.

        Args:
            question: the question.
            method: a method over the graph, such as `auto`, `tog2`, `sparql` or `fasttog`. With a model, `tog` and
                `tog2` walk the endpoint itself; other methods use the part of the graph around the topics.
            topics: names of things that the question is about, to be used instead of those that it mentions.

        Returns:
            The answer; the `relation_id` of each triple is its statement in N-Triples.

        Raises:
            SparqlError: the endpoint cannot be reached, refuses, takes too long, or sends no result.
            UnknownMethod, UsageError, NeedsModel, ModelError, BudgetReached: as for `Index.ask`.
        """
        return self.about(question, method, topics).ask(question, method, topics=topics)

    def about(self, question: str, method: str = DEFAULT_METHOD, topics: Sequence[str] = ()) -> LiveIndex:
        """Return the source of an answer; its `draw` and `walk_text` show the walk behind the answer.

        Args:
            question: the question.
            method: the method that will be used.
            topics: names of things that the question is about, to be used instead of those that it mentions.
        """
        from conspectus.prompts.embedding.embedder import open_embedder
        from conspectus.query.context import Context
        from conspectus.query.remote_graph.counting import PartOfGraph
        from conspectus.query.remote_graph.graph import LiveGraph
        from conspectus.query.remote_graph.local_part import read_around, working_index

        if not question.strip():
            raise UsageError("the question is empty")
        chosen = find_method(method)
        if not chosen.over_endpoint:
            *others, last = sorted(name for name, known in METHODS.items() if known.over_endpoint)
            raise UsageError(f"method {method!r} reads documents; for an endpoint use {', '.join(others)} or {last}")
        settings = self._settings
        embedder = open_embedder(settings.embedding, settings.embedding_server)
        graph = LiveGraph(self._client, settings.endpoint, embedder, self._vectors)
        if settings.llm.model and chosen.section == "tog":
            empty = working_index(graph, settings, embedder)
            return LiveIndex(Context(empty, settings, live=graph), None, graph)
        if self._whole is not None:
            return self._whole
        found = graph.topics(question, list(topics) or None, len(question))
        read_around(graph, found.rows)
        index = working_index(graph, settings, embedder)
        part = None if graph.complete else PartOfGraph(graph)
        if part and method == "sparql":
            raise UsageError(
                "the method sparql queries a whole graph, and this one has more statements than endpoint.most_triples "
                f"({settings.endpoint.most_triples:,}); ask with auto, or query it yourself: conspectus query"
            )
        made = LiveIndex(Context(index, settings, part=part), None, graph)
        self._whole = None if part else made
        return made

    def query(self, text: str, rows: int = 1_000) -> "SparqlResult":
        """Query the endpoint with a SPARQL 1.1 SELECT or ASK; nothing can be changed.

        Args:
            text: the query.
            rows: the maximum number of rows.

        Raises:
            SparqlError: the query is wrong or would change something, or the endpoint does not answer it.
        """
        return self._client.query(text, rows)


def open_endpoint(url: str, settings: Settings | None = None) -> GraphEndpoint:
    """Open a graph behind a SPARQL endpoint; nothing is sent before the first question.

    Args:
        url: an http or https URL without a user or password.
        settings: section `endpoint` controls how names are found and how much is read. None for the defaults and the
            environment (see `load_settings`).

    Raises:
        UsageError: `url` is not such a URL.
    """
    from conspectus.query.sparql.endpoint import Endpoint

    chosen = settings or load_settings()
    return GraphEndpoint(Endpoint(url, chosen.endpoint.seconds), chosen)
