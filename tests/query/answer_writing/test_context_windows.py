from conspectus.query.answer_writing.context_windows import cut_tokens, filled, pack, shuffled
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given
from hypothesis import strategies as st

from tests.query.units import passage, report

WORDS = st.text(st.sampled_from("ab 1.[]\n北é🙂"), max_size=200)
UNITS = st.lists(st.one_of(st.builds(passage, WORDS, WORDS), st.builds(report, WORDS, WORDS)), max_size=12)


@given(UNITS, st.integers(16, 200))
def test_no_window_passes_its_limit_and_none_loses_a_unit(units: list, limit: int) -> None:  # type: ignore[type-arg]
    windows = pack(units, limit)
    assert [each for window in windows for each in window.units] == units
    for window in windows:
        assert window.n_tokens == count_tokens(window.text) <= limit
        if len(window.units) > 1:
            for number, unit in enumerate(window.units, start=1):
                assert f"[{number}]" in window.text
                assert unit.text in window.text
    first = filled(units, limit)
    assert first == (windows[0] if windows else None)


def test_a_unit_stands_under_its_number_with_its_title_once() -> None:
    (window,) = pack([passage("Oxford", "A city."), report("Cities", "Two of them."), passage("", "No title.")], 100)
    assert window.text == "[1] Oxford\nA city.\n\n[2]\n# Cities\n\nTwo of them.\n\n[3]\nNo title."


def test_more_units_than_marks_have_digits_for_go_into_another_window() -> None:
    windows = pack([passage("", "a")] * 1500, 1_000_000)
    assert [len(each.units) for each in windows] == [999, 501]


@given(WORDS, st.integers(0, 50))
def test_what_is_cut_is_a_beginning(text: str, limit: int) -> None:
    assert text.startswith(cut_tokens(text, limit))
    assert count_tokens(cut_tokens(text, limit)) <= limit


def test_the_order_depends_on_seed_and_texts_alone() -> None:
    units = [passage("", f"word {number}") for number in range(20)]
    assert shuffled(units, 7) == shuffled(units[::-1], 7) != shuffled(units, 8)
    assert shuffled(units, 7) != units
    left = [each for each in shuffled(units, 7) if each != units[3]]
    assert shuffled([each for each in units if each != units[3]], 7) == left, "what goes moves no other"
