"""What answers are made over: reports, passages and records of the graph, alike to whatever reads them."""

from collections.abc import Sequence
from dataclasses import dataclass

from conspectus.query.context import Context
from conspectus.query.types import Evidence, ScoredReport
from conspectus.storage.index import Index, per_index
from conspectus.storage.records import Chunk, Claim, Community, Entity, Relation, Report, Span
from conspectus.storage.text.sentences import sentence_spans


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that a unit says, and where it stands in the documents."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A community report, a chunk, or a record of the graph, `row` of its table.

    `text` (of `n_tokens`) is what is read of it, `chunk_ids` what that was made from. `weight`, 0 to 1, is how much
    of the corpus it is about, where that is known. `stated` is where the documents say what a record says.
    """

    origin: Report | Chunk | Entity | Relation | Claim
    row: int
    title: str
    text: str
    n_tokens: int
    weight: float
    chunk_ids: tuple[str, ...]
    stated: tuple[Statement, ...] = ()

    @property
    def id(self) -> str:
        """The id of what it is."""
        return self.origin.id

    @property
    def table(self) -> str:
        """The name of its table, and of its vectors."""
        return Index.table_name(type(self.origin))

    def statements(self) -> tuple[Statement, ...]:
        """Return what it says: the findings of a report that have citations, the sentences of a passage or record."""
        if isinstance(self.origin, Report):
            return tuple(Statement(each.explanation, each.citations) for each in self.origin.findings if each.citations)
        return sentences_of(self.origin) if isinstance(self.origin, Chunk) else self.stated


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """A unit and how much it helps: larger is better."""

    unit: Unit
    score: float


def sentences_of(chunk: Chunk) -> tuple[Statement, ...]:
    """Return the sentences of a chunk."""
    return tuple(
        Statement(
            " ".join(chunk.text[start:end].split()),
            (Span(chunk.document_id, chunk.id, chunk.start + start, chunk.start + end),),
        )
        for start, end in sentence_spans(chunk.text)
    )


@per_index
def report_units(context: Context) -> dict[str, Unit]:
    """Return all reports by the id of their community (its first appearance in the hierarchy)."""

    chunk_ids = {each.id: each.chunk_ids for each in context.index.rows(Community)}
    return {
        each.community_id: Unit(
            each, row, each.title, each.full_text, each.n_tokens, each.rating / 10, chunk_ids[each.community_id]
        )
        for row, each in enumerate(context.index.rows(Report))
    }


def passage_unit(context: Context, row: int) -> Unit:
    """Return chunk `row`."""
    chunk = context.chunks[row]
    return Unit(chunk, row, context.titles[chunk.document_id], chunk.text, chunk.n_tokens, 1.0, (chunk.id,))


def sources(context: Context, units: Sequence[Unit]) -> tuple[str, ...]:
    """Return the hashes of the chunks that the units were made from: what a reply over them depends on."""
    return context.sources(id_ for unit in units for id_ in unit.chunk_ids)


def evidence(context: Context, scored: Sequence[ScoredUnit]) -> Evidence:
    """Return units as the evidence of an answer, in the order given."""
    origins = [each.unit.origin for each in scored]
    return Evidence(
        tuple(context.passage(each.unit.row, each.score) for each in scored if isinstance(each.unit.origin, Chunk)),
        tuple(ScoredReport(each.unit.origin, each.score) for each in scored if isinstance(each.unit.origin, Report)),
        entities=tuple(each for each in origins if isinstance(each, Entity)),
        relations=tuple(each for each in origins if isinstance(each, Relation)),
        claims=tuple(each for each in origins if isinstance(each, Claim)),
    )
