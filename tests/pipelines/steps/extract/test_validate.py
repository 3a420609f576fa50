import pytest
from conspectus.pipelines.steps.extract.validate import flaw, name_key
from conspectus.prompts.replies.records import ClaimRecord, EntityRecord, RelationRecord


def claim(subject: str) -> ClaimRecord:
    return ClaimRecord(subject, None, "act", "TRUE", None, None, "It is said.", None)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (EntityRecord("\u200b", "person", "Nobody."), "has no name"),
        (RelationRecord("Ada", " ", "x", 1.0), "an end of 'Ada' and ' ' has no name"),
        (RelationRecord("Ada", "ADA", "x", 1.0), "joins 'Ada' with itself"),
        (claim(""), "the subject '' of the claim has no name"),
    ],
)
def test_what_lacks_a_name_cannot(record: EntityRecord | RelationRecord | ClaimRecord, why: str) -> None:
    assert why in flaw(record)


def test_a_key_is_folded_and_empty_where_nothing_can_be_seen() -> None:
    assert [name_key(each) for each in ("Ada", " ADA ", "\u200b", "")] == ["ada", "ada", "", ""]
