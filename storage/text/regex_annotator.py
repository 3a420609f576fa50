"""Named entities by regular expressions, in any script: the fallback if no spaCy pipeline fits."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate

import regex
from conspectus.storage.text.language import function_words
from conspectus.storage.text.language_tables import words_of
from conspectus.storage.text.names import words
from conspectus.storage.text.nlp import CONCEPT, NAME, PATTERNS, Annotation, Phrase
from conspectus.storage.text.word_lists import cut_run, shares_of_common_words


class RegexAnnotator:
    """Names by regular expressions, in any script; no triples.

    In scripts with capitals, a name is a run of capitalised words, joined by small words such as *of* or
    *de* (a lone capitalised word at the start of a sentence counts only if it also occurs elsewhere in it).
    In scripts without capitals a name is text in quotation or title marks, a run of two to eight Han
    characters between punctuation and the commonest function characters, a run of Katakana, or a word of at
    least four letters. In Chinese and Japanese it is a run of characters that are no common words, in Arabic, Hindi and
    Korean a run of words that are none, without what is written together with them; common words are concepts.

    What stands beside a name (`name_words.txt`) tells where it begins or ends, and the types of some.

    Args:
        language: ISO 639-1 code of the texts, "" for any. Names do not begin or end with its function words; if it
            capitalises all nouns, one such word is a concept and only several are a name.
    """

    def __init__(self, language: str = "") -> None:
        self.name = f"regex-{PATTERNS} {language}".rstrip()
        self._language = language
        self._small = function_words(language) if language else frozenset()
        self._nouns_are_capitalised = language in _CAPITALISED_NOUNS

    def annotate(self, text: str) -> Annotation:
        """Return the names of the text, the longest if they overlap."""
        pattern = _CAPITALISED_RUN if self._nouns_are_capitalised else _CAPITALISED
        found = [*_capitalised(text, pattern, self._small)]
        known = self._language not in ("", "en")
        found += _quoted(text, said=not known)
        found += _unlisted(text, self._language) if self._language in _BY_WORD_LISTS else _caseless(text)
        if known:
            found = [_beside_words(text, each, self._language) for each in found]
            found += [*_headed(text, self._language)]
        if self._nouns_are_capitalised:
            found = [each._replace(type=CONCEPT) if _is_noun(each.text) else each for each in found]
        return Annotation(tuple(_without_overlaps(found)), ())

    def annotate_all(self, texts: Sequence[str]) -> list[Annotation]:
        """Return the names of each text."""
        return [self.annotate(text) for text in texts]


_CAPITALISED_NOUNS = frozenset({"de", "lb"})
_BY_WORD_LISTS = ("zh", "ja", "ar", "hi", "ko")
"""Languages without capitals whose list of common words tells what is a name."""


_INITIALS = r"(?:\p{Lu}\.[ ]?)*"
_CAPITAL_WORD = r"\p{Lu}[\p{L}\p{M}\p{N}+#'’&-]*"
_SMALL_WORDS = r"(?:(?:of|the|de|la|le|du|van|von|der|den|di|da|al|el|bin|ibn) ){0,2}"
_CAPITALISED = regex.compile(
    # An initial keeps its full stop ("J. R. R. Tolkien"); after a longer word it ends the sentence.
    rf"{_INITIALS}{_CAPITAL_WORD}(?:[ \n]{_SMALL_WORDS}{_INITIALS}{_CAPITAL_WORD})*"
)
_CAPITALISED_RUN = regex.compile(rf"{_INITIALS}{_CAPITAL_WORD}(?: {_INITIALS}{_CAPITAL_WORD})*")
"""The same without small words, which in German more often join two nouns than the parts of a name."""
_QUOTED = regex.compile(r"[«「『《〈“]([^«»「」『』《》〈〉“”\n]{2,60})[»」』》〉”]")
_HAN = regex.compile(r"[\p{Han}]{2,}")
_HAN_FUNCTION = regex.compile(r"[的了是在和与及或也都就而但被把从到对于以为之其这那我你他她它们个有不着过很]")
_KATAKANA = regex.compile(r"[\p{Katakana}ー・]{2,}")
_APART = regex.compile(rf"({_KATAKANA.pattern}|\.? )")
_CASELESS_WORD = regex.compile(
    r"[\p{Arabic}\p{Hebrew}\p{Devanagari}\p{Bengali}\p{Tamil}\p{Telugu}\p{Georgian}\p{Hangul}\p{Thai}\p{Ethiopic}"
    r"\p{Gujarati}\p{Gurmukhi}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Lao}\p{Myanmar}\p{M}]{2,}"
)
_COMMON, _RARE = 1e-4, 1e-5
"""Shares of words of a language: a word at the beginning of a sentence is no name, and one may be part of a name."""
_WORD_BEFORE = regex.compile(r"(\p{L}[\p{L}.-]*?)\.?[\s«„“\"]*$")
_OF_NAME = rf"(?:(?<=\b\p{{L}}{{1,3}})\.)?(?: \p{{Ll}}{{1,6}}){{0,2}} {_CAPITAL_WORD}(?: {_CAPITAL_WORD})*"
_OF_CASE = r"(?: \p{Ll}+(?:ого|его|ой|ей|ых|их))* \p{Ll}+(?:а|я|ы|и|ов|ев|ей)\b"
"""The genitive behind a noun in Russian: речного флота."""
_QUOTED_PLAINLY = regex.compile(r'(?<![\p{L}\p{N}])"([^"\n]{2,60})"')
_RUN = regex.compile(r"[\p{Han}\p{Katakana}ー・]{2,}")
_CASELESS_LETTERS = r"[[\p{Arabic}\p{Devanagari}\p{Hangul}\p{M}]--[\p{P}\p{N}]]++"
_RUN_OF_WORDS = regex.compile(rf"{_CASELESS_LETTERS}(?:\.? {_CASELESS_LETTERS})*", regex.V1)
_PERSON_BEFORE_TITLE = regex.compile(
    r"([\p{Han}\p{Katakana}ー]{1,6}(?:[^\P{Hiragana}はがのをにともでへや]\p{Hiragana}{0,4})?)(?:さん|氏|様|君)"
)
_VOWEL_SIGNS = regex.compile(r"[\u0640\u064b-\u0652\u0670]")
"""Signs that Arabic texts have or leave out."""
_LETTERS = {
    "place": "g", "person behind": "t", "organisation behind": "s", "place behind": "p", "outside": "f",
    "person": "T", "street": "S", "institution": "I", "company": "C", "before a word": "f", "behind a word": "f",
}  # fmt: skip
_OF_LETTERS = (
    (regex.compile(r"(u(?:n?u){1,3}|ut|r)(?=t|(?<=t))"), "PERSON"),
    (regex.compile(r"((?:[urg]+[wc]{0,2}|w{1,2})s|o)(?!s)"), "ORG"),
    (regex.compile(r"(gp*)"), "GPE"),
    (regex.compile(r"((?:u[ur]*|r|w)p+)"), NAME),
    (regex.compile(r"((?:u|r(?=[ur]*u))(?:n?[ur])*+)(?!t)"), NAME),
    (regex.compile(r"([rwc]+)"), CONCEPT),
)
"""What runs of pieces are, by the letters of `_letter`."""
_OF_WORDS = (
    (regex.compile(r"((?:[nuv]|r){1,3})(?=t)"), "PERSON"),
    (regex.compile(r"(?<=T\.?)((?:[nurv]|w(?=[nurd])){1,3}d?)"), "PERSON"),
    (regex.compile(r"([IC][nurg]{1,3}|Id|gs|[nurv]{1,3}w?s|o)"), "ORG"),
    (regex.compile(r"(S(?:[nurg]{1,3}|d))"), "FAC"),
    (regex.compile(r"(g)"), "GPE"),
    (regex.compile(r"([nur]+p+)"), NAME),
    (regex.compile(r"((?:u|v(?=f)|n(?=[nur]|vf))(?:[nur]|v(?=f)){0,3}|nd)"), NAME),
    (regex.compile(r"([rwdn])"), CONCEPT),
)
"""The same for languages with spaces."""
_SAID = regex.compile(r"[.!?…。！？，]")
_EDGE = regex.compile(r"\b")
_SENTENCE_START = regex.compile(r"(?:^|[.!?。！？\n][\"'”’)\]]*\s*)$")


def _is_noun(name: str) -> bool:
    return len(name.split()) == 1 and not name.isupper()


def _capitalised(text: str, pattern: "regex.Pattern[str]", small: frozenset[str]) -> Iterator[Phrase]:
    for match in pattern.finditer(text):
        start, surface = _without_small_words(match.start(), match.group(), small)
        surface = surface.rstrip(".'’&-")
        surface = regex.sub(r"['’]s$", "", surface)
        if len(surface) < 2:
            continue
        lone = " " not in surface and "\n" not in surface
        if lone and _SENTENCE_START.search(text[max(0, start - 8) : start]) and not _occurs_twice(text, surface):
            continue
        yield Phrase(start, start + len(surface), surface, NAME)


def _occurs_twice(text: str, word: str) -> bool:
    """Return whether a text has a word twice, each time as a whole word."""
    count, at = 0, text.find(word)
    while at >= 0 and count < 2:
        end = at + len(word)
        whole = bool(_EDGE.match(text, at) and _EDGE.match(text, end))
        count += whole
        at = text.find(word, end if whole else at + 1)
    return count == 2


def _without_small_words(start: int, surface: str, small: frozenset[str]) -> tuple[int, str]:
    """Return a run of words, and its start, without function words at its ends."""
    found = words(surface) if small else []
    kept = [word for word in found if word.key not in small]
    if len(kept) == len(found):
        return start, surface
    if not kept:
        return start, ""
    end = len(surface) if kept[-1] is found[-1] else kept[-1].end
    return start + kept[0].start, surface[kept[0].start : end]


@cache
def _beside(role: str, language: str) -> frozenset[str]:
    return frozenset(words_of(role, language))


def _beside_words(text: str, phrase: Phrase, language: str) -> Phrase:
    """Return a name without the words before it that are none of it, and with the type that they tell."""
    start, end, name, kind = phrase
    first, _, rest = name.partition(" ")
    titled = first.casefold().rstrip(".") in _beside("person", language)
    if rest and (titled or first[:1].islower() or _is_adverb(text, start, first, rest, language)):
        start, name = end - len(rest), rest
    before = _WORD_BEFORE.search(text[max(0, start - 40) : start])
    word = before[1].casefold() if before else ""
    if titled or (word in _beside("person", language) and name[:1].isupper()):
        kind = "PERSON"
    elif word in _beside("company", language) and text[start - 1 : start] in '«„“"':
        kind = "ORG"
    return Phrase(start, end, name, kind)


def _is_adverb(text: str, start: int, first: str, rest: str, language: str) -> bool:
    """Return whether a common word only begins the sentence in which a name is: "Ieri Ferrini", but "San Marino"."""
    common = shares_of_common_words(language).get(first.casefold(), 0.0) >= _COMMON
    return (
        common
        and _SENTENCE_START.search(text[max(0, start - 8) : start]) is not None
        and text.count(rest) > text.count(f"{first} {rest}")
    )


def _headed(text: str, language: str) -> Iterator[Phrase]:
    """Yield streets and institutions with the words that begin their names: "via dei Mandorli"."""
    for role, kind in (("street", "FAC"), ("institution", "ORG")):
        if heads := "|".join(map(regex.escape, sorted(_beside(role, language)))):
            name = _OF_CASE if language == "ru" and kind == "ORG" else _OF_NAME
            for found in regex.finditer(rf"\b(?i:{heads})\b{name}", text):
                yield Phrase(*found.span(), found[0], kind)


def _unlisted(text: str, language: str) -> Iterator[Phrase]:
    """Yield the names in a text without capitals: runs of characters or words that are not in the language's list.

    The pieces of a run are classified by a letter each, of which patterns make names.
    """
    for found in _PERSON_BEFORE_TITLE.finditer(text) if language == "ja" else ():
        yield Phrase(*found.span(1), found[1], "PERSON")
    runs, patterns = (_RUN, _OF_LETTERS) if language in ("zh", "ja") else (_RUN_OF_WORDS, _OF_WORDS)
    for run in runs.finditer(text):
        pieces = [
            piece
            for part in filter(None, _APART.split(run[0]))
            for piece in ([part] if _APART.fullmatch(part) else _cut(part, language, text))
        ]
        starts = list(accumulate(map(len, pieces), initial=run.start()))
        of = [place for place, piece in enumerate(pieces) if piece != " "]
        letters = "".join(_letter(pieces[place], language) for place in of)
        for pattern, kind in patterns:
            for match in pattern.finditer(letters):
                start, end = starts[of[match.start(1)]], starts[of[match.end(1) - 1] + 1]
                if end - start > (kind == "ORG") + 1:
                    yield Phrase(start, end, text[start:end], kind)


def _cut(part: str, language: str, text: str) -> list[str]:
    """Return a stretch without spaces in its words, or a word and what is written together with it, if that is sure."""
    if language in ("zh", "ja"):
        return cut_run(part, language)
    own = _share(part, language)
    for before in words_of("before a word", language):
        rest = part.removeprefix(before)
        if rest != part and (rest.startswith("ال") or _share(rest, language) > own or f" {rest} " in text):
            return [before, *_cut(rest, language, text)]
    for behind in () if own else words_of("behind a word", language):
        rest = part.removesuffix(behind)
        if rest != part and (_share(rest, language) or (language == "ko" and len(rest) > 1)):
            return [rest, behind]
    return [part]


def _share(word: str, language: str) -> float:
    return shares_of_common_words(language).get(_VOWEL_SIGNS.sub("", word), 0.0)


def _letter(piece: str, language: str) -> str:
    """Return the class of a piece of a run: u for what is in no list, w for a word, c for a common one.

    In Korean v is what ends like a verb, in Arabic d a word with the article.
    """
    if piece == ". ":
        return "."
    for end in range(2, len(piece)):  # 北京市 and 北京大学 are words of the list
        for role, letter in (("place behind", "g"), ("organisation behind", "o")):
            if piece[:end] in _beside("place", language) and piece[end:] in _beside(role, language):
                return letter
    for role, letter in _LETTERS.items():
        if piece in _beside(role, language):
            return letter
    if piece in _beside("between", language):
        return "n"
    if len(piece) == 1 and language not in ("zh", "ja"):
        return "c"
    share = _share(piece, language) if len(piece) > 1 else 0.0
    if share >= _RARE:
        return "d" if piece.startswith("ال") else "w" if share < _COMMON else "c"
    if language == "ko" and min(map(len, parts := cut_run(piece, language))) > 1 < len(parts):
        return "o" if parts[-1] in _beside("organisation behind", language) and _share(parts[0], "ko") < _RARE else "w"
    return "r" if share else "v" if piece.endswith(words_of("end of a verb", language)) else "u"


def _quoted(text: str, *, said: bool) -> Iterator[Phrase]:
    """Yield what stands in quotation or title marks; with `said`, sentences too."""
    for pattern in (_QUOTED,) if said else (_QUOTED, _QUOTED_PLAINLY):
        for match in pattern.finditer(text):
            if said or not _SAID.search(match[1]):
                yield Phrase(*match.span(1), match[1], NAME)


def _caseless(text: str) -> Iterator[Phrase]:
    for run in _HAN.finditer(text):
        start = run.start()
        for piece in _HAN_FUNCTION.split(run.group()):
            if 2 <= len(piece) <= 8:
                yield Phrase(start, start + len(piece), piece, NAME)
            start += len(piece) + 1
    for match in _KATAKANA.finditer(text):
        yield Phrase(match.start(), match.end(), match.group(), NAME)
    for match in _CASELESS_WORD.finditer(text):
        if len(regex.findall(r"\p{L}", match.group())) >= 4 or regex.search(r"\p{Hangul}", match.group()):
            yield Phrase(match.start(), match.end(), match.group(), NAME)


def _without_overlaps(phrases: Sequence[Phrase]) -> list[Phrase]:
    kept: list[Phrase] = []
    taken: set[int] = set()
    for phrase in sorted(phrases, key=lambda item: (item.start - item.end, item.start)):
        if taken.isdisjoint(range(phrase.start, phrase.end)):
            kept.append(phrase)
            taken.update(range(phrase.start, phrase.end))
    return sorted(kept, key=lambda item: item.start)
