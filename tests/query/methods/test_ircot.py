"""IRCoT over a real index and a real HTTP server: which step follows which, how many, and what is found."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.context import Context
from conspectus.query.menu import METHODS, find_retriever
from conspectus.query.methods.ircot import concludes, first_sentence
from conspectus.query.types import Answer, Evidence

from benchmarks.fake_server import FakeReply, FakeServer, Rule
from tests.conftest import Build
from tests.query import graph_serving
from tests.query.graph_serving import prompts
from tests.tags import inside

THINK, READ = "You work out the answer", "on the numbered passages alone"
QUESTION = "In which country does the designer of the Corvane lighthouse live?"
PASSAGES = {
    "Corvane lighthouse": "The Corvane lighthouse was designed by Ada Mirren.",
    "Ada Mirren": "Ada Mirren lives in the town of Pelluci.",
    "Pelluci": "Pelluci is a town in the country of Ostrava.",
} | {f"Lighthouse {name}": f"The designer of the lighthouse {name} lives in a country." for name in "ABCDEFGHIJ"}
CHAIN = (
    "The Corvane lighthouse was designed by Ada Mirren.",
    "Ada Mirren lives in Pelluci.",
    "Pelluci is in the country of Ostrava.",
    "So the answer is: Ostrava.",
)


@contextmanager
def served(
    context: Context, memo: Path, thoughts: str | FakeReply | Sequence[str | FakeReply], **ircot: object
) -> Iterator[tuple[Context, FakeServer]]:
    """Open the index anew with a server that thinks what it is told to; `ircot` are settings."""
    replies = [Rule(thoughts, THINK), Rule("In Ostrava [1].", READ)]
    chosen = {"retriever": "bm25", "passages": 3, **ircot}
    with graph_serving.served(context, memo, replies, ircot=chosen) as opened:
        yield opened


def ask(context: Context) -> Answer:
    return asyncio.run(METHODS["ircot"].answerer(context).answer(QUESTION))


def retrieve(context: Context, k: int = 3) -> Evidence:
    return asyncio.run(find_retriever("ircot", context).retrieve(QUESTION, k))


def shown(prompt: str, of: str) -> str:
    """What stands under a name in the last part of the thought prompt."""
    return inside(prompt, {"Thoughts so far": "thoughts"}.get(of, of.lower())).split("\n\n")[0]


@pytest.fixture(scope="module")
def coast(build: Build) -> Context:
    return build(PASSAGES.items())


def test_question_then_thoughts_then_answer(coast: Context, tmp_path: Path) -> None:
    """The transcript: each thought is made from what all before it found, and is looked up; the answer is read last."""
    with served(coast, tmp_path, CHAIN) as (opened, server):
        answer = ask(opened)
    *thoughts, reading = prompts(server)
    assert [(THINK in each) for each in thoughts] == [True] * 4
    assert READ in reading
    assert [shown(each, "Question") for each in thoughts] == [QUESTION] * 4
    assert [shown(each, "Thoughts so far") for each in thoughts] == [
        "(none yet)", CHAIN[0], " ".join(CHAIN[:2]), " ".join(CHAIN[:3]),
    ]  # fmt: skip
    assert "Pelluci is a town" not in thoughts[0].rpartition("<passages>")[2]
    assert "Ada Mirren lives in" in thoughts[1].rpartition("<passages>")[2]
    assert "Pelluci is a town" in thoughts[2].rpartition("<passages>")[2]
    assert inside(reading, "question") == QUESTION
    for title in ("Corvane lighthouse", "Ada Mirren", "Pelluci"):
        assert f"{title}\n{PASSAGES[title]}" in reading
    assert "So the answer is" not in reading, "the answer is read from passages, not from thoughts"
    assert [each.name for each in answer.trace] == [
        "bm25", "thought 1", "thought 2", "thought 3", "thought 4", "ircot", "read",
    ]  # fmt: skip
    assert answer.trace[2].detail.startswith(f"{CHAIN[1]} (")
    assert answer.trace[5].detail == "thoughts: 4; the last thought says the answer"
    assert (answer.method, answer.text) == ("ircot", "In Ostrava [1].")
    (citation,) = answer.citations
    assert citation.quote in PASSAGES[answer.evidence.passages[0].title]
    assert answer.usage.calls == 5


@pytest.mark.parametrize("max_steps", [1, 3])
def test_the_calls_are_bounded(max_steps: int, coast: Context, tmp_path: Path) -> None:
    replies = [f"Thought number {number} goes on." for number in range(20)]
    with served(coast, tmp_path, replies, max_steps=max_steps) as (opened, server):
        answer = ask(opened)
    assert [(THINK in each) for each in prompts(server)] == [True] * max_steps + [False]
    assert answer.usage.calls == max_steps + 1
    assert answer.trace[-2].detail == f"thoughts: {max_steps}; {max_steps} thoughts are the most (ircot.max_steps)"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "the reply holds no sentence"),
        ("x" * 2000, "the reply goes on for 2,000 characters without the end of a sentence"),
        (CHAIN[0].upper(), "the model repeats itself"), (FakeReply(status=400), "400"),
    ],
)  # fmt: skip
def test_a_thought_that_leads_no_further_ends_the_walk_and_not_the_run(
    reply: str | FakeReply, reason: str, coast: Context, tmp_path: Path
) -> None:
    with served(coast, tmp_path, [CHAIN[0], reply]) as (opened, server):
        answer = ask(opened)
    assert answer.text == "In Ostrava [1]."
    assert answer.trace[-2].name == "ircot"
    assert answer.trace[-2].detail.startswith("thoughts: 1; no thought 2: ")
    assert reason in answer.trace[-2].detail
    assert "Ada Mirren" in [each.title for each in answer.evidence.passages]
    assert sum(THINK in each for each in prompts(server)) == 2


def test_an_index_without_passages_asks_no_model(build: Build, tmp_path: Path) -> None:
    with served(build([("", "…")]), tmp_path, CHAIN) as (opened, server):
        assert ask(opened).text == NO_ANSWER
    assert not server.requests


def test_only_the_first_sentence_counts(coast: Context, tmp_path: Path) -> None:
    """As in the paper: what a model thinks beyond it was thought without the passages that it asks for."""
    with served(coast, tmp_path, [" ".join(CHAIN), "So the answer is: Ostrava."]) as (opened, server):
        retrieve(opened)
    assert shown(prompts(server)[1], "Thoughts so far") == CHAIN[0]


@pytest.mark.parametrize(
    ("reply", "want"),
    [
        ("Thought 2: Ada lives in Pelluci. It is a town.", "Ada lives in Pelluci."),
        ("- **Next thought:** Ada lives there.", "Ada lives there."),
        ("Here is the next sentence:\n\nAda  lives.", "Ada lives."),
        ("<think>Hm. Let me see.</think>\nAda lives.", "Ada lives."),
        ("阿达住在北京。她是工程师。", "阿达住在北京。"), ("—", ""), ("Ada", "Ada"),
    ],
)  # fmt: skip
def test_the_first_sentence(reply: str, want: str) -> None:
    assert first_sentence(reply) == want


def test_the_words_that_conclude() -> None:
    assert concludes("So the answer is: Bern.")
    assert concludes("Therefore, the ANSWER  IS Bern")
    assert not concludes("Who answered is not said.")
    assert not concludes("The passages do not say what the answer is.")
    assert not concludes("The answer is not in the passages; the director of the film has to be found.")
    assert not concludes("So the answer is not in the passages.")
