"""What operations over the tables of an index return, each field on every front; and results as JSON."""

import json
import re
from dataclasses import asdict, dataclass
from typing import Literal

from conspectus.query.types import Citation
from conspectus.storage.records import Correction
from conspectus.storage.text.visible import UNSEEN

Direction = Literal["out", "in", "both"]
Order = Literal["id", "title", "date", "size"]


@dataclass(frozen=True, slots=True)
class Status:
    """The contents of an index, or of the part of it that a reader may see.

    Attributes:
        version: The version of the index.
        format: The version of the format of its files.
        rows: The number of rows of each table.
        models: The encoder and other models that made it.
        answers_with: The language model that writes answers; "" if there is none.
        corrections: The corrections of the graph, each with the number of places where it is in force.
    """

    version: str
    format: int
    rows: dict[str, int]
    models: dict[str, str]
    answers_with: str
    corrections: list[Correction]


@dataclass(frozen=True, slots=True)
class MethodRow:
    """A query method: what it does, whether it needs a model, finds passages, and can be explained."""

    name: str
    about: str
    needs_model: bool
    retrieves: bool
    explains: bool


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document in a list."""

    id: str
    title: str
    uri: str
    n_chars: int
    metadata: dict[str, str]


@dataclass(frozen=True, slots=True)
class DocumentText(DocumentRow):
    """Characters [start, end) of a document; `place` describes its pages and headings."""

    version: str
    start: int
    end: int
    text: str
    place: str
    headings: list[str]


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A passage (a chunk): characters [start, end) of its document."""

    chunk_id: str
    document_id: str
    title: str
    start: int
    end: int
    text: str
    place: str


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key of the documents' metadata: how many documents have it, and its most frequent values."""

    key: str
    documents: int
    values: list[str]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A relation of an entity, and the entity at its other end. `outgoing`: the requested entity is its source."""

    relation_id: str
    outgoing: bool
    predicate: str
    description: str
    weight: float
    entity_id: str
    name: str
    chunk_ids: list[str]


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A dated fact with its source: characters [start, end) of a document, which are `quote`.

    `when` is the interval in words, from `first` to `last` (ISO dates, None if open), as precise as `precision`.
    `basis` is stated, or document if only the document has a date. A fact of an imported graph has no document.
    """

    when: str
    statement: str
    quote: str
    title: str
    document_id: str
    start: int
    end: int
    first: str | None
    last: str | None
    precision: str
    basis: str
    relation_id: str | None
    claim_id: str | None


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """Two facts about one entity that cannot both hold; `word` is the word of their predicates that says why."""

    about: str
    word: str
    one: TimelineRow
    other: TimelineRow


@dataclass(frozen=True, slots=True)
class Beside:
    """An entity that shares passages with another, and the number of these passages."""

    entity_id: str
    name: str
    passages: int


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity in a list: `frequency` is the number of passages that name it, `degree` that of its relations."""

    id: str
    name: str
    type: str
    frequency: int
    degree: int


@dataclass(frozen=True, slots=True)
class EntityDetail(EntityRow):
    """An entity with its description, the passages that mention it, and its neighbours."""

    description: str
    chunk_ids: list[str]
    neighbours: list[Neighbour]
    beside: list[Beside]


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A report in a list. `parent` and `children` are ids of communities that have reports."""

    community_id: str
    report_id: str
    level: int
    title: str
    summary: str
    rating: float
    size: int
    parent: str | None
    children: list[str]


@dataclass(frozen=True, slots=True)
class ReportDetail(ReportRow):
    """A report with its findings; marks in these are numbers of `citations`."""

    findings: list[str]
    citations: list[Citation]


@dataclass(frozen=True, slots=True)
class Changed:
    """One kind of change of one table: `change` is came, gone or changed. `names` are the first by name."""

    table: str
    change: str
    count: int
    names: list[str]


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs between two versions of an index."""

    before: str
    after: str
    changes: list[Changed]


def json_text(value: object, indent: int | None = None) -> str:
    """Return a value as JSON on one line, or indented, with characters escaped that affect a terminal.

    >>> json_text({"a": "x\u202ey"})
    '{"a":"x\\\\u202ey"}'
    """
    separators = (",", ":") if indent is None else None
    return UNSEEN.sub(
        _code, json.dumps(value, ensure_ascii=False, indent=indent, separators=separators, default=asdict)
    )


def _code(character: re.Match[str]) -> str:
    return character[0] if character[0] == "\n" else f"\\u{ord(character[0]):04x}"
