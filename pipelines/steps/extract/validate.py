"""Select the usable records of a model: the subject of a record must have a visible name that is no passage."""

from conspectus.prompts.replies.records import ClaimRecord, EntityRecord, RelationRecord
from conspectus.storage.text.normalise import entity_key

_LONGEST_NAME = 200
"""Characters of a name: a small model may give a whole passage as one."""


def name_key(name: str) -> str:
    """Return the key of a name; "" for a name without visible characters."""
    key = entity_key(name)
    return key if any(item.isprintable() for item in key) else ""


def flaw(record: EntityRecord | RelationRecord | ClaimRecord) -> str:
    """Return why a well-formed record cannot be used; "" if it can."""
    match record:
        case EntityRecord():
            return "" if _is_name(record.name) else f"the entity {record.name!r} has no name: {record.description}"
        case ClaimRecord():
            named = _is_name(record.subject)
            return "" if named else f"the subject {record.subject!r} of the claim has no name: {record.description}"
        case RelationRecord():
            source, target = name_key(record.source), name_key(record.target)
            if not (_is_name(record.source) and _is_name(record.target)):
                return f"an end of {record.source!r} and {record.target!r} has no name: {record.description}"
            if source == target:
                return f"the relationship joins {record.source!r} with itself: {record.description}"
            return ""


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and name_key(text) != ""
