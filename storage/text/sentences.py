"""Sentence segmentation in any language, from punctuation and line breaks alone.

A *run* of text is not divided by a line break. A line break divides unless the lines around it are
hard-wrapped: the block of lines between blank ones is at most `WRAP[1]` characters wide, the line was
filled (the next word would have exceeded `FILLED` of that width), and the next line does not begin
a new item (a list item, a heading, a quotation, a time, a speaker's turn "Professor E: ..."). A narrow block
without a full stop is notes, not prose: each of its lines is a sentence.

Within a run a sentence ends
- after the stops of scripts that use them only for this (。！？ ؟ ۔ । ...), as listed by Unicode;
- after . ! ? … with closing quotes, brackets and note marks, if whitespace follows and then no lower-case
  letter, comma or similar mark;
- but not after the full stop of an abbreviation (Mr. St. vs.), of a number with a number after it
  (No. 5), of a list item's number (12. Title), nor of an initial or a word like Inc. or U.S., unless
  the next word is one that begins English sentences and no names (The, He, In ...).

Sentences still longer than `LONGEST` are cut at whitespace, or anywhere if there is none.
"""

import re
from collections.abc import Iterator

import regex
from conspectus.storage.text.language_tables import word_set
from conspectus.storage.text.literals import MONTH

LONGEST = 2_000
"""Most characters of a sentence."""

WRAP = (30, 140)
"""The minimum and maximum width of a hard-wrapped block of lines."""

FILLED = 0.85
_WIDE = 60


ABBREVIATIONS = word_set("abbreviations")
"""Words whose full stop never ends a sentence (case-folded, without the stop)."""

_BEFORE_NUMBERS = word_set("abbreviations before numbers")
_SOMETIMES_LAST = frozenset("etc inc ltd co corp plc llc jr sr esq al ph.d m.d a.m p.m usw".split())
_STARTERS = word_set("starters")

_LINE = re.compile(r"[^\n]+")
_VISIBLE = re.compile(r"\S")
_WORD = re.compile(r"\S{1,20}")
_HEADING = re.compile(r"#{1,6}\s")
_NAME = r"[\p{L}\p{M}\p{N}.'’_-]*"
_NEW_THING = regex.compile(
    rf"""[-*+•‣▪◦·–—]\s | \(?\p{{N}}{{1,3}}[.)]\s | \(?\p{{L}}\)\s      # a list item
       | \#{{1,6}}\s | > | \| | ``` | ~~~ | ([-*_=])\1\1              # Markdown: heading, quotation, table
       | [\[<(]?(?:\d{{1,4}}[-/.]\d{{1,2}}[-/.]\d{{1,4}}(?:,?\s|T)
           | \p{{Lu}}\p{{Ll}}{{2}}\s+\d{{1,2}}\s)?\d{{1,2}}:\d\d               # a time stamp
       | [\p{{Lu}}\p{{Lo}}]{_NAME}(?:\s[\p{{L}}\p{{N}}]{_NAME}){{0,3}}\s?[:：](?:\s|$)  # a speaker's turn
    """,
    regex.X,
)
_CLOSING = r"""["'”’»›)\]}」』】》〉）］｝*_]*+(?:\s?\[\w{1,3}\])*+"""
_STOP = regex.compile(
    rf"(?<![.!?…])[.!?…‥‼⁇⁈⁉]++{_CLOSING}(?=\s) | [\p{{Sentence_Break=STerm}}--[!?‼⁇⁈⁉‽]]++{_CLOSING}",
    regex.V1 | regex.X,
)
_NEXT = regex.compile(r"\s++[\p{Ps}\p{Pi}\p{Pd}\"'*_¿¡]*+(?P<first>.)(?P<rest>[\p{L}\p{M}]*+)(?P<apart>\s?)", regex.S)
_ORDINAL = regex.compile(
    rf"""(?<!\bI\s)\b(?:am|bis|das|dem|den|der|des|die|im|jede\w*|seit|vom|zum|zur|det|på|fra|til)\s\d{{1,2}}\.\s\p{{L}}
         | \b\d{{1,2}}\.\s(?:{MONTH})\b""",
    regex.X | regex.I,
)
"""A number with a stop that means "the first": before a month, or after an article or preposition of German or
Scandinavian languages."""
_SMALL = regex.compile(r"[\p{Ll}--\p{Georgian}]", regex.V1)
_CAPITAL = regex.compile(r"\p{Lu}")
_DOTTED = regex.compile(r"\p{L}|(?:\p{L}\.)+\p{L}")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the character spans of the sentences of a text, in order and without overlaps.

    Every character that is not whitespace is in exactly one span; no span begins or ends with
    whitespace or is longer than `LONGEST`.

    >>> text = "Dr. J. K. Rowling paid 3.14 dollars. “Why?” she asked. 北京在中国。上海也在。"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. J. K. Rowling paid 3.14 dollars.', '“Why?” she asked.', '北京在中国。', '上海也在。']
    """
    # In a text without capitals, a lower-case letter can begin a sentence.
    has_capitals = _CAPITAL.search(text) is not None
    return [
        piece
        for run_start, run_end in _runs(text)
        for start, end in _sentences(text, run_start, run_end, has_capitals)
        for piece in _pieces(text, start, end)
    ]


def begins_anew(line: str) -> bool:
    """Return whether a line begins a list item, a heading, a quotation, or a message: with a time or "Ada:".

    >>> begins_anew("[09:12] Ada: yes"), begins_anew("and the rest of it")
    (True, False)
    """
    return _NEW_THING.match(line) is not None


def _blocks(text: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the trimmed lines of each block of lines between blank ones."""
    block: list[tuple[int, int]] = []
    last = 0
    for line in _LINE.finditer(text):
        start, end = _trim(text, *line.span())
        if block and (start == end or line.start() > last + 1):
            yield block
            block = []
        if start < end:
            block.append((start, end))
        last = line.end()
    if block:
        yield block


