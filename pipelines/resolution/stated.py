"""Propose pairs that a text states: "also known as", brackets, a title and the name its text begins with."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from conspectus.pipelines.resolution.evidence import Located
from conspectus.pipelines.resolution.features import NameFeatures, Names
from conspectus.pipelines.resolution.keys import initials
from conspectus.pipelines.resolution.parsed_name import Form
from conspectus.pipelines.resolution.person_names import agree
from conspectus.pipelines.resolution.rules import NamePair, pair_of
from conspectus.pipelines.resolution.words import SMALL_WORDS, WORKS

_FARTHEST, _AHEAD = 140, 5
"""Maximum number of characters, and of names, between the two: a parenthesis may contain dates and places."""
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
PATTERNS = (_TWO, _SAME, _IN_BRACKETS, _IN_LANGUAGE)
"""What may stand between two names that a text joins."""
TRIGGER = re.compile(
    r"[\s,;–—(&](?:(?<=[(&])|a(?:nd\b|bbr|ka|\.k|lias|gainst)|or\b|n(?:or\b|é|icknamed)|v(?:s|ersus)|m(?:et|arried)"
    r"|defeated|known|called|re(?:ferred|ndered|al)|s(?:pel|tyled|hort|tage)|w(?:ritten|hose)|transl|pen|born)",
    re.IGNORECASE,
)
"""A sign or word without which none of the patterns fits what stands between two names."""
_BRACKET_ENDS = re.compile(r"[\"”']?\s*[),;]")
_USUALLY = re.compile(r"\b(?:better|best|commonly|professionally|popularly|generally)\b", re.IGNORECASE)
"""Words before a second name that is the usual one."""
_OR = re.compile(r"[\"”'’]?,?\s+or\s+(?:simply\s+)?(?:the\s+)?[\"“'‘]?", re.IGNORECASE)
_BIRTH = re.compile(r"\b(?:born|née|né)\b", re.IGNORECASE)
_OUTSIDE = re.compile(r"\([^()]*\)")
_IS = re.compile(r"[\"”']?\s*(?:\(|,|is\b|was\b|are\b|were\b|–|—)")
_CALLED_BEFORE = re.compile(r"\b(?:known|called|nicknamed)\b(?:\s+\w+){0,5}\s+[\"“'‘]?$")
_LEAD_WITHIN = 14
_SENTENCE = 250


def stated(names: Names) -> tuple[list[NamePair], set[tuple[str, str]]]:
    """Return the pairs that a text states to be aliases, and the pairs (ids in order) that it contrasts."""
    same: list[NamePair] = []
    apart: set[tuple[str, str]] = set()
    for chunk in range(len(names.evidence.begins)):
        mentions = names.evidence.in_text(chunk, names.known)
        text = names.evidence.chunk_texts[chunk]
        if mentions and mentions[0].start + names.evidence.begins[chunk] <= _LEAD_WITHIN:
            same += _titled(mentions[0], text, names)
        for first, second in _joined(mentions, text):
            left, right = names.at(mentions[first].entity), names.at(mentions[second].entity)
            gap = text[mentions[first].end : mentions[second].start]
            if _TWO.fullmatch(gap):
                apart.add((min(left.id, right.id), max(left.id, right.id)))
            rule = _rule(gap, text[mentions[second].end :][:6], left.form, right.form)
            if rule == "called" and second + 1 < len(mentions):  # X, also known as Y or Z
                third = mentions[second + 1]
                if third.entity != left.row and _OR.fullmatch(text[mentions[second].end : third.start]):
                    same.append(pair_of(rule, left, names.at(third.entity)))
            place = "place" in left.kinds | right.kinds
            outside = _OUTSIDE.sub("", gap)
            if (
                rule
                and not (place and _BIRTH.search(outside))
                and (rule != "called" or not first or _may_be_one(left, right))
            ):
                same.append(pair_of(rule, left, right, short=left if _USUALLY.search(outside) else None))
    return same, apart


def _joined(mentions: Sequence[Located], text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of two names that a pattern joins.

    The text is searched for triggers first, so that few of the many pairs of neighbours are compared with patterns.
    """
    triggers = [found.start() for found in TRIGGER.finditer(text)] if len(mentions) > 1 else []
    for first, left in enumerate(mentions):
        at = bisect_left(triggers, left.end)
        if at == len(triggers) or triggers[at] > left.end + _FARTHEST:
            continue
        for second, right in enumerate(mentions[first + 1 : first + 1 + _AHEAD], first + 1):
            near = left.end < right.start <= left.end + _FARTHEST and left.entity != right.entity
            if near and triggers[at] < right.start:
                gap = text[left.end : right.start]
                if any(pattern.fullmatch(gap) for pattern in PATTERNS):
                    yield first, second


