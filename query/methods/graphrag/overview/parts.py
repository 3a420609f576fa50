"""The parts that documents are told in: documents, their sections where few documents are most of the text, or groups.

Documents are not cut up where there are enough of them: each is told as a whole. One that is most of the text, or the
only one, is told by its sections, and so are all where details are asked for. Where there are too many documents, they
are grouped, by chapter number or by what they share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import regex
from conspectus.query.context import Context
from conspectus.storage.arrays import Floats
from conspectus.storage.index import per_index
from conspectus.storage.structure.corpus import numbered
from conspectus.storage.structure.outline import DocumentOutline, Section

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FEWEST_PARTS = 3
EVERYWHERE = 1 << 62
"""The end of a part whose sentence may come from the beginning of any of its documents."""
_SHORTEST_PART = 200
"""Characters of the shortest part that is told."""
_MOST_OF_ALL = 0.5
"""Share of all characters from which on a document is told by its sections."""
_NUMBERED = 0.7
"""Share of documents with a chapter number from which on these are the groups."""
_DISTINCT = 0.9
"""Least share of these numbers that only one document has."""
_MOST_CLUSTERED = 1_500
"""Documents that are compared pair by pair; of more the longest."""
_LEADS = 2
"""Chunks at the beginning of each document of a group that its sentence may come from."""
_LONGEST_TITLE = 70
_FEWEST_OF_SERIES = 3
_DIGITS = regex.compile(r"\d+")

APART = regex.compile(
    r"^(?:[\divxlc]+[.)]?\s*)*(?:table of contents|contents|\w* ?index|copyright.*|licen[cs]e.*|references|bibliography"
    r"|see also|footnotes|acknowledge?ments.*|title page|legal notice|.*(?:documentation|public) license"
    r"|revision history|inhalt(?:sverzeichnis)?|index|literatur|danksagung|sommaire|table des matières"
    r"|remerciements|índice)\W*$",
    regex.I,
)
"""Headings of parts that tell nothing of the subject."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part: documents, a section or a conversation.

    Attributes:
        title: What it is called.
        rows: The rows of its chunks that sentences may come from, in text order.
        start: Its first character in its document; 0 for several documents.
        end: One past its last; `EVERYWHERE` for several documents.
        n_chars: Its length.
        inner: The parts within it.
        is_thread: Whether it is a conversation.
    """

    title: str
    rows: tuple[int, ...]
    start: int
    end: int
    n_chars: int
    inner: tuple["Part", ...]
    is_thread: bool = False


def divided(
    context: Context, documents: Sequence[DocumentOutline], most: int, *, others: int, in_detail: bool
) -> list[Part]:
    """Return at most `most` parts of the documents, in their order.

    Args:
        context: The open index.
        documents: The documents.
        most: How many parts there may be.
        others: How many parts there are besides these documents.
        in_detail: Whether sections are wanted rather than whole documents.
    """
    every = [of_document(document) for document in documents if document.chunk_rows]
    whole = [part for part in every if not APART.match(short(part.title))] or every
    parts = whole if len(whole) <= most else _series(whole)
    parts = parts if len(parts) <= most else _grouped(context, parts, most)
    total = sum(part.n_chars for part in parts)
    while True:
        few = len(parts) + others < FEWEST_PARTS
        fitting = [
            part
            for part in parts
            if _is_divisible(part, len(parts), most, few)
            and (in_detail or few or (part.end < EVERYWHERE and part.n_chars >= _MOST_OF_ALL * total))
        ]
        if not fitting:
            break
        largest = max(fitting, key=lambda part: part.n_chars)
        at = parts.index(largest)
        inner = largest.inner
        if len(documents) > 1 and len(whole) == len(documents):
            inner = tuple(replace(part, title=f"{short(largest.title)}: {short(part.title)}") for part in inner)
        parts = [*parts[:at], *inner, *parts[at + 1 :]]
    if len(parts) > most:  # one document of many chapters: the longest, in their order
        longest = sorted(parts, key=lambda part: -part.n_chars)[:most]
        parts = [part for part in parts if part in longest]
    return parts


def _is_divisible(part: Part, n_parts: int, most: int, few: bool) -> bool:
    """Return whether the parts within a part fit in its place. A lone part is divided into any number."""
    if few and n_parts == 1:
        return bool(part.inner)
    return len(part.inner) > 1 and n_parts - 1 + len(part.inner) <= most


def of_document(document: DocumentOutline) -> Part:
    """Return a document as a part."""
    inner = _inner(document.sections)
    title = document.title or (inner[0].title if inner else document.uri)
    return Part(title, document.chunk_rows, 0, document.n_chars, document.n_chars, inner)


def _inner(sections: Sequence[Section]) -> tuple[Part, ...]:
    """Return the sections that tell something; a lone section that holds all others is passed over."""
    told = [
        Part(
            section.title,
            section.chunk_rows,
            section.start,
            section.end,
            section.end - section.start,
            _inner(section.sections),
        )
        for section in sections
        if section.end - section.start >= _SHORTEST_PART and not APART.match(section.title)
    ]
    return told[0].inner if len(told) == 1 and len(told[0].inner) > 1 else tuple(told)


def _series(parts: Sequence[Part]) -> list[Part]:
    """Return documents with those as one part whose titles differ in their numbers alone: versions, issues, minutes."""
    of_title: dict[str, list[Part]] = {}
    for part in parts:
        of_title.setdefault(_DIGITS.sub("0", part.title), []).append(part)
    made: list[Part] = []
    for members in of_title.values():
        if len(members) < _FEWEST_OF_SERIES:
            made += members
        else:
            ordered = sorted(members, key=lambda part: [int(number) for number in _DIGITS.findall(part.title)])
            made.append(replace(_group(ordered), title=f"{ordered[0].title} to {ordered[-1].title}"))
    return made


def _grouped(context: Context, parts: Sequence[Part], most: int) -> list[Part]:
    """Return groups of documents: of one chapter number, where most have numbers, else of documents that share terms.

    The latter are clusters of Ward (1963), "Hierarchical grouping to optimize an objective function", over the unit
    vectors of the documents' BM25 weights; the largest group comes first, and in it what is central and long.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    numbers = [numbered(part.title)[0] for part in parts]
    given = [number for number in numbers if number]
    # Where several documents have one number, they are chapters of several books.
    if len(given) >= _NUMBERED * len(parts) and len(set(given)) >= _DISTINCT * len(given):
        return _by_chapter(parts, [number.split(".")[0] for number in numbers])
    weights = term_weights(context)
    large = sorted(parts, key=lambda part: -part.n_chars)[:_MOST_CLUSTERED]
    profiles = np.stack([_unit(np.asarray(weights[list(part.rows)].sum(axis=0)).ravel()) for part in large])
    labels = fcluster(linkage(profiles, "ward"), most, "maxclust")
    groups = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        mean = profiles[members].sum(axis=0)
        long = np.sqrt([large[int(member)].n_chars for member in members])
        central = members[np.argsort(-(profiles[members] @ mean) * long, kind="stable")]
        groups.append(_group([large[int(member)] for member in central]))
    return sorted(groups, key=lambda part: -part.n_chars)


