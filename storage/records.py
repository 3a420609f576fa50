"""Record types: one frozen dataclass per table. Parquet columns follow from the annotations (see tables.py).

Offsets are counted in characters (Unicode code points) of the document's text, `end` exclusive.
Every id is 16 hex digits of a sha256 unless the input supplied a document's own id. Rows of a table
are sorted by id, and row i of `vectors/<table>` is row i of the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Match = Literal["exact", "alias", "chunk"]
"""How a mention matches the text: the name itself, another form of it, or only the chunk as a whole."""
LANGUAGE = "lang"
"""The metadata key of a document's language, an ISO 639-1 code."""


@dataclass(frozen=True, slots=True)
class Place:
    """A landmark of a text, from the character `start` to the next landmark of its kind.

    `kind` is page, slide, sheet, heading, or area for a part of a scanned page; `label` its label for a reader ("3",
    "Budget", "2. Methods", "9-45 % across, 13-23 % down"); `level` the depth of a heading, from 1, and 0 for the
    other kinds. A heading ends those of its level and below.
    """

    start: int
    kind: str
    label: str
    level: int


@dataclass(frozen=True, slots=True)
class Hyperlink:
    """A hyperlink: the characters [start, end) of a text lead to `target`, there to `anchor` ("" for its beginning).

    `target` is the `uri` of another document of the input (or of none, if the link leads out of it), the document's
    own for an internal link, or an address with a scheme (https://...). `kind` is text; contents for an entry of a
    table of contents; definition for a term that is defined there, and index for the target of a back-of-book index
    entry, both with the document itself as target; next, previous, up, index or glossary if the page declares this of
    the target. Links whose text is not part of the document are spans of length 0.
    """

    start: int
    end: int
    target: str
    anchor: str = ""
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class Anchor:
    """A character of a text that hyperlinks can point to: `id` is the part after # in their address."""

    start: int
    id: str


@dataclass(frozen=True, slots=True)
class Document:
    """One text of the input. `uri` is its path or file#row; `sha256` is that of the text.

    `places` are sorted by `start`; at equal starts a page precedes the headings on it. `hyperlinks` and `anchors`
    are sorted by `start` too; the ids of anchors are distinct.
    """

    id: str
    title: str
    uri: str
    text: str
    metadata: Mapping[str, str]
    n_chars: int
    sha256: str
    places: tuple[Place, ...] = ()
    hyperlinks: tuple[Hyperlink, ...] = ()
    anchors: tuple[Anchor, ...] = ()


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


LinkKind = Literal["parent", "next", "hyperlink", "reference", "contents", "index", "reply", "definition"]
"""The kind of a link between two passages (see storage/structure/links.py)."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link that the documents' own structure makes from one chunk to another.

    `text` is the document's text at characters [start, end) of the source's document: the words of a hyperlink or a
    reference, or a term in use. A link without words (a section and its parent, a reply) has None for both, and
    as `text` the heading or the subject that it leads to.
    """

    id: str
    kind: str
    source_id: str
    target_id: str
    text: str
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing with a name. `frequency`: number of chunks that contain it; `degree`: number of related entities."""

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
class Qualifier:
    """An imported graph's qualifier of one statement of a relation: `predicate` is start, end, role, ...

    A relation may be stated several times (two terms of office); `statement` numbers these from 0.
    """

    statement: int
    predicate: str
    value: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A statement that joins two entities; `weight` is the number of its mentions.

    `strength` is the mean of the strengths that a language model stated, None if it stated none. `qualifiers` are
    sorted by statement, in the order of the imported graph.
    """

    id: str
    source_id: str
    target_id: str
    predicate: str
    description: str
    weight: float
    chunk_ids: tuple[str, ...]
    strength: float | None = None
    qualifiers: tuple[Qualifier, ...] = ()


@dataclass(frozen=True, slots=True)
class Name:
    """A name that refers to chunks: a document's title, with and without its trailing parenthesis, or the
    name that an untitled text begins with. `mentioned_in` counts the chunks whose text contains it.
    """

    id: str
    name: str
    chunk_ids: tuple[str, ...]
    mentioned_in: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A dated, verifiable statement about a subject (extracted by a language model only)."""

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


Basis = Literal["stated", "document", "none"]
"""Where the dates of a fact come from: an expression or a field for it, the date of its document, or nowhere."""


@dataclass(frozen=True, slots=True)
class DatedFact:
    """When a relation or a claim holds, as one place states it: from `first` to `last`, both included.

    `id` is that of the mention that states the relation, or of the claim. `chunk_id` is None for a statement of an
    imported graph, whose id is made of the relation's and the number of the statement. `first` and `last` are ISO
    dates, None if open or unknown; `precision` is day, month, year or decade, "" without a date. `basis` is one of
    `Basis`. Characters [start, end) of the document are the expression that states the date, None if there is none.
    """

    id: str
    relation_id: str | None
    claim_id: str | None
    chunk_id: str | None
    first: str | None
    last: str | None
    precision: str
    basis: str
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Synonym:
    """Two entities with similar names; `source_id` < `target_id`, cosine similarity."""

    source_id: str
    target_id: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge of two names for one entity: the entity of `alias` became part of that of `name`.

    `alias_id` is the id that the alias would have as a separate entity, `entity_id` that of the merged entity. `reason`
    names the rule that proposed the merge, `score` (0 to 1) its confidence, and `vote` a language model's verdict, None
    without one. `undone`: a correction keeps the two separate.
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


@dataclass(frozen=True, slots=True)
class Correction:
    """A correction of the graph: its text, and the number of places where it is in force; 0 if it matches nothing."""

    id: str
    text: str
    places: int


GRAPH_FILE = "graph file"
"""The key of `Origin.details` for the file name of an imported graph."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of an imported row: `source_id` is its id in the other program.

    `table` is the table of this index that contains `item_id`, `ordinal` the position in the foreign table. `details`
    has the foreign columns that our tables lack or represent differently, by their names. For a row that could not be
    imported, `item_id` is "" and `details` has all of it.
    """

    id: str
    table: str
    item_id: str
    source_id: str
    ordinal: int
    details: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Community:
    """A community of entities on one level (0 = coarsest); each level partitions the entities.

    A community that is not split is repeated on the next level, with `same_as` naming its first
    appearance. `oversized` marks one that exceeds the maximum size but could not be split.
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
    """A span of characters of a document, the target of a citation."""

    document_id: str
    chunk_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of a report, with its citations."""

    summary: str
    explanation: str
    citations: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A report on a community.

    `rating` (0 to 10) is a model's, with its reason in `rating_explanation`, or the community's share of the corpus
    (steps/reports/extractive.py).
    """

    id: str
    community_id: str
    level: int
    title: str
    summary: str
    findings: tuple[Finding, ...]
    rating: float
    full_text: str
    n_tokens: int
    rating_explanation: str = ""


SKIP = "skip"
"""The stage of files of a format without a reader: they are listed, but do not count as failures."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed item or a skipped file: the stage, the item and the reason."""

    stage: str
    item_id: str
    reason: str
    detail: str = field(default="")
