"""Choose the sentence about a part: the well-formed one with most of the terms that distinguish the part.

A term distinguishes a part by how much higher its weight is there than in the corpus (BM25 weights). A sentence near
the beginning gets a bonus, as does one that defines ("X is a ..."), refers to its text, or contains the title.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import regex
from conspectus.query.answer_writing.full_sentence import OF_ITSELF, SPEAKS, TELLS, is_well_formed
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.overview.parts import EVERYWHERE, OverviewPart, term_weights
from conspectus.storage.arrays import Floats
from conspectus.storage.index import per_index
from conspectus.storage.records import Span
from conspectus.storage.text.names import words
from conspectus.storage.text.sentences import sentence_spans

_ANYWHERE = 0.3
"""Smallest weight of a sentence's position; the beginning adds 1."""
_GOOD = 1.5
"""Factors for a sentence that contains the title, is in the document that names its group, refers to its text or
defines; and for one in the first or second person, or in a language other than that of most texts."""
_LEAD = 3_000
"""Characters over which the weight of a sentence's position falls to 1/e of that at the beginning of its part."""
_LOOKED_AT = 40
"""Number of first chunks of a part whose sentences are candidates."""
_DEFINES = regex.compile(
    r"^(?:the |an? |die |der |das |ein |eine |le |la |les |el |los |las )?(?:[\w.+#-]+ ){1,4}?"
    r"(?:is|are|ist|sind|est|sont|es|son) (?:an?|the|one|eine?|der|die|das|une?|le|la|un|el)\b",
    regex.I,
)
"""A sentence with a definition in its first words."""


@dataclass(frozen=True, slots=True)
class OverviewSentence:
    """A sentence: its text, its span, and the row of its chunk."""

    text: str
    span: Span
    row: int


def telling_sentence(context: Context, part: OverviewPart, said: set[str]) -> OverviewSentence | None:
    """Return the most characteristic sentence of a part; None if no unused well-formed sentence is left."""
    apart = _apart(context, part)
    best: tuple[float, OverviewSentence] | None = None
    titled = {stem for row in part.rows[:1] for stem in context.bm25.analysis.stems(part.title, row)}
    names = frozenset(word.key for word in words(part.title))
    for statement in sentences(context, part.rows[:_LOOKED_AT], part.start, part.end, names=names):
        text, row = statement.text, statement.row
        if text in said:
            continue
        start = part.start if part.end < EVERYWHERE else 0
        stems = set(context.bm25.analysis.stems(text, row))
        columns = [column for stem in stems if (column := context.bm25.vocabulary.get(stem)) is not None]
        score = float(apart[columns].sum()) / max(len(stems), 1) ** 0.5
        score *= _ANYWHERE + float(np.exp(-(statement.span.start - start) / _LEAD))
        central = part.end < EVERYWHERE or row in part.inner[0].rows
        goods = (central, bool(titled & stems), bool(OF_ITSELF.match(text)), bool(TELLS.search(text)))
        for good in (*goods, bool(_DEFINES.match(text))):
            score *= _GOOD if good else 1.0
        for bad in (bool(SPEAKS.search(text)), language_of_row(context, row) != context.bm25.analysis.main):
            score /= _GOOD if bad else 1.0
        if best is None or score > best[0]:
            best = (score, statement)
    return best[1] if best else None


def _apart(context: Context, part: OverviewPart) -> Floats:
    """Return how much higher the weight of each term is in a part than in the corpus."""
    own = np.asarray(term_weights(context)[list(part.rows)].mean(axis=0)).ravel()
    return np.maximum(own - _usual(context), 0.0)


@per_index
def _usual(context: Context) -> Floats:
    return np.asarray(term_weights(context).mean(axis=0)).ravel()


def language_of_row(context: Context, row: int) -> str:
    """Return the language of a chunk, or that of most chunks."""
    analysis = context.bm25.analysis
    return (analysis.languages[row] if analysis.languages else "") or analysis.main


def sentences(
    context: Context,
    rows: Sequence[int],
    start: int = 0,
    end: int = EVERYWHERE,
    *,
    spoken: bool = False,
    names: Collection[str] = (),
) -> Iterator[OverviewSentence]:
    """Yield the well-formed sentences of chunks between two offsets.

    Args:
        context: The open index.
        rows: The rows of the chunks.
        start: First character, in the document.
        end: One past the last.
        names: Keys of names that may begin a sentence in lower case.
        spoken: Whether questions, and sentences that depend on the previous one, are included, as in messages.
    """
    for row in rows:
        chunk = context.chunks[row]
        language = language_of_row(context, row) or "en"
        for first, last in sentence_spans(chunk.text):
            if chunk.start + first < start or chunk.start + last > end:
                continue
            text = chunk.text[first:last]
            if _POINTS_AT.match(text) or _PATCH.search(text):
                continue
            begins = words(text[:_LONGEST_WORD])
            if names and text[:1].islower() and begins and begins[0].key in names:  # "grep prints lines"
                text = text[:1].upper() + text[1:]
            if is_well_formed(text, language) or (spoken and is_spoken(text)):
                span = Span(chunk.document_id, chunk.id, chunk.start + first, chunk.start + last)
                yield OverviewSentence(" ".join(chunk.text[first:last].split()), span, row)


_POINTS_AT = regex.compile(
    r"^(?:figures?|fig\.|tables?|listings?|abbildung|tabelle|tableau|figura|tabla)\s\p{N}", regex.I
)
_PATCH = regex.compile(r"(?:^|\n)[+@>|-]{1,3}\S")
"""A line of a patch or a quotation."""
_LONGEST_WORD = 40
_SPOKEN = regex.compile(r"^\p{Lu}[^\n{}<>|\\=~^]*(?:\n[^\n{}<>|\\=~^]+)*[.!?]['\"”’)]*$")
_GREETING = regex.compile(
    r"^(?:hi|hello|dear|thanks|thank you|regards|cheers|welcome|hallo|liebe\w*|bonjour|hola)\b", regex.I
)
_SPOKEN_WORDS = (6, 60)


def is_spoken(text: str) -> bool:
    """Return whether a text is a sentence or question as written in messages, and not a greeting."""
    fewest, most = _SPOKEN_WORDS
    plain = bool(_SPOKEN.match(text)) and "\n\n" not in text and not _GREETING.match(text)
    return plain and fewest <= len(text.split()) <= most
