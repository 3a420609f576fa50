"""Repair characters that fonts of PDF files replace by others: ligatures, separate accents, bullet characters."""

import re
import unicodedata
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

_NOISE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufeff\u200b]")
_LIGATURES = str.maketrans(
    {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st", "\ufb06": "st"}
)
_WINDOWS = {sign: bytes([sign]).decode("cp1252") for sign in (0x85, *range(0x91, 0x98), 0x99)}
"""Control characters that encode quotation marks, dashes, bullets and dots in Windows-1252."""

_BULLET = re.compile("^[\x80-\x9f\uf000-\uf0ff](?= ?\\S)|^[\uf0a7\uf0b7\uf0d8]", re.M)
"""Remains of such characters, and of the private ones of Symbol and Wingdings, at the beginning of a line."""

_NO_TEXT = re.compile("[\x80-\x9f\ue000-\uf8ff]")
_ACCENTS = {
    "¨": "\u0308", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "ˇ": "\u030c", "˘": "\u0306", "˙": "\u0307",
    "˚": "\u030a", "¯": "\u0304", "˝": "\u030b", "¸": "\u0327", "˛": "\u0328",
}  # fmt: skip
_ACCENTED = regex.compile(rf"(?P<accent>[{''.join(_ACCENTS)}])(?:(?<=\p{{L}}.) )?(?P<letter>\p{{L}})")
_CEDILLA = regex.compile(r"(?P<letter>[cCsStT])(?P<accent>¸)")
_GENITIVE = regex.compile(r"(?<=\p{L})´(?=(?:s|t|d|ll|re|ve|m)\b)")
_IN_CIRCLE = {"c": "©", "R": "®", "r": "®"}
_CIRCLED = re.compile(r"(?<!\w)([cRr]) ?[©○◯]")
_LAM_ALEF = re.compile("[اأإآ]ل")
_STOP_BEFORE_NUMBER = re.compile(r"(?m)(?<=[\u0590-\u06ff] )([.،؛؟!:])(\d[\d.,/]*)(?=\r?$)")


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
