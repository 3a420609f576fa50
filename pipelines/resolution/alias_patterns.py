"""Propose pairs from aliases that a text states ("also known as", brackets), acronyms and titles; detect contrasts."""

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter

import numpy as np
from conspectus.pipelines.resolution.evidence import Located
from conspectus.pipelines.resolution.features import NameFeatures, Names
from conspectus.pipelines.resolution.keys import initials
from conspectus.pipelines.resolution.pairs import NamePair, pair_of
from conspectus.pipelines.resolution.parsed_name import Form
from conspectus.pipelines.resolution.person_names import agree
from conspectus.pipelines.resolution.wordlists import SMALL_WORDS, WORKS
from conspectus.storage.arrays import SmallInts

_AMBIGUOUS = 0.45


def acronyms(names: Names, least: float = 0.0) -> Iterator[NamePair]:
    """Yield each acronym with the names whose initials it has, except ambiguous ones if their score is below `least`.

    If several long names in its documents have these initials, the acronym is ambiguous and no score is high.
    """
    for one in map(names.at, names.keys.acronyms):
        rows = names.keys.initials[one.form.letters]
        near = {item.row: item for item in _capitalised(names, names.evidence.sharing(one.row, rows))}
        words = (item.form.words for item in _capitalised(names, rows))
        first = next(words, ())
        several = any(each != first for each in words)
        lone = not several or len({item.form.words for item in near.values()}) == 1
        for item in near.values() if several and least > _AMBIGUOUS else _capitalised(names, rows):
            if lone and item.row in near:
                score = 0.85
            elif several:
                score = _AMBIGUOUS
            else:
                score = 0.78 if len(one.form.letters) >= 4 else 0.62
            yield pair_of(one.id, item.id, "its initial letters", score)


def abbreviates(short: Form, long: Form) -> bool:
    """Return whether the letters of a short form occur in order in the long one, starting with its first letter."""
    if not short.is_acronym or len(long.words) < 2:
        return False
    letters, text = short.letters, "".join(long.words)
    if initials(long) & {letters}:
        return True
    starts = {0}
    for word in long.words[:-1]:
        starts.add(max(starts) + len(word))
    at = -1
    hits = 0
    for sign in letters:
        at = text.find(sign, at + 1)
        if at < 0:
            return False
        hits += at in starts
    return letters[0] == text[0] and 2 * hits >= len(letters)


def _capitalised(names: Names, rows: SmallInts) -> Iterator[NameFeatures]:
    for name in map(names.at, rows.tolist()):
        if all(word[:1].isupper() for word in name.form.surfaces if word.casefold() not in SMALL_WORDS):
            yield name


_FARTHEST = 140
_AHEAD = 5
"""Maximum number of names between the two: a parenthesis may contain dates and places."""

_LANGUAGE = (
    r"(?:simplified |traditional |old |ancient |modern )?(?:Chinese|Japanese|Korean|Russian|Ukrainian|Arabic|Persian|"
    r"Hebrew|Greek|Hindi|Urdu|Bengali|Thai|Vietnamese|Turkish|German|French|Spanish|Italian|Portuguese|Polish|Czech|"
    r"Hungarian|Dutch|Swedish|Norwegian|Danish|Finnish|Latin|Welsh|Irish|Bulgarian|Serbian|Georgian|Armenian|pinyin|"
    r"transliterated|transliteration|romanized|romanised|romanization|translated)"
)
_HOW = (
    r"(?:also|better|best|commonly|professionally|popularly|originally|formerly|previously|often|usually|sometimes|"
    r"widely|simply|mononymously|collectively|otherwise|now|variously|more|generally|frequently)"
)
_CALLED = (
    r"(?:known|called|referred to|spelled|spelt|written|abbreviated|nicknamed|styled|rendered|transliterated|shortened)"
)
_BY_NAME = r"by\ (?:his|her|its|their|the)(?:\s+\w+){0,2}\s+name"
_SAME = re.compile(
    rf"""(?:\s*\([^()]{{0,110}}\))?                       # what stands in a parenthesis between
    (?:\s*[,;–—]\s*|\s+|\s*\(\s*)
    (?:(?:who|which|that)\s+(?:is|was|are)\s+|or\s+|and\s+)?
    (?: (?:{_HOW}\s+)+(?:{_CALLED})(?:\s+{_HOW})*(?:\s+(?:as|to\ as|{_BY_NAME}))?
      | (?:{_CALLED})\s+(?:{_HOW}\s+)*(?:as|{_BY_NAME})
      | nicknamed|abbreviated|aka|a\.k\.a\.|alias|née|né|abbreviation:|abbr\.|short\ for
      | (?:real|stage|pen)\ name:?|whose\ real\ name\ (?:is|was)
      | (?:{_HOW}\s+)?born(?:\s+as)?
    )
    ,?\s+(?:the\s+)?(?:as\s+)?["“'‘«]?""",
    re.VERBOSE | re.IGNORECASE,
)
_IN_LANGUAGE = re.compile(rf"\s*\((?:[^():]{{0,60}}[;,]\s*)?{_LANGUAGE}(?: language)?:\s*[\"“'‘]?")
_IN_BRACKETS = re.compile(r"\s*\(\s*(?:the\s+)?[\"“'‘]?")
_TWO = re.compile(r"(?:\s*,\s*|\s+)(?:and|or|nor|versus|vs\.?|met|married|against|defeated)\s+|\s*&\s*", re.IGNORECASE)
_ALSO_CALLED = "a text says that the one is also called the other"
_USUALLY = re.compile(r"\b(?:better|best|commonly|professionally|popularly|generally)\b", re.IGNORECASE)
"""Words before a second name that is the usual one."""

