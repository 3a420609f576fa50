"""Decode files: the encoding is detected from the bytes alone, in bounded memory.

In this order: a byte order mark; UTF-16 without one, if every second byte is mostly NUL; UTF-8, if the bytes are valid
apart from a few damaged places (each becomes U+FFFD); Japanese, if there is hiragana; else the encoding in which
charset-normalizer finds the text most like a language. In a short text this is a guess: frequent words decide first.
"""

import codecs
import io
import re
from pathlib import Path
from typing import IO

from conspectus.storage.errors import InputError
from conspectus.storage.text.language_tables import by_language
from conspectus.storage.text.word_lists import is_frequent

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MAGIC = {
    b"\x89PNG\r\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    b"%PDF-": "PDF",
    b"PK\x03\x04": "ZIP",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x7fELF": "ELF",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "OLE",
    b"SQLite format 3\x00": "SQLite",
    b"PAR1": "Parquet",
}
# In order of preference among equally likely ones. Rare character sets would win by chance.
_LEGACY = """
    cp1252 cp1250 cp1251 cp1253 cp1254 cp1255 cp1256 cp1257 koi8_r cp866 iso8859_2 cp932 euc_jp gb18030 big5 cp949 cp874
""".split()
_LANGUAGES = by_language("conspectus.pipelines.readers", "encodings.txt")["languages"]
_ONLY_WINDOWS = re.compile(rb"[\x80-\x9f]")
_WORD = re.compile(r"[^\W\d_]{3,}")
_LEAST_KNOWN = 0.25
_SHORT, _MOST_WORDS = 4_096, 200
_HIRAGANA = re.compile("[\u3041-\u3096]")
_LEAST_HIRAGANA = 0.15
_BLOCK = 1 << 16
_MOST_CONTROLS = 0.01
_MOST_NULS = 0.05
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\b\x1a\x1b"))
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
"""Codecs of Python that no file uses for text; some take quadratic time."""
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
"""An escape sequence of a terminal: a colour, a movement of the cursor."""
_UNSTORABLE = re.compile("[\ud800-\udfff]")


class Unreadable(InputError):
    """A file or row cannot be read. It becomes a row of the table failures."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
        self.why = (reason, detail)


class UnknownFormat(Unreadable):
    """A file has a format without a reader. It is skipped, which is not a failure."""


def open_text(path: Path, newline: str | None = None) -> IO[str]:
    """Open a file as text in its encoding; `newline` is that of `open`."""
    with path.open("rb") as stream:
        encoding = encoding_of(stream)
    return path.open(encoding=encoding, errors="replace", newline=newline)


def decoded(data: bytes, declared: str | None = None) -> str:
    """Decode bytes in their declared charset or, if they do not fit it, in the encoding that `encoding_of` detects.

    Raises Unreadable as `encoding_of` does.
    """
    if declared and data:
        try:
            if codecs.lookup(declared).name not in _NO_CHARSETS:
                return data.decode(declared)
        except (LookupError, ValueError):  # unknown, no charset at all, or the bytes are not in it
            pass
    return data.decode(encoding_of(io.BytesIO(data)), errors="replace")


def clean(text: str) -> str:
    """Return text as it is stored: line ends are \\n, no colours of a terminal, no NUL; lone surrogates become U+FFFD.

    NUL may not survive in files of other programs and says nothing, and a lone surrogate cannot be written at all.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return _UNSTORABLE.sub("\ufffd", _COLOUR.sub("", text) if "\x1b" in text else text)


def encoding_of(stream: IO[bytes]) -> str:
    """Return the codec that decodes a stream as text, apart from damaged places; the stream is read.

    Raises Unreadable for an empty one and for one that is not text: known magic numbers, over 1 % control characters
    (including NUL), or bytes that no encoding decodes plausibly.
    """
    head = stream.read(_BLOCK)
    if not head:
        raise Unreadable("empty")
    for mark, codec in _MARKS:
        if head.startswith(mark):
            if codec != "utf-8-sig" and not _decodes(stream, codec):
                raise Unreadable("binary data", f"begins like {codec.upper()} and does not go on so")
            return codec
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            raise Unreadable("binary data", f"begins like a {kind} file")
    unmarked = _utf16_without_mark(head)
    if unmarked and _decodes(stream, unmarked):
        return unmarked
    nuls = head.count(0)
    controls = _controls(head) - (nuls if nuls <= _MOST_NULS * len(head) else 0)
    if controls > _MOST_CONTROLS * len(head):
        raise Unreadable("binary data", f"{controls} control characters in the first {len(head)} bytes")
    if _decodes(stream, "utf-8"):
        return "utf-8"
    stream.seek(0)  # only a block that is not all ASCII distinguishes encodings
    return _legacy_encoding(next(block for block in iter(lambda: stream.read(_BLOCK), b"") if not block.isascii()))


def _controls(data: bytes) -> int:
    return len(data) - len(data.translate(None, _CONTROLS))


def _utf16_without_mark(head: bytes) -> str | None:
    """Return the codec of UTF-16 without a byte order mark whose text is mostly ASCII."""
    for codec, low, high in (("utf-16-le", head[::2], head[1::2]), ("utf-16-be", head[1::2], head[::2])):
        if 2 * high.count(0) > len(high) and _controls(low) <= _MOST_CONTROLS * len(low):
            return codec
    return None


def _decodes(stream: IO[bytes], codec: str) -> bool:
    stream.seek(0)
    try:
        for _ in codecs.iterdecode(iter(lambda: stream.read(_BLOCK), b""), codec):
            pass
    except UnicodeDecodeError:
        return False
    return True


def _legacy_encoding(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    as_utf8 = sample.decode("utf-8", errors="replace")
    damaged = as_utf8.count("\ufffd")
    if sum(not sign.isascii() for sign in as_utf8) > 5 * damaged:
        return "utf-8"
    short = sample[:_SHORT]
    for name in ("cp932", "euc_jp"):
        letters = [sign for sign in short.decode(name, errors="replace") if not sign.isascii()]
        hiragana = len(_HIRAGANA.findall("".join(letters)))
        if hiragana and hiragana >= _LEAST_HIRAGANA * len(letters) and letters.count("\ufffd") <= 1:
            return name
    if len(sample) <= _SHORT and (spoken := _by_words(sample)):
        is_latin9 = spoken == "cp1252" and b"\xa4" in sample and not _ONLY_WINDOWS.search(sample)
        return "iso8859_15" if is_latin9 else spoken  # the sign ¤ was replaced by €
    found = [
        (round(match.chaos, 2), -round(match.coherence, 2), _LEGACY.index(name), name)
        for match in from_bytes(sample, cp_isolation=_LEGACY)
        for name in match.could_be_from_charset
        if name in _LEGACY
    ]
    if not found:
        raise Unreadable("unknown encoding", "neither UTF-8, UTF-16 with a byte order mark, nor a usual older one")
    return min(found)[-1]


def _by_words(sample: bytes) -> str | None:
    """Return the encoding in which most words with other than ASCII letters are frequent; None without such words."""
    best = (0.0, "")
    for codec, languages in _LANGUAGES.items():
        try:
            words = [word.casefold() for word in _WORD.findall(sample.decode(codec)) if not word.isascii()]
        except UnicodeDecodeError:
            continue
        words = words[:_MOST_WORDS]
        for language in languages.split() if words else ():
            known = sum(is_frequent(word, language) for word in words) / len(words)
            best = max(best, (known, codec), key=lambda each: each[0])
    return best[1] if best[0] >= _LEAST_KNOWN else None
