"""Answer structured questions (counts, yes or no, intersections, comparisons, orderings, dates) by one SPARQL query.

Without a model, the question reader (`query/graph_question`) builds a `GraphQuery` and runs it; the trace shows it as
SPARQL. With a model, the model writes the query from the part of the graph's schema that the question needs. A query
that fails or finds nothing is returned to the model with the reason, up to `_REPAIRS` times: at most
1 + `repairs` calls. In both cases the query is read-only, and the answer cites the triples that prove it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import regex
from conspectus.prompts.language_model import LanguageModel, Message, Request
from conspectus.prompts.render import messages
from conspectus.prompts.render import render as prompt_text
from conspectus.prompts.replies.structured import read_reply
from conspectus.query.answering import Assembly, TopicMethod, assembling
from conspectus.query.context import Context
from conspectus.query.graph_question.answer import answer_of
from conspectus.query.graph_question.reader import read_graph_question
from conspectus.query.question.topics import find_topics, ranked_topics
from conspectus.query.sparql.evidence import evidence
from conspectus.query.sparql.render import render
from conspectus.query.sparql.result import SparqlResult
from conspectus.query.sparql.run import query
from conspectus.query.sparql.schema import PredicateSummary, datatypes_of, predicates, text
from conspectus.query.types import Answer, Evidence, Topics
from conspectus.query.types.trace import Chain, Hop, WalkTrace
from conspectus.query.walk.graph import open_graph, predicate_vectors, spoken
from conspectus.query.walk.provenance import answer_by_triples
from conspectus.storage.errors import BadAnswer, SparqlError
from conspectus.storage.text.tokens import count_tokens
from pydantic import BaseModel

STEP = "sparql"
_CITED = 20
"""Maximum number of triples that an answer cites; the trace gives the total."""
_SHOWN = 20
"""Maximum number of names listed in the text of an answer."""
_NAMES = 10
"""Maximum number of the graph's names shown to a model."""
_AT_TOPIC, _BESIDE_TOPIC = 1.0, 0.5
"""Relevance added to a predicate's cosine if it occurs at a topic, or at a neighbour of a topic."""
_SCHEMA_TOKENS = 2000  # of the predicates that a model is shown, so that its prompt stays short
_MAX_TOKENS = 1024
_REPAIRS = 2  # a model that has seen two errors repeats them
_FENCED = regex.compile(r"```(?:sparql)?\s*\n(.*?)```", regex.DOTALL | regex.IGNORECASE)
_BARE = regex.compile(r"(?m:^)\s*((?:PREFIX|SELECT|ASK)\b.*\}.*)", regex.DOTALL | regex.IGNORECASE)


