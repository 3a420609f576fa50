"""What stands on every page goes, and no line of the text does."""

from conspectus.pipelines.readers.pdf.lists import without_furniture
from hypothesis import given
from hypothesis import strategies as st

BODY = [["Some text", "that differs"], ["as texts do,"], ["goes on and", "on", "until"], ["it ends"], ["with x"], ["y"]]
PLAIN = ["1", "2", "3", "4", "5", "6"]


def test_running_heads_and_numbers_go() -> None:
    pages = [["Annual report", *body, str(number)] for number, body in enumerate(BODY, 1)]
    assert without_furniture(pages, PLAIN) == BODY


def test_what_looks_alike_but_says_something_stays() -> None:
    invoices = [[f"Invoice {number * 7919}", "Pay soon.", "It is late."] for number in range(1, 7)]
    assert without_furniture(invoices, PLAIN) == invoices
    sayings = [["It is said again.", f"But not {'x' * number}"] for number in range(6)]
    assert without_furniture(sayings, PLAIN) == sayings
    assert without_furniture([["Title"]] * 6, PLAIN) == [["Title"]] * 6


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
