"""Replies in the record format of GraphRAG's extraction prompts, read record by record.

A record is ("entity"<|>NAME<|>TYPE<|>DESCRIPTION), ("relationship"<|>SOURCE<|>TARGET<|>DESCRIPTION<|>STRENGTH) or
("claim"<|>SUBJECT<|>OBJECT<|>TYPE<|>STATUS<|>START<|>END<|>DESCRIPTION<|>QUOTE); records are set apart by ## and the
last is followed by <|COMPLETE|>. Each stands alone: one that is spoilt takes no other with it, and is told. Replies
are read one by one and never joined: joined, the last record of one and the first of the next become one (a defect
that Microsoft GraphRAG 3.1 has).

A record ends at a bracket that ## or <|COMPLETE|> follows. Where a model forgets these, its last field must be whole
(both its quotation marks, or a number) and the line must end, so that a bracket inside a description ends nothing.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from conspectus.prompts.replies.json_repair import without_thinking

FIELD = "<|>"
RECORD = "##"
COMPLETE = "<|COMPLETE|>"

_OPENING = re.compile(r"""\(\s*\\?["“”']?\s*(entity|relationship|relation|claim)\s*\\?["“”']?\s*</?\|>""", re.I)
_OTHER = re.compile(r"""(?:^|\#\#)[\s\d.*`>-]*(\(\s*["“”']\s*([^"“”'<|()\n]{1,40}?)\s*["“”']\s*<\|>)""", re.M)
"""What opens a record of a kind that there is not: only where a record can begin."""
_BEGUN = re.compile(r"""\#\#[\s\d.*`>-]*(\(\s*["“”']?\w{0,15}["“”']?\s*(?:<\|?)?)[\s.…]*$""")
"""A record that breaks off before its first field."""
_FIELD = re.compile(r"""<\|>|(?<=["”])\s*<?/?\|>""")
"""The delimiter, also where its first sign was lost or doubled behind a closing quote (GPT-4o does both)."""
_FOLLOWED = re.compile(r"""[\s.,;*`]*(?:\#\#|<\|\s*complete)""", re.I)
_LINE_ENDS = re.compile(r"[ \t.,;*`]*(?:\n|$)")
_COMPLETE = re.compile(r"<\|\s*complete\s*\|>", re.I)
_QUOTES = (('"', '"'), ("“", "”"), ("”", "”"), ("“", "“"), ("'", "'"))
_MARKS = tuple('"“”')
_ESCAPED = re.compile(r"""\\(["'])""")
_NUMBER = re.compile(r"""["“”]?\s*(\d{1,9}(?:\.\d+)?)(?:\s*/\s*10)?\s*["“”]?""", re.A)
_NOTHING = {"", "none", "null", "n/a", "unknown"}
_SHOWN = 300
"""Characters shown of what is lost where nothing says how far it goes."""


@dataclass(frozen=True, slots=True)
class EntityRecord:
    """An entity as a model states it."""

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class RelationRecord:
    """A relationship as a model states it; `strength` is None where it states none that is a number."""

    source: str
    target: str
    description: str
    strength: float | None


@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """A claim as a model states it; what it leaves open is None."""

    subject: str
    object: str | None
    type: str
    status: str
    start_date: str | None
    end_date: str | None
    description: str
    quote: str | None


@dataclass(frozen=True, slots=True)
class LostRecord:
    """A record that could not be read: its text, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Records:
    """What one reply states, each in the order of the reply."""

    entities: tuple[EntityRecord, ...] = ()
    relations: tuple[RelationRecord, ...] = ()
    claims: tuple[ClaimRecord, ...] = ()
    lost: tuple[LostRecord, ...] = ()


def read_records(reply: str, *, cut_off: bool = False) -> Records:
    """Return the records of one reply. `cut_off`: the server stopped it, so its last record may lack its end.

    Around records may stand anything: thinking, numbers, headings, fences, prose, JSON with the reply in it. A reply
    that is cut off is always told among the lost, and so is one without any record that does not say that it is
    complete.
    """
    text = _plain(reply)
    complete = _COMPLETE.search(text) is not None
    found: list[EntityRecord | RelationRecord | ClaimRecord] = []
    lost: list[LostRecord] = []
    pieces = list(_pieces(text))
    for place, piece in enumerate(pieces):
        read = _read(piece, last=place == len(pieces) - 1, cut_off=cut_off)
        if isinstance(read, str):
            lost.append(LostRecord(text[piece.start : piece.start + _length(piece)].strip(), read))
        else:
            found.append(read)
    begun = None if complete else _BEGUN.search(text)
    if begun:
        lost.append(LostRecord(begun[1], _NOT_CLOSED))
    if cut_off and not complete and not any(each.reason == _NOT_CLOSED for each in lost):
        lost.append(LostRecord(text[-_SHOWN:].strip(), "the reply was cut off"))
    if not (pieces or complete or lost):
        lost.append(LostRecord(reply.strip()[:_SHOWN], "it holds no record"))
    return Records(
        tuple(each for each in found if isinstance(each, EntityRecord)),
        tuple(each for each in found if isinstance(each, RelationRecord)),
        tuple(each for each in found if isinstance(each, ClaimRecord)),
        tuple(lost),
    )


_NOT_CLOSED = "it is not closed"


def _plain(reply: str) -> str:
    """Return the reply without thinking, and out of the JSON string that some models put it into."""
    text = without_thinking(reply).strip()
    if text.startswith(('"', "{")) and '\\"' in text:
        try:
            value = json.loads(text)
        except ValueError:
            return text
        values = list(value.values()) if isinstance(value, dict) else [value]
        return "\n".join(each for each in values if isinstance(each, str))
    return text


@dataclass(frozen=True, slots=True)
class _Piece:
    """A reply from where a record opens until the next one does: `body` is what follows the kind."""

    kind: str
    start: int
    body: str
    opening: int


def _pieces(text: str) -> Iterator[_Piece]:
    known = [(each.start(), each.end(), each[1].lower()) for each in _OPENING.finditer(text)]
    taken = {start for start, _, _ in known}
    other = [(each.start(1), each.end(1), each[2]) for each in _OTHER.finditer(text) if each.start(1) not in taken]
    openings = sorted(known + other)
    for (start, begins, kind), (end, _, _) in pairwise([*openings, (len(text), 0, "")]):
        yield _Piece(kind, start, text[begins:end], begins - start)


def _read(piece: _Piece, *, last: bool, cut_off: bool) -> EntityRecord | RelationRecord | ClaimRecord | str:
    reader = _READERS.get(piece.kind)
    if reader is None:
        return f"there is no record of the kind {piece.kind!r}"
    end = _closing(piece, last=last, cut_off=cut_off)
    return _NOT_CLOSED if end is None else reader(_fields(piece.body[:end]))


def _length(piece: _Piece) -> int:
    end = next((each.start() + 1 for each in _brackets(piece.body) if _FOLLOWED.match(piece.body, each.end())), None)
    return piece.opening + (end if end is not None else min(len(piece.body), _SHOWN))


def _brackets(body: str) -> Iterator[re.Match[str]]:
    return re.finditer(r"\)", body)


def _closing(piece: _Piece, *, last: bool, cut_off: bool) -> int | None:
    """Return where in the body the bracket stands that closes the record, None where none does for certain."""
    body = piece.body
    for each in _brackets(body):
        if _FOLLOWED.match(body, each.end()):
            return each.start()
        line_end = _LINE_ENDS.match(body, each.end())
        # A reply that was cut off may have been going on behind this bracket.
        if line_end and not (last and cut_off and "\n" not in line_end[0]) and _is_whole(piece, each.start()):
            return each.start()
    return None if last or ")" not in body else body.rindex(")")


def _is_whole(piece: _Piece, end: int) -> bool:
    """Return whether the fields before a bracket look like all of a record, so that it may be the closing one."""
    inside = piece.body[:end]
    if inside.count("(") != inside.count(")"):
        return False
    fields = [each.strip() for each in _FIELD.split(inside)]
    final = fields[-1]
    if not fields[0].startswith(_MARKS):
        return True
    if piece.kind.startswith("relation") and len(fields) == 4 and not final.startswith(_MARKS):
        return True  # a strength
    return len(final) > 1 and final.startswith(_MARKS) and final.endswith(_MARKS)


def _fields(body: str) -> list[str]:
    return [_unquoted(" ".join(each.split())) for each in _FIELD.split(body)]


def _unquoted(text: str) -> str:
    text = _ESCAPED.sub(r"\1", text) if "\\" in text else text
    for first, last in _QUOTES:
        if len(text) > 1 and text.startswith(first) and text.endswith(last):
            return text[1:-1].strip()
    if text.count('"') == 1:  # one of the two marks around it was forgotten
        return text.strip('"').strip()
    return text


def _entity(fields: Sequence[str]) -> EntityRecord | str:
    if len(fields) != 3:
        return f"an entity has 3 fields, not {len(fields)}"
    return EntityRecord(*fields) if fields[0] else "the entity has no name"


def _relation(fields: Sequence[str]) -> RelationRecord | str:
    if len(fields) not in {3, 4}:
        return f"a relationship has 4 fields, not {len(fields)}"
    if not (fields[0] and fields[1]):
        return "the relationship lacks an end"
    return RelationRecord(fields[0], fields[1], fields[2], _number(fields[3]) if len(fields) == 4 else None)


def _number(text: str) -> float | None:
    number = _NUMBER.fullmatch(text)
    return float(number[1]) if number else None


def _claim(fields: Sequence[str]) -> ClaimRecord | str:
    if len(fields) != 8:
        return f"a claim has 8 fields, not {len(fields)}"
    subject, target, kind, status, start, end, description, quote = fields
    if not (subject and description):
        return "the claim lacks its subject or what it says"
    return ClaimRecord(subject, _known(target), kind, status, _known(start), _known(end), description, _known(quote))


def _known(text: str) -> str | None:
    return None if text.lower() in _NOTHING else text


_READERS = {"entity": _entity, "relationship": _relation, "relation": _relation, "claim": _claim}