def _runs(text: str) -> Iterator[tuple[int, int]]:
    for block in _blocks(text):
        width = max(end - start for start, end in block)
        wrapped = WRAP[0] <= width <= WRAP[1] and (
            width >= _WIDE or _STOP.search(f"{text[block[0][0] : block[-1][1]]} ") is not None
        )
        run_start, line_start, line_end = block[0][0], *block[0]
        for start, end in block[1:]:
            word = _WORD.match(text, start, end)
            filled = wrapped and line_end - line_start + 1 + (len(word[0]) if word else 0) >= FILLED * width
            if not filled or _HEADING.match(text, line_start) or _NEW_THING.match(text, start, end):
                yield run_start, line_end
                run_start = start
            line_start, line_end = start, end
        yield run_start, line_end


def _sentences(text: str, start: int, end: int, has_capitals: bool) -> Iterator[tuple[int, int]]:
    for stop in _STOP.finditer(text, start, end):
        if _ends(text, start, stop, end, has_capitals):
            yield start, stop.end()
            start = stop.end()
    yield start, end


def _ends(text: str, start: int, stop: "regex.Match[str]", end: int, has_capitals: bool) -> bool:
    """Return whether a sentence that began at `start` ends with this stop."""
    if stop[0][0] not in ".!?…‥‼⁇⁈⁉":
        return True
    following = _NEXT.match(text, stop.end(), end)
    if following is None:
        return True
    first = following["first"]
    if first in ",;:.!?…)]}" or (has_capitals and _SMALL.match(first)):
        return False
    if stop[0] != "." or stop.start() == start or text[stop.start() - 1].isspace():
        return True
    before = text[max(start, stop.start() - 20) : stop.start()].rsplit(None, 1)[-1].lstrip("([{\"'“‘«*_")
    word = before.casefold()
    if word in ABBREVIATIONS or (word in _BEFORE_NUMBERS and first.isdigit()):
        return False
    if before.isdigit() and (
        stop.start() - start <= 4 or _is_ordinal(text, max(start, stop.start() - 20), stop.start())
    ):
        return False
    if word in _SOMETIMES_LAST or (_DOTTED.fullmatch(before) and (len(before) > 1 or before.isupper())):
        return bool(following["apart"]) and (first + following["rest"]).casefold() in _STARTERS
    return True


def _is_ordinal(text: str, start: int, stop: int) -> bool:
    """Return whether the full stop at `stop`, behind a number, makes it an ordinal."""
    return any(found.start() < stop < found.end() for found in _ORDINAL.finditer(text, start, stop + 20))


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    start, end = _trim(text, start, end)
    while end - start > LONGEST:
        words = text[start : start + LONGEST].rsplit(None, 1)
        cut = start + (len(words[0]) if len(words) == 2 else LONGEST)
        yield _trim(text, start, cut)
        start, end = _trim(text, cut, end)
    if start < end:
        yield start, end


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without the whitespace at its ends; an empty one if it is all whitespace."""
    visible = _VISIBLE.search(text, start, end)
    if visible is None:
        return end, end
    while text[end - 1].isspace():
        end -= 1
    return visible.start(), end
