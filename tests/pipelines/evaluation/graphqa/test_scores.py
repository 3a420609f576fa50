"""What counts as a right answer to a question about a graph."""

import pytest
from conspectus.pipelines.evaluation.graphqa.questions import GraphQa, GraphQuestion
from conspectus.pipelines.evaluation.graphqa.scores import begins_with, lenient
from conspectus.query.types.textual_graph import TextualGraph

STANCES = ("support", "counter")


def question(*answers: str) -> GraphQuestion:
    return GraphQuestion("1", TextualGraph((), ()), "?", answers)


def test_accuracy_is_of_the_first_words() -> None:
    of, asked = GraphQa("any", "accuracy", (), (), ()), question("yes")
    assert [of.score(text, asked) for text in ("Yes", "yes, it is", "yesterday", "no", "")] == [1, 1, 0, 0, 0]
    assert begins_with("It is the sea", ["sea"]) == 0
    assert of.target(question("yes", "yeah")) == "yes"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("Argument 2 supports argument 1.", 1), ("It does not counter it, it supports it.", 0), ("neither", 0)],
)
def test_the_authors_count_the_first_stance_that_is_named(text: str, wanted: float) -> None:
    assert lenient(text, ["support"], STANCES) == wanted
    assert GraphQa("any", "accuracy", (), (), (), STANCES).lenient(text, question("support")) == wanted


def test_the_authors_count_an_answer_anywhere_in_the_text() -> None:
    assert lenient("it was yesterday", ["yes"]) == 1
    assert lenient("nobody|Rosa Tolliver", ["rosa tolliver", "x"]) == 1
    assert lenient("nobody", ["rosa tolliver"]) == 0
    assert lenient("anything", ["the", "!"]) == 0, "an answer of which nothing is left is in no text"
    of = GraphQa("any", "hit@1", (), (), ())
    assert (of.score("nobody|jaxon", question("Jaxon")), of.lenient("nobody|jaxon", question("Jaxon"))) == (0, 1)
