"""What a statement says by what stands beside it: a heading with a date, a life in parentheses, a time."""

import conspectus
import numpy as np
import pytest
from conspectus.api import Index
from conspectus.query.answer_writing.asked import asked_of
from conspectus.query.answer_writing.features import STATEMENT_FEATURES
from conspectus.query.answer_writing.quotes import quotes_for
from conspectus.query.types import Passage

CHANGES = """# Changelog

## [3.1.0] - 2025-04-22

- The default of the option keep is 12

## [2.6.0] - 2024-05-17

- Encryption of the copies
"""
LIVES = """# Lives

Edda Holm (14 May 1887 in Oster – 2 December 1961 in Brell) was a glass painter. After his death in 1926 she ran the
workshop of Otto Brand alone.

Otto Brand joined the works in 1903. He led the school from 1911 to 1919. In 1921 he moved to Brell.
"""
KETTLES = {
    "brixa.txt": "Brixa 10 kettle\nprice: 34.90\npower: 2200 W\nlime filter: yes\nguarantee: 2 years\n",
    "olm.txt": "Olm Duo kettle\nprice: 59.00\npower: 1800 W\nlime filter: yes, two\nguarantee: 5 years\n",
    "sarn.txt": "Sarn kettle\nprice: 21.50\npower: 1000 W\nlime filter: no\nguarantee: 3 years\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("beside")
    (folder / "kettles").mkdir()
    for name, text in {"CHANGELOG.md": CHANGES, "lives.md": LIVES}.items():
        (folder / name).write_text(text, "utf-8")
    for name, text in KETTLES.items():
        (folder / "kettles" / name).write_text(text, "utf-8")
    return conspectus.build(folder, tmp_path_factory.mktemp("index") / "index")


def test_the_heading_is_quoted_that_has_the_date_or_the_number(index: Index) -> None:
    assert "[2.6.0]" in index.ask("Since which version are the copies encrypted?").text.splitlines()[0]
    assert "2025-04-22" in index.ask("When did version 3.1.0 come out?").text.splitlines()[0]


def test_a_life_in_parentheses_tells_of_birth_and_death(index: Index) -> None:
    assert index.ask("When did Edda Holm die?").span == "2 December 1961"
    assert index.ask("When was Edda Holm born?").span == "14 May 1887"


def test_statements_are_compared_with_the_time_that_is_asked_about(index: Index) -> None:
    (found,) = (each for each in index.context.chunks if "joined the works" in each.text)
    passage = Passage(found.document_id, found.id, found.start, found.end, 1.0, found.text, "Lives")
    quotes = quotes_for(index.context, "Where was Otto Brand in 1915?", [passage])
    names = ("in the time", "at another time")
    told = {quote.text: quote.features[[STATEMENT_FEATURES.index(name) for name in names]] for quote in quotes}
    assert np.array_equal(told["He led the school from 1911 to 1919."], [1, 0])
    assert np.array_equal(told["Otto Brand joined the works in 1903."], [0, 1])
    asked = asked_of(index.context, "Where was Otto Brand before 1915?")
    assert asked.time
    assert (asked.time.first, asked.time.last) == (None, "1914-12-31")
    assert asked_of(index.context, "Where was Otto Brand?").time is None


@pytest.mark.parametrize(
    ("question", "short", "of"),
    [
        ("Which kettle is the cheapest?", "sarn", "3 of 3"),
        ("which kettle has the highest guarantee", "olm", "3 of 3"),
        ("Which kettles have no lime filter?", "sarn", "1 of 3"),
        ("How many kettles have a lime filter?", "2", "2 of 3"),
    ],
)
def test_documents_of_one_form_are_a_table(index: Index, question: str, short: str, of: str) -> None:
    answer = index.ask(question)
    assert (answer.span.casefold(), of in answer.text) == (short, True)
    assert answer.citations