_OR = re.compile(r"[\"”'’]?,?\s+or\s+(?:simply\s+)?(?:the\s+)?[\"“'‘]?", re.IGNORECASE)
_BIRTH = re.compile(r"\b(?:born|née|né)\b", re.IGNORECASE)
_OUTSIDE = re.compile(r"\([^()]*\)")
_IS = re.compile(r"[\"”']?\s*(?:\(|,|is\b|was\b|are\b|were\b|–|—)")
_LEAD_WITHIN = 14
_SENTENCE = 250


PATTERNS = (_TWO, _SAME, _IN_BRACKETS, _IN_LANGUAGE)
"""What may stand between two names that a text joins."""

TRIGGER = re.compile(
    r"[\s,;–—(&](?:(?<=[(&])|a(?:nd\b|bbr|ka|\.k|lias|gainst)|or\b|n(?:or\b|é|icknamed)|v(?:s|ersus)|m(?:et|arried)"
    r"|defeated|known|called|re(?:ferred|ndered|al)|s(?:pel|tyled|hort|tage)|w(?:ritten|hose)|transl|pen|born)",
    re.IGNORECASE,
)
"""A sign or word without which none of the patterns fits what stands between two names."""

_CHUNKS_AT_ONCE = 4096


def stated(names: Names) -> tuple[list[NamePair], set[tuple[str, str]]]:
    """Return the pairs that a text states to be aliases, and the pairs (ids in order) that it contrasts."""
    same: list[tuple[int, NamePair]] = []
    apart: set[tuple[str, str]] = set()
    for first, second, third, begins in _joined(names):
        left, right = names.at(first.entity), names.at(second.entity)
        text, offset = names.evidence.chunk_texts[first.chunk], int(names.evidence.begins[first.chunk])
        gap, after = text[first.end - offset : second.start - offset], text[second.end - offset :][:6]
        if _TWO.fullmatch(gap):
            apart.add((min(left.id, right.id), max(left.id, right.id)))
        reason = _alias_reason(gap, after, left.form, right.form)
        fits = (
            reason != _ALSO_CALLED
            or bool(left.titles)
            or begins
            or _one_kind(left, right)
            or left.form.words[-1] == right.form.words[-1]
        )
        if not reason:
            continue
        of_chunk = names.evidence.first_row(first.chunk, names.known)
        if reason == _ALSO_CALLED and third is not None and third.entity not in {left.row, right.row}:
            # X, also known as Y or Z
            other = names.at(third.entity)
            if _OR.fullmatch(text[second.end - offset : third.start - offset]):
                same.append((of_chunk, pair_of(left.id, other.id, _ALSO_CALLED, 0.93, explicit=True)))
        if fits and not (_BIRTH.search(_OUTSIDE.sub("", gap)) and _places(left, right)):
            usual = left.id if _USUALLY.search(_OUTSIDE.sub("", gap)) else ""
            same.append((of_chunk, pair_of(left.id, right.id, reason, 0.93, short=usual, explicit=True)))
    # Of equal pairs the one counts whose chunk the table of mentions names first.
    return [pair for _, pair in sorted(same, key=itemgetter(0))], apart


