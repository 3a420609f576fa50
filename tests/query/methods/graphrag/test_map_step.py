from conspectus.query.answer_writing.context_windows import Unit
from conspectus.query.methods.graphrag.map_step import Note, material_of
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given
from hypothesis import strategies as st

from tests.query.units import passage

UNITS = [passage("", f"unit {number}") for number in range(6)]
NOTES = st.builds(
    Note,
    st.text(st.sampled_from("ab c.1北"), min_size=1, max_size=120),
    st.integers(1, 100),
    st.lists(st.sampled_from(UNITS), min_size=1, max_size=4, unique_by=lambda each: each.id).map(tuple),
)


@given(st.lists(NOTES, max_size=10), st.integers(32, 200))
def test_the_material_never_passes_its_limit(notes: list[Note], limit: int) -> None:
    material = material_of(notes, limit)
    assert material.n_tokens == count_tokens(material.text) <= limit
    assert list(material.notes) == notes[: len(material.notes)]
    assert bool(material.notes) == bool(notes)
    named = list({each.id: each for note in material.notes for each in note.units}.values())
    assert list(material.units) == named, "units are numbered as they are first named"


def test_notes_bear_their_scores_and_the_numbers_of_their_units() -> None:
    def note(score: int, text: str, *units: Unit) -> Note:
        return Note(text, score, units)

    material = material_of([note(90, "A.", UNITS[4], UNITS[2]), note(50, "B.", UNITS[2]), note(5, "C.", UNITS[0])], 100)
    assert material.text == "- (score 90) A. [1][2]\n- (score 50) B. [2]\n- (score 5) C. [3]"
    assert material.units == (UNITS[4], UNITS[2], UNITS[0])
