"""Sentences that only repeat the answer, the question or the prompt are not shown."""

import pytest
from conspectus.prompts.language_model import Message
from conspectus.query.answer_writing.own_words import told_anew, without_own_words

PROMPT = (
    Message("system", 'You answer.\n\nExample: The theatre of Tarnow opened with the opera "The Reed Cutter".'),
    Message("user", "Who directed Cold Harbour?\n<facts>\nCold Harbour was directed by Nadia Frey.\n</facts>"),
)
QUESTION = "Who directed Cold Harbour?"


@pytest.mark.parametrize(
    ("answer", "shown", "dropped"),
    [
        ("It was Nadia Frey [1]. It was made in 1962 [2].", "It was Nadia Frey [1]. It was made in 1962 [2].", 0),
        ("It was Nadia Frey [1]. It was Nadia Frey [2]. Yes. Yes.", "It was Nadia Frey [1]. Yes. Yes.", 1),
        ("Who directed Cold Harbour? It was Nadia Frey.", "It was Nadia Frey.", 1),
        ("It was directed by Nadia Frey. It was directed by", "It was directed by Nadia Frey.", 1),
        ('The theatre of Tarnow opened with the opera "The Reed Cutter". ' * 20, "", 20),
        ("Cold Harbour was directed by Nadia Frey.", "Cold Harbour was directed by Nadia Frey.", 0),
        ("- One film is long.\n- One is short.\n- One film is long.", "- One film is long.\n- One is short.", 1),
    ],
)
def test_what_is_shown_of_an_answer(answer: str, shown: str, dropped: int) -> None:
    told, n_dropped = without_own_words(answer, PROMPT, QUESTION)
    assert (told.strip(), n_dropped) == (shown, dropped)


@pytest.mark.parametrize(
    ("answer", "told"),
    [("Tarnow", ""), ("Nadia Frey", "Nadia Frey"), ("Who directed Cold Harbour?", "")],
)
def test_a_short_answer_that_only_our_example_has_is_none(answer: str, told: str) -> None:
    assert told_anew(answer, PROMPT, QUESTION) == told


def test_short_lines_are_not_repeated_three_times() -> None:
    told, n_dropped = without_own_words("The answer is:\n\nTomas Reyle [1]\n\n" * 5, (), "Who directed it?")
    assert told.count("Tomas Reyle") == told.count("The answer is") == 2
    assert n_dropped == 6
