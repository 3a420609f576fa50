"""Whether a claim says what its source says: who did what, how much, when, whether not, and of how many.

Most words of a wrong answer stand in its source, too: it exchanges two names, takes the number of the neighbour, or
loses a "not". So the words of a claim are laid over the source, and what is compared is where they stand. Two words
belong together there if no end of a clause or sentence is between them; they are torn apart if one is and, beside each,
stands another name, number or word of the kind of its partner ("battery for two years and the motor for five" does not
say five years of the battery). A logistic regression weighs these signs (`claim_weights.json`; the command
`python -m benchmarks.claims --train` learns it). No parser is needed, so that it works in languages without one.
"""

from collections.abc import Sequence, Set
from functools import cache
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import regex
from conspectus.query.answer_writing.asked import NEGATION
from conspectus.query.citations.claim_words import KNOWN_TO_CHECK, Token, laid_over, quantifiers, table, tokens_of
from conspectus.query.logistic import probability, stored_weights
from conspectus.storage.arrays import Floats
from conspectus.storage.text.language import detect
from conspectus.storage.text.names import UNSPACED
from conspectus.storage.text.sentences import sentence_spans

FEATURES = (
    "number missing", "word missing", "negation", "quantifier", "quantifier of the clause", "exchanged", "torn apart",
    "another value",
)  # fmt: skip
"""What raises doubts, as `features` returns it."""
REASONS = (
    "a number is not there", "a decisive word is not there", "one of both says not", "another quantity",
    "another quantity", "who does it to whom is exchanged", "it is said of something else",
    "the value is that of something else",
)  # fmt: skip
"""Why a claim is doubted, by the feature that weighs most."""
LONGEST = 6_000
"""Most characters of a source that are compared."""
_MOST_WORDS = 100
"""Most words of a claim that are compared, each with each: a longer one is a list."""
_STRONG = regex.compile(
    r"[,;:—–(),、，；：（）](?!\d)|\s(?:but|while|whereas|aber|sondern|während|pero|mientras|mais|ma|maar|но|whom|which|who)\s"
    r"|而|但",
    regex.I,
)
_AND = regex.compile(r"\s(?:and|und|y|e|et|en|и)\s", regex.I)
_TO = regex.compile(r"\s(?:to|auf|à|до)\s|到|至", regex.I)
_BREAKS = ((_STRONG, 1.0), (_AND, 0.5), (_TO, 0.5))
"""What ends a clause or a part of one, and how far it sets words apart."""
_APART, _CARRIED = 2.0, 0.5
"""How far the end of a sentence sets words apart, and if the next sentence begins with a pronoun."""
_LEAST_APART = 3
"""Characters from the beginning of a name to that of another."""
_LEAST_WEIGHT, _LEAST_RIVAL = 0.35, 0.45
"""The least rarity of a word whose number is compared, and of a word that may stand in the place of another."""
_NOT = regex.compile(
    NEGATION.pattern + r"|\b(?:neither|nor|nobody|nothing|niemand|nichts|weder|nadie|ningun\w*|ningún|nada|tampoco"
    r"|personne|rien|nessun\w*|niente|ninguém|никто|ничего|ни)\b|无|非|沒",
    regex.I,
)
_BEGINS_WITH_ALL = regex.compile(
    r"\s*(?:both|neither|none|they|these|those|their|all|each|beide|keine[rs]?|alle|jede\w*|ambos|ambas|ningun[oa]|todos"
    r"|todas|ils|elles|aucun\w*|tous)\b|\s*(?:两|都|二者|他们|它们|均)",
    regex.I,
)
_BEGINS_WITH_ONE = regex.compile(
    r"\s*(?:he|she|it|his|her|its|this|that|er|sie|es|seine?|ihre?|dies\w*|él|ella|su|este|esta|lo|la|il|elle|son|sa"
    r"|ce\w*)\b|\s*(?:他|她|它|这|该|此|其)",
    regex.I,
)
_PRONOUN = regex.compile(
    r"\b(?:it|them|him|her|he|she|they|sie|ihn|ihm|er|es|ihr|lo|él|ella|lui|elle)\b|它|他|她", regex.I
)
_PASSIVE_HAN = regex.compile(r"是(?=[^，。]*的。?$)")


