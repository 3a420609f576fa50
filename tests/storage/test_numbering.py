"""Numbers of many texts, of which few are in memory."""

from conspectus.storage.numbering import PARTS, ManyNumbers
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.text("ferns", max_size=3)), st.integers(1, 5))
def test_each_text_has_one_final_number_and_one_part(texts: list[str], most: int) -> None:
    numbers = ManyNumbers(most)
    given_ = [numbers[text] for text in texts]
    assert len(numbers) <= most
    final, known = numbers.settled
    assert known.to_pylist() == list(dict.fromkeys(texts))
    assert [known[number].as_py() for number in final[given_].tolist()] == texts
    assert len({(text, number % PARTS) for text, number in zip(texts, given_, strict=True)}) == len(set(texts))
