"""What a sentence says of a part: of the well-formed ones the one that tells most of what sets the part apart.

A term sets a part apart by how much more it weighs in it than in the corpus (BM25 weights). A sentence near the
beginning counts for more, and so does one that defines ("X is a ..."), speaks of its text, or tells the title.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import regex
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.overview.parts import EVERYWHERE, Part, term_weights
from conspectus.query.reader.full_sentence import OF_ITSELF, SPEAKS, TELLS, is_well_formed
from conspectus.storage.arrays import Floats
from conspectus.storage.index import per_index
from conspectus.storage.records import Span
from conspectus.storage.text.names import words
from conspectus.storage.text.sentences import sentence_spans

_ANYWHERE = 0.3
"""What a sentence's place counts for at least, against 1 more at the beginning."""
_GOOD = 1.5
"""What a sentence counts more for that tells the title, is in the document that names its group, speaks of its text
or defines; and less if somebody speaks, or in another language than most texts."""
_LEAD = 3_000
"""Characters after which a sentence's place counts for 1/e of what it counts at the beginning of its part."""
_LOOKED_AT = 40
"""Chunks of a part whose sentences are candidates: the first ones."""
_DEFINES = regex.compile(
    r"^(?:the |an? |die |der |das |ein |eine |le |la |les |el |los |las )?(?:[\w.+#-]+ ){1,4}?"
    r"(?:is|are|ist|sind|est|sont|es|son) (?:an?|the|one|eine?|der|die|das|une?|le|la|un|el)\b",
    regex.I,
)
"""A sentence that says what a thing is, within its first words."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence: its text, where it stands, and the row of its chunk."""

    text: str
    span: Span
    row: int


def telling_sentence(context: Context, part: Part, said: set[str]) -> Statement | None:
    """Return the sentence that tells most of a part; None where it has no well-formed one that is not said yet."""
    apart = _apart(context, part)
    best: tuple[float, Statement] | None = None
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


def _apart(context: Context, part: Part) -> Floats:
    """Return how much more each term weighs in a part than in the corpus."""
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
) -> Iterator[Statement]:
    """Yield the well-formed sentences of chunks between two characters.

    Args:
        context: The open index.
        rows: The rows of the chunks.
        start: First character, in the document.
        end: One past the last.
        names: Keys of names that a sentence may begin with in small letters.
        spoken: Whether questions, and sentences that lean on the one before, are wanted too, as people write them.
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
                yield Statement(" ".join(chunk.text[first:last].split()), span, row)


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
    """Return whether a text is a sentence or question as people write them in messages, and no greeting."""
    fewest, most = _SPOKEN_WORDS
    plain = bool(_SPOKEN.match(text)) and "\n\n" not in text and not _GREETING.match(text)
    return plain and fewest <= len(text.split()) <= most