class _Source:
    """A source: its n tokens, the clauses around them, and how far they stand apart.

    Args:
        text: The text.
        language: Its language.

    Attributes:
        tokens: Its tokens, in order.
        starts: Their offsets, (n,).
        strong: The number of the clause of each, (n,); `parts` of the part of a clause.
        clauses: The part of a clause around each; `negated` whether it says not.
        refers_to_all: Whether the sentence of each begins with "both", "none" and the like, (n,).
    """

    def __init__(self, text: str, language: str) -> None:
        self.text = text
        self.tokens = tokens_of(text, language)
        self.starts = np.array([token.start for token in self.tokens], np.int64)
        sentences = [start for start, _ in sentence_spans(text)] or [0]
        cuts = [[found.start() for found in form.finditer(text)] for form, _ in _BREAKS]
        self._sentences = np.maximum(np.searchsorted(sentences, self.starts, "right") - 1, 0)
        self._breaks = np.array([np.searchsorted(of_form, self.starts) for of_form in cuts])
        self._for_all = np.array([_BEGINS_WITH_ALL.match(text, start) is not None for start in sentences])
        carries = self._for_all | [_BEGINS_WITH_ONE.match(text, start) is not None for start in sentences]
        self._ends = np.cumsum(np.where(carries, _CARRIED, _APART))
        self.refers_to_all = self._for_all[self._sentences]
        self.strong = self._sentences * LONGEST + self._breaks[0]
        self.parts = self.strong * LONGEST + self._breaks[1]
        clauses = sorted({0, *sentences, *(at + 1 for of_form in cuts[:2] for at in of_form)})
        texts = [text[start:end] for start, end in pairwise([*clauses, len(text)])]
        negated = [_NOT.search(clause) is not None for clause in texts]
        places = (np.searchsorted(clauses, self.starts, "right") - 1).tolist()
        self.clauses = [texts[place] for place in places]
        self.negated = [negated[place] for place in places]
        self._distances: dict[int, Floats] = {}

    def distances(self, at: int) -> Floats:
        """Return how far each token is from one: by the breaks between them, or the ends of sentences, (n,)."""
        if at not in self._distances:
            own = self._sentences[at]
            within = np.array([weight for _, weight in _BREAKS]) @ np.abs(self._breaks - self._breaks[:, [at]])
            across = np.abs(self._ends[self._sentences] - self._ends[own])
            across[self._for_all[np.maximum(self._sentences, own)]] = _CARRIED
            self._distances[at] = np.where(self._sentences == own, within, across)
        return self._distances[at]

    def nearest(self, one: Token, other: Token) -> tuple[float, int, int, int]:
        """Return where two tokens of a claim stand nearest: their distance, the characters between, and both places."""
        distances = np.array([self.distances(here)[list(other.at)] for here in one.at])
        lengths = np.abs(self.starts[list(one.at)][:, None] - self.starts[list(other.at)])
        here, there = np.unravel_index(np.lexsort((lengths.ravel(), distances.ravel()))[0], lengths.shape)
        return float(distances[here, there]), int(lengths[here, there]), one.at[here], other.at[there]


def features(claim: str, source: str) -> tuple[float, ...]:
    """Return the signs that a claim says something else than its source, in the order of FEATURES; 0 if there is none.

    Args:
        claim: A sentence.
        source: What it cites; the title may stand before it as a sentence.

    Example:
        >>> source = "The warranty covers the battery for two years and the motor for five years."
        >>> features("The battery is covered for five years.", source)[FEATURES.index("another value")]
        1.0
        >>> any(features("The battery is covered for two years.", source))
        False
    """
    language = detect(claim, KNOWN_TO_CHECK)
    told = _Source(source[:LONGEST], language)
    tokens = laid_over(claim, tokens_of(claim, language)[:_MOST_WORDS], told.tokens)
    found = [token for token in tokens if token.at]
    lacking = {token.kind for token in tokens if not token.at}
    return (
        float("number" in lacking),
        float(not lacking.isdisjoint(("exact", "date"))),
        _negation(claim, found, told),
        *_quantity(claim, found, told),
        float(_is_exchanged(claim, tokens, found, told)),
        *_torn_apart(tokens, found, told),
    )


def _negation(claim: str, found: Sequence[Token], source: _Source) -> float:
    """Return whether only the claim says not, or what share of its words stands only where the source says not."""
    if _NOT.search(claim):
        return float(not any(source.negated[at] for token in found for at in token.at))
    rest = found[1:] or found
    weight = sum(token.weight for token in rest) or 1.0
    return min(1.0, 2 * sum(token.weight for token in rest if all(source.negated[at] for at in token.at)) / weight)


def _quantity(claim: str, found: Sequence[Token], source: _Source) -> tuple[float, float]:
    """Return whether the claim has a quantifier that its source lacks, or another one than the clause of its end."""
    said = quantifiers(claim)
    if not said or not found:
        return float(bool(said)), 0.0
    of_clauses = [quantifiers(source.clauses[at]) for at in found[-1].at]
    other = any(of_clauses) and not any(each & said or not each for each in of_clauses)
    return float(not said <= quantifiers(source.text)), float(other)


