"""Parse a name into words, numbers, ranks, legal form and disambiguating qualifier."""

import html
import re
from typing import NamedTuple

from conspectus.pipelines.resolution.words import (
    ABBREVIATIONS,
    ARTICLES,
    CORPORATE,
    EPITHETS,
    GENERATIONS,
    HONORIFICS,
    POST_NOMINALS,
)
from conspectus.storage.text.words import NUMBER_WORDS, transliterated

_WORD = re.compile(r"&|[^\W_]+(?:[’'`][^\W\d_]+)*(?:\.(?=[^\W\d_]\.))?[+#]*", re.UNICODE)
_INITIALS = re.compile(r"\b(?:[^\W\d_]\.){2,}(?:[^\W\d_]\b)?|\b[^\W\d_](?:\.[^\W\d_])+\b")
_QUALIFIER = re.compile(r"(?P<head>.*\S)\s*[(（](?P<inside>[^()（）]*)[)）]\s*")
_QUOTED = re.compile(r"(?P<first>\w.*\S)\s+[\"“'‘(](?P<called>[^\"“”()]+?)[.,]?[\"”'’)]\s+(?P<last>\S.*)")
_MARKS = re.compile(r"[.\"“'‘(（]")
_VOCATIVE = re.compile(r"(?:O|Oh)\s+(?=[^\W\d_])")
_TENS, _ONES = ",x,xx,xxx,xl,l,lx,lxx,lxxx,xc".split(","), ",i,ii,iii,iv,v,vi,vii,viii,ix".split(",")
_ROMAN = {tens + ones: str(10 * ten + one) for ten, tens in enumerate(_TENS) for one, ones in enumerate(_ONES)}
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_BEFORE_NAMES = HONORIFICS | EPITHETS


class Form(NamedTuple):
    """A parsed name. Words are folded: lower case, no accents, no full stops.

    `words` are all words of the name proper, except the parts listed separately: the leading article, `ranks` before or
    after a person's name, the `generation` (jr, sr), the legal `form` of a company (None: none is stated), and the
    `qualifier` in a final parenthesis. `after_comma` are the words after a comma, which are in `words` too. `called` is
    the nickname in quotation marks within the name.
    `numbers` are all numbers, digits, words and Roman ones, sorted.
    """

    name: str
    words: tuple[str, ...]
    surfaces: tuple[str, ...]
    numbers: tuple[str, ...]
    ranks: tuple[str, ...]
    epithets: tuple[str, ...]
    generation: str
    form: str | None
    qualifier: str
    after_comma: tuple[str, ...]
    article: bool
    called: str

    @property
    def letters(self) -> str:
        """The words without separators: the same for "Spider-Man" and "Spiderman"."""
        return "".join(self.words)

    @property
    def is_acronym(self) -> bool:
        """Whether the name is one word of capitals: NASA, U.S., WWII."""
        if len(self.surfaces) != 1 or self.qualifier:
            return False
        plain = "".join(sign for sign in self.surfaces[0] if sign.isalnum())
        return 2 <= len(plain) <= 10 and plain.isalpha() and plain.isupper()

    @property
    def begins_small(self) -> bool:
        """Whether the name begins with a small letter."""
        return bool(self.surfaces) and self.surfaces[0][:1].islower()


def form_of(name: str) -> Form:
    """Parse a name.

    >>> form_of("Sir Arthur Conan Doyle").words, form_of("Apollo Eleven").numbers, form_of("Dracula (film)").qualifier
    (('arthur', 'conan', 'doyle'), ('11',), 'film')
    """
    qualifier = ""
    head = name = html.unescape(name)
    epithets: list[str] = []
    called = ""
    vocative = _VOCATIVE.match(head)
    if vocative:  # "O Mouse!"; O. Henry has a full stop
        head, epithets = head[vocative.end() :], ["o"]
    if _MARKS.search(head):
        found = _QUALIFIER.fullmatch(head)
        if found:
            head, qualifier = found["head"], " ".join(transliterated(found["inside"]).split())
        quoted = _QUOTED.fullmatch(head)
        if quoted:  # Vakhtang "Vic" Darchinyan
            head, called = f"{quoted['first']} {quoted['last']}", _plain(quoted["called"])
        head = _INITIALS.sub(lambda run: run[0].replace(".", "") if run.end() - run.start() > 3 else run[0], head)
    comma = head.find(",")
    if comma < 0:
        words = [(_plain(surface), surface, False) for surface in _WORD.findall(head)]
    else:
        words = [(_plain(item[0]), item[0], item.start() > comma) for item in _WORD.finditer(head)]
    words = [item for item in words if item[0]]

    article = len(words) > 1 and words[0][0] in ARTICLES
    words = words[article:]
    ranks: list[str] = []
    while len(words) > 1 and words[0][0] in _BEFORE_NAMES and words[1][0] not in {"of", "and"}:
        (ranks if words[0][0] in HONORIFICS else epithets).append(words[0][0])
        words = words[1:]
    generation = ""
    form: str | None = None
    while len(words) > 1:
        last, surface, _ = words[-1]
        if last in GENERATIONS and len(words) > 2 - bool(ranks):
            generation = GENERATIONS[last]
        elif last in CORPORATE and surface[:1].isupper():
            form = form or CORPORATE[last]
        elif (last in POST_NOMINALS and surface.replace(".", "")[:2].isupper() and len(words) > 2) or (
            last in {"&", "and"} and form is not None
        ):
            pass
        else:
            break
        words = words[:-1]
    numbers = [number for place in range(len(words)) if (number := _number(words, place)) is not None]
    return Form(
        name=name,
        words=tuple([ABBREVIATIONS.get(word, word) if len(words) > 1 else word for word, _, _ in words]),
        surfaces=tuple([surface for _, surface, _ in words]),
        numbers=tuple(sorted(numbers)),
        ranks=tuple(ranks),
        epithets=tuple(epithets),
        generation=generation,
        form=form,
        qualifier=qualifier,
        after_comma=() if comma < 0 else tuple([word for word, _, late in words if late]),
        article=article,
        called=called,
    )


def _plain(surface: str) -> str:
    if surface.isalnum():
        return transliterated(surface)
    plain = transliterated(surface).replace(".", "").replace("’", "'").replace("`", "'")
    # A possessive is not a plural: the Lion's, the Lions.
    owns = plain.endswith("'s")
    return plain.replace("'", "") if not owns else f"{plain[:-2].replace(chr(39), '')}'s"


def number_of(word: str) -> str | None:
    """Return the number that a folded word denotes, in digits, or None. Roman numerals count from II on.

    >>> number_of("11th"), number_of("eleven"), number_of("xi"), number_of("mix")
    ('11', '11', '11', None)
    """
    if word[:1].isdigit():
        found = _ORDINAL.fullmatch(word)
        digits = found[1] if found else word
        return digits.lstrip("0") or "0"
    if word in NUMBER_WORDS:
        return NUMBER_WORDS[word]
    if len(word) > 1 and word in _ROMAN:
        return _ROMAN[word]
    return word if any(sign.isdigit() for sign in word) else None


def _number(words: list[tuple[str, str, bool]], place: int) -> str | None:
    word, surface, _ = words[place]
    if len(word) == 1 and word in "ivx":  # "Rocky V", "Malcolm X": a numeral, or a distinguishing letter
        return _ROMAN[word] if 0 < place == len(words) - 1 and surface.isupper() else None
    if not word[:1].isdigit() and word not in NUMBER_WORDS and not (surface.isupper() and place):
        return None if word.isalpha() or not any(sign.isdigit() for sign in word) else word
    return number_of(word)
