"""What the corpus says about a subject: the most relevant sentence of each part that mentions it.

1. passages   the best by BM25 and by meaning, fused (RRF), grouped by part: top-level sections of
              documents, or conversations
2. sentences  for each part the one nearest to the question, by cosine and by the share of its words; if reasons are
              asked for, sentences that give one get a bonus
3. themes     the parts by their sentences, the best first; near-duplicate sentences are left out
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import regex
from conspectus.query.citations.numbered import documents_by_id
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.overview.parts import APART, FEWEST_PARTS, short
from conspectus.query.methods.graphrag.overview.sentences import OverviewSentence, sentences
from conspectus.query.methods.graphrag.overview.themes import Theme, most_themes
from conspectus.query.question.kinds import LANGUAGES, kind_of
from conspectus.query.question.question import open_question
from conspectus.storage.arrays import Floats, Vectors
from conspectus.storage.structure.mail_threads import is_message, thread_of
from conspectus.storage.structure.outline import outline, sections_of
from conspectus.storage.text.language import language_of_question, unknown_to_encoder
from conspectus.storage.text.names import words

QUOTED_WORDS = 150  # at most: a paragraph of about ten sentences
_PASSAGES = 30
"""Number of passages considered."""
_MOST_SENTENCES = 150
"""Number of sentences embedded: those that share most of the question's words."""
_WORDS = 0.4
"""Weight of the share of the question's words in a sentence, relative to its cosine."""
_REASON = 0.1
_LEAST = 0.65
"""Smallest score of a further sentence, as a share of the best."""
_SAME = 0.85
"""Smallest cosine of two sentences with the same meaning."""
_RRF = 60
_REASONS = regex.compile(
    r"\b(?:reasons?|causes?|gründe|raisons|razones)\b.{0,40}?\b(?:for|of|to|why|für|warum|de|pour|por|para)\s+(?P<what>.{3,})",
    regex.I,
)
_BECAUSE = regex.compile(
    r"\b(?:because|since|so that|in order to|due to|therefore|reasons?|causes?|leads? to|allows?|avoids?"
    r"|weil|damit|denn|deshalb|daher|grund|gründe|parce que|afin de|puisque|raisons?|porque|para que|debido|razón"
    r"|razones)\b",
    regex.I,
)
_ABOUT = regex.compile(
    r"\b(?:about|regarding|concerning|on the (?:subject|topic) of|über|zum thema|bezüglich|au sujet de|à propos de"
    r"|sobre|acerca de)\s+(?P<what>[^?!]{3,120})",
    regex.I,
)


def is_focused(question: str) -> bool:
    """Return whether a question asks what the corpus says about a subject, not what the corpus is about.

    >>> is_focused("Summarize what the documents say about tides."), is_focused("What are the documents about?")
    (True, False)
    """
    found = _ABOUT.search(question)
    if found is not None and kind_of(f"What is {found['what']} about?") != "global":
        return True
    return kind_of(question) != "global"


def _subject(question: str) -> str:
    """Return the subject of a question about the corpus: "tides" of "What is said about tides?"."""
    found = _ABOUT.search(question) or _REASONS.search(question)
    return found["what"].strip(" .?!") if found else question


def has_parts(context: Context) -> bool:
    """Return whether the documents have distinguishable parts: several documents, or sections of one."""
    if context.index.manifest.rows["documents"] >= FEWEST_PARTS:
        return True
    return sum(1 for document in outline(context.index) for _ in document.walk()) >= FEWEST_PARTS


