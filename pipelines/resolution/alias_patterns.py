"""Propose pairs from aliases that a text states ("also known as", brackets), acronyms and titles; detect contrasts."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from conspectus.pipelines.resolution.features import Located, LocatedMentions, NameFeatures
from conspectus.pipelines.resolution.pairs import NamePair, pair_of
from conspectus.pipelines.resolution.parsed_name import Form
from conspectus.pipelines.resolution.person_names import agree, person_of
from conspectus.pipelines.resolution.wordlists import SMALL_WORDS, WORKS
from conspectus.storage.records import Chunk, Document

_MOST_WORDS = 12


def acronyms(known: Sequence[NameFeatures]) -> Iterator[NamePair]:
    """Yield each acronym with the names whose initials it has.

    If several long names in its documents have these initials, the acronym is ambiguous and no score is high.
    """
    short = [name for name in known if name.form.is_acronym and len(name.form.letters) > 2 and not name.form.ranks]
    wanted = {acronym.form.letters for acronym in short}
    long: defaultdict[str, list[NameFeatures]] = defaultdict(list)
    for name in known:
        if 2 <= len(name.form.words) <= _MOST_WORDS:
            for letters in initials(name.form) & wanted:
                long[letters].append(name)
    for one in short:
        found = [name for name in long[one.form.letters] if name.kinds != {"person"} and _capitalised(name.form)]
        groups = {item.form.words for item in found}
        near = [item for item in found if item.documents.keys() & one.documents.keys()]
        for item in found:
            beside = item in near
            alone = len(groups) == 1 or (beside and len({other.form.words for other in near}) == 1)
            if alone and beside:
                score = 0.85
            elif alone:
                score = 0.78 if len(one.form.letters) >= 4 else 0.62
            else:
                score = 0.45
            yield pair_of(one.id, item.id, "its initial letters", score)


def initials(form: Form) -> set[str]:
    """Return the acronyms of a name: with and without its small words; a numeral stays whole.

    >>> from conspectus.pipelines.resolution.parsed_name import form_of
    >>> sorted(initials(form_of("World War II"))), sorted(initials(form_of("Bank of England")))
    (['wwii'], ['be', 'boe'])
    """
    words = form.words
    numeral = words[-1] if form.numbers and len(words) > 2 and words[-1].isalpha() else ""
    plain = words[:-1] if numeral else words
    every = "".join(word[0] for word in plain) + numeral
    main = "".join(word[0] for word in plain if word not in SMALL_WORDS) + numeral
    return {item for item in (every, main) if len(item) > 1}


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


def _capitalised(form: Form) -> bool:
    return all(word[:1].isupper() for word in form.surfaces if word.casefold() not in SMALL_WORDS)


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
_TWO = re.compile(r"\s*(?:,?\s*(?:and|or|nor|versus|vs\.?|met|married|against|defeated)\s+|\s*&\s*)", re.IGNORECASE)
_ALSO_CALLED = "a text says that the one is also called the other"
_USUALLY = re.compile(r"\b(?:better|best|commonly|professionally|popularly|generally)\b", re.IGNORECASE)
"""Words before a second name that is the usual one."""

_OR = re.compile(r"[\"”'’]?,?\s+or\s+(?:simply\s+)?(?:the\s+)?[\"“'‘]?", re.IGNORECASE)
_BIRTH = re.compile(r"\b(?:born|née|né)\b", re.IGNORECASE)
_OUTSIDE = re.compile(r"\([^()]*\)")
_IS = re.compile(r"[\"”']?\s*(?:\(|,|is\b|was\b|are\b|were\b|–|—)")
_LEAD_WITHIN = 14
_SENTENCE = 250


def stated(known: Sequence[NameFeatures], placed: LocatedMentions) -> tuple[list[NamePair], set[tuple[str, str]]]:
    """Return the pairs that a text states to be aliases, and the pairs (ids in order) that it contrasts."""
    of_id = {name.id: name for name in known}
    same: list[NamePair] = []
    apart: set[tuple[str, str]] = set()
    for chunk, row in placed.by_chunk(of_id.keys()):
        for place, first in enumerate(row):
            for second in row[place + 1 : place + 1 + _AHEAD]:
                start, end = _end(first) - chunk.start, (second.start or 0) - chunk.start
                if first.entity_id == second.entity_id or not 0 < end - start <= _FARTHEST:
                    continue
                left, right = of_id[first.entity_id or ""], of_id[second.entity_id or ""]
                gap, after = chunk.text[start:end], chunk.text[_end(second) - chunk.start :][:6]
                if _TWO.fullmatch(gap):
                    apart.add((min(left.id, right.id), max(left.id, right.id)))
                reason = _alias_reason(gap, after, left.form, right.form)
                fits = (
                    reason != _ALSO_CALLED
                    or bool(left.titles)
                    or place == 0
                    or _one_kind(left, right)
                    or left.form.words[-1] == right.form.words[-1]
                )
                if reason == _ALSO_CALLED and place + 2 < len(row):
                    same += _or_the(left.id, second, row[row.index(second) + 1 :][:1], chunk)
                if reason and fits and not (_BIRTH.search(_OUTSIDE.sub("", gap)) and _places(left, right)):
                    usual = left.id if _USUALLY.search(_OUTSIDE.sub("", gap)) else ""
                    same.append(pair_of(left.id, right.id, reason, 0.93, short=usual, explicit=True))
    return same, apart


def _ends_there(name: str, after: str) -> bool:
    """Return whether a name in another script ends here: the text after it is not in that script."""
    following = after.lstrip(" \"”'’\u200e\u200f")[:1]
    return not following.isalpha() or (following.isascii() and not name[-1:].isascii() and not name.isascii())


def _places(left: NameFeatures, right: NameFeatures) -> bool:
    return "place" in left.kinds | right.kinds


def _or_the(left: str, second: Located, following: Sequence[Located], chunk: Chunk) -> Iterator[NamePair]:
    """Yield the pair (X, Z) of "X, also known as Y or Z"."""
    for third in following:
        gap = chunk.text[_end(second) - chunk.start : (third.start or 0) - chunk.start]
        if _OR.fullmatch(gap) and third.entity_id not in {left, second.entity_id}:
            yield pair_of(left, third.entity_id or "", _ALSO_CALLED, 0.93, explicit=True)


def _end(mention: Located) -> int:
    return mention.end or 0


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


def titled(known: Sequence[NameFeatures], placed: LocatedMentions, documents: Sequence[Document]) -> Iterator[NamePair]:
    """Yield each title with the name that its text begins with, if the two are similar enough."""
    of_id = {other_name.id: other_name for other_name in known}
    of_document: dict[str, NameFeatures] = {id_: other_name for other_name in known for id_ in other_name.titles}
    heads: defaultdict[str, set[str]] = defaultdict(set)
    for item in of_document.values():
        heads[item.form.letters].add(item.id)
    begins = {chunk.document_id: row[0] for chunk, row in placed.by_chunk(of_id.keys()) if chunk.ordinal == 0}
    for document in documents:
        title, first = of_document.get(document.id), begins.get(document.id)
        if title is None or first is None or (first.start or 0) > _LEAD_WITHIN or first.entity_id == title.id:
            continue
        name = of_id[first.entity_id or ""]
        if name.titles or not _IS.match(document.text[_end(first) : _end(first) + 8]):
            continue
        if name.form.letters == title.form.letters and title.form.qualifier:
            work = set(title.form.qualifier.split()) & WORKS
            if not work and name.documents.keys() == {document.id} and len(heads[title.form.letters]) == 1:
                yield pair_of(title.id, name.id, "the text of that title begins with the name", 0.85, explicit=True)
        elif _is_fuller(title, name) or _known_as(title, document.text[_end(first) : _end(first) + _SENTENCE]):
            yield pair_of(title.id, name.id, "the text of that title begins with the full name", 0.9, explicit=True)


def _plain(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in SMALL_WORDS]


def _known_as(title: NameFeatures, text: str) -> bool:
    """Return whether the first sentences of a text contain "known as" and its title."""
    name = re.escape(title.entity.name)
    called = r"\b(?:known|called|nicknamed)\b(?:\s+\w+){0,3}?\s+(?:as\s+)?(?:the\s+)?[\"“'‘]?"
    return re.search(rf"{called}{name}\b", text) is not None


def _is_fuller(title: NameFeatures, name: NameFeatures) -> bool:
    """Return whether the name that a text begins with is the full form of its title."""
    mine, yours = person_of(title.form), person_of(name.form)
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
