"""Repair characters that fonts of PDF files replace by others, and reflow printed lines.

A page of a PDF consists of printed lines. Sentences span lines and pages, and words are divided. The page's geometry
is not needed: only the lines, in reading order.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median
from typing import TYPE_CHECKING

import regex
from conspectus.pipelines.readers.pdf.lists import Page

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

FENCE = "```"
_NARROWEST = 30
_NEIGHBOURS = 4
_FILLED = 0.85
_HALF = 0.6
_USUAL = 0.7

_LEADERS = re.compile(r"(?:[ ]?[.·…_][ ]?){5,}")
_SPACES = re.compile(r"[^\S\n]+")
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*+(?:[-‐]\p{L}[\p{L}\p{M}]*+)*+")
_DIVIDED = regex.compile(  # from a word's beginning only, or each letter would be tried as one
    r"(?<![\p{L}\p{M}])(?<![\p{L}\p{M}][-‐])(?P<word>\p{L}[\p{L}\p{M}]*+(?:[-‐]\p{L}[\p{L}\p{M}]*+)*+)[-‐]$"
)
_CONTINUED = regex.compile(r"\p{Ll}[\p{L}\p{M}]*+")
_SMALL = regex.compile(r"[\p{Pi}\p{Ps}]?\p{Ll}")
_STOPPED = regex.compile(r"[.!?:;。！？…][\p{Pe}\p{Pf}\"']*$")
_NEW_THING = regex.compile(
    r"""[-*+•‣▪◦·–—●○■□➢✓]+\s | \(?\p{N}{1,3}[.)]\s | \(?\p{L}\)\s | \[\p{N}{1,3}\]\s | \p{N}+(?:\.\p{N}+)+\.?\s
      | [-–—]{1,2}\p{L} | [<>{}\#$|@\\]""",
    regex.X,
)
_ENTRY = re.compile(r"\.\.\. \S{1,6}$")
"""The end of a line of a table of contents."""
_LETTER = regex.compile(r"\p{L}")
_NOISE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufeff\u200b]")
_LIGATURES = {sign: unicodedata.normalize("NFKC", chr(sign)) for sign in range(0xFB00, 0xFB07)}
_WINDOWS = {sign: bytes([sign]).decode("cp1252") for sign in (0x85, *range(0x91, 0x98), 0x99)}
"""Control characters that encode quotation marks, dashes, bullets and dots in Windows-1252."""

_BULLET = re.compile("^[\x80-\x9f\uf000-\uf0ff](?= ?\\S)|^[\uf0a7\uf0b7\uf0d8]", re.M)
"""Remains of such characters, and of the private ones of Symbol and Wingdings, at the beginning of a line."""

_NO_TEXT = re.compile("[\x80-\x9f\ue000-\uf8ff]")
_ACCENTS = {sign: unicodedata.normalize("NFKD", sign)[-1] for sign in "¨´˜˘˙˚¯˝¸˛"} | {"ˆ": "\u0302", "ˇ": "\u030c"}
_ACCENTED = regex.compile(rf"(?P<accent>[{''.join(_ACCENTS)}])(?:(?<=\p{{L}}.) )?(?P<letter>\p{{L}})")
_CEDILLA = regex.compile(r"(?P<letter>[cCsStT])(?P<accent>¸)")
_GENITIVE = regex.compile(r"(?<=\p{L})´(?=(?:s|t|d|ll|re|ve|m)\b)")
_IN_CIRCLE = {"c": "©", "R": "®", "r": "®"}
_CIRCLED = re.compile(r"(?<!\w)([cRr]) ?[©○◯]")
_LAM_ALEF = re.compile("[اأإآ]ل")
_STOP_BEFORE_NUMBER = re.compile(r"(?m)(?<=[\u0590-\u06ff] )([.،؛؟!:])(\d[\d.,/]*)(?=\r?$)")


@dataclass(frozen=True, slots=True)
class Flow:
    """The text of all pages, and the offset at which each page begins (None for one without text)."""

    text: str
    starts: tuple[int | None, ...]

    def span(self, page: int) -> tuple[int, int] | None:
        """Return where a page begins, and where the next one with text does; None for one without text."""
        start = self.starts[page] if 0 <= page < len(self.starts) else None
        if start is None:
            return None
        return start, next((begin for begin in self.starts[page + 1 :] if begin is not None), len(self.text))


def lines_of(text: str) -> list[str]:
    """Return the lines of a page, without empty lines, extra blanks, dot leaders, and characters that are not text."""
    text = mended(text)
    lines = (_LEADERS.sub(" ... ", line) for line in text.splitlines())
    return [line for line in (_SPACES.sub(" ", line).strip() for line in lines) if line]