class QueryReply(BaseModel):
    """A model's query; "" if the schema cannot express the question."""

    reasoning: str = ""
    query: str

    @classmethod
    def in_words(cls, reply: str) -> "QueryReply | None":
        """Extract a query from a code block or from plain text."""
        found = _FENCED.search(reply) or _BARE.search(reply)
        return cls(query=found[1].strip()) if found else None


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of a query: the answer in words (names, best first), and the relations that prove it."""

    names: tuple[str, ...]
    relations: tuple[int, ...]


class Sparql(TopicMethod):
    """Answers by a query derived from the question, by rules or by a model."""

    async def _answer(self, question: str, given: Sequence[str] | None) -> Answer:
        with assembling(question, self._name) as assembly:
            if self._model is None:
                rows = None if given is None else find_topics(self._context, question, given).rows
                return self._read(assembly, question, rows)
            about = find_topics(self._context, question, given)
            assembly.add(about.step)
            return self._assembled(assembly, await self._written(assembly, question, about, self._model))

    def _assembled(self, assembly: Assembly, found: QueryResult | None) -> Answer:
        if found is None or not found.names or not found.relations:
            return assembly.no_answer()
        graph = open_graph(self._context)
        cited = found.relations[:_CITED]
        more = f", of which {_CITED} are cited" if len(found.relations) > _CITED else ""
        assembly.step("answer", f"made by {len(found.relations)} triples{more}")
        listed = ", ".join(map(spoken, found.names[:_SHOWN]))
        more = f" and {len(found.names) - _SHOWN} more" if len(found.names) > _SHOWN else ""
        ends = [(row, int(graph.sources[row]), int(graph.targets[row])) for row in cited]
        chains = tuple(Chain(((start,), (end,)), (Hop(row, start, end, True),)) for row, start, end in ends)
        assembly.depth = 1
        evidence = Evidence(walk=WalkTrace((), chains))
        return answer_by_triples(
            assembly, self._context, f"{listed}{more}", cited, names=found.names, evidence=evidence, computed=True
        )

    def _read(self, assembly: Assembly, question: str, topics: Sequence[int] | None) -> Answer:
        """Return the answer of the reader of questions, with its query as SPARQL, or why there is none."""
        reading = read_graph_question(self._context, question, topics)
        if reading.query is not None and (reading.answered or reading.best_effort):
            assembly.step(STEP, render(open_graph(self._context), reading.query, datatypes_of(self._context)))
        return answer_of(assembly, self._context, reading)

    async def _written(
        self, assembly: Assembly, question: str, about: Topics, model: LanguageModel
    ) -> QueryResult | None:
        shown = relevant(self._context, question, about.rows, _SCHEMA_TOKENS)
        assembly.step("schema", f"{len(shown)} of {len(predicates(self._context))} predicates shown")
        names = self._names(question, about)
        prompt = messages("query/sparql", question=question, names=names, predicates=text(shown) or "(none)")
        for _ in range(1 + _REPAIRS):
            request = Request(prompt, STEP, schema=QueryReply, max_tokens=_MAX_TOKENS)
            reply = await model.complete(request)
            found, reason = self._tried(assembly, reply.text, cut_off=reply.is_cut_off)
            if not reason:
                return found
            said = Message("assistant", reply.text or "(empty)")
            prompt = (*prompt, said, Message("user", prompt_text("query/sparql_again", reason=reason)))
        return None

    def _tried(self, assembly: Assembly, reply: str, *, cut_off: bool) -> tuple[QueryResult | None, str]:
        """Return the result of a model's query, and the reason why it cannot be used ("" if it can)."""
        try:
            written = read_reply(reply, QueryReply, cut_off=cut_off).query.strip()
        except BadAnswer as error:
            assembly.step("failed", f"the reply cannot be used ({error.reason})")
            return None, f"the reply cannot be read ({error.reason})"
        if not written:
            assembly.step("answer", "the model says that the predicates of the graph cannot express the question")
            return None, ""
        assembly.step(STEP, written)
        try:
            result = query(self._context, written)
        except SparqlError as error:
            assembly.step("failed", str(error))
            return None, str(error)
        found = self._found(written, result)
        if result.boolean is None and not found.names:
            assembly.step("failed", "the query finds nothing")
            return None, "it finds nothing"
        return found, ""

    def _names(self, question: str, about: Topics) -> str:
        """Return the names of the graph that a question may mean, one per line."""
        rows = dict.fromkeys([*about.rows, *(each.row for each in ranked_topics(self._context, question))])
        return "\n".join(open_graph(self._context).names[row] for row in list(rows)[:_NAMES]) or "(none)"

    def _found(self, written: str, result: SparqlResult) -> QueryResult:
        """Return the result as an answer; verdicts become "yes" or "no", and literals use the graph's spelling."""
        made = evidence(self._context, written, result)
        if result.boolean is not None:
            return QueryResult(("yes" if result.boolean else "no",), made.relations)
        firsts = [row[0] for row in result.rows if row and row[0] is not None]
        names = tuple(
            dict.fromkeys(
                term.name or made.names.get(f'"{term.value}"^^<{term.datatype}>', term.value) for term in firsts
            )
        )
        return QueryResult(names, made.relations)


def relevant(context: Context, question: str, topics: Sequence[int], tokens: int) -> list[PredicateSummary]:
    """Return the predicates that a question needs most, in the order of the schema, within a token limit.

    Predicates at the topics come first, then those at their neighbours, then those nearest to the question.
    """
    graph = open_graph(context)
    summaries = predicates(context)
    if not summaries:
        return []
    worth = predicate_vectors(context) @ context.embedder.embed_query(question)
    near = graph.edges_of(topics)
    beside = graph.edges_of(np.unique(near.neighbours)[:_NEIGHBOURS])
    worth[np.unique(beside.predicate)] += _BESIDE_TOPIC
    worth[np.unique(near.predicate)] += _AT_TOPIC - _BESIDE_TOPIC
    number = {predicate: place for place, predicate in enumerate(graph.predicates)}
    kept: list[PredicateSummary] = []
    left = tokens
    for summary in sorted(summaries, key=lambda each: -float(worth[number[each.predicate]])):
        left -= count_tokens(summary.line())
        if left < 0:
            break
        kept.append(summary)
    return [summary for summary in summaries if summary in kept]


_NEIGHBOURS = 1_000
"""Number of neighbours of the topics whose predicates are considered."""
