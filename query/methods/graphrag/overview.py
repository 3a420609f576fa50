"""An overview of the whole from the documents' own structure: its parts, and what a sentence says of each.

    1. parts      documents, their sections where that leaves few enough parts, or groups of documents where there are
                  too many; the level sets how many parts there may be
    2. terms      what sets each part apart: how much more its terms weigh in it than in the corpus (BM25 weights)
    3. sentences  of each part the well-formed sentence that tells most of these terms and stands near the beginning

Corpora without headings and with few documents have no such structure; global search reads their reports instead.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import regex
from conspectus.query.context import Context
from conspectus.query.question.question import open_question
from conspectus.query.reader.full_sentence import OF_ITSELF, SPEAKS, TELLS, is_well_formed
from conspectus.storage.arrays import Floats
from conspectus.storage.index import per_index
from conspectus.storage.records import Span
from conspectus.storage.structure.corpus import numbered
from conspectus.storage.structure.outline import DocumentOutline, Section, outline
from conspectus.storage.text.sentences import sentence_spans
from scipy.cluster.hierarchy import fcluster, linkage

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PARTS = (8, 12, 18, 24)
"""Most parts at the levels c0, c1, c2 and c3."""
_BRIEF, _DETAILED = 0.5, 2.0
"""What a question that asks for few or for many details multiplies the number of parts by."""
_FEWEST_PARTS = 3
_SHORTEST_PART = 200
"""Characters of the shortest part that is told."""
_NAMED = 3
"""Sections or documents that a part is named by, besides its own title."""
_ANYWHERE = 0.3
"""What a sentence's place counts for at least, against 1 more at the beginning."""
_GOOD = 1.5
"""What a sentence counts more for that tells the title, is in the document that names its group, speaks of its text
or defines; and less if somebody speaks, or in another language than most texts."""
_LEAD = 3_000
"""Characters after which a sentence's place counts for 1/e of what it counts at the beginning of its part."""
_LOOKED_AT = 40
"""Chunks of a part whose sentences are candidates: the first ones."""

_BRIEFLY = regex.compile(
    r"\b(?:brief\w*|short\w*|concise\w*|one sentence|kurz\w*|knapp\w*|brièvement|court\w*|breve\w*|corto)\b", regex.I
)
_IN_DETAIL = regex.compile(
    r"\b(?:in (?:\w+ )?detail|detailed|thorough\w*|comprehensive\w*|ausführlich\w*|detailliert\w*|genau|en détail"
    r"|détaillée?|en detalle|detallad[oa])\b",
    regex.I,
)
_APART = regex.compile(
    r"^(?:[\divxlc]+[.)]?\s*)*(?:table of contents|contents|\w* ?index|copyright.*|licen[cs]e.*|references|bibliography"
    r"|see also|footnotes|acknowledge?ments.*|title page|legal notice|.*documentation license|revision history"
    r"|inhalt(?:sverzeichnis)?|index|literatur|danksagung|sommaire|table des matières|remerciements|índice)\W*$",
    regex.I,
)
"""Headings of parts that tell nothing of the subject."""


@dataclass(frozen=True, slots=True)
class Theme:
    """A part of the whole, and the sentence that says what it is about.

    Attributes:
        title: What it is called.
        parts: Titles of what lies in it, the longest first.
        text: The sentence.
        span: Where the sentence stands.
        row: The row of its chunk.
    """

    title: str
    parts: tuple[str, ...]
    text: str
    span: Span
    row: int

    def line(self) -> str:
        """Return the theme in one line, without its citation."""
        within = f" ({', '.join(self.parts)})" if self.parts else ""
        return f"{self.title}{within}: {self.text}"


@dataclass(frozen=True, slots=True)
class _Part:
    """A part: documents or a section, with the rows of its chunks in text order; `order` is its place in the whole."""

    title: str
    rows: tuple[int, ...]
    start: int
    end: int
    n_chars: int
    inner: tuple["_Part", ...]
    order: int = 0