def flow(
    pages: Sequence[Page], apart: Sequence[Container[str]], code: Sequence[Mapping[str, Sequence[str]]] | None = None
) -> Flow:
    """Return the pages as one text, with one line per paragraph and a blank line where a page begins a new sentence.

    Lines are joined if the first is filled (the next word would not have fitted), or if the second continues in lower
    case. A word divided at a line's end is joined without its hyphen, unless the document has it with a hyphen
    elsewhere, or has both its halves as words. `apart` contains, by page, lines that stay separate, and `code` those of
    listings, as printed: a listing is fenced, with its lines unchanged.
    """
    words = _vocabulary(pages)
    printed = [page for page, alone in zip(pages, apart, strict=True) if any(line not in alone for line in page)]
    widths = [len(line) for page in printed for line in page]  # of scanned pages, each paragraph is a line
    usual = _USUAL * median(widths) if widths else 0
    parts: list[str] = []
    first_parts: list[int | None] = []  # of each page
    last = ""
    is_filled = is_half = is_alone = is_coded = False  # the last line
    for page, alone, listed in zip(pages, apart, code or [{}] * len(pages), strict=True):
        first_parts.append(len(parts) + 1 if page else None)
        repeated: Counter[str] = Counter()
        for at, line in enumerate(page):
            coded = line in listed
            joint = "\n\n" if at == 0 or coded != is_coded else "\n"
            may_go_on = not (is_alone or coded or is_coded) and line not in alone
            if may_go_on and goes_on(last, line, is_filled, is_half, at == 0):
                joint = mended_joint(last, line, words)
            if joint == "-":  # drop the hyphen
                parts[-1], joint = parts[-1][:-1], ""
            parts += (joint if parts else "", _in_listing(line, at, page, listed, repeated[line]) if coded else line)
            repeated[line] += 1
            width = max(usual, *map(len, page[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS + 1]))
            following = page[at + 1].split(" ", 1)[0] if at + 1 < len(page) else ""
            last, is_alone, is_coded = line, line in alone, coded
            is_filled = width >= _NARROWEST and len(line) + 1 + min(len(following), 20) >= _FILLED * width
            is_half = len(line) >= max(_NARROWEST / 2, _HALF * width)
    offsets = list(accumulate(map(len, parts), initial=0))
    return Flow("".join(parts), tuple(None if first is None else offsets[first] for first in first_parts))


def _in_listing(line: str, at: int, page: Page, listed: Mapping[str, Sequence[str]], before_it: int) -> str:
    """Return a line of a listing as printed, with the fence if it is the first or the last line.

    `before_it` is how often the line occurred earlier on its page.
    """
    before = "" if at and page[at - 1] in listed else f"{FENCE}\n"
    after = "" if at + 1 < len(page) and page[at + 1] in listed else f"\n{FENCE}"
    ways = listed[line]
    return f"{before}{ways[min(before_it, len(ways) - 1)]}{after}"


def goes_on(last: str, line: str, filled: bool, half: bool, new_page: bool) -> bool:
    """Return whether a line continues the last one, which is (at least half) as wide as its paragraph."""
    if last.endswith("\xad"):
        return True
    small = _SMALL.match(line) is not None
    if small and half and _DIVIDED.search(last):
        return True
    is_prose = len(_LETTER.findall(last)) >= 0.6 * (len(last) - last.count(" "))  # no row of a table, no code
    if _NEW_THING.match(line) or not is_prose or _ENTRY.search(last):
        return False
    return (filled and not new_page) or (small and half and not _STOPPED.search(last))


def mended_joint(last: str, line: str, words: Container[str]) -> str:
    """Return the joint of two lines: a blank, nothing, or "-" if the hyphen of the first must be removed."""
    if last.endswith("\xad"):
        return "-"
    divided, continued = _DIVIDED.search(last), _CONTINUED.match(line)
    if not (divided and continued):
        return "" if last.endswith(("-", "‐", "/")) and last[-2:-1].isalnum() else " "
    before, after = divided["word"].casefold(), continued[0].casefold()
    if f"{before}-{after}" in words:
        return ""
    if before + after in words:
        return "-"
    return "" if "-" in before or (before in words and after in words) else "-"


def _vocabulary(pages: Sequence[Page]) -> frozenset[str]:
    """Return the case-folded words that occur undivided in the lines."""
    found: set[str] = set()
    divided = False
    for page in pages:
        for line in page:
            rest = line.split(" ", 1)[-1] if divided else line
            divided = _DIVIDED.search(line) is not None
            if divided:
                rest = rest.rsplit(" ", 1)[0]
            found.update(word[0].casefold().replace("‐", "-") for word in _WORD.finditer(rest))
    return frozenset(found)


def in_logical_order(page: "PdfTextPage", said: str) -> str:
    """Return the text of a page with the letters of right-to-left ligatures, and numbers, in the order of reading.

    PDFium reverses a line letter by letter, and with it the letters of the one glyph لا, which share a place on the
    page. A full stop after a number at the end of a line comes out before it.
    """
    for at in [found.start() for found in _LAM_ALEF.finditer(said)]:
        if page.get_text_range(at, 2) == said[at : at + 2] and page.get_charbox(at) == page.get_charbox(at + 1):
            said = f"{said[:at]}{said[at + 1]}{said[at]}{said[at + 2 :]}"
    return _STOP_BEFORE_NUMBER.sub(r"\2\1", said)


def mended(text: str) -> str:
    r"""Return a text with usual letters for ligatures and for accents that precede their letter.

    >>> mended("Br¨oker, P´eter Gar¸con: e\ufb03cient, c© 2020"), mended("\x88 one\n\uf0b7 two\x92s, it´s")
    ('Bröker, Péter Garçon: efficient, © 2020', '• one\n• two’s, it’s')
    """
    text = _NOISE.sub("", text).translate(_LIGATURES).translate(_WINDOWS)
    text = _NO_TEXT.sub("", _BULLET.sub("•", text))
    if not text.isascii():
        text = _CEDILLA.sub(_composed, _GENITIVE.sub("’", text))
        text = _CIRCLED.sub(lambda found: _IN_CIRCLE[found[1]], _ACCENTED.sub(_composed, text))
    return text


def _composed(found: "regex.Match[str]") -> str:
    """Return one letter for a letter and its accent; the match unchanged if there is no such letter."""
    letter = found["letter"].replace("ı", "i").replace("ȷ", "j")
    one = unicodedata.normalize("NFC", letter + _ACCENTS[found["accent"]])
    return one if len(one) == 1 else found[0]