def _joined(names: Names) -> Iterator[tuple[Located, Located, Located | None, bool]]:
    """Yield two names that a pattern joins, the name after them, and whether the first begins its chunk.

    The texts are searched for triggers first, so that few of the many pairs of neighbours are compared with patterns.
    """
    evidence = names.evidence
    for start in range(0, len(evidence.begins), _CHUNKS_AT_ONCE):
        rows = evidence.in_text(start, start + _CHUNKS_AT_ONCE, names.known)
        columns = (evidence.entity, evidence.chunk, evidence.start, evidence.end)
        entity, chunk, begin, end = (column[rows].astype(np.int64) for column in columns)
        left, right = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for ahead in range(1, min(_AHEAD, len(rows) - 1) + 1):
            gap = begin[ahead:] - end[:-ahead]
            others = (chunk[:-ahead] == chunk[ahead:]) & (entity[:-ahead] != entity[ahead:])
            left.append(np.flatnonzero(others & (gap > 0) & (gap <= _FARTHEST)))
            right.append(left[-1] + ahead)
        one, other = np.concatenate(left), np.concatenate(right)
        texts = {
            number: (evidence.chunk_texts[number], int(evidence.begins[number]))
            for number in np.unique(chunk[one]).tolist()
        }
        triggers = np.array(
            [
                (number << 32) + offset + found.start()
                for number, (text, offset) in texts.items()
                for found in TRIGGER.finditer(text)
            ],
            np.int64,
        )
        at = chunk << 32
        held = np.searchsorted(triggers, (at + end)[one]) < np.searchsorted(triggers, (at + begin)[other])
        one, other = one[held], other[held]
        order = np.lexsort((other, one))
        for first, second in zip(one[order].tolist(), other[order].tolist(), strict=True):
            text, offset = texts[int(chunk[first])]
            gap = text[end[first] - offset : begin[second] - offset]
            if any(pattern.fullmatch(gap) for pattern in PATTERNS):
                follows = second + 1 < len(rows) and chunk[second + 1] == chunk[second]
                third = evidence.located(rows[second + 1]) if follows else None
                begins = first == 0 or chunk[first - 1] != chunk[first]
                yield evidence.located(rows[first]), evidence.located(rows[second]), third, bool(begins)


def _ends_there(name: str, after: str) -> bool:
    """Return whether a name in another script ends here: the text after it is not in that script."""
    following = after.lstrip(" \"”'’\u200e\u200f")[:1]
    return not following.isalpha() or (following.isascii() and not name[-1:].isascii() and not name.isascii())


def _places(left: NameFeatures, right: NameFeatures) -> bool:
    return "place" in left.kinds | right.kinds


def _alias_reason(gap: str, after: str, left: Form, right: Form) -> str:
    if _IN_BRACKETS.fullmatch(gap) and re.match(r"[\"”']?\s*[),;]", after):
        if abbreviates(right, left) or abbreviates(left, right):
            return "a text gives the one in brackets as the short form of the other"
        return ""
    if _IN_LANGUAGE.fullmatch(gap) and _ends_there(right.name, after):
        return "a text gives the one as the other in its own language"
    if not _SAME.fullmatch(gap) or (_BIRTH.search(_OUTSIDE.sub("", gap)) and len(right.words) < 2):
        return ""  # "née Morton" is a part of a name
    return _ALSO_CALLED


def _one_kind(left: NameFeatures, right: NameFeatures) -> bool:
    return not left.kinds or not right.kinds or bool(left.kinds & right.kinds)


def titled(names: Names) -> Iterator[NamePair]:
    """Yield each title with the name that its text begins with, if the two are similar enough."""
    evidence = names.evidence
    for row in evidence.openings(names.known, _LEAD_WITHIN).tolist():
        first = evidence.located(row)
        number = evidence.document_of(first.chunk)
        title, name = names.at(int(evidence.title[number])), names.at(first.entity)
        text = evidence.texts[number]
        if name.titles or not _IS.match(text[first.end : first.end + 8]):
            continue
        if name.form.letters == title.form.letters and title.form.qualifier:
            work = set(title.form.qualifier.split()) & WORKS
            if not work and name.documents.keys() == {number} and len(names.keys.titles[title.form.letters]) == 1:
                yield pair_of(title.id, name.id, "the text of that title begins with the name", 0.85, explicit=True)
        elif _is_fuller(title, name) or _known_as(title, text[first.end : first.end + _SENTENCE]):
            yield pair_of(title.id, name.id, "the text of that title begins with the full name", 0.9, explicit=True)


def _plain(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in SMALL_WORDS]


def _known_as(title: NameFeatures, text: str) -> bool:
    """Return whether the first sentences of a text contain "known as" and its title."""
    if title.name not in text:
        return False
    name = re.escape(title.name)
    called = r"\b(?:known|called|nicknamed)\b(?:\s+\w+){0,3}?\s+(?:as\s+)?(?:the\s+)?[\"“'‘]?"
    return re.search(rf"{called}{name}\b", text) is not None


def _is_fuller(title: NameFeatures, name: NameFeatures) -> bool:
    """Return whether the name that a text begins with is the full form of its title."""
    mine, yours = title.person, name.person
    if mine and yours and (title.is_person or name.is_person):
        if mine.family == yours.family:
            return bool(agree(mine, yours))
        return mine.given[0] == yours.given[0] and mine.family in yours.given
    if abbreviates(title.form, name.form) or abbreviates(name.form, title.form):
        return True
    if title.form.qualifier and _plain([*title.form.words, *title.form.qualifier.split()]) == _plain(name.form.words):
        return True
    short, long = title.form.words, name.form.words
    if len(short) > len(long):
        short, long = long, short
    return (
        len(short) > 1 and set(short) < set(long) and (title.is_person or (short[0], short[-1]) == (long[0], long[-1]))
    )
