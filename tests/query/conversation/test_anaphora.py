"""What a question says by itself. No index: names are given by their spans, or told by their capitals."""

import pytest
from conspectus.query.conversation.anaphora import telling_words, wording


@pytest.mark.parametrize(
    ("question", "refers"),
    [
        ("Who directed it?", "thing"),
        ("When did she marry Pierre Curie?", "person"),
        ("Who Directed It?", "thing"),
        ("What is their population?", "any"),
        ("Who wrote that?", "any"),
        ("Wann wurde er geboren?", "any"),
        ("¿Quién lo dirigió?", "any"),
        ("Кто его снял?", "any"),
        ("他在哪里出生？", "person"),
        ("彼はどこで生まれましたか？", "person"),
    ],
)
def test_pronouns_refer_back(question: str, refers: str) -> None:
    assert wording(question, ()).refers == refers


@pytest.mark.parametrize(
    "question",
    [
        "When did Marie Curie say that she was born?",
        "Is it true that Mara grew taller?",
        "Why did the user interface designer think it was important?",
        "What is photosynthesis?",
        "其他的大学在哪里？",
        "What does Ann's sister say of the seven long and winding roads near her old oak house?",
        "",
    ],
)
def test_what_can_be_meant_within_the_question_does_not(question: str) -> None:
    assert wording(question, ()).refers is None


@pytest.mark.parametrize(
    ("question", "telling", "named", "goes_on", "asks"),
    [
        ("Why?", (), False, False, True),
        ("What about the second one?", (), False, True, False),
        ("And the budget?", ("budget",), False, True, False),
        ("And Pierre Curie?", (), True, True, False),
        ("那他呢？", (), False, True, False),
        ("Und warum?", (), False, True, True),
        ("How do bees make honey?", ("bees", "make", "honey"), False, False, True),
    ],
)
def test_what_a_question_says(question: str, telling: tuple[str, ...], named: bool, goes_on: bool, asks: bool) -> None:
    found = wording(question, ())
    assert (found.telling, found.named, found.goes_on, found.asks) == (telling, named, goes_on, asks)


def test_a_known_name_is_no_pronoun_where_it_is_written_as_a_name() -> None:
    assert wording("Who directed It?", [(13, 15)]).refers is None
    assert wording("Who directed it?", [(13, 15)]).refers == "thing"
    assert wording("who directed jaws", [(13, 17)]).named


def test_capitals_name_nothing_in_german() -> None:
    assert not wording("Wer hat den Film gedreht?", ()).named
    assert wording("Who made the Film?", ()).named


def test_signs_without_spaces_weigh_half_a_word() -> None:
    assert wording("什么是光合作用？", ()).weight == 2
    assert wording("What is photosynthesis?", ()).weight == 1


def test_telling_words_are_given_as_they_stand() -> None:
    assert telling_words("Who directed the film Jaws, the Film of 1975?", [(22, 26)]) == ["directed", "film", "1975"]
