"""Whether a claim says what its source says: who did what, how much, when, whether not, and of how many.

Most words of a wrong answer stand in its source, too: it exchanges two names, takes the number of the neighbour, or
loses a "not". So the words of a claim are laid over the source, and what is compared is where they stand. Two words
belong together there if no end of a clause or sentence is between them; they are torn apart if one is and, beside each,
stands another name, number or word of the kind of its partner ("battery for two years and the motor for five" does not
say five years of the battery). A logistic regression weighs these signs (`claim_weights.json`; the command
`python -m benchmarks.claims --train` learns it). No parser is needed, so that it works in languages without one.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import combinations, pairwise
from math import exp

import regex
from conspectus.query.answer_writing.asked import NEGATION
from conspectus.query.citations.claim_words import KNOWN_TO_CHECK, Token, laid_over, quantifiers, table, tokens_of
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
    """A source: its tokens, its clauses, and how far its words stand apart.

    Args:
        text: The text.
        language: Its language.
    """

    def __init__(self, text: str, language: str) -> None:
        self.text = text
        self.tokens = tokens_of(text, language)
        spans = sentence_spans(text)
        self._starts = [start for start, _ in spans]
        self._cuts = [[found.start() for found in form.finditer(text)] for form, _ in _BREAKS]
        self._carries = [
            2 if _BEGINS_WITH_ALL.match(text, start) else 1 if _BEGINS_WITH_ONE.match(text, start) else 0
            for start in self._starts
        ]
        self._places: dict[int, tuple[int, ...]] = {}
        starts = sorted({0, *self._starts, *(at + 1 for of_form in self._cuts[:2] for at in of_form)})
        self._clauses = [text[start:end] for start, end in pairwise([*starts, len(text)])]
        self._clause_starts = starts

    def place(self, at: int) -> tuple[int, ...]:
        """Return the sentence of an offset, and how many breaks of each form are before it."""
        if at not in self._places:
            before = (bisect_left(of_form, at) for of_form in self._cuts)
            self._places[at] = (max(0, bisect_right(self._starts, at) - 1), *before)
        return self._places[at]

    def clause(self, at: int) -> str:
        """Return the clause around an offset."""
        return self._clauses[bisect_right(self._clause_starts, at) - 1]

    def in_one_clause(self, one: int, other: int) -> bool:
        """Return whether two offsets are in the same part of a clause."""
        return self.place(one)[:3] == self.place(other)[:3]

    def distance(self, one: int, other: int) -> float:
        """Return how far apart two offsets are: by the breaks between them, or the ends of sentences."""
        first, second = sorted((self.place(one), self.place(other)))
        if first[0] == second[0]:
            return sum(weight * abs(a - b) for (_, weight), a, b in zip(_BREAKS, first[1:], second[1:], strict=True))
        if self._carries[second[0]] == 2:
            return _CARRIED
        return sum(_CARRIED if carries else _APART for carries in self._carries[first[0] + 1 : second[0] + 1])

    def refers_to_all(self, at: int) -> bool:
        """Return whether the sentence around an offset begins with "both", "none" and the like."""
        return self._carries[self.place(at)[0]] == 2


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
    tokens = laid_over(claim, tokens_of(claim, language), told.tokens)
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
    negated = {token: [_NOT.search(source.clause(at)) is not None for at in token.at] for token in found}
    if _NOT.search(claim):
        return float(not any(map(any, negated.values())))
    rest = found[1:] or found
    weight = sum(token.weight for token in rest) or 1.0
    return min(1.0, 2 * sum(token.weight for token in rest if all(negated[token])) / weight)


def _quantity(claim: str, found: Sequence[Token], source: _Source) -> tuple[float, float]:
    """Return whether the claim has a quantifier that its source lacks, or another one than the clause of its end."""
    said = quantifiers(claim)
    if not said or not found:
        return float(bool(said)), 0.0
    of_clauses = [quantifiers(source.clause(at)) for at in found[-1].at]
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
        for here in one.at:
            for there in other.at:
                low, high = sorted((here, there))
                if source.place(here)[:2] != source.place(there)[:2] or high - low < 3:
                    continue
                if by_verb and not any(low < at < high for verb in verbs for at in verb.at):
                    continue
                if (there < here) != (passive != _names_agent(source.text[:high])):
                    return True
    return False


def _names_agent(before: str) -> bool:
    """Return whether the words before a name say that it is the one who acts: "by", "von", 被."""
    agents = table()["agent"]
    last = before[-40:].rstrip(" \"“„«'").casefold()
    return not agents.keys().isdisjoint(last.split()[-3:]) or any(map(last.endswith, filter(UNSPACED.match, agents)))


def _torn_apart(tokens: Sequence[Token], found: Sequence[Token], source: _Source) -> tuple[float, float]:
    """Return how far the claim's pairs of words are torn apart, and whether a number or date is that of another."""
    own = {at for token in tokens for at in token.at}
    others = [each for each in source.tokens if each.start not in own]
    pairs = list(combinations(found, 2))
    whole = sum(one.weight * other.weight for one, other in pairs) or 1.0
    apart = value = 0.0
    for one, other in pairs:
        distance = min(source.distance(here, there) for here in one.at for there in other.at)
        rivals = _has_rival(one, other, others, source), _has_rival(other, one, others, source)
        if distance >= _CARRIED and all(rivals):
            apart += min(distance, _APART) * one.weight * other.weight / whole
        if min(one.weight, other.weight) >= _LEAST_WEIGHT:
            kinds = {one.kind, other.kind}
            value = max(value, float(all(rivals) and not kinds.isdisjoint(("number", "date"))))
    return apart, value


_LEAST_WEIGHT = 0.35


def _has_rival(token: Token, partner: Token, others: Sequence[Token], source: _Source) -> bool:
    """Return whether the source has, nearer to the partner than a token, something else of the token's kind."""
    distance, length, here, there = min(
        (source.distance(here, there), abs(here - there), here, there) for here in token.at for there in partner.at
    )
    if token.kind in ("word", "exact"):
        if source.in_one_clause(here, there) or (here < there and _PRONOUN.search(source.clause(there))):
            return False
        return any(
            each.weight > _LEAST_RIVAL and each.kind in ("word", "name") and source.in_one_clause(each.start, there)
            for each in others
        )
    if distance <= _CARRIED and source.refers_to_all(there):
        return False
    exact = token.kind in ("number", "date")
    return any(
        (source.distance(each.start, there), abs(each.start - there) if exact else length) < (distance, length)
        for each in others
        if each.kind == token.kind
        or (token.kind == "name" and each.kind == "word" and each.weight > 0.5 and source.text[each.start].isupper())
    )


_LEAST_RIVAL = 0.45


def doubt(claim: str, source: str) -> str:
    """Return why a claim does not say what its source says; "" if nothing speaks against it.

    >>> source = "Dorian Best bought the press from Marta Quill."
    >>> doubt("Marta Quill bought the press from Dorian Best.", source)
    'who does it to whom is exchanged'
    >>> doubt("The press was bought by Dorian Best.", source)
    ''
    """
    weights = _weights()
    parts = [weights[name] * value for name, value in zip(FEATURES, features(claim, source), strict=True)]
    if 1 / (1 + exp(-sum(parts) - weights["constant"])) < weights["least"]:
        return ""
    return REASONS[max(range(len(parts)), key=parts.__getitem__)]


@cache
def _weights() -> Mapping[str, float]:
    read: Mapping[str, Mapping[str, float]] = json.loads(
        files("conspectus.query.citations").joinpath("claim_weights.json").read_text("utf-8")
    )
    return read["weights"]
