"""Records written in the format that `conspectus.prompts.replies.records` reads."""

from conspectus.prompts.replies.records import (
    COMPLETE,
    FIELD,
    RECORD,
    ClaimRecord,
    EntityRecord,
    Records,
    RelationRecord,
    read_records,
)

_NOTHING = "NONE"
_MARKS = (RECORD, FIELD[:2], FIELD[-2:], "\n")

Record = EntityRecord | RelationRecord | ClaimRecord


def write_records(records: Records) -> str:
    """Return the text of the entities, relationships and claims, a line each, and the mark that they are complete.

    `read_records` reads the same records from it where each of them `is_writable`.
    """
    every: list[Record] = [*records.entities, *records.relations, *records.claims]
    lines = [_record(each) + RECORD for each in every]
    return "\n".join([*lines, COMPLETE])


def is_writable(record: Record) -> bool:
    """Return whether a record, once written, is read as what it was: no field holds what sets records apart."""
    if any(mark in field for field in _fields(record) for mark in _MARKS):
        return False
    text = _record(record)
    read = read_records(f"{text}{RECORD}\n{COMPLETE}")
    return not read.lost and [*read.entities, *read.relations, *read.claims] == [record]


def _record(record: Record) -> str:
    kind = {EntityRecord: "entity", RelationRecord: "relationship", ClaimRecord: "claim"}[type(record)]
    return f'("{kind}"{FIELD}{FIELD.join(_fields(record))})'


def _fields(record: Record) -> list[str]:
    match record:
        case EntityRecord():
            texts: list[str | None] = [record.name, record.type, record.description]
        case RelationRecord():
            texts = [record.source, record.target, record.description]
        case ClaimRecord():
            texts = [record.subject, record.object, record.type, record.status]
            texts += [record.start_date, record.end_date, record.description, record.quote]
    fields = [f'"{_NOTHING if text is None else text}"' for text in texts]
    if isinstance(record, RelationRecord) and record.strength is not None:
        fields.append(f"{record.strength:g}")
    return fields
