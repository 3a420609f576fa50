"""Provenance of relations: citable triples, and the spans of the documents that state them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.types import Citation, CitedTriple
from conspectus.query.walk.graph import KnowledgeGraph, cited, open_graph
from conspectus.storage.index import per_index
from conspectus.storage.records import Mention, Relation, Span
from conspectus.storage.spans import span_in

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False)
class Grounds:
    """The relations of an index and their mentions, read on demand."""

    context: Context
    graph: KnowledgeGraph
    _mentions: "pa.Table"
    _by_relation: dict[str, list[int]]
    _chunk_ids: "pa.ChunkedArray"

    def triples(self, relations: Sequence[int]) -> tuple[CitedTriple, ...]:
        """Return relations, given by their rows, as triples numbered from 1."""
        return tuple(cited(self.graph, number, row) for number, row in enumerate(relations, start=1))

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
        for place in self._by_relation.get(self.graph.relation_ids[relation], ()):
            mention = self._mentions.slice(place, 1).to_pylist()[0]
            chunk = self.context.chunks[self.context.chunk_rows[mention["chunk_id"]]]
            found.append(span_in(chunk, mention["start"], mention["end"]))
        return tuple(sorted(found, key=lambda result: (result.document_id, result.start, result.end)))

    def sources(self, relations: Sequence[int]) -> tuple[str, ...]:
        """Return the hashes of the chunks that state relations: the sources of a model's reply about them."""
        return self.context.sources(id_ for row in relations for id_ in self._chunk_ids[row].as_py())


@per_index
def open_grounds(context: Context) -> Grounds:
    """Return the grounds of the index's relations, opened on first use."""
    import pyarrow.compute as pc

    mentions = context.index.arrow(Mention, "relation_id", "chunk_id", "start", "end")
    mentions = mentions.filter(pc.is_valid(mentions.column("relation_id")))
    of: dict[str, list[int]] = {}
    for place, id_ in enumerate(mentions.column("relation_id").to_pylist()):
        of.setdefault(id_, []).append(place)
    chunk_ids = context.index.arrow(Relation, "chunk_ids").column("chunk_ids")
    return Grounds(context, open_graph(context), mentions, of, chunk_ids)


def numbers_of(count: int) -> str:
    """Return the marks of triples 1 to `count`.

    >>> numbers_of(2)
    '[1][2]'
    """
    return "".join(f"[{number}]" for number in range(1, count + 1))
