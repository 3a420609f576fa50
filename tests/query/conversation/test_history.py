from dataclasses import replace

from conspectus.query.conversation.history import CitedSpan, Conversation, Turn, first_tokens, turn_of
from conspectus.query.types import Answer, Citation, Evidence, Passage
from conspectus.storage.hashing import digest
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given
from hypothesis import strategies as st

TEXTS = st.text(max_size=200) | st.sampled_from(["Who directed it?", "北京大学在哪里？", "x" * 500, "a " * 300])
TURNS = st.builds(Turn, question=TEXTS, standalone=TEXTS, answer=TEXTS, method=st.just("ppr"))


def turn(number: int) -> Turn:
    return Turn(f"Question {number}?", f"Question {number}?", f"Answer {number}.", "ppr")


def test_a_turn_keeps_what_an_answer_rests_on() -> None:
    citation = Citation(1, "d1", "Oxford", "oxford.txt", 3, 9, "a city")
    passage = Passage("d1", "c1", 0, 20, 1.0, "It is a city in England", "Oxford")
    answer = Answer(
        "Where is it?",
        "ppr",
        "In England [1].",
        (citation, citation),
        Evidence((passage,)),
        standalone="Where is Oxford?",
    )
    made = turn_of(answer)
    assert made == Turn(
        "Where is it?",
        "Where is Oxford?",
        "In England [1].",
        "ppr",
        (CitedSpan("d1", 3, 9),),
        (digest("It is a city in England"),),
    )
    assert turn_of(replace(answer, standalone="")).standalone == "Where is it?"


def test_what_does_not_fit_is_left_out_from_the_oldest_on() -> None:
    whole = Conversation(tuple(turn(number) for number in range(5)))
    two = turn(3).tokens + turn(4).tokens
    assert whole.latest(9, two).turns == (turn(3), turn(4))
    assert whole.latest(9, two - 1).turns == (turn(4),)


def test_the_last_turn_is_cut_where_it_is_too_long_by_itself() -> None:
    long = Turn("What does it say?", "What does the book say?", "word " * 1000, "ppr")
    (kept,) = Conversation((turn(0), long)).latest(9, 50).turns
    assert (kept.question, kept.standalone) == (long.question, long.standalone)
    assert kept.answer
    assert long.answer.startswith(kept.answer)


@given(st.lists(TURNS, max_size=4), st.integers(0, 5), st.integers(0, 200))
def test_bounds_always_hold(turns: list[Turn], most: int, tokens: int) -> None:
    kept = Conversation(tuple(turns)).latest(most, tokens).turns
    assert len(kept) <= most
    assert sum(each.tokens for each in kept) <= tokens
    assert len(kept) >= min(1, most, len(turns))


@given(TEXTS, st.integers(0, 60))
def test_a_beginning_has_no_more_tokens_than_allowed(text: str, count: int) -> None:
    cut = first_tokens(text, count)
    assert text.startswith(cut)
    assert count_tokens(cut) <= count
