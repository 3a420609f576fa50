"""Propose pairs that a text states: "also known as", brackets, a title and the name its text begins with."""

import re
from collections.abc import Iterator

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
    r"transliterated|transliteration|romanized|romanised|romanization|translated)(?: language)?:"
).replace(" ", r"\ ")
_HOW = (
    r"(?:also|better|best|commonly|professionally|popularly|originally|formerly|previously|often|usually|sometimes|"
    r"widely|simply|mononymously|collectively|otherwise|now|variously|more|generally|frequently)"
)
_CALLED = (
    r"(?:known|called|referred to|spelled|spelt|written|abbreviated|nicknamed|styled|rendered|transliterated|shortened)"
)
_BY_NAME = r"by\ (?:his|her|its|their|the)(?:\s+\w+){0,2}\s+name"
_JOINT = re.compile(
    rf"""
    (?P<brackets>\s*\(\s*(?:the\s+)?["“'‘]?)
    |(?P<language>\s*\((?:[^():]{{0,60}}[;,]\s*)?{_LANGUAGE}\s*["“'‘]?)
    |(?P<called>(?:\s*\([^()]{{0,110}}\))?            # what stands in a parenthesis between
    (?:\s*[,;–—]\s*|\s+|\s*\(\s*)
    (?:(?:who|which|that)\s+(?:is|was|are)\s+|or\s+|and\s+)?
    (?: (?:{_HOW}\s+)+(?:{_CALLED})(?:\s+{_HOW})*(?:\s+(?:as|to\ as|{_BY_NAME}))?
      | (?:{_CALLED})\s+(?:{_HOW}\s+)*(?:as|{_BY_NAME})
      | nicknamed|abbreviated|aka|a\.k\.a\.|alias|née|né|abbreviation:|abbr\.|short\ for
      | (?:real|stage|pen)\ name:?|whose\ real\ name\ (?:is|was)
      | (?:{_HOW}\s+)?born(?:\s+as)?
    )
    ,?\s+(?:\w[^,.;()]{{0,60}}?["”'’]?,?\s+or\s+(?:simply\s+)?)?(?:the\s+)?(?:as\s+)?["“'‘«]?)  # called Y or Z""",
    re.VERBOSE | re.IGNORECASE,
)
"""What may stand between two aliases; the groups are rules."""
_BRACKET_ENDS = re.compile(r"[\"”']?\s*[),;]")
_USUALLY = re.compile(r"\b(?:better|best|commonly|professionally|popularly|generally)\b", re.IGNORECASE)
"""Words before a second name that is the usual one."""
_BIRTH = re.compile(r"\b(?:born|née|né)\b", re.IGNORECASE)
_OUTSIDE = re.compile(r"\([^()]*\)")
_IS = re.compile(r"[\"”']?\s*(?:\(|,|is\b|was\b|are\b|were\b|–|—)")
_CALLED_BEFORE = re.compile(r"\b(?:known|called|nicknamed)\b(?:\s+\w+){0,5}\s+[\"“'‘]?$")
_LEAD_WITHIN = 14
_SENTENCE = 250


def stated(names: Names) -> Iterator[NamePair]:
    """Yield the pairs that a text states to be aliases."""
    for chunk in range(len(names.evidence.begins)):
        mentions = names.evidence.in_text(chunk, names.known)
        text = names.evidence.chunk_texts[chunk]
        if mentions and mentions[0].start + names.evidence.begins[chunk] <= _LEAD_WITHIN:
            yield from _titled(mentions[0], text, names)
        for place, first in enumerate(mentions):
            for second in mentions[place + 1 : place + 1 + _AHEAD]:
                near = first.end < second.start <= first.end + _FARTHEST and first.entity != second.entity
                joint = _JOINT.fullmatch(text, first.end, second.start) if near else None
                if joint is None:
                    continue
                left, right = names.at(first.entity), names.at(second.entity)
                if _is_alias(joint, text[second.end :][:6], left, right, leads=not place):
                    usual_second = _USUALLY.search(_OUTSIDE.sub("", joint[0]))
                    yield pair_of(str(joint.lastgroup), left, right, short=left if usual_second else None)


def _is_alias(joint: re.Match[str], after: str, left: NameFeatures, right: NameFeatures, *, leads: bool) -> bool:
    """Return whether two names are aliases, from the text between and after them; `leads` if it begins with them."""
    if joint["brackets"]:
        abbreviated = abbreviates(right.form, left.form) or abbreviates(left.form, right.form)
        return abbreviated and _BRACKET_ENDS.match(after) is not None
    if joint["language"]:  # the text after a name in another script is not in that script
        following = after.lstrip(" \"”'’\u200e\u200f")[:1]
        return not following.isalpha() or (following.isascii() and not right.name[-1:].isascii())
    born = _BIRTH.search(_OUTSIDE.sub("", joint[0]))  # a place of birth, or a part of a name: "née Morton"
    if born and (len(right.form.words) < 2 or "place" in left.kinds | right.kinds):
        return False
    of_kind = not left.kinds or not right.kinds or left.kinds & right.kinds
    return bool(leads or left.titles or of_kind or left.form.words[-1] == right.form.words[-1])


def abbreviates(short: Form, long: Form) -> bool:
    """Return whether the letters of a short form occur in order in the long one, starting with its first letter."""
    if not short.is_acronym or len(long.words) < 2:
        return False
    rest = iter(long.letters)
    in_order = all(sign in rest for sign in short.letters)
    return short.letters in initials(long) or (in_order and short.letters[0] == long.letters[0])


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
        if not work and name.documents.keys() == {document}:
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
    qualified, full = (
        [word for word in words if word not in SMALL_WORDS]
        for words in ((*title.form.words, *title.form.qualifier.split()), name.form.words)
    )
    if title.form.qualifier and qualified == full:
        return True
    short, long = sorted((title.form.words, name.form.words), key=len)
    ends = (short[0], short[-1]) == (long[0], long[-1])
    return len(short) > 1 and set(short) < set(long) and (title.is_person or ends)
