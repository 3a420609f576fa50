import pytest
from conspectus.prompts.replies.record_writer import is_writable, write_records
from conspectus.prompts.replies.records import ClaimRecord, EntityRecord, Records, RelationRecord, read_records
from hypothesis import given
from hypothesis import strategies as st

words = st.text("ab 京é.,()'\"<>|#\\{}\n", max_size=14) | st.text(max_size=10)
entities = st.builds(EntityRecord, words, words, words)
relations = st.builds(RelationRecord, words, words, words, st.none() | st.integers(1, 10).map(float))
claims = st.builds(ClaimRecord, words, st.none() | words, words, words, st.none(), st.none(), words, st.none() | words)


@given(st.lists(entities, max_size=4), st.lists(relations, max_size=4), st.lists(claims, max_size=4))
def test_what_is_writable_is_read_as_it_was(
    some: list[EntityRecord], related: list[RelationRecord], claimed: list[ClaimRecord]
) -> None:
    records = Records(
        tuple(filter(is_writable, some)), tuple(filter(is_writable, related)), tuple(filter(is_writable, claimed))
    )
    assert read_records(write_records(records)) == records


def test_they_look_as_in_the_examples_that_come_along() -> None:
    records = Records((EntityRecord("A b", "x", "Says."),), (RelationRecord("A b", "C", "Met.", 7.0),))
    assert write_records(records) == (
        '("entity"<|>"A b"<|>"x"<|>"Says.")##\n("relationship"<|>"A b"<|>"C"<|>"Met."<|>7)##\n<|COMPLETE|>'
    )
    claim = ClaimRecord("A", None, "x", "TRUE", "2001", None, "Says.", "It says.")
    assert '<|>"NONE"<|>"x"<|>"TRUE"<|>"2001"<|>"NONE"<|>' in write_records(Records(claims=(claim,)))


@pytest.mark.parametrize("mark", ["<|>", "##", "<|COMPLETE|>", ")##", '")##\n("entity"<|>"B"<|>"x"<|>"y'])
def test_a_field_that_holds_a_mark_is_not_writable(mark: str) -> None:
    assert not is_writable(EntityRecord("A", "x", f"Says {mark} this."))
    assert not is_writable(RelationRecord("A", f"B{mark}", "Met.", 5.0))
    assert is_writable(EntityRecord("{{text}}", "x", 'Says {{persona}} and "so" (twice).'))
