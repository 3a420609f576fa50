"""The second hop: the question asked again with what its first passages name."""

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.methods.ppr.ppr import rank_passages
from conspectus.query.methods.ppr.second_hop import FirstPassage, Rewrite, matched_part, rewrite_question, second_hop
from conspectus.query.question.question import open_question
from conspectus.query.types import Step
from conspectus.storage.text.names import words
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Build

LAWS = "What time does the county where Brook House is stop selling cider?"


@pytest.fixture(scope="module")
def states(build: Build) -> Context:
    """The house names its county; the laws of both counties are equally near to the question."""
    passages = {
        "Brook House": "The Brook House is a house in Elmford, Dorset, drawn by Edda Marsh.",
        "Cider laws of Dorset": "In Dorset, cider may be sold until 1:30 in the morning.",
        "Cider laws of Kent": "In Kent, cider may be sold until 1 in the morning. Cider is sold by the county.",
        "Dorset": "Dorset is a county.",
        "Kent": "Kent is a county where one stops selling at one time.",
    } | {f"Bar {letter}": f"Bar {letter} is a house that stops selling cider." for letter in "ABCDEFGH"}
    return build(passages.items())


def row_of(context: Context, title: str) -> int:
    return next(row for row, chunk in enumerate(context.chunks) if context.titles[chunk.document_id] == title)


def first(context: Context, question: str, title: str, weight: float = 1.0) -> FirstPassage:
    row, terms = row_of(context, title), open_question(context, question).terms
    return FirstPassage(row, weight, terms.contained_in(np.array([row]))[0])


def test_a_name_takes_the_place_of_what_its_passage_matches(states: Context) -> None:
    found = {
        each.name: each
        for each in rewrite_question(states, open_question(states, LAWS), [first(states, LAWS, "Brook House", 0.5)])
    }
    assert found["Dorset"].question == "What time does the county where Dorset is stop selling cider?"
    assert found["Dorset"].weight == 0.5
    chunks = {states.titles[states.chunks[row].document_id] for row in found["Dorset"].chunks}
    assert chunks == {"Cider laws of Dorset", "Dorset"}
    assert "Brook House" not in found  # the question says it already


def test_the_second_hop_finds_what_the_first_passage_leads_to(states: Context) -> None:
    found = rank_passages(states, LAWS, 5)
    assert not isinstance(found, Step)
    best = [states.titles[states.chunks[int(found.candidates.rows[place])].document_id] for place in found.order]
    assert best.index("Cider laws of Dorset") < best.index("Cider laws of Kent")
    laws = int(np.flatnonzero(found.candidates.rows == row_of(states, "Cider laws of Dorset"))[0])
    assert found.rewrites[found.hop.by[laws]].name == "Dorset"
    assert found.hop.gain[laws] > 0


def naive_sum(question: str, matches: dict[str, float]) -> float:
    """Return the largest sum of a run of words, by trying all runs."""
    values = [matches.get(word.key, 0.0) for word in words(question)]
    return max(sum(values[i:j]) for i in range(len(values) + 1) for j in range(i, len(values) + 1))


@given(
    st.lists(st.sampled_from("the of film director city lake where is born wrote".split()), max_size=9).map(" ".join),
    st.dictionaries(
        st.sampled_from("film director city lake born wrote".split()),
        st.floats(-1, 1).filter(lambda value: value == 0 or abs(value) > 1e-3),
    ),
)
def test_the_matched_part_is_the_run_of_the_largest_sum(question: str, matches: dict[str, float]) -> None:
    found = matched_part(words(question), [word.key for word in words(question)], matches)
    best = naive_sum(question, matches)
    if found is None:
        assert best == 0
        return
    start, end = found
    inside = [matches.get(word.key, 0.0) for word in words(question[start:end])]
    assert sum(inside) == pytest.approx(best)
    assert best > 0


def rewrite(name: str, weight: float, *chunks: int) -> Rewrite:
    return Rewrite(0, weight, name, f"... {name} ...", np.array(chunks))


def test_what_rewritten_questions_give_is_counted_by_hand() -> None:
    rows, closeness = np.array([7, 3, 9, 5]), np.array([0.5, 0.4, 0.3, 0.2])
    rewrites = [rewrite("one", 1.0, 3, 9), rewrite("two", 0.5, 3, 7)]
    cosines = np.array([[0.9, 0.6, 0.2, 0.9], [0.8, 1.0, 0.9, 0.9]])
    found = second_hop(rows, closeness, rewrites, cosines)
    assert found.fit.tolist() == pytest.approx([0.4, 0.6, 0.2, 0.0])
    assert found.gain.tolist() == pytest.approx([0.15, 0.3, 0.0, 0.0])
    assert found.by.tolist() == [1, 0, 0, -1]
    nothing = second_hop(rows, closeness, [], np.zeros((0, 4)))
    assert (nothing.fit.tolist(), nothing.by.tolist()) == ([0.0] * 4, [-1] * 4)