def focused_themes(context: Context, question: str, level: int) -> list[Theme]:
    """Return what the parts of the documents say about the subject of a question, the nearest first.

    Args:
        context: The open index.
        question: The question.
        level: The level of detail; 0 for the fewest themes.
    """
    subject = _subject(question)
    rows = _best_rows(context, subject)
    spoken = {row: is_message(documents_by_id(context)[context.chunks[row].document_id]) for row in rows}
    found = [each for row in rows for each in sentences(context, [row], spoken=spoken[row])]
    found = list(
        {each.text: each for each in reversed([each for each in found if not each.text.endswith("?")])}.values()
    )
    shares = _shares(context, subject, found)
    kept = np.argsort(-shares, kind="stable")[:_MOST_SENTENCES]
    found, shares = [found[int(at)] for at in kept], shares[kept]
    if not found or (not shares.any() and _is_foreign(context, question)):
        return []
    vectors = _embedded(context, found)
    scores = vectors @ open_question(context, subject).vector + _WORDS * shares
    if kind_of(question) == "why":
        scores = scores + _REASON * np.array([bool(_BECAUSE.search(each.text)) for each in found])
    names = _PartNames(context)
    chosen: list[int] = []
    room = QUOTED_WORDS
    told: set[tuple[str, str]] = set()
    for at in np.argsort(-scores, kind="stable").tolist():
        name = names.of(found[at])
        if APART.match(name[1]):
            continue
        if scores[at] < _LEAST * scores.max() or len(chosen) == most_themes(question, level):
            break
        length = len(words(found[at].text))
        if (
            name not in told
            and (length <= room or not chosen)
            and all(float(vectors[at] @ vectors[other]) < _SAME for other in chosen)
        ):
            told.add(name)
            room -= length
            chosen.append(at)
    return [Theme(*_titled(names.of(found[at])), (found[at],)) for at in chosen]


def _is_foreign(context: Context, question: str) -> bool:
    """Return whether a question is in no language of the documents, and in none that the encoder supports."""
    known = context.bm25.analysis.known
    language = language_of_question(question, tuple(dict.fromkeys((*known, *LANGUAGES))))
    if not language or language in known:
        return False
    return bool(unknown_to_encoder(context.index.manifest.settings["embedding"]["model"], [language]))


def _best_rows(context: Context, question: str) -> list[int]:
    """Return the rows of the passages that are nearest to a question, by words and by meaning."""
    asked = open_question(context, question)
    scores: defaultdict[int, float] = defaultdict(float)
    by_words = np.argsort(-asked.bm25_scores, kind="stable")[: min(2 * _PASSAGES, np.count_nonzero(asked.bm25_scores))]
    _, by_meaning = context.chunk_vectors.search(asked.vector[np.newaxis], 2 * _PASSAGES)
    for ranking in (by_words, by_meaning[0]):
        for rank, row in enumerate(ranking.tolist(), start=1):
            scores[row] += 1 / (_RRF + rank)
    return sorted(scores, key=lambda row: (-scores[row], row))[:_PASSAGES]


def _shares(context: Context, question: str, found: Sequence[OverviewSentence]) -> Floats:
    """Return the weighted share of a question's words in each sentence."""
    terms = open_question(context, question).terms
    weight = dict(zip(terms.stems, terms.weights.tolist(), strict=True))
    analysis = context.bm25.analysis
    return np.array([sum(weight.get(stem, 0.0) for stem in set(analysis.stems(each.text, each.row))) for each in found])


def _embedded(context: Context, found: Sequence[OverviewSentence]) -> Vectors:
    embedder = context.embedder
    return embedder.embed([embedder.windows(each.text)[0] for each in found])


class _PartNames:
    """The title of the document or the subject, and the top-level section, that contain a sentence."""

    def __init__(self, context: Context) -> None:
        self._documents = documents_by_id(context)

    def of(self, statement: OverviewSentence) -> tuple[str, str]:
        span = statement.span
        document = self._documents[span.document_id]
        if is_message(document):
            return thread_of(document)[0], ""
        sections = sections_of(document.places, document.n_chars)
        while len(sections) == 1 and sections[0].sections:  # a single heading over all others is the title
            sections = sections[0].sections
        within = next((each.title for each in sections if each.start <= span.start < each.end), "")
        return document.title or document.uri, within


def _titled(name: tuple[str, str]) -> tuple[str, tuple[str, ...]]:
    title, section = (short(part) for part in name)
    return title, (section,) if section and section != title else ()
