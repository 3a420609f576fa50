"""Provenance of relations: citable triples, and the spans of the documents that state them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conspectus.query.answering import Assembly
from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.types import Answer, Citation, CitedTriple, Evidence, Passage
from conspectus.query.walk.graph import WalkGraph, open_graph
from conspectus.storage.index import per_index
from conspectus.storage.joins import Groups, mentions_of_relations
from conspectus.storage.records import Mention, Relation, Span
from conspectus.storage.spans import span_in

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False)
class Grounds:
    """The relations of an index and their mentions, read on demand."""

    context: Context
    graph: WalkGraph
    _mentions: "pa.Table"
    _by_relation: Groups
    _relation_rows: Mapping[str, int]
    _chunk_ids: "pa.ChunkedArray"

    def triples(self, relations: Sequence[int]) -> tuple[CitedTriple, ...]:
        """Return relations, given by their rows, as triples numbered from 1."""
        graph = self.graph
        return tuple(
            CitedTriple(
                number,
                graph.relation_ids[row],
                graph.names[graph.sources[row]],
                graph.predicates[graph.stated[row]],
                graph.names[graph.targets[row]],
            )
            for number, row in enumerate(relations, start=1)
        )

    def citations(self, relations: Sequence[int]) -> tuple[Citation, ...]:
        """Return a citation of the first mention of each relation, with the numbers of the triples.

        Relations without a mention in a document are skipped, so numbers may have gaps.
        """
        made = Citations(self.context)
        for number, row in enumerate(relations, start=1):
            if spans := self.spans(row):
                made.number(spans[0], number)
        return made.made()

    def spans(self, relation: int) -> tuple[Span, ...]:
        """Return the spans that state a relation; a mention without a position is its whole chunk."""
        found = []
        row = self._relation_rows.get(self.graph.relation_ids[relation])
        for place in [] if row is None else self._by_relation[row].tolist():
            mention = self._mentions.slice(place, 1).to_pylist()[0]
            chunk = self.context.chunks[self.context.chunk_rows[mention["chunk_id"]]]
            found.append(span_in(chunk, mention["start"], mention["end"]))
        return tuple(sorted(found, key=lambda result: (result.document_id, result.start, result.end)))

    def sources(self, relations: Sequence[int]) -> tuple[str, ...]:
        """Return the hashes of the chunks that state relations: the sources of a model's reply about them."""
        return self.context.sources(id_ for row in relations for id_ in self._chunk_ids[row].as_py())


def open_grounds(context: Context) -> Grounds:
    """Return the grounds of the index's relations, opened on first use; for a live graph they use its triples."""
    stored = _stored_grounds(context)
    return replace(stored, graph=context.live) if context.live else stored


@per_index
def _stored_grounds(context: Context) -> Grounds:
    index = context.index
    mentions = index.arrow(Mention, "chunk_id", "start", "end")
    chunk_ids = index.arrow(Relation, "chunk_ids").column("chunk_ids")
    of = mentions_of_relations(index)
    return Grounds(context, open_graph(context), mentions, of, index.ids(Relation), chunk_ids)


def numbers_of(count: int) -> str:
    """Return the marks of triples 1 to `count`.

    >>> numbers_of(2)
    '[1][2]'
    """
    return "".join(f"[{number}]" for number in range(1, count + 1))


def answer_by_triples(
    assembly: Assembly,
    context: Context,
    text: str,
    relations: Sequence[int],
    *,
    passages: Sequence[Passage] = (),
    names: tuple[str, ...] = (),
    evidence: Evidence | None = None,
    unproved: str = "",
    computed: bool = False,
) -> Answer:
    """Return an answer with the relations (rows) and passages that prove it: marks, triples, citations.

    Args:
        assembly: Assembles the answer.
        context: The open index.
        text: The text of the answer without marks.
        relations: The relations.
        passages: The passages, which are numbered after the relations.
        names, evidence, computed: As in `Answer`.
        unproved: What stands in the place of the marks if there are none.
    """
    grounds = open_grounds(context)
    of_passages = Citations(context)
    for number, passage in enumerate(passages, start=len(relations) + 1):
        of_passages.number(Span(passage.document_id, passage.chunk_id, passage.start, passage.end), number)
    return assembly.assemble(
        f"{text} {numbers_of(len(relations) + len(passages)) or unproved}".strip(),
        citations=(*grounds.citations(relations), *of_passages.made()),
        dropped_citations=of_passages.dropped,
        triples=grounds.triples(relations),
        names=names,
        evidence=evidence,
        computed=computed,
    )
