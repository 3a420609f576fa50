"""Choose the sentence about a part: the well-formed one with most of the terms that distinguish the part.

A term distinguishes a part by how much higher its weight is there than in the corpus (BM25 weights). A sentence near
the beginning gets a bonus, as does one that defines ("X is a ..."), refers to its text, or contains the title.
"""

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import regex
from conspectus.query.answer_writing.excerpts import Excerpt, excerpts
from conspectus.query.answer_writing.full_sentence import OF_ITSELF, SPEAKS, TELLS, is_well_formed
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.overview.parts import EVERYWHERE, OverviewPart, term_weights
from conspectus.storage.arrays import Floats
from conspectus.storage.index import per_index
from conspectus.storage.text.names import words

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


def telling_sentence(context: Context, part: OverviewPart, said: set[str]) -> Excerpt | None:
    """Return the most characteristic sentence of a part; None if no unused well-formed sentence is left."""
    apart = _apart(context, part)
    best: tuple[float, Excerpt] | None = None
    titled = {stem for row in part.rows[:1] for stem in context.bm25.analysis.stems(part.title, row)}
    names = frozenset(word.key for word in words(part.title))
    for statement in sentences(context, part, names):
        text, row = statement.text, context.chunk_rows[statement.passage.chunk_id]
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
        for bad in (bool(SPEAKS.search(text)), context.bm25.analysis.language_of(row) != context.bm25.analysis.main):
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


def sentences(context: Context, part: OverviewPart, names: Collection[str]) -> Iterator[Excerpt]:
    """Yield the well-formed sentences of the first chunks of a part.

    Args:
        context: The open index.
        part: The part.
        names: Keys of names that may begin a sentence in lower case: "grep prints lines".
    """
    for each in statements_of(context, part.rows[:_LOOKED_AT]):
        if each.kind != "sentence" or each.span.start < part.start or each.span.end > part.end:
            continue
        text = each.text
        begins = words(text[:_LONGEST_WORD])
        if text[:1].islower() and begins and begins[0].key in names:
            text = text[:1].upper() + text[1:]
        row = context.chunk_rows[each.passage.chunk_id]
        if not _POINTS_AT.match(text) and is_well_formed(text, context.bm25.analysis.language_of(row) or "en"):
            yield each


def statements_of(context: Context, rows: Sequence[int], *, questions: bool = False) -> list[Excerpt]:
    """Return the statements of chunks, in the order of the chunks, with or without questions."""
    return excerpts(context, [context.passage(row, 1.0) for row in rows], questions=questions)


_POINTS_AT = regex.compile(
    r"^(?:figures?|fig\.|tables?|listings?|abbildung|tabelle|tableau|figura|tabla)\s\p{N}", regex.I
)
_LONGEST_WORD = 40
