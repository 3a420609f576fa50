"""Printed lines become sentences again."""

import time

from conspectus.pipelines.readers.pdf.unwrap import flow, lines_of
from hypothesis import given
from hypothesis import strategies as st

FILLED = "This line is about as wide as the others are, which is what"


def text_of(*pages: str, alone: tuple[str, ...] = ()) -> str:
    return flow([lines_of(page) for page in pages], [alone] * len(pages)).text


def test_lines_that_are_filled_go_on_and_others_do_not() -> None:
    page = f"A heading\n{FILLED}\nmakes it filled. Next one.\n{FILLED}\nEurope knows.\n• an item\n• another item"
    expected = f"A heading\n{FILLED} makes it filled. Next one.\n{FILLED} Europe knows.\n• an item\n• another item"
    assert text_of(page) == expected


def test_divided_words() -> None:
    line = "This line ends, as some lines do now and then, with exam-"
    assert text_of(f"{line}\nple words.") == f"{line[:-1]}ple words."
    assert text_of(f"{line}\nple words.", "An exam-ple it is.").startswith(f"{line}ple")
    known = "This one has a hyphen that belongs to it, as it is well-"
    assert text_of(f"{known}\nknown. All is well. It is known.").startswith(f"{known}known")
    assert text_of(f"{line[:-1]}\xad\nple words.") == f"{line[:-1]}ple words."
    assert text_of("This line ends with something that is a name: Marie-\nCurie Street.").endswith(
        "Marie-Curie Street."
    )


def test_ligatures_leaders_and_noise() -> None:
    assert lines_of("of\ufb01ce  \x01of\u200b\n\n  1 Title . . . . . . . . 7\n") == ["office of", "1 Title ... 7"]


@given(st.lists(st.text(st.sampled_from("aB-. \n1•\xad"), max_size=80), max_size=5))
def test_nothing_is_lost_but_hyphens_and_blanks(texts: list[str]) -> None:
    pages = [lines_of(text) for text in texts]
    flowing = flow(pages, [()] * len(pages))

    def letters(text: str) -> str:
        return "".join(sign for sign in text if sign.isalnum() or sign == "•")

    assert letters(flowing.text) == letters("".join(line for page in pages for line in page))
    for page, start in zip(pages, flowing.starts, strict=True):
        assert (start is None) == (not page)
        if start is not None:
            assert flowing.text[start:].startswith(page[0][:-1])


def test_a_word_of_any_length_takes_linear_time() -> None:
    began = time.process_time()
    assert text_of(f"{'a' * 200_000} b\n{'a-' * 100_000} b").startswith("aaa")
    assert time.process_time() - began < 2
    assert text_of(f"{FILLED} of the 3-com-\npany rule.").endswith("the 3-company rule.")
