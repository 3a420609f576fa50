"""A question over one open index: its words and everything derived from them, each computed at most once.

Every method starts from the same few values: the words of the question, their stems and inverse document frequencies,
the question's vector, the BM25 scores, and the entities that it names. `open_question` returns the same `Question` for
the same text to every caller, so none of them is computed twice.

>>> question = open_question(context, "Who wrote The Red House?")  # doctest: +SKIP
>>> question.content_words  # doctest: +SKIP
'wrote red house'
>>> [name.name for name in question.links.names]  # doctest: +SKIP
['The Red House']
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.prompts.embedding.vector_cache import VectorCache
from conspectus.query.context import Context, remembered
from conspectus.query.question.bounds import MOST_CLOSELY, MOST_WORDS, first_words
from conspectus.query.question.linking import Linker, Links, NamedSpan, open_linker
from conspectus.query.question.spelling import mended
from conspectus.query.question.terms import Phrases, Terms, content_words, question_phrases, question_terms
from conspectus.query.question.times import time_in
from conspectus.storage.arrays import Floats, Vectors
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.text.dates import Dated
from conspectus.storage.text.language import LANGUAGES_OF, MULTILINGUAL_ENCODER, language_of_question
from conspectus.storage.text.names import Word, words

MOST_QUESTIONS = 16
"""Number of questions cached per index: one answer uses the question, its rewritings and its parts."""
_MOST_SPANS = 50_000
FOREIGN = 0.1
"""What words count for a question in another language than the documents. On XQuAD, German questions over
English paragraphs and English ones over Chinese have R@1 .81 and .69 by `ppr`; with 0 .77 and .68, with .3 .79 and
.67."""

EmbedSpans = Callable[[Sequence[str]], Vectors]
"""Returns the unit vectors (n, d) of n short texts, n > 0."""


class Question:
    """A question and the values derived from it; every property is computed on first use and cached.

    Attributes:
        language: Its language, out of English and those of the documents; if undecided, the documents' language.
        text: The question, with spelling mistakes corrected (question/spelling.py).
        mended: The corrected words, each with its correction.
        is_foreign: Whether it is in none of the languages of the documents, and in one that their encoder knows.
    """

    def __init__(self, index: StoredIndex, embedder: Embedder, text: str) -> None:
        self._index = index
        self._embedder = embedder
        beginning = first_words(text, MOST_WORDS)
        self.language, self.is_foreign = _language(index, beginning), _is_foreign(index, beginning)
        self.text, self.mended = mended(index, text, words(text, MOST_CLOSELY), self.language)

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """The words of the question, in order; of a long one, the first."""
        return tuple(words(self.text, MOST_WORDS))

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """The stem of each word, parallel to `words`, as in the lexical index."""
        lexical = self._index.lexical()
        return tuple(lexical.term(word.key, self.language) for word in self.words)

    @cached_property
    def content_words(self) -> str:
        """The words that say what the question is about, or all words if there are none, joined with spaces."""
        return content_words(self.words, self.language)

    @cached_property
    def terms(self) -> Terms:
        """The stems of the content words with their inverse document frequencies."""
        return question_terms(self._index, self.words, self.language)

    @cached_property
    def phrases(self) -> Phrases:
        """The phrases that the content words form."""
        return question_phrases(self.words, self.stems, self.terms, self.language)

    @cached_property
    def time(self) -> Dated | None:
        """The time that it asks about ("in 1998", "before 2001"); None if it names none."""
        return time_in(self.text)

    @cached_property
    def vector(self) -> Vectors:
        """The unit vector of the question, float32 (d,), by the encoder that made the index's vectors."""
        return self._embedder.embed_query(self.text)

    @cached_property
    def bm25_scores(self) -> Floats:
        """The BM25 score of every chunk for the content words, float64 (n_chunks,), scaled so that the best is 1.

        That of a question in another language than the documents, which share names with it at most, is `FOREIGN`.
        """
        scores = self._index.lexical().scores(self.content_words, self.language).astype(np.float64)
        scaled: Floats = scores / max(scores.max(initial=0.0), 1e-9) * (FOREIGN if self.is_foreign else 1.0)
        return scaled

    @cached_property
    def links(self) -> Links:
        """The titles and entities whose names occur in the question (exact longest match)."""
        return self.linker.link(self.text, self.words)

    @cached_property
    def mentions(self) -> tuple[NamedSpan, ...]:
        """The names in the question with their spans; of two that overlap, the longer."""
        return tuple(self.linker.mentions(self.text, self.words))

    @property
    def linker(self) -> Linker:
        """The linker of the index."""
        return open_linker(self._index)


def _language(index: StoredIndex, text: str) -> str:
    held = index.lexical().analysis.known
    return language_of_question(text, tuple(dict.fromkeys((*held, "en")))) or (held[0] if held else "en")


def _is_foreign(index: StoredIndex, text: str) -> bool:
    if encoder_of(index) != MULTILINGUAL_ENCODER:
        return False
    held = index.lexical().analysis.known
    return language_of_question(text, tuple(sorted({*held, *LANGUAGES_OF[MULTILINGUAL_ENCODER]}))) not in ("", *held)


def encoder_of(index: StoredIndex) -> str:
    """Return `embedding.model` of an index."""
    return str(index.manifest.settings["embedding"]["model"])


def open_question(context: Context, text: str) -> Question:
    """Return the question of this text over an index; the last few are cached with the index."""
    return _question(context.index, context.embedder, text)


@remembered(MOST_QUESTIONS)
def _question(index: StoredIndex, embedder: Embedder, text: str) -> Question:
    return Question(index, embedder, text)


def span_vectors(context: Context) -> EmbedSpans:
    """Return a function that embeds spans of questions and words of predicates.

    Questions reuse the same words, so the last 50,000 vectors are cached while the index is open. Of a text too long
    for the encoder, the first window is embedded.
    """
    return _span_cache(context).of_all


@per_index
def _span_cache(context: Context) -> VectorCache:
    embedder = context.embedder

    def make(texts: Sequence[str]) -> Vectors:
        return embedder.embed([embedder.windows(text)[0] for text in texts])

    return VectorCache(make, _MOST_SPANS)
