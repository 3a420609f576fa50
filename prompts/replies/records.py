"""The record format of GraphRAG's extraction prompts, read record by record, and written.

A record is ("entity"<|>NAME<|>TYPE<|>DESCRIPTION),
("relationship"<|>SOURCE<|>TARGET<|>PREDICATE<|>DESCRIPTION<|>STRENGTH) or
("claim"<|>SUBJECT<|>OBJECT<|>TYPE<|>STATUS<|>START<|>END<|>DESCRIPTION<|>QUOTE); records are separated by ## and
<|COMPLETE|> follows the last. GraphRAG's relationships without a predicate are read too, and LightRAG's form: lines
like entity<|#|>NAME<|#|>TYPE<|#|>DESCRIPTION, and relationships with keywords. A malformed record is reported and does
not affect others. Replies are read one by one and never joined: in joined replies the last record of one and the first
of the next merge (a defect of Microsoft GraphRAG 3.1).

A record ends at a bracket followed by ## or <|COMPLETE|>. If a model forgets these, the last field must be complete
(both quotation marks, or a number) and the line must end, so that a bracket inside a description ends nothing.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise

from conspectus.prompts.replies.json_repair import read_values
from conspectus.prompts.replies.thinking import why_unusable, without_thinking

FIELD = "<|>"
RECORD = "##"
COMPLETE = "<|COMPLETE|>"

_OPENING = re.compile(r"""\(\s*\\?["“”']?\s*(entity|relationship|relation|claim)\s*\\?["“”']?\s*</?\|>""", re.I)
_OTHER = re.compile(r"""(?:^|\#\#)[\s\d.*`>-]*(\(\s*["“”']\s*([^"“”'<|()\n]{1,40}?)\s*["“”']\s*<\|>)""", re.M)
"""Opens a record of an unknown kind; matched only where a record can begin."""
_FIELD = re.compile(r"""<\|>|(?<=["”])\s*<?/?\|>""")
"""The delimiter; also with its first character missing, or doubled after a closing quote (GPT-4o does both)."""
_FOLLOWED = re.compile(r"""[\s.,;*`]*(?:\#\#|<\|\s*complete)""", re.I)
_LINE_ENDS = re.compile(r"[ \t.,;*`]*(?:\n|$)")
_COMPLETE = re.compile(r"<\|\s*complete\s*\|>", re.I)
_QUOTES = (('"', '"'), ("“", "”"), ("”", "”"), ("“", "“"), ("'", "'"))
_MARKS = tuple('"“”')
_ESCAPED = re.compile(r"""\\(["'])""")
_NUMBER = re.compile(r"""["“”]?\s*(\d{1,9}(?:\.\d+)?)(?:\s*/\s*10)?\s*["“”]?""", re.A)
_ABSENT = {"", "none", "null", "n/a", "unknown"}
_LONGEST_PREDICATE = 8
"""Most words in a predicate: a longer field is a misplaced description."""
_SHOWN = 300
"""Characters shown of a dropped record whose end is unknown."""


@dataclass(frozen=True, slots=True)
class EntityRecord:
    """An entity as a model states it."""

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class RelationRecord:
    """A relationship as a model states it; `strength` is None unless it is a number, `predicate` "" if missing."""

    source: str
    target: str
    description: str
    strength: float | None
    predicate: str = ""


@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """A claim as a model states it; unknown fields are None."""

    subject: str
    object: str | None
    type: str
    status: str
    start_date: str | None
    end_date: str | None
    description: str
    quote: str | None


Record = EntityRecord | RelationRecord | ClaimRecord


@dataclass(frozen=True, slots=True)
class LostRecord:
    """A record that could not be read: its text and the reason."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one reply, in order."""

    entities: tuple[EntityRecord, ...] = ()
    relations: tuple[RelationRecord, ...] = ()
    claims: tuple[ClaimRecord, ...] = ()
    lost: tuple[LostRecord, ...] = ()


def read_records(reply: str, *, cut_off: bool = False) -> Records:
    """Return the records of one reply.

    Records may be surrounded by anything: thinking, numbers, headings, fences, prose, or JSON that contains the reply.

    Args:
        reply: The text of the reply.
        cut_off: The server stopped the reply at `max_tokens`, so its last record may be incomplete.

    Returns:
        The records. `lost` always has an entry if the reply was cut off, or if it has no record and does not say
        that it is complete.

    Example:
        >>> reply = '("entity"<|>"ADA"<|>"person"<|>"Ada wrote programs.")##<|COMPLETE|>'
        >>> read_records(reply).entities
        (EntityRecord(name='ADA', type='person', description='Ada wrote programs.'),)
    """
    text = _plain(reply)
    complete = _COMPLETE.search(text) is not None
    found, lost = list[Record](), list[LostRecord]()
    openings = list(_openings(text))
    for (start, begins, kind), (end, _, _) in pairwise([*openings, (len(text), 0, "")]):
        read = _read(kind, text[begins:end], may_go_on=cut_off, last=end == len(text))
        if kind == _KEYWORDS:
            continue
        if isinstance(read, str):
            lost.append(LostRecord(text[start : min(end, start + _SHOWN)].strip(), read))
        else:
            found.append(read)
    if cut_off and not complete and not any(record.reason == _NOT_CLOSED for record in lost):
        lost.append(LostRecord(text[-_SHOWN:].strip(), "the reply was cut off"))
    if not (openings or complete):
        found = [record for value in read_values(text).contents for record in _of_json(value)]
    if not (openings or complete or lost or found):
        lost.append(LostRecord(reply.strip()[:_SHOWN], why_unusable(reply, "it holds no record")))
    return Records(
        tuple(record for record in found if isinstance(record, EntityRecord)),
        tuple(record for record in found if isinstance(record, RelationRecord)),
        tuple(record for record in found if isinstance(record, ClaimRecord)),
        tuple(lost),
    )


def _of_json(content: object) -> Iterator[Record]:
    """Yield the entities and relationships in a JSON value, however nested: objects, or lists of fields."""
    parts = content if isinstance(content, list) else []
    if parts and str(parts[0]).casefold() in _READERS:
        kind, *fields = map(str, parts)
        if not isinstance(read := _READERS[kind.casefold()](fields), str):
            yield read
    elif isinstance(content, dict):
        said = {key.casefold(): _plain_value(value) for key, value in content.items()}
        source, target, name = (next((said[key] for key in keys if said.get(key)), "") for keys in _KEYS)
        if source and target:
            strength = _number(said.get("strength", ""))
            told = said.get("predicate") or said.get("relation", "")
            predicate = told if _is_predicate(told) else ""
            yield RelationRecord(source, target, said.get("description") or told, strength, predicate)
        elif name and not isinstance(content.get("entities"), list):
            yield EntityRecord(name, said.get("type", "").split(",")[0].strip(), said.get("description", ""))
        else:
            parts = list(content.values())
    for part in parts:
        yield from _of_json(part)


def _plain_value(value: object) -> str:
    """Return a member as text; models wrap names as {"name": "Ada"}."""
    value = value.get("name", "") if isinstance(value, dict) else value
    return "" if value is None else " ".join(str(value).split())


_KEYS = (
    ("source", "subject", "head", "source_entity"),
    ("target", "object", "tail", "target_entity"),
    ("name", "entity", "entity_name"),
)
_NOT_CLOSED = "it is not closed"
_KEYWORDS = "content_keywords"
"""A LightRAG record about the whole text."""


_LINE_RECORD = re.compile(r"^[ \t\d.*`>(\"'-]*+(entity|relationship|relation|claim)[\"']?\s*<\|#?\|>(.*)$", re.I | re.M)


def _plain(reply: str) -> str:
    """Return the reply without thinking, unwrapped from the JSON string in which some models put it.

    LightRAG's form is converted: records on separate lines without brackets get them, and <|#|> becomes <|>.
    """
    text = without_thinking(reply).strip()
    if "<|#|>" in text or (FIELD in text and not _OPENING.search(text)):
        text = _LINE_RECORD.sub(lambda line: f'("{line[1]}"{FIELD}{_as_fields(line[2])}){RECORD}', text)
    if text.startswith(('"', "{")) and '\\"' in text:
        values = read_values(text).contents
        parts = [part for value in values for part in (value.values() if isinstance(value, dict) else [value])]
        return "\n".join(part for part in parts if isinstance(part, str)) or text
    return text


def _as_fields(rest: str) -> str:
    """Return the fields after the kind of a record that has no brackets, each in quotation marks."""
    body = _COMPLETE.sub("", rest).replace(RECORD, "").strip()
    fields = [field.strip().strip('"').strip() for field in re.split(r"<\|#?\|>", body)]
    fields[-1] = fields[-1].removesuffix(")").strip().strip('"').strip()
    return FIELD.join(field if _NUMBER.fullmatch(field) else json.dumps(field, ensure_ascii=False) for field in fields)


def _openings(text: str) -> list[tuple[int, int, str]]:
    """Return where each record starts, where its fields begin, and its kind."""
    known = [(match.start(), match.end(), match[1].lower()) for match in _OPENING.finditer(text)]
    taken = {start for start, _, _ in known}
    return sorted(known + [(m.start(1), m.end(1), m[2]) for m in _OTHER.finditer(text) if m.start(1) not in taken])


def _read(kind: str, body: str, *, may_go_on: bool, last: bool) -> Record | str:
    """Return the record in a text up to the next record, or why there is none."""
    reader = _READERS.get(kind)
    if reader is None:
        return f"there are no records of the kind {kind!r}"
    for bracket in re.finditer(r"\)", body):
        end = bracket.start()
        line_end = _LINE_ENDS.match(body, bracket.end())
        # A reply that was cut off may have continued after this bracket.
        ends = line_end and not (last and may_go_on and "\n" not in line_end[0]) and _is_whole(body[:end])
        if ends or _FOLLOWED.match(body, bracket.end()):
            return reader(_fields(body[:end]))
    return _NOT_CLOSED if last or ")" not in body else reader(_fields(body[: body.rindex(")")]))


def _is_whole(inside: str) -> bool:
    """Return whether the fields before a bracket are a complete record, so that it may be the closing one."""
    final = _FIELD.split(inside)[-1].strip()
    is_open = final.startswith(_MARKS) and not (len(final) > 1 and final.endswith(_MARKS))
    return inside.count("(") == inside.count(")") and not is_open


def _fields(body: str) -> list[str]:
    return [_unquoted(" ".join(field.split())) for field in _FIELD.split(body)]


def _unquoted(text: str) -> str:
    text = _ESCAPED.sub(r"\1", text) if "\\" in text else text
    for first, last in _QUOTES:
        if len(text) > 1 and text.startswith(first) and text.endswith(last):
            return text[1:-1].strip()
    if text.count('"') == 1:  # the model forgot one of the two
        return text.strip('"').strip()
    return text


def _entity(fields: Sequence[str]) -> EntityRecord | str:
    if len(fields) != 3:
        return f"an entity has 3 fields, not {len(fields)}"
    return EntityRecord(*fields) if fields[0] else "the entity has no name"


def _relation(fields: Sequence[str]) -> RelationRecord | str:
    if len(fields) not in {3, 4, 5}:
        return f"a relationship has 5 fields, not {len(fields)}"
    if not (fields[0] and fields[1]):
        return "the relationship lacks an end"
    strength = _number(fields[-1]) if len(fields) > 3 else None
    told = fields[2 : None if strength is None else -1] or [""]
    # LightRAG puts keywords after or before the description; the description is the longest.
    description = max(told, key=len)
    predicate = told[0] if len(told) > 1 and told[0] != description and _is_predicate(told[0]) else ""
    return RelationRecord(fields[0], fields[1], description, strength, predicate)


def _is_predicate(text: str) -> bool:
    """Return whether a field joins two names: neither a list of keywords nor a sentence."""
    return "," not in text and len(text.split()) <= _LONGEST_PREDICATE and text[-1:] not in ".!?"


def _number(text: str) -> float | None:
    number = _NUMBER.fullmatch(text)
    return float(number[1]) if number else None


def _claim(fields: Sequence[str]) -> ClaimRecord | str:
    if len(fields) != 8:
        return f"a claim has 8 fields, not {len(fields)}"
    subject, target, kind, status, start, end, description, quote = fields
    if not (subject and description):
        return "the claim lacks its subject or description"
    return ClaimRecord(subject, _known(target), kind, status, _known(start), _known(end), description, _known(quote))


def _known(text: str) -> str | None:
    return None if text.lower() in _ABSENT else text


_READERS = {"entity": _entity, "relationship": _relation, "relation": _relation, "claim": _claim}


_NONE = "NONE"
_RESERVED = (RECORD, FIELD[:2], FIELD[-2:], "\n")

_EMPTY_LIST = re.compile(r"\s*(?:[^\n]{1,200}[:：]\s)?(?:```\w*|[\s\[\]{}]|null)*")


def is_empty_list(reply: str) -> bool:
    """Return whether a reply lists nothing: it is blank, or only a lead-in, a fence or brackets around nothing.

    >>> is_empty_list("Here are the missing claims:\\n```\\n\\n```"), is_empty_list("I cannot help with that.")
    (True, False)
    """
    return _EMPTY_LIST.fullmatch(f"{_plain(reply)}\n") is not None


def write_records(records: Records) -> str:
    """Return entities, relationships and claims as text, one per line, and the completion mark.

    `read_records` reads the same records from it if each of them `is_writable`.
    """
    every: list[Record] = [*records.entities, *records.relations, *records.claims]
    return "\n".join([*map(_written, every), COMPLETE])


def is_writable(record: Record) -> bool:
    """Return whether a record survives writing and reading: no field contains a delimiter."""
    if any(mark in str(field) for field in astuple(record) for mark in _RESERVED):
        return False
    read = read_records(f"{_written(record)}\n{COMPLETE}")
    return not read.lost and [*read.entities, *read.relations, *read.claims] == [record]


def _written(record: Record) -> str:
    kind = {EntityRecord: "entity", RelationRecord: "relationship", ClaimRecord: "claim"}[type(record)]
    texts, strength = list(astuple(record)), None
    if isinstance(record, RelationRecord):
        predicate, strength = [record.predicate] if record.predicate else [], record.strength
        texts = [record.source, record.target, *predicate, record.description]
    fields = [f'"{_NONE if text is None else text}"' for text in texts]
    fields += [] if strength is None else [f"{strength:g}"]
    return f'("{kind}"{FIELD}{FIELD.join(fields)}){RECORD}'
