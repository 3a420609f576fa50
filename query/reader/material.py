"""What answers are made over: reports, passages and records of the graph, alike to whatever reads them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from conspectus.query.context import Context
from conspectus.query.types import Evidence, ScoredReport
from conspectus.storage.hashing import digest
from conspectus.storage.index import Index, per_index
from conspectus.storage.records import Chunk, Claim, Community, Entity, Relation, Report, Span
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_each, count_tokens, token_spans


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


_MOST_UNITS = 999
"""Numbers in citations have up to three digits, so that [1984] in a text is none."""


@dataclass(frozen=True, slots=True)
class Window:
    """What one call shows: `text` of `n_tokens`, in which unit i stands under the number i + 1."""

    units: tuple[Unit, ...]
    text: str
    n_tokens: int


def shuffled(units: Iterable[Unit], seed: int) -> list[Unit]:
    """Return the units in an order that looks like chance and depends on `seed` and their texts alone."""
    return sorted(units, key=lambda each: (digest(str(seed), each.title, each.text), each.id))


def pack(units: Sequence[Unit], limit: int) -> list[Window]:
    """Return the units in their order, as many a window as `limit` tokens hold.

    A unit that is longer than a whole window is cut at its end.
    """
    windows: list[Window] = []
    titles = count_each([_title(each) for each in units])
    taken: list[Unit] = []
    used = 0
    for unit, title in zip(units, titles, strict=True):
        tokens = title + unit.n_tokens
        if taken and (len(taken) == _MOST_UNITS or used + _numbers()[len(taken)] + tokens > limit):
            windows.append(_window(taken, used, limit))
            taken, used = [], 0
        used += _numbers()[len(taken)] + tokens
        taken.append(unit)
    return [*windows, _window(taken, used, limit)] if taken else windows


def filled(units: Iterable[Unit], limit: int) -> Window | None:
    """Return the first units that one window of `limit` tokens holds, None where there are none."""
    return next(iter(pack(list(units), limit)), None)


def cut(text: str, limit: int) -> str:
    """Return a text, or the beginning of it that has `limit` tokens."""
    spans = token_spans(text)
    return text if len(spans) <= limit else text[: spans[limit - 1][1]] if limit > 0 else ""


def _window(units: Sequence[Unit], used: int, limit: int) -> Window:
    text = "\n\n".join(f"{_head(number, each)}\n{each.text}" for number, each in enumerate(units, start=1))
    if used <= limit:
        return Window(tuple(units), text, used)
    text = cut(text, limit)  # only a window of one unit can be too full
    return Window(tuple(units), text, count_tokens(text))


def _head(number: int, unit: Unit) -> str:
    return f"[{number}] {_title(unit)}".rstrip()


def _title(unit: Unit) -> str:
    return "" if isinstance(unit.origin, Report) else unit.title  # the text of a report begins with its title


@cache
def _numbers() -> list[int]:
    """Return the tokens of the marks from [1] on."""
    return count_each(f"[{number}]" for number in range(1, _MOST_UNITS + 1))
