"""The parts that an overview describes: documents, sections of documents that make up most of the text, or groups.

If there are enough documents, each is described as a whole. A document that is most of the text, or the only one, is
described by its sections, as are all documents if details are asked for. If there are too many documents, they
are grouped by chapter number or by shared terms.
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
"""Characters of the shortest part that is described."""
_MOST_OF_ALL = 0.5
"""Smallest share of all characters at which a document is described by its sections."""
_NUMBERED = 0.7
"""Smallest share of documents with a chapter number at which these are the groups."""
_DISTINCT = 0.9
"""Smallest share of these numbers that occur in only one document."""
_MOST_CLUSTERED = 1_500
"""Most documents compared pair by pair; if there are more, the longest ones."""
_LEADS = 2
"""Chunks at the beginning of each document of a group from which its sentence may come."""
_LONGEST_TITLE = 70
_FEWEST_OF_SERIES = 3
_DIGITS = regex.compile(r"\d+")

APART = regex.compile(
    r"^(?:[\divxlc]++[.)]?\s*)*(?:table of contents|contents|\w* ?index|copyright.*|licen[cs]e.*|references"
    r"|bibliography|see also|footnotes|acknowledge?ments.*|title page|legal notice|.*(?:documentation|public) license"
    r"|revision history|inhalt(?:sverzeichnis)?|index|literatur|danksagung|sommaire|table des matières"
    r"|remerciements|índice)\W*$",
    regex.I,
)
"""Headings of parts that say nothing about the subject."""


@dataclass(frozen=True, slots=True)
class OverviewPart:
    """A part: documents or a section.

    Attributes:
        title: Its title.
        rows: The rows of its chunks from which sentences may come, in text order.
        start: The offset of its first character in its document; 0 for several documents.
        end: One past its last; `EVERYWHERE` for several documents.
        n_chars: Its length.
        inner: Its parts.
    """

    title: str
    rows: tuple[int, ...]
    start: int
    end: int
    n_chars: int
    inner: tuple["OverviewPart", ...]


def divided(
    context: Context, documents: Sequence[DocumentOutline], most: int, *, others: int, in_detail: bool
) -> list[OverviewPart]:
    """Return at most `most` parts of the documents, in their order.

    Args:
        context: The open index.
        documents: The documents.
        most: The maximum number of parts.
        others: The number of parts in addition to these documents.
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


def _is_divisible(part: OverviewPart, n_parts: int, most: int, few: bool) -> bool:
    """Return whether the parts of a part fit within the maximum in its place. A lone part is always divided."""
    if few and n_parts == 1:
        return bool(part.inner)
    return len(part.inner) > 1 and n_parts - 1 + len(part.inner) <= most


def of_document(document: DocumentOutline) -> OverviewPart:
    """Return a document as a part."""
    inner = _inner(document.sections)
    title = document.title or (inner[0].title if inner else document.uri)
    return OverviewPart(title, document.chunk_rows, 0, document.n_chars, document.n_chars, inner)


def _inner(sections: Sequence[Section]) -> tuple[OverviewPart, ...]:
    """Return the informative sections; a single section that contains all others is replaced by its contents."""
    told = [
        OverviewPart(
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


def _series(parts: Sequence[OverviewPart]) -> list[OverviewPart]:
    """Return documents, merging those whose titles differ only in numbers: versions, issues, minutes."""
    of_title: dict[str, list[OverviewPart]] = {}
    for part in parts:
        of_title.setdefault(_DIGITS.sub("0", part.title), []).append(part)
    made: list[OverviewPart] = []
    for members in of_title.values():
        if len(members) < _FEWEST_OF_SERIES:
            made += members
        else:
            ordered = sorted(members, key=lambda part: [int(number) for number in _DIGITS.findall(part.title)])
            made.append(replace(_group(ordered), title=f"{ordered[0].title} to {ordered[-1].title}"))
    return made


def _grouped(context: Context, parts: Sequence[OverviewPart], most: int) -> list[OverviewPart]:
    """Return groups of documents: by chapter number, if most have numbers, else by shared terms.

    The latter are clusters of Ward (1963), "Hierarchical grouping to optimize an objective function", over the unit
    vectors of the documents' BM25 weights; the largest group comes first, and in it central and long documents.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    numbers = [numbered(part.title)[0] for part in parts]
    given = [number for number in numbers if number]
    # If several documents have one number, they are chapters of several books.
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


def _by_chapter(parts: Sequence[OverviewPart], chapters: Sequence[str]) -> list[OverviewPart]:
    """Return the groups of parts of one chapter, in chapter order; the chapter's own page comes first."""
    of_chapter: dict[str, list[OverviewPart]] = {}
    for part, chapter in zip(parts, chapters, strict=True):
        of_chapter.setdefault(chapter, []).append(part)
    order = sorted(of_chapter, key=lambda chapter: (not chapter.isdecimal(), chapter.zfill(4)))
    return [
        _group(sorted(of_chapter[chapter], key=lambda part: [step.zfill(4) for step in _steps(part)]))
        for chapter in order
        if chapter
    ]


def _steps(part: OverviewPart) -> list[str]:
    return numbered(part.title)[0].split(".")


def _group(members: Sequence[OverviewPart]) -> OverviewPart:
    """Return documents as one part, named by the first."""
    if len(members) == 1:
        return members[0]
    first = members[0]
    rows = (*first.rows[:_LEADS], *(row for member in members[1:] for row in member.rows[:_LEADS]))
    return OverviewPart(first.title, rows, 0, EVERYWHERE, sum(member.n_chars for member in members), tuple(members))


def short(title: str) -> str:
    """Return a title without its number, cut at a word if it is long."""
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
