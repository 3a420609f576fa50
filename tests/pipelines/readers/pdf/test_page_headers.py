"""What stands on every page goes, and no line of the text does."""

from conspectus.pipelines.readers.pdf.lists import without_furniture
from hypothesis import given
from hypothesis import strategies as st

BODY = [["Some text", "that differs"], ["as texts do,"], ["goes on and", "on", "until"], ["it ends"], ["with x"], ["y"]]
PLAIN = ["1", "2", "3", "4", "5", "6"]


def test_running_heads_and_numbers_go() -> None:
    pages = [["Annual report", *body, str(number)] for number, body in enumerate(BODY, 1)]
    assert without_furniture(pages, PLAIN) == BODY


def test_roman_labels_and_printed_numbers_that_are_no_labels() -> None:
    roman = ["i", "ii", "iii", "iv", "v", "vi"]
    assert without_furniture([[f"- {n} -", *body] for n, body in zip(roman, BODY, strict=True)], roman) == BODY
    shifted = [[*body, str(number - 2)] if number > 2 else body for number, body in enumerate(BODY, 1)]
    assert without_furniture(shifted, PLAIN) == BODY


def test_what_looks_alike_but_says_something_stays() -> None:
    invoices = [[f"Invoice {number * 7919}", "Pay soon.", "It is late."] for number in range(1, 7)]
    assert without_furniture(invoices, PLAIN) == invoices
    sayings = [["It is said again.", f"But not {'x' * number}"] for number in range(6)]
    assert without_furniture(sayings, PLAIN) == sayings
    assert without_furniture([["Title"]] * 6, PLAIN) == [["Title"]] * 6


def test_few_pages_are_left_as_they_are() -> None:
    pages = [["A report", "1"], ["A report", "2"], ["A report", "3"]]
    assert without_furniture(pages, ["1", "2", "3"]) == pages


@given(st.lists(st.lists(st.text("ab1 -[].", min_size=1, max_size=6), max_size=10), max_size=6))
def test_at_most_two_lines_go_at_an_edge(pages: list[list[str]]) -> None:
    found = without_furniture(pages, [str(number) for number in range(len(pages))])
    for before, after in zip(pages, found, strict=True):
        assert any(list(after) == before[first : first + len(after)] for first in range(5))
        assert len(before) - len(after) <= 8
        assert bool(before) == bool(after)


def test_headings_that_are_numbered_as_the_pages_are_stay() -> None:
    names = ["Definitions", "Scope", "Term", "Payment", "Liability", "Notices"]
    clauses = [[f"{i} {name}", *body] for (i, name), body in zip(enumerate(names, 1), BODY, strict=True)]
    assert without_furniture(clauses, PLAIN) == clauses
    questions = [[f"Question {number}", *body] for number, body in enumerate(BODY, 1)]
    assert without_furniture(questions, PLAIN) == questions
    pages = [[f"Page {number}", *body] for number, body in enumerate(BODY, 1)]
    assert without_furniture(pages, PLAIN) == BODY


def test_lines_that_are_kept_stay() -> None:
    pages = [["Annual report", *body, str(number)] for number, body in enumerate(BODY, 1)]
    found = without_furniture(pages, PLAIN, [{"Annual report"}, *[()] * 5])
    assert found == [["Annual report", *BODY[0]], *BODY[1:]]
