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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import combinations, pairwise
from math import ceil, exp, log10, sqrt

import regex
from conspectus.query.answer_writing.asked import NEGATION
from conspectus.storage.text.analysis import stem_in_language
from conspectus.storage.text.language import detect, function_words
from conspectus.storage.text.names import UNSPACED, Word, words
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.word_lists import cut_run, shares_of_common_words
from conspectus.storage.text.words import base_form, without_accents

FEATURES = (
    "number missing", "word missing", "negation", "quantifier", "quantifier of the clause", "exchanged", "torn apart",
    "another value", "another date", "phrase torn apart",
)  # fmt: skip
"""What raises doubts, as `features` returns it."""
REASONS = (
    "a number is not there", "a decisive word is not there", "one of both says not", "another quantity",
    "another quantity", "who does it to whom is exchanged", "it is said of something else",
    "the value is that of something else", "the date is that of something else", "it is said of something else",
)  # fmt: skip
"""Why a claim is doubted, by the feature that weighs most."""
LONGEST = 6_000
"""Most characters of a source that are compared."""
_QUANTIFIERS = ("most", "all", "some", "few", "only", "both", "half")
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
_NUMBER = regex.compile(
    r"\d+(?:[.,:]\d+)*|[〇零一二三四五六七八九十百千万两]*[二三四五六七八九十两][〇零一二三四五六七八九十百千万两]*"
)
_HAN = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1_000, "万": 10_000}
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
_ARTICLE = regex.compile(r"\b(?:de[rnms]|die|das|eine?[nmrs]?|[zv]om|zum|zur|im|am|beim)\s$", regex.I)
_PASSIVE_HAN = regex.compile(r"是(?=[^，。]*的。?$)")
KNOWN_TO_CHECK = ("en", "de", "es", "fr", "it", "pt", "nl", "ru", "zh", "ja")
_UNSPACED_RUN = regex.compile(rf"{UNSPACED.pattern}+")


