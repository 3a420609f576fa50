"""Named entities by regular expressions, in any script: the fallback if no spaCy pipeline fits."""

from collections.abc import Iterator, Sequence

import regex
from conspectus.storage.text.language import function_words
from conspectus.storage.text.names import words
from conspectus.storage.text.nlp import CONCEPT, NAME, RULES, Annotation, Phrase


class RegexAnnotator:
    """Names by regular expressions, in any script; no triples.

    In scripts with capitals, a name is a run of capitalised words, joined by small words such as *of* or
    *de* (a lone capitalised word at the start of a sentence counts only if it also occurs elsewhere in it).
    In scripts without capitals a name is text in quotation or title marks, a run of two to eight Han
    characters between punctuation and the commonest function characters, a run of Katakana, or a word of at
    least four letters.

    Args:
        language: ISO 639-1 code of the texts, "" for any. Names do not begin or end with its function words; if it
            capitalises all nouns, one such word is a concept and only several are a name.
    """

    def __init__(self, language: str = "") -> None:
        self.name = f"regex-{RULES} {language}".rstrip()
        self._small = function_words(language) if language else frozenset()
        self._nouns_are_capitalised = language in _CAPITALISED_NOUNS

    def annotate(self, text: str) -> Annotation:
        """Return the names of the text, the longest if they overlap."""
        pattern = _CAPITALISED_RUN if self._nouns_are_capitalised else _CAPITALISED
        found = [*_capitalised(text, pattern, self._small), *_caseless(text)]
        if self._nouns_are_capitalised:
            found = [each._replace(type=CONCEPT) if _is_noun(each.text) else each for each in found]
        return Annotation(tuple(_without_overlaps(found)), ())

    def annotate_all(self, texts: Sequence[str]) -> list[Annotation]:
        """Return the names of each text."""
        return [self.annotate(text) for text in texts]


_CAPITALISED_NOUNS = frozenset({"de", "lb"})


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
_CASELESS_WORD = regex.compile(
    r"[\p{Arabic}\p{Hebrew}\p{Devanagari}\p{Bengali}\p{Tamil}\p{Telugu}\p{Georgian}\p{Hangul}\p{Thai}\p{Ethiopic}"
    r"\p{Gujarati}\p{Gurmukhi}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Lao}\p{Myanmar}\p{M}]{2,}"
)
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


def _caseless(text: str) -> Iterator[Phrase]:
    for match in _QUOTED.finditer(text):
        yield Phrase(match.start(1), match.end(1), match.group(1), NAME)
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
