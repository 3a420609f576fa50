"""The material of an answer: reports, passages and records of the graph as units, packed into windows for a model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, overload

import numpy as np
from conspectus.query.context import Context
from conspectus.query.types import Evidence, ScoredReport
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.hashing import digest
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.records import Chunk, Claim, Community, Entity, Relation, Report, Span
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_each, count_tokens, token_spans

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a unit, and its spans in the documents."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A community report, a chunk, or a record of the graph.

    Attributes:
        origin: The record.
        row: Its row in its table.
        title: Its title or name.
        text: The text to read.
        n_tokens: The tokens of the text.
        weight: The importance of a report, 0 to 1; 1 for everything else.
        chunk_ids: The chunks that the text was made from.
        stated: The sentences of the documents that state a record of the graph.
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
        """The id of the underlying record."""
        return self.origin.id

    @property
    def table(self) -> str:
        """The name of the record's table and vectors."""
        return StoredIndex.table_name(type(self.origin))

    def statements(self) -> tuple[Statement, ...]:
        """Return the findings of a report that have citations, or the sentences of a passage or record."""
        if isinstance(self.origin, Report):
            return tuple(
                Statement(finding.explanation, finding.citations)
                for finding in self.origin.findings
                if finding.citations
            )
        return sentences_of(self.origin) if isinstance(self.origin, Chunk) else self.stated


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """A unit and its score: larger is better."""

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


class Units(Sequence[Unit]):
    """Some chunks or reports of an index, each made when it is asked for.

    Args:
        context: The open index.
        record: The type of the records.
        rows: (n,) their rows, ascending.
    """

    def __init__(self, context: Context, record: type[Chunk | Report], rows: Rows) -> None:
        self._context = context
        self._record = record
        self._make = report_unit if record is Report else passage_unit
        self.table = StoredIndex.table_name(record)
        self.rows = rows

    @property
    def n_tokens(self) -> int:
        """The tokens of all units."""
        return int(self._column("n_tokens").sum())

    @property
    def weights(self) -> Floats:
        """The weight of each unit, (n,)."""
        return self._column("rating") / 10 if self._record is Report else np.ones(len(self.rows))

    def _column(self, name: str) -> Floats:
        column = _measures(self._context)[self._record].column(name)
        values: Floats = column.take(self.rows).to_numpy().astype(np.float64)
        return values

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Unit: ...

    @overload
    def __getitem__(self, place: slice) -> "Units": ...

    def __getitem__(self, place: int | slice) -> "Unit | Units":
        if isinstance(place, slice):
            return Units(self._context, self._record, self.rows[place])
        return self._make(self._context, int(self.rows[place]))


@per_index
def _measures(context: Context) -> "dict[type, pa.Table]":
    """Return the tokens of chunks and reports, and the ratings of reports."""
    index = context.index
    return {Chunk: index.arrow(Chunk, "n_tokens"), Report: index.arrow(Report, "n_tokens", "rating")}


def every(context: Context, record: type[Chunk | Report]) -> Units:
    """Return all chunks or reports as units, in the order of their table."""
    return Units(context, record, np.arange(context.index.manifest.rows[StoredIndex.table_name(record)]))


def report_unit(context: Context, row: int) -> Unit:
    """Return a report as a unit."""
    report = context.index.each(Report)[row]
    chunk_ids = tuple(_chunks_of_communities(context)[report.community_id])
    weight = report.rating / 10
    return Unit(report, row, report.title, report.full_text, report.n_tokens, weight, chunk_ids)


@per_index
def _chunks_of_communities(context: Context) -> Mapping[str, Sequence[str]]:
    return context.index.by_id(Community, "chunk_ids")


def passage_unit(context: Context, row: int) -> Unit:
    """Return a chunk as a unit."""
    chunk = context.chunks[row]
    return Unit(chunk, row, context.titles[chunk.document_id], chunk.text, chunk.n_tokens, 1.0, (chunk.id,))


def sources(context: Context, units: Sequence[Unit]) -> tuple[str, ...]:
    """Return the hashes of the chunks behind the units: a cached reply about them depends on these."""
    return context.sources(id_ for unit in units for id_ in unit.chunk_ids)


def evidence(context: Context, scored: Sequence[ScoredUnit]) -> Evidence:
    """Return units as evidence, in the given order."""
    origins = [scored_unit.unit.origin for scored_unit in scored]
    return Evidence(
        tuple(
            context.passage(scored_unit.unit.row, scored_unit.score)
            for scored_unit in scored
            if isinstance(scored_unit.unit.origin, Chunk)
        ),
        tuple(
            ScoredReport(scored_unit.unit.origin, scored_unit.score)
            for scored_unit in scored
            if isinstance(scored_unit.unit.origin, Report)
        ),
        entities=tuple(origin for origin in origins if isinstance(origin, Entity)),
        relations=tuple(origin for origin in origins if isinstance(origin, Relation)),
        claims=tuple(origin for origin in origins if isinstance(origin, Claim)),
    )


_MOST_UNITS = 999
"""Citation numbers have up to three digits, so that [1984] in a text is not a citation."""


@dataclass(frozen=True, slots=True)
class Window:
    """The material of one call: `text` of `n_tokens`, in which unit i has the number i + 1."""

    units: tuple[Unit, ...]
    text: str
    n_tokens: int


def shuffled(units: Iterable[Unit], seed: int) -> list[Unit]:
    """Return the units in a pseudo-random order that depends only on `seed` and their texts."""
    return sorted(units, key=lambda unit: (digest(str(seed), unit.title, unit.text), unit.id))


def pack(units: Sequence[Unit], limit: int) -> list[Window]:
    """Pack units into windows of at most `limit` tokens, in their order.

    A unit that is longer than a window gets a separate window and is cut at its end.
    """
    windows: list[Window] = []
    titles = count_each([_title(unit) for unit in units])
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
    """Return a window with the first units that fit into `limit` tokens; None if there are no units."""
    return next(iter(pack(list(units), limit)), None)


def cut_tokens(text: str, limit: int) -> str:
    """Return the first `limit` tokens of a text, or all of it."""
    spans = token_spans(text)
    return text if len(spans) <= limit else text[: spans[limit - 1][1]] if limit > 0 else ""


def _window(units: Sequence[Unit], used: int, limit: int) -> Window:
    text = "\n\n".join(f"{_head(number, unit)}\n{unit.text}" for number, unit in enumerate(units, start=1))
    if used <= limit:
        return Window(tuple(units), text, used)
    text = cut_tokens(text, limit)  # only a one-unit window can be too full
    return Window(tuple(units), text, count_tokens(text))


def _head(number: int, unit: Unit) -> str:
    return f"[{number}] {_title(unit)}".rstrip()


def _title(unit: Unit) -> str:
    return "" if isinstance(unit.origin, Report) else unit.title  # the text of a report begins with its title


@cache
def _numbers() -> list[int]:
    """Return the cumulative number of tokens of the marks [1], [2], ..."""
    return count_each(f"[{number}]" for number in range(1, _MOST_UNITS + 1))