def themes(context: Context, question: str, level: int) -> list[Theme]:
    """Return the themes of the documents, in their order; none where they have too little structure.

    Args:
        context: The open index.
        question: The question. Documents that it names are told alone; words such as "briefly" and "in detail" make
            fewer or more themes.
        level: How many themes there may be, 0 for the fewest.
    """
    documents = _documents(context, question)
    most = PARTS[min(level, len(PARTS) - 1)]
    if _BRIEFLY.search(question):
        most = max(_FEWEST_PARTS, int(most * _BRIEF))
    elif _IN_DETAIL.search(question):
        most = int(most * _DETAILED)
    parts = _parts(context, documents, most)
    if len(parts) < _FEWEST_PARTS:
        return []
    weights = _weights(context)
    usual = np.asarray(weights.mean(axis=0)).ravel()
    found, said = [], set[str]()
    for part in parts:
        theme = _theme(context, part, weights, usual, said)
        if theme is not None:
            found.append(theme)
            said.add(theme.text)
    return found if len(found) >= _FEWEST_PARTS else []


def _documents(context: Context, question: str) -> list[DocumentOutline]:
    """Return the outlines of the documents that a question names, or of all."""
    known = outline(context.index)
    named = {
        context.chunks[context.chunk_rows[id_]].document_id
        for name in open_question(context, question).linker.titles_in(question)
        for id_ in name.chunk_ids
    }
    return [document for document in known if document.document_id in named] or known


def _parts(context: Context, documents: Sequence[DocumentOutline], most: int) -> list[_Part]:
    """Return at most `most` parts: the largest are divided as long as there is room."""
    whole = [_of_document(document) for document in documents if document.chunk_rows]
    parts = whole if len(whole) <= most else _grouped(context, whole, most)
    while True:
        divisible = [part for part in parts if len(part.inner) > 1 or (len(parts) == 1 and part.inner)]
        fitting = [part for part in divisible if len(parts) - 1 + len(part.inner) <= most or len(parts) == 1]
        if not fitting:
            break
        largest = max(fitting, key=lambda part: (part.n_chars, -part.order))
        at = parts.index(largest)
        parts = [*parts[:at], *largest.inner, *parts[at + 1 :]]
    if len(parts) > most:  # one document of many chapters: the longest, in their order
        longest = sorted(parts, key=lambda part: -part.n_chars)[:most]
        parts = [part for part in parts if part in longest]
    return parts


def _of_document(document: DocumentOutline) -> _Part:
    inner = _inner(document.sections)
    title = document.title or (inner[0].title if inner else document.uri)
    return _Part(title, document.chunk_rows, 0, document.n_chars, document.n_chars, inner)


def _inner(sections: Sequence[Section]) -> tuple[_Part, ...]:
    """Return the sections that tell something; a lone section that holds all others is passed over."""
    told = [
        _Part(
            section.title,
            section.chunk_rows,
            section.start,
            section.end,
            section.end - section.start,
            _inner(section.sections),
        )
        for section in sections
        if section.end - section.start >= _SHORTEST_PART and not _APART.match(section.title)
    ]
    return told[0].inner if len(told) == 1 and len(told[0].inner) > 1 else tuple(told)


def _grouped(context: Context, parts: Sequence[_Part], most: int) -> list[_Part]:
    """Return groups of documents: of one chapter number, where most have numbers, else of documents that share terms.

    The latter are clusters of Ward (1963), "Hierarchical grouping to optimize an objective function", over the unit
    vectors of the documents' BM25 weights; the largest group comes first.
    """
    chapters = [numbered(part.title)[0].split(".")[0] for part in parts]
    if sum(map(bool, chapters)) >= _NUMBERED * len(parts):
        return _by_chapter(parts, chapters)
    weights = _weights(context)
    large = sorted(parts, key=lambda part: -part.n_chars)[:_MOST_CLUSTERED]
    profiles = np.stack([_unit(np.asarray(weights[list(part.rows)].sum(axis=0)).ravel()) for part in large])
    labels = fcluster(linkage(profiles, "ward"), most, "maxclust")
    groups = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        mean = profiles[members].sum(axis=0)
        central = members[np.argsort(-(profiles[members] @ mean), kind="stable")]
        groups.append(_group([large[int(member)] for member in central]))
    return sorted(groups, key=lambda part: -part.n_chars)


_NUMBERED = 0.7
"""Share of documents with a chapter number from which on these are the groups."""
_MOST_CLUSTERED = 1_500
"""Documents that are compared pair by pair; of more the longest."""


