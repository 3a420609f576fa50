"""The rows of the tables, as frozen types. Parquet columns follow from the annotations (see tables.py).

Offsets are counted in characters (Unicode code points) of the document's text, `end` exclusive.
Every id is 16 hex digits of a sha256 unless the input supplied a document's own. Rows of a table
are sorted by id, and row i of `vectors/<table>` is row i of the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Match = Literal["exact", "alias", "chunk"]
"""How a mention is tied to text: the name itself, another form of it, or only the chunk as a whole."""


@dataclass(frozen=True, slots=True)
class Place:
    """A landmark of a text: from the character `start` on, until the next of its kind.

    `kind` is page, slide, sheet or heading; `label` what a reader would call it ("3", "Budget", "2. Methods");
    `level` the depth of a heading, from 1, and 0 for the other kinds. A heading ends those of its level and below.
    """

    start: int
    kind: str
    label: str
    level: int


@dataclass(frozen=True, slots=True)
class Document:
    """One text of the input. `uri` is its path or file#row; `sha256` is that of the text.

    `places` are sorted by `start`; of equal starts a page stands before the headings on it.
    """

    id: str
    title: str
    uri: str
    text: str
    metadata: Mapping[str, str]
    n_chars: int
    sha256: str
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of whole sentences: `document.text[start:end] == text`; `ordinal` counts from 0 in its document."""

    id: str
    document_id: str
    ordinal: int
    start: int
    end: int
    text: str
    n_tokens: int


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing with a name. `frequency`: chunks it occurs in; `degree`: entities it has relations with."""

    id: str
    name: str
    type: str
    types: tuple[str, ...]
    description: str
    frequency: int
    degree: int


@dataclass(frozen=True, slots=True)
class Mention:
    """One place where an entity or a relation is stated; a span of None means the chunk as a whole."""

    id: str
    chunk_id: str
    entity_id: str | None
    relation_id: str | None
    start: int | None
    end: int | None
    match: str
    surface: str
    description: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A statement that joins two entities; `weight` is the number of its mentions.

    `strength` is the mean of the strengths that a language model stated, None where it stated none.
    """

    id: str
    source_id: str
    target_id: str
    predicate: str
    description: str
    weight: float
    chunk_ids: tuple[str, ...]
    strength: float | None = None


@dataclass(frozen=True, slots=True)
class Name:
    """A name that stands for chunks: a document's title, with and without its trailing parenthesis, or the
    name that an untitled text begins with. `mentioned_in` counts the chunks whose text holds it.
    """

    id: str
    name: str
    chunk_ids: tuple[str, ...]
    mentioned_in: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A dated, checkable statement about a subject (made by a language model only)."""

    id: str
    subject_id: str
    object_id: str | None
    type: str
    status: str
    description: str
    start_date: str | None
    end_date: str | None
    chunk_id: str
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Synonym:
    """Two entities whose names mean nearly the same; `source_id` < `target_id`, cosine similarity."""

    source_id: str
    target_id: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Merge:
    """Two names that were judged to be one thing's: the entity of `alias` became part of that of `name`.

    `alias_id` is the id that the alias would have as an entity of its own, `entity_id` that of the entity kept.
    `reason` names the rule that proposed it, `score` 0-1 how sure it was, and `vote` what a language model said, None
    where none was asked. `undone`: this was taken back, so the two stay apart in this build and in those to come.
    """

    id: str
    entity_id: str
    name: str
    alias_id: str
    alias: str
    reason: str
    score: float
    vote: str | None
    undone: bool


GRAPH_FILE = "graph file"
"""The key of `Origin.details` that names the file of an imported graph."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a row came from that another program made: `source_id` is the id that it has there.

    `table` is the table of this index that `item_id` is in; `ordinal` the place among the rows of the foreign table;
    `details` what our tables have no column for, or say otherwise, by the foreign column's name. `item_id` is "" for a
    row that could not be taken, of which `details` has all.
    """

    id: str
    table: str
    item_id: str
    source_id: str
    ordinal: int
    details: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Community:
    """Entities that belong together on one level (0 = coarsest); each level holds every entity once.

    A community that is not divided further stands again on the next level, with `same_as` naming its
    first appearance. `oversized` marks one that could not be divided although it is past the maximum.
    """

    id: str
    level: int
    parent_id: str | None
    same_as: str | None
    oversized: bool
    entity_ids: tuple[str, ...]
    relation_ids: tuple[str, ...]
    chunk_ids: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Span:
    """A run of characters of a document: what a citation points at."""

    document_id: str
    chunk_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a report states, and where it stands in the documents."""

    summary: str
    explanation: str
    citations: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What a community is about. `rating` (0 to 10): its share of the corpus, see steps/reports/extractive.py."""

    id: str
    community_id: str
    level: int
    title: str
    summary: str
    findings: tuple[Finding, ...]
    rating: float
    full_text: str
    n_tokens: int


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that was lost: in which stage, which item, and why."""

    stage: str
    item_id: str
    reason: str
    detail: str = field(default="")
