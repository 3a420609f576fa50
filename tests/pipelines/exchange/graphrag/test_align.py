"""Chunks that another program cut, found again in their document."""

import unicodedata

import pytest
from conspectus.pipelines.exchange.graphrag.documents import Aligned, AlignedText, joined
from hypothesis import given
from hypothesis import strategies as st

TEXT = "Hobson was late.\nNobody was uneasy.  Hobson was late.\n\nStrakes signed it."


@given(st.text(st.sampled_from("ab \n北é"), min_size=1, max_size=60), st.data())
def test_a_run_of_the_text_is_found_where_it_stands(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    (found,) = AlignedText(text).align([text[start:end]])
    if text[start:end].strip():
        assert found is not None
        assert text[found.start : found.end] == text[start:end]
        assert found.start == text.find(text[start:end]), "the first of several places"
    else:
        assert found is None


@given(st.lists(st.text(st.sampled_from("ab c"), min_size=1, max_size=9).filter(str.strip), min_size=1, max_size=8))
def test_units_that_follow_each_other_are_found_in_turn(units: list[str]) -> None:
    found = AlignedText("".join(units)).align(units)
    starts = [each.start for each in found if each]
    assert len(starts) == len(units)
    assert starts == sorted(set(starts)), "each behind the one before it, however alike they are"


@pytest.mark.parametrize(
    ("unit", "prepended"),
    [
        ("title: a.txt.\nNobody was uneasy.", "title: a.txt.\n"),
        ("note: of two\nlines.\nNobody was uneasy.", "note: of two\nlines.\n"),
        ("Nobody was uneasy.", ""),
    ],
)
def test_metadata_before_a_unit_is_not_of_the_document(unit: str, prepended: str) -> None:
    assert AlignedText(TEXT).align([unit]) == [Aligned(17, 35, prepended)]


def test_a_line_of_the_document_that_looks_like_metadata_stays() -> None:
    text = "Dear all: hello.\nYours: me."
    assert AlignedText(text).align([text]) == [Aligned(0, len(text))]


@pytest.mark.parametrize(
    "unit",
    [
        "Nobody was  \nuneasy. Hobson was late.",
        "\ufffdNobody was uneasy. Hobson was late.\ufffd",
        "title: x.\nNobody was\u00a0uneasy. Hobson was\tlate.",
    ],
)
def test_blanks_and_halves_of_letters_make_no_difference(unit: str) -> None:
    (found,) = AlignedText(TEXT).align([unit])
    assert found is not None
    assert TEXT[found.start : found.end] == "Nobody was uneasy.  Hobson was late."


def test_forms_of_letters_make_no_difference() -> None:
    text = unicodedata.normalize("NFD", "Der Käse, 北京ｶﾞ.")
    (found,) = AlignedText(text).align([unicodedata.normalize("NFC", "Käse, 北京ガ")])
    assert found is not None
    assert unicodedata.normalize("NFKC", text[found.start : found.end]) == "Käse, 北京ガ"


@pytest.mark.parametrize("unit", ["Bob Ashgrove", "title: x", "  \n", "\ufffd"])
def test_what_stands_nowhere_is_not_found(unit: str) -> None:
    assert AlignedText(TEXT).align([unit]) == [None]


@given(st.text(st.sampled_from("abcd "), min_size=30, max_size=90), st.integers(8, 20), st.integers(1, 6))
def test_a_text_is_joined_of_its_chunks(text: str, size: int, overlap: int) -> None:
    text = "".join(f"{number}{sign}" for number, sign in enumerate(text))  # nothing stands twice
    units = [text[at : at + size] for at in range(0, len(text) - overlap, size - overlap)]
    assert joined(units) == text
    assert joined([f"title: x.\n{each}" for each in units]) == text


def test_chunks_without_anything_in_common_are_joined_apart() -> None:
    assert joined(["One.", "Two."]) == "One.\n\nTwo."
    assert joined([]) == ""
    assert joined(["ab" * 9000, "ba" * 9000]) == "ab" * 9000 + "a", "soon, however repetitive"