def _by_chapter(parts: Sequence[_Part], chapters: Sequence[str]) -> list[_Part]:
    """Return the groups of parts of one chapter, in the order of the chapters; the chapter's own page comes first."""
    of_chapter: dict[str, list[_Part]] = {}
    for part, chapter in zip(parts, chapters, strict=True):
        of_chapter.setdefault(chapter, []).append(part)
    order = sorted(of_chapter, key=lambda chapter: (not chapter.isdecimal(), chapter.zfill(4)))
    return [
        _group(sorted(of_chapter[chapter], key=lambda part: [step.zfill(4) for step in _steps(part)]))
        for chapter in order
        if chapter
    ]


def _steps(part: _Part) -> list[str]:
    return numbered(part.title)[0].split(".")


def _group(members: Sequence[_Part]) -> _Part:
    """Return documents as one part, named by the first; its sentence may come from the beginning of any."""
    if len(members) == 1:
        return members[0]
    first = members[0]
    rows = (*first.rows[:_LEADS], *(row for member in members[1:] for row in member.rows[:_LEADS]))
    return _Part(first.title, rows, 0, _EVERYWHERE, sum(member.n_chars for member in members), tuple(members))


_LEADS = 2
"""Chunks at the beginning of each document of a group that its sentence may come from."""
_EVERYWHERE = 1 << 62


def _unit(vector: Floats) -> Floats:
    scaled: Floats = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return scaled


@per_index
def _weights(context: Context) -> "csr_array":
    """Return the BM25 weight of each term (column) in each chunk (row)."""
    return context.bm25.weights().tocsr()


def _theme(context: Context, part: _Part, weights: "csr_array", usual: Floats, said: set[str]) -> Theme | None:
    """Return the theme of a part; None where it has no well-formed sentence that is not said yet."""
    own = np.asarray(weights[list(part.rows)].mean(axis=0)).ravel()
    apart = np.maximum(own - usual, 0.0)
    best: tuple[float, str, Span, int] | None = None
    titled = {stem for row in part.rows[:1] for stem in context.bm25.analysis.stems(part.title, row)}
    for row, text, span in _sentences(context, part):
        if text in said:
            continue
        start = part.start if part.end < _EVERYWHERE else 0
        foreign = _language(context, row) != context.bm25.analysis.main
        stems = set(context.bm25.analysis.stems(text, row))
        columns = [column for stem in stems if (column := context.bm25.vocabulary.get(stem)) is not None]
        tells = float(apart[columns].sum()) / max(len(stems), 1) ** 0.5
        place = float(np.exp(-(span.start - start) / _LEAD))
        score = tells * (_ANYWHERE + place)
        central = part.end < _EVERYWHERE or row in part.inner[0].rows
        for good in (central, bool(titled & stems), bool(OF_ITSELF.match(text)), bool(TELLS.search(text))):
            score *= _GOOD if good else 1.0
        for bad in (bool(SPEAKS.search(text)), foreign):
            score /= _GOOD if bad else 1.0
        if best is None or score > best[0]:
            best = (score, text, span, row)
    if best is None:
        return None
    inner = part.inner[1:] if part.end == _EVERYWHERE else sorted(part.inner, key=lambda item: -item.n_chars)
    named = tuple(dict.fromkeys(_short(item.title) for item in inner if item.title != part.title))
    more = len(named) - _NAMED
    shown = (*named[:_NAMED], f"+{more}") if more > 0 else named
    return Theme(_short(part.title), shown, best[1], best[2], best[3])


_LONGEST_TITLE = 70


def _short(title: str) -> str:
    plain = " ".join(title.split()).rstrip(":.")
    plain = numbered(plain)[1] or plain
    return plain if len(plain) <= _LONGEST_TITLE else f"{plain[:_LONGEST_TITLE].rsplit(' ', 1)[0]} ..."


def _language(context: Context, row: int) -> str:
    analysis = context.bm25.analysis
    return (analysis.languages[row] if analysis.languages else "") or analysis.main


def _sentences(context: Context, part: _Part) -> Iterator[tuple[int, str, Span]]:
    """Yield the well-formed sentences of a part, with the rows of their chunks and their places."""
    for row in part.rows[:_LOOKED_AT]:
        chunk = context.chunks[row]
        language = _language(context, row) or "en"
        for start, end in sentence_spans(chunk.text):
            if chunk.start + start < part.start or chunk.start + end > part.end:
                continue
            text = chunk.text[start:end]
            if is_well_formed(text, language):
                span = Span(chunk.document_id, chunk.id, chunk.start + start, chunk.start + end)
                yield row, " ".join(text.split()), span
