"""The words of a claim and of its source: names, numbers, dates and other content words, in several languages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import ceil, log10

import regex
from conspectus.storage.text.analysis import stem_in_language
from conspectus.storage.text.language import function_words
from conspectus.storage.text.names import UNSPACED, Word, words
from conspectus.storage.text.word_lists import cut_run, shares_of_common_words
from conspectus.storage.text.words import base_form, without_accents

_QUANTIFIERS = ("most", "all", "some", "few", "only", "both", "half")
_NUMBER = regex.compile(
    r"\d+(?:[.,:]\d+)*|[〇零一二三四五六七八九十百千万两]*[二三四五六七八九十两][〇零一二三四五六七八九十百千万两]*"
)
_HAN = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1_000, "万": 10_000}
_ARTICLE = regex.compile(r"\b(?:de[rnms]|die|das|eine?[nmrs]?|[zv]om|zum|zur|im|am|beim)\s$", regex.I)
KNOWN_TO_CHECK = ("en", "de", "es", "fr", "it", "pt", "nl", "ru", "zh", "ja")
_UNSPACED_RUN = regex.compile(rf"{UNSPACED.pattern}+")


@cache
def table() -> Mapping[str, Mapping[str, int]]:
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
    for word in sorted(table()[kind], key=len, reverse=True):
        (unspaced if UNSPACED.search(word) else spaced).append(regex.escape(word))
    return regex.compile(rf"\b(?:{'|'.join(spaced)})\b|{'|'.join(unspaced) or '(?!)'}", regex.I)


def quantifiers(text: str) -> frozenset[str]:
    """Return the kinds of quantifier in a text; "almost all" is most, not all."""
    found = set[str]()
    for kind in _QUANTIFIERS:
        text, count = _pattern(kind).subn(" ", text)
        if count:
            found.add(kind)
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Token:
    """A content word, name or number.

    Attributes:
        key: The word; `stem`: its stem.
        start: Its offset; `end`: where it ends.
        weight: How rare it is in its language, 0 to 1.
        kind: name, number, date, exact (a word that stands for nothing else, such as "north") or word.
        value: Its value, for a number.
        parts: The stems of a name of several words.
        at: For a word of a claim, its places among the tokens of the source.
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


def tokens_of(text: str, language: str) -> list[Token]:
    """Return the tokens of a text, in order; function words are none."""
    found = [Token(m[0], m[0], m.start(), m.end(), 1.0, "number", _value(m[0])) for m in _NUMBER.finditer(text)]
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
            value = float(table()["number"][word.key]) if kind == "number" else None
            found.append(Token(word.key, stem, word.start, word.end, weight, kind or "word", value))
    for run in _UNSPACED_RUN.finditer(text):
        found += _unspaced(run[0], run.start(), taken)
    return _whole_names(text, sorted(found, key=lambda token: token.start))


def _whole_names(text: str, tokens: Sequence[Token]) -> list[Token]:
    """Return tokens with names side by side as one."""
    found: list[Token] = []
    for token in tokens:
        last = found[-1] if found else None
        if last and last.kind == token.kind == "name" and text[last.end : token.start].strip(".'’-") == " ":
            parts = (*(last.parts or (last.stem,)), token.stem)
            found[-1] = replace(token, start=last.start, weight=max(last.weight, token.weight), parts=parts)
        else:
            found.append(token)
    return found


def _is_of(key: str, stem: str, kind: str) -> bool:
    known = table()[kind]
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


def _unspaced(run: str, offset: int, taken: Sequence[tuple[int, int]]) -> Iterator[Token]:
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
            kind = "exact" if piece in table()["exact"] else "name" if rare and len(piece) > 1 else "word"
            yield Token(piece, piece, start, end, weight, kind)


def same(one: Token, other: Token) -> bool:
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


def laid_over(claim: str, tokens: Sequence[Token], of_source: Sequence[Token]) -> list[Token]:
    """Return the tokens of a claim with their places in the source."""
    found = []
    for token in tokens:
        at = tuple(place for place, other in enumerate(of_source) if same(token, other))
        if (
            token.kind == "word"
            and claim[token.start].isupper()
            and any(of_source[place].kind == "name" for place in at)
        ):
            token = replace(token, kind="name", weight=max(token.weight, 0.7))
        found.append(replace(token, at=at))
    return found
