"""Rule-based measures of unsupported content in verbalised triples.

FastToG (Liang and Gu 2025, appendix B) counts two kinds of hallucination by hand in texts made from communities:
factual (names and numbers that the triples lack) and relational (entities combined without a triple).
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from conspectus.query.methods.fasttog.text import Triple
from conspectus.query.walk.graph import predicate_words, spoken
from conspectus.storage.text.names import NameMatcher, words
from conspectus.storage.text.sentences import sentence_spans

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def foreign_facts(text: str, triples: Sequence[Triple]) -> list[str]:
    """Return the names and numbers of a text that its triples lack.

    A name is a capitalised word that does not begin a sentence. Numbers are compared by value: "1,777,539" is 1777539
    and "4.0" is 4. A word is in the triples if it shares the first five letters with one of their words (American,
    America).
    """
    told = " ".join(f"{spoken(source)} {predicate_words(said)} {spoken(target)}" for source, said, target in triples)
    known = {word.key for word in words(told)}
    stems = {item[:5] for item in known}
    numbers = {_value(match) for match in _NUMBER.findall(told)}
    found = [match for match in _NUMBER.findall(text) if not _value(match) & set().union(*numbers)]
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        for word in words(sentence)[1:]:
            written = sentence[word.start : word.end]
            if written[:1].isupper() and word.key not in known and word.key[:5] not in stems:
                found.append(written)
    return found


def unjoined_pairs(text: str, triples: Sequence[Triple]) -> list[tuple[str, str]]:
    """Return pairs of entities that a sentence names in succession and that no triple joins.

    Two entities are joined by a triple, or by triples with a common third entity ("Trane, in Dublin, Ireland").
    """
    names = {end: spoken(end) for source, _, target in triples for end in (source, target)}
    beside: dict[str, set[str]] = {name: {name} for name in names}
    for source, _, target in triples:
        beside[source].add(target)
        beside[target].add(source)
    matcher = NameMatcher({name: end for end, name in names.items()})
    found = []
    for start, end in sentence_spans(text):
        said = [match.value for match in matcher.find(text[start:end])]
        found += [(one, other) for one, other in pairwise(said) if not beside[one] & beside[other]]
    return found


def _value(number: str) -> frozenset[float]:
    """Return the possible values of a number: a comma separates thousands or decimals."""
    plain = number.rstrip(".,")
    return frozenset({float(item) for item in (plain.replace(",", ""), plain.replace(",", ".")) if item.count(".") < 2})


_TOKEN = re.compile(r"[^\W_]+")


def rouge_n(text: str, reference: str, n: int) -> float:
    """Return the F1 of shared n-grams, as computed by the package rouge_score without stemming.

    >>> rouge_n("The cat sat", "the cat ran", 1), rouge_n("The cat sat", "the cat ran", 2)
    (0.6666666666666666, 0.5)
    """
    mine, theirs = _runs(text, n), _runs(reference, n)
    shared = (mine & theirs).total()
    return 2 * shared / (mine.total() + theirs.total()) if shared else 0.0


def _runs(text: str, n: int) -> "Counter[tuple[str, ...]]":
    tokens = _TOKEN.findall(text.lower())
    return Counter(tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1))