def _rule(gap: str, after: str, left: Form, right: Form) -> str:
    """Return the rule that pairs two names by what stands between and after them, "" if none does."""
    if _IN_BRACKETS.fullmatch(gap) and _BRACKET_ENDS.match(after):
        return "brackets" if abbreviates(right, left) or abbreviates(left, right) else ""
    if _IN_LANGUAGE.fullmatch(gap) and _ends_there(right.name, after):
        return "language"
    maiden = len(right.words) < 2 and _BIRTH.search(_OUTSIDE.sub("", gap))  # "née Morton" is a part of a name
    return "called" if _SAME.fullmatch(gap) and not maiden else ""


def _ends_there(name: str, after: str) -> bool:
    """Return whether a name in another script ends here: the text after it is not in that script."""
    following = after.lstrip(" \"”'’\u200e\u200f")[:1]
    return not following.isalpha() or (following.isascii() and not name[-1:].isascii() and not name.isascii())


def _may_be_one(left: NameFeatures, right: NameFeatures) -> bool:
    """Return whether the first of two names is a title, or their types or last words agree."""
    of_kind = not left.kinds or not right.kinds or left.kinds & right.kinds
    return bool(left.titles or of_kind or left.form.words[-1] == right.form.words[-1])


def abbreviates(short: Form, long: Form) -> bool:
    """Return whether the letters of a short form occur in order in the long one, starting with its first letter."""
    if not short.is_acronym or len(long.words) < 2:
        return False
    if short.letters in initials(long):
        return True
    starts, at, hits = {0}, -1, 0
    for word in long.words[:-1]:
        starts.add(max(starts) + len(word))
    for sign in short.letters:
        at = long.letters.find(sign, at + 1)
        if at < 0:
            return False
        hits += at in starts
    return short.letters[0] == long.letters[0] and 2 * hits >= len(short.letters)


def _titled(first: Located, text: str, names: Names) -> Iterator[NamePair]:
    """Yield a document's title with the name that its text begins with, if the two are similar enough."""
    document = int(names.evidence.document[first.chunk])
    row = int(names.evidence.title[document])
    if row in (-1, first.entity) or not names.known[row] or not _IS.match(text[first.end : first.end + 8]):
        return
    title, name = names.at(row), names.at(first.entity)
    if name.titles:
        return
    if name.form.letters == title.form.letters and title.form.qualifier:
        work = set(title.form.qualifier.split()) & WORKS
        namesakes = sum(bool(other.titles) for other in names.spelt(title.form.letters))
        if not work and name.documents.keys() == {document} and namesakes == 1:
            yield pair_of("bare title", title, name)
    elif _is_fuller(title, name) or _known_as(title, text[first.end : first.end + _SENTENCE]):
        yield pair_of("full title", title, name)


def _known_as(title: NameFeatures, text: str) -> bool:
    """Return whether the first sentences of a text contain "known as" and its title."""
    before, _, after = text.partition(title.name)
    return len(before) < len(text) and not after[:1].isalnum() and _CALLED_BEFORE.search(before) is not None


def _is_fuller(title: NameFeatures, name: NameFeatures) -> bool:
    """Return whether the name that a text begins with is the full form of its title."""
    mine, yours = title.person, name.person
    if mine and yours and (title.is_person or name.is_person):
        if mine.family == yours.family:
            return bool(agree(mine, yours))
        return mine.given[0] == yours.given[0] and mine.family in yours.given
    if abbreviates(title.form, name.form) or abbreviates(name.form, title.form):
        return True
    qualified = (*title.form.words, *title.form.qualifier.split())
    if title.form.qualifier and _plain(qualified) == _plain(name.form.words):
        return True
    short, long = sorted((title.form.words, name.form.words), key=len)
    ends = (short[0], short[-1]) == (long[0], long[-1])
    return len(short) > 1 and set(short) < set(long) and (title.is_person or ends)


def _plain(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in SMALL_WORDS]