def _is_exchanged(claim: str, tokens: Sequence[Token], found: Sequence[Token], source: _Source) -> bool:
    """Return whether two names stand the other way round in a clause, and not because one of both is passive.

    In a script without capitals any two rare words count that have the verb between them.
    """
    claim = _PASSIVE_HAN.sub("由", claim)
    for one, other in combinations(found, 2):
        by_verb = UNSPACED.match(one.key) is not None
        if any(
            not (each.kind == "name" or (by_verb and each.kind == "word" and each.weight > 0.6))
            for each in (one, other)
        ):
            continue
        verbs = [token for token in tokens if one.end <= token.start < other.start and token.kind == "word"]
        if (verbs or "word" in (one.kind, other.kind)) and not any(token.at for token in verbs):
            continue
        passive = _names_agent(claim[: other.start])
        for here, there in product(one.at, other.at):
            low, high = sorted((here, there))
            if source.strong[low] != source.strong[high] or source.starts[high] - source.starts[low] < _LEAST_APART:
                continue
            if by_verb and not any(low < at < high for verb in verbs for at in verb.at):
                continue
            if (there < here) != (passive != _names_agent(source.text[: source.starts[high]])):
                return True
    return False


def _names_agent(before: str) -> bool:
    """Return whether the words before a name say that it is the one who acts: "by", "von", 被."""
    agents = table()["agent"]
    last = before[-40:].rstrip(" \"“„«'").casefold()
    return not agents.keys().isdisjoint(last.split()[-3:]) or any(map(last.endswith, filter(UNSPACED.match, agents)))


def _torn_apart(tokens: Sequence[Token], found: Sequence[Token], source: _Source) -> tuple[float, float]:
    """Return how far the claim's pairs of words are torn apart, and whether a number or date is that of another."""
    rivals = _Rivals(source, {at for token in tokens for at in token.at})
    pairs = list(combinations(found, 2))
    whole = sum(one.weight * other.weight for one, other in pairs) or 1.0
    apart = value = 0.0
    for one, other in pairs:
        distance, length, here, there = source.nearest(one, other)
        if not (rivals.of(one, distance, length, here, there) and rivals.of(other, distance, length, there, here)):
            continue
        if distance >= _CARRIED:
            apart += min(distance, _APART) * one.weight * other.weight / whole
        if min(one.weight, other.weight) >= _LEAST_WEIGHT and {"number", "date"} & {one.kind, other.kind}:
            value = 1.0
    return apart, value


class _Rivals:
    """What else a source has: its tokens that are none of the claim's, by the kind of which they are rivals."""

    def __init__(self, source: _Source, own: Set[int]) -> None:
        self._source = source
        others = [(at, token) for at, token in enumerate(source.tokens) if at not in own]
        of_kind = {kind: [at for at, token in others if token.kind == kind] for kind in ("number", "date", "name")}
        of_kind["name"] += [
            at
            for at, token in others
            if token.kind == "word" and token.weight > 0.5 and source.text[token.start].isupper()
        ]
        words = [at for at, token in others if token.kind in ("word", "name") and token.weight > _LEAST_RIVAL]
        self._of_kind = {kind: np.array(places, np.int64) for kind, places in of_kind.items()}
        self._parts = set(source.parts[words].tolist())

    def of(self, token: Token, distance: float, length: int, here: int, there: int) -> bool:
        """Return whether something else of a token's kind is nearer to its partner, which is `there`, than it is."""
        source = self._source
        if token.kind in ("word", "exact"):
            carried = here < there and _PRONOUN.search(source.clauses[there]) is not None
            return source.parts[here] != source.parts[there] and not carried and int(source.parts[there]) in self._parts
        if distance <= _CARRIED and source.refers_to_all[there]:
            return False
        places = self._of_kind[token.kind]
        distances = source.distances(there)[places]
        closer = np.abs(source.starts[places] - source.starts[there]) < length if token.kind != "name" else False
        return bool(((distances < distance) | ((distances == distance) & closer)).any())


def doubt(claim: str, source: str) -> str:
    """Return why a claim does not say what its source says; "" if nothing speaks against it.

    >>> source = "Dorian Best bought the press from Marta Quill."
    >>> doubt("Marta Quill bought the press from Dorian Best.", source)
    'who does it to whom is exchanged'
    >>> doubt("The press was bought by Dorian Best.", source)
    ''
    """
    stored = _stored()
    parts = np.array([stored["weights"][name] for name in FEATURES]) * features(claim, source)
    return "" if probability(parts.sum() + stored["constant"]) < stored["least"] else REASONS[int(parts.argmax())]


@cache
def _stored() -> dict[str, Any]:
    return stored_weights("query.citations", "claim_weights.json")