@cache
def _table() -> Mapping[str, Mapping[str, int]]:
    """Read `claim_words.txt`: the words of each kind, and the place of each in its line."""
    found: dict[str, dict[str, int]] = {}
    for line in files("conspectus.query.citations").joinpath("claim_words.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, _, said = line.partition(":")
            told = enumerate(said.replace("|", " ").split())
            found.setdefault(kind, {}).update({word.replace("_", " "): place for place, word in told if word != "_"})
    return found


@cache
def _pattern(kind: str) -> "regex.Pattern[str]":
    """Return what finds the words of a kind, the longest first."""
    spaced, unspaced = list[str](), list[str]()
    for word in sorted(_table()[kind], key=len, reverse=True):
        (unspaced if UNSPACED.search(word) else spaced).append(regex.escape(word))
    return regex.compile(rf"\b(?:{'|'.join(spaced)})\b|{'|'.join(unspaced) or '(?!)'}", regex.I)


def _quantifiers(text: str) -> frozenset[str]:
    """Return the kinds of quantifier in a text; "almost all" is most, not all."""
    found = set[str]()
    for kind in _QUANTIFIERS:
        text, count = _pattern(kind).subn(" ", text)
        if count:
            found.add(kind)
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _Token:
    """A content word, name or number.

    Attributes:
        key: The word; `stem`: its stem.
        start: Its offset; `end`: where it ends.
        weight: How rare it is in its language, 0 to 1.
        kind: name, number, date, exact (a word that stands for nothing else, such as "north") or word.
        value: Its value, for a number.
        parts: The stems of a name of several words.
        at: For a word of a claim, its offsets in the source.
    """

    key: str
    stem: str
    start: int
    end: int
    weight: float
    kind: str
    value: float | None = None
    parts: tuple[str, ...] = ()
    at: tuple[int, ...] = ()


def _rarity(key: str, language: str) -> float:
    return min(1.0, -log10(max(shares_of_common_words(language).get(key, 0.0), 1e-7)) / 7)


def _value(text: str) -> float | None:
    """Return the value of a number in digits or in Chinese; None if it is none, such as "1.2.3"."""
    if text[0] in _HAN or text[0] in _HAN_UNITS:
        total = part = 0
        for sign in text:
            if sign in _HAN_UNITS:
                total, part = total + (part or 1) * _HAN_UNITS[sign], 0
            else:
                part = 10 * part + _HAN[sign]
        return float(total + part)
    if regex.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", text):
        return float(regex.sub(r"[.,]", "", text))
    try:
        return float(text.replace(":", "").replace(",", "."))
    except ValueError:
        return None


def _tokens(text: str, language: str) -> list[_Token]:
    """Return the tokens of a text, in order; function words are none."""
    found = [_Token(m[0], m[0], m.start(), m.end(), 1.0, "number", _value(m[0])) for m in _NUMBER.finditer(text)]
    taken = [(token.start, token.end) for token in found]
    common = function_words(language)
    for word in words(text):
        if UNSPACED.match(word.key) or any(start < word.end and word.start < end for start, end in taken):
            continue
        stem = stem_in_language(word.key, language)
        kind = next((kind for kind in ("number", "date", "exact") if _is_of(word.key, stem, kind)), "")
        if kind or word.key not in common:
            weight = _rarity(word.key, language)
            if not kind and _is_name(text, word, language, weight):
                kind, weight = "name", max(weight, 0.7)
            value = float(_table()["number"][word.key]) if kind == "number" else None
            found.append(_Token(word.key, stem, word.start, word.end, weight, kind or "word", value))
    for run in _UNSPACED_RUN.finditer(text):
        found += _unspaced(run[0], run.start(), taken)
    return _whole_names(text, sorted(found, key=lambda token: token.start))


def _whole_names(text: str, tokens: Sequence[_Token]) -> list[_Token]:
    """Return tokens with names side by side as one."""
    found: list[_Token] = []
    for token in tokens:
        last = found[-1] if found else None
        if last and last.kind == token.kind == "name" and text[last.end : token.start].strip(".'’-") == " ":
            parts = (*(last.parts or (last.stem,)), token.stem)
            found[-1] = replace(token, start=last.start, weight=max(last.weight, token.weight), parts=parts)
        else:
            found.append(token)
    return found


def _is_of(key: str, stem: str, kind: str) -> bool:
    known = _table()[kind]
    return key in known or (kind != "number" and (stem in known or key.rstrip("s") in known))


def _is_name(text: str, word: Word, language: str, weight: float) -> bool:
    """Return whether a word is a name: by its capital, or, where any noun has one, by its neighbours and rarity."""
    if not text[word.start].isupper():
        return False
    before = text[: word.start]
    beside = regex.match(r" \p{Lu}\p{Ll}", text, pos=word.end) or regex.search(r"\p{Lu}\p{Ll}+ $", before[-40:])
    if language == "de":
        return not _ARTICLE.search(before[-8:]) and (weight > 0.8 or (beside is not None and weight > 0.55))
    first = before.rstrip(" \"'“„(-*")[-1:] in ("", ".", "!", "?", ":", "\n")
    return not first or beside is not None or weight > 0.8


def _unspaced(run: str, offset: int, taken: Sequence[tuple[int, int]]) -> Iterator[_Token]:
    """Yield the words of a stretch without spaces; rare characters that follow each other are one, such as a name."""
    parts: list[tuple[int, str, bool]] = []
    at = 0
    for piece in cut_run(run, "zh"):
        alone = len(piece) == 1 and _rarity(piece, "zh") > 0.35
        if parts and alone and parts[-1][2]:
            parts[-1] = (parts[-1][0], parts[-1][1] + piece, True)
        else:
            parts.append((at, piece, alone))
        at += len(piece)
    for at, piece, rare in parts:
        start, end = offset + at, offset + at + len(piece)
        if not any(low < end and start < high for low, high in taken):
            weight = _rarity(piece, "zh") * (0.4 if len(piece) == 1 else 1)
            kind = "exact" if piece in _table()["exact"] else "name" if rare and len(piece) > 1 else "word"
            yield _Token(piece, piece, start, end, weight, kind)


def _same(one: _Token, other: _Token) -> bool:
    """Return whether two tokens are the same number, name or, in some form, word."""
    if one.value is not None and other.value is not None:
        return one.value == other.value
    if one.parts or other.parts:
        return _is_part(one.parts or (one.stem,), other.parts or (other.stem,))
    if one.stem == other.stem or without_accents(one.key) == without_accents(other.key):
        return True
    kinds = {one.kind, other.kind}
    if UNSPACED.match(one.key):
        return min(len(one.key), len(other.key)) > 1 and (one.key in other.key or other.key in one.key)
    if kinds & {"exact", "date", "number"}:
        return one.key.rstrip("s") == other.key.rstrip("s")
    return kinds != {"name"} and _are_forms(one.stem, other.stem)


def _is_part(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether all words of one name are words of another, or both end alike after the same initial."""
    short, long = sorted((one, other), key=len)
    return set(short) <= set(long) or (short[-1] == long[-1] and short[0][0] == long[0][0])


def _are_forms(one: str, other: str) -> bool:
    """Return whether two words are forms of one: seven tenths of the shorter are their common beginning."""
    if base_form(one) == base_form(other):
        return True
    one, other = (word.removeprefix("ge") if len(word) > 5 else word for word in (one, other))
    shorter = min(len(one), len(other))
    least = max(4, ceil(0.7 * shorter))
    return shorter >= least and one[:least] == other[:least] and abs(len(one) - len(other)) <= 4


def _laid_over(claim: str, tokens: Sequence[_Token], of_source: Sequence[_Token]) -> list[_Token]:
    """Return the tokens of a claim with their places in the source."""
    found = []
    for token in tokens:
        matches = [other for other in of_source if _same(token, other)]
        if token.kind == "word" and claim[token.start].isupper() and any(each.kind == "name" for each in matches):
            token = replace(token, kind="name", weight=max(token.weight, 0.7))
        found.append(replace(token, at=tuple(other.start for other in matches)))
    return found


class _Source:
    """A source: its tokens, its clauses, and how far its words stand apart.

    Args:
        text: The text.
        language: Its language.
    """

    def __init__(self, text: str, language: str) -> None:
        self.text = text
        self.tokens = _tokens(text, language)
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

    def sentence(self, at: int) -> str:
        """Return the sentence around an offset."""
        place = self.place(at)[0]
        return self.text[slice(*[*self._starts, len(self.text)][place : place + 2])]

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
    tokens = _laid_over(claim, _tokens(claim, language), told.tokens)
    found = [token for token in tokens if token.at]
    lacking = {token.kind for token in tokens if not token.at}
    apart = _torn_apart(tokens, found, told)
    return (
        float("number" in lacking),
        float(not lacking.isdisjoint(("exact", "date"))),
        _negation(claim, found, told),
        *_quantity(claim, found, told),
        float(_is_exchanged(claim, tokens, found, told)),
        *apart,
        _phrase_apart(found, told),
    )


def _negation(claim: str, found: Sequence[_Token], source: _Source) -> float:
    """Return whether only the claim says not, or what share of its words stands only where the source says not."""
    negated = {token: [_NOT.search(source.clause(at)) is not None for at in token.at] for token in found}
    if _NOT.search(claim):
        return float(not any(map(any, negated.values())))
    rest = found[1:] or found
    weight = sum(token.weight for token in rest) or 1.0
    return min(1.0, 2 * sum(token.weight for token in rest if all(negated[token])) / weight)


def _quantity(claim: str, found: Sequence[_Token], source: _Source) -> tuple[float, float]:
    """Return whether the claim has a quantifier that its sentence lacks, or another one than the clause of its end."""
    said = _quantifiers(claim)
    if not said or not found:
        return float(bool(said)), 0.0
    likely = max((at for token in found for at in token.at), key=lambda at: _held(found, source, at))
    of_clauses = [_quantifiers(source.clause(at)) for at in found[-1].at]
    other = any(of_clauses) and not any(each & said or not each for each in of_clauses)
    return float(not said <= _quantifiers(source.sentence(likely))), float(other)


def _held(found: Sequence[_Token], source: _Source, at: int) -> float:
    """Return how much of a claim, its end above all, is in the clause of an offset."""
    return sum(
        token.weight * (0.5 + (place + 1) / len(found)) / sqrt(len(token.at))
        for place, token in enumerate(found)
        if any(source.in_one_clause(at, other) for other in token.at)
    )


def _is_exchanged(claim: str, tokens: Sequence[_Token], found: Sequence[_Token], source: _Source) -> bool:
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
    agents = _table()["agent"]
    last = before[-40:].rstrip(" \"“„«'").casefold()
    return not agents.keys().isdisjoint(last.split()[-3:]) or any(map(last.endswith, filter(UNSPACED.match, agents)))


def _torn_apart(tokens: Sequence[_Token], found: Sequence[_Token], source: _Source) -> tuple[float, float, float]:
    """Return how far the claim's pairs of words are torn apart, and whether a number or a date is that of another."""
    own = {at for token in tokens for at in token.at}
    others = [each for each in source.tokens if each.start not in own]
    pairs = list(combinations(found, 2))
    whole = sum(one.weight * other.weight for one, other in pairs) or 1.0
    apart = value = date = 0.0
    for one, other in pairs:
        distance = min(source.distance(here, there) for here in one.at for there in other.at)
        rivals = _has_rival(one, other, others, source), _has_rival(other, one, others, source)
        if distance >= _CARRIED and all(rivals):
            apart += min(distance, _APART) * one.weight * other.weight / whole
        if min(one.weight, other.weight) >= _LEAST_WEIGHT:
            kinds = {one.kind, other.kind}
            value = max(value, float(all(rivals) and not kinds.isdisjoint(("number", "date"))))
            if rivals[0] != rivals[1] and (one if rivals[0] else other).kind == "date":
                date = 1.0
    return apart, value, date


_LEAST_WEIGHT = 0.35


def _has_rival(token: _Token, partner: _Token, others: Sequence[_Token], source: _Source) -> bool:
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


def _phrase_apart(found: Sequence[_Token], source: _Source) -> float:
    """Return how far one of two words that the claim has side by side is from a third, where the other is beside it."""
    most = 0.0
    for one, other in pairwise(found):
        if "number" in (one.kind, other.kind) or _nearest(one, other, source):
            continue
        for third in found:
            near, far = sorted((_nearest(one, third, source), _nearest(other, third, source)))
            if third not in (one, other) and not near:
                most = max(most, min(far, _APART))
    return most


def _nearest(one: _Token, other: _Token, source: _Source) -> float:
    return min(source.distance(here, there) for here in one.at for there in other.at)


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