def _by_chapter(parts: Sequence[Part], chapters: Sequence[str]) -> list[Part]:
    """Return the groups of parts of one chapter, in the order of the chapters; the chapter's own page comes first."""
    of_chapter: dict[str, list[Part]] = {}
    for part, chapter in zip(parts, chapters, strict=True):
        of_chapter.setdefault(chapter, []).append(part)
    order = sorted(of_chapter, key=lambda chapter: (not chapter.isdecimal(), chapter.zfill(4)))
    return [
        _group(sorted(of_chapter[chapter], key=lambda part: [step.zfill(4) for step in _steps(part)]))
        for chapter in order
        if chapter
    ]


def _steps(part: Part) -> list[str]:
    return numbered(part.title)[0].split(".")


def _group(members: Sequence[Part]) -> Part:
    """Return documents as one part, named by the first."""
    if len(members) == 1:
        return members[0]
    first = members[0]
    rows = (*first.rows[:_LEADS], *(row for member in members[1:] for row in member.rows[:_LEADS]))
    return Part(first.title, rows, 0, EVERYWHERE, sum(member.n_chars for member in members), tuple(members))


def short(title: str) -> str:
    """Return a title without its number, cut at a word where it is long."""
    plain = " ".join(title.split()).rstrip(":.")
    plain = numbered(plain)[1] or plain
    return plain if len(plain) <= _LONGEST_TITLE else f"{plain[:_LONGEST_TITLE].rsplit(' ', 1)[0]} ..."


def _unit(vector: Floats) -> Floats:
    scaled: Floats = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return scaled


@per_index
def term_weights(context: Context) -> "csr_array":
    """Return the BM25 weight of each term (column) in each chunk (row)."""
    return context.bm25.weights().tocsr()
