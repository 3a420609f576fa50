"""IRCoT over a real index and a real HTTP server: which step follows which, what is kept, and where it ends."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from prompts.fake import FakeReply, FakeRequest, FakeServer, Rule
from query.answer.read import UNKNOWN
from query.context import Context
from query.methods import METHODS, find_retriever
from query.retrieve.ircot import concludes, first_sentence, scaled
from query.types import Answer, Evidence, Passage
from storage.errors import BudgetReached, ModelError
from storage.index import Index
from storage.settings import IrcotSettings, LlmSettings
from tests.conftest import Build

THINK, READ = "You think about a question", "You answer a question from numbered passages"
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


@pytest.fixture(scope="module")
def coast(build: Build) -> Context:
    return build(PASSAGES.items())


@contextmanager
def served(
    context: Context,
    memo: Path,
    thoughts: str | FakeReply | Sequence[str | FakeReply],
    answer: str = "In Ostrava [1].",
    llm: dict[str, object] | None = None,
    **ircot: object,
) -> Iterator[tuple[Context, FakeServer]]:
    """Open the index anew with a server for its model; `ircot` are settings, `llm` those of the model."""
    with FakeServer([Rule(thoughts, THINK), Rule(answer, READ)]) as server:
        settings = context.settings.model_copy(
            update={
                "llm": LlmSettings.model_validate({"model": "m", "base_url": server.url, "attempts": 1, **(llm or {})}),
                "ircot": IrcotSettings.model_validate({"retriever": "bm25", "passages": 3, **ircot}),
            }
        )
        index = Index.open(context.index.root)
        index.root = memo
        yield Context(index, settings), server


def ask(context: Context) -> Answer:
    return asyncio.run(METHODS["ircot"].answerer(context).answer(QUESTION, lambda piece: None))


def retrieve(context: Context, k: int = 3) -> Evidence:
    return asyncio.run(find_retriever("ircot", context).retrieve(QUESTION, k))


def prompts(server: FakeServer) -> list[str]:
    return [each.body["messages"][0]["content"] for each in server.requests if each.body]


def shown(prompt: str, of: str) -> str:
    """What stands behind a head of the thought prompt, in its last part."""
    return (
        prompt.split("Now yours.")[1].split(f"\n\n{of}: " if of != "Passages" else "Passages:\n\n")[1].split("\n\n")[0]
    )


def test_question_then_thoughts_then_answer(coast: Context, tmp_path: Path) -> None:
    """The transcript: each thought is made from what all before it found, and is looked up; the answer is read last."""
    with served(coast, tmp_path, CHAIN) as (opened, server):
        answer = ask(opened)
    *thoughts, reading = prompts(server)
    assert [each.startswith(THINK) for each in thoughts] == [True] * 4
    assert reading.startswith(READ)
    assert [shown(each, "Question") for each in thoughts] == [QUESTION] * 4
    assert [shown(each, "Thoughts so far") for each in thoughts] == [
        "(none yet)", CHAIN[0], " ".join(CHAIN[:2]), " ".join(CHAIN[:3]),
    ]  # fmt: skip
    assert "Pelluci is a town" not in thoughts[0].split("Now yours.")[1]
    assert "Ada Mirren lives in" in thoughts[1].split("Now yours.")[1]
    assert "Pelluci is a town" in thoughts[2].split("Now yours.")[1]
    assert f"Question: {QUESTION}" in reading
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


@pytest.mark.parametrize("max_steps", [1, 2, 3])
def test_the_calls_are_bounded(max_steps: int, coast: Context, tmp_path: Path) -> None:
    replies = [f"Thought number {number} goes on." for number in range(20)]
    with served(coast, tmp_path, replies, max_steps=max_steps) as (opened, server):
        answer = ask(opened)
    assert [each.startswith(THINK) for each in prompts(server)] == [True] * max_steps + [False]
    assert answer.usage.calls == max_steps + 1
    assert answer.trace[-2].detail == f"thoughts: {max_steps}; {max_steps} thoughts are the most (ircot.max_steps)"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "the reply holds no sentence"), ("...", "the reply holds no sentence"),
        ("<think>The answer is hidden", "the reply holds no sentence"),
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
    assert sum(each.startswith(THINK) for each in prompts(server)) == 2


def test_a_model_that_fails_at_once_is_an_error(coast: Context, tmp_path: Path) -> None:
    """What would be left is the retriever alone, which must not pass for IRCoT."""
    with served(coast, tmp_path, FakeReply(status=400)) as (opened, _), pytest.raises(ModelError):
        retrieve(opened)


def test_it_stops_on_the_budget(coast: Context, tmp_path: Path) -> None:
    budget = {"max_tokens": 4500, "max_output_tokens": 100}
    with served(coast, tmp_path, CHAIN, llm=budget) as (opened, server), pytest.raises(BudgetReached):
        ask(opened)
    assert 1 <= len(server.requests) < 5
    with served(coast, tmp_path, CHAIN[len(server.requests) :], llm={"max_output_tokens": 100}) as (opened, rest):
        answer = ask(opened)  # what was said is remembered, and is not asked again
    assert answer.text == "In Ostrava [1]."
    assert len(rest.requests) == 5 - len(server.requests)


def test_only_the_first_sentence_counts(coast: Context, tmp_path: Path) -> None:
    """As in the paper: what a model thinks beyond it was thought without the passages that it asks for."""
    with served(coast, tmp_path, [" ".join(CHAIN), "So the answer is: Ostrava."]) as (opened, server):
        retrieve(opened)
    assert shown(prompts(server)[1], "Thoughts so far") == CHAIN[0]


def test_passages_are_kept_by_their_best_score(coast: Context, tmp_path: Path) -> None:
    with served(coast, tmp_path, [CHAIN[1], CHAIN[3]]) as (opened, _):
        found = retrieve(opened, 5)
        base = find_retriever("bm25", opened)
        wanted: dict[str, float] = {}
        for asked in (QUESTION, CHAIN[1]):
            passages = asyncio.run(base.retrieve(asked, 5)).passages
            for each in passages:
                wanted[each.title] = max(wanted.get(each.title, 0.0), each.score / passages[0].score)
    best = sorted(wanted.values(), reverse=True)[:5]
    assert [each.score for each in found.passages] == pytest.approx(best)
    for each in found.passages:
        assert each.score == pytest.approx(wanted[each.title])


@pytest.mark.parametrize("retriever", ["bm25", "dense", "hybrid", "ppr"])
def test_any_retriever_will_do(retriever: str, coast: Context, tmp_path: Path) -> None:
    with served(coast, tmp_path, CHAIN, retriever=retriever, passages=6) as (opened, _):
        titles = {each.title for each in retrieve(opened, 6).passages}
    assert titles >= {"Corvane lighthouse", "Ada Mirren", "Pelluci"}


def test_an_index_without_passages_asks_no_model(build: Build, tmp_path: Path) -> None:
    with served(build([("", "…")]), tmp_path, CHAIN) as (opened, server):
        assert ask(opened).text == UNKNOWN
    assert not server.requests


def test_prompts_hold_no_ids(coast: Context, tmp_path: Path) -> None:
    asked: list[str] = []

    def thought(request: FakeRequest) -> str:
        asked.append(request.messages[0][1])
        return CHAIN[3]

    with served(coast, tmp_path, thought) as (opened, _):  # type: ignore[arg-type]
        found = retrieve(opened)
    for each in found.passages:
        assert each.chunk_id not in asked[0]


@pytest.mark.parametrize(
    ("reply", "want"),
    [
        ("Thought 2: Ada lives in Pelluci. It is a town.", "Ada lives in Pelluci."),
        ("- **Next thought:** Ada lives there.", "Ada lives there."), ("Step by step, Ada.", "Step by step, Ada."),
        ("Here is the next sentence:\n\nAda  lives.", "Ada lives."), ("So the answer is:\nBern", "So the answer is:"),
        ("<think>Hm. Let me see.</think>\nAda lives.", "Ada lives."), ("阿达住在北京。她是工程师。", "阿达住在北京。"),
        ("", ""), ("—", ""), ("Ada", "Ada"),
    ],
)  # fmt: skip
def test_the_first_sentence(reply: str, want: str) -> None:
    assert first_sentence(reply) == want


def test_the_words_that_conclude() -> None:
    assert concludes("So the answer is: Bern.")
    assert concludes("Therefore, the ANSWER  IS Bern")
    assert not concludes("Who answered is not said.")


def test_scores_of_one_retrieval_are_scaled() -> None:
    def scores(*raw: float) -> list[float]:
        return [each.score for each in scaled([Passage("d", str(i), 0, 1, x, "t", "") for i, x in enumerate(raw)])]

    assert scores(8.0, 2.0, 0.0) == [1.0, 0.25, 0.0]
    assert scores(3.0, -1.0, -5.0) == [1.0, 0.5, 0.0]
    assert scores(0.0, 0.0) == [1.0, 1.0]
    assert scores() == []
