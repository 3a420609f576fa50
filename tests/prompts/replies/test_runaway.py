"""Replies that run away are told from long ones."""

import json
import random
from pathlib import Path

import pytest
from conspectus.prompts.replies.runaway import Runaway, longest_reply

WORDS = [f"word{number}" for number in range(400)]
SENTENCE = "The film was shot in seven weeks with a crew of nine. "
REPLIES = sorted(Path(__file__).parent.joinpath("data").glob("*.jsonl"))


def read(text: str, longest: int = 1_000_000, piece: int = 5) -> tuple[str, str]:
    """Return why a reply ended, and what of it was read; both as they are for a complete one."""
    runaway = Runaway(longest)
    for start in range(0, len(text), piece):
        if why := runaway.take(text[start : start + piece]):
            return why, text[: runaway.kept] if why == "loop" else text[: start + piece]
    return "", text


@pytest.mark.parametrize(
    "loop",
    [
        SENTENCE,
        "the ",
        "- She was born in Brennick and lived there.\n- She made a film about the sea.\n",
        '{"name": "Rain", "type": "person", "description": "1973"}, ',
        "彼は船を見た。",
        " \n",
    ],
)
def test_a_loop_ends_early_and_leaves_what_came_before(loop: str) -> None:
    begin = f"{' '.join(WORDS)}. "
    why, kept = read(begin + loop * 3000)
    assert why == "loop"
    assert begin.startswith(kept[: len(begin)])
    assert len(kept) < len(begin) + 8 * len(loop)


def test_a_numbered_list_that_says_the_same_is_a_loop() -> None:
    why, _ = read("\n".join(f"{number}. Nadia Frey directed the film Cold Harbour." for number in range(1, 900)))
    assert why == "loop"


def test_long_replies_with_news_and_lists_of_scores_are_none() -> None:
    drawn = random.Random(3)
    prose = " ".join(drawn.choice(WORDS) for _ in range(5000))
    records = "\n".join(f'("entity"<|>"{word.upper()}"<|>"person"<|>"{word} is a person.")##' for word in WORDS)
    scores = json.dumps({"chosen": [{"number": n, "why": f"of {WORDS[n]}", "score": n % 10} for n in range(300)]})
    assert [read(text)[0] for text in (prose, records, scores)] == ["", "", ""]


@pytest.mark.parametrize("path", REPLIES, ids=lambda path: path.stem)
def test_no_recorded_reply_is_taken_for_a_loop(path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert not [row["reply"][:80] for row in rows if read(row["reply"])[0]]


def test_a_reply_is_cut_at_what_its_step_and_input_need_but_thinking_is_not_counted() -> None:
    longest = longest_reply("extract", 500)
    drawn = random.Random(3)
    prose = " ".join(drawn.choice(WORDS) for _ in range(5000))
    why, kept = read(prose, longest)
    assert why == "length"
    assert longest < len(kept) <= longest + 100
    assert read(f"<think>{prose}</think>Yes.", longest)[0] == ""
    assert longest_reply("extract", 5000) > longest_reply("extract", 500) > longest_reply("glean_check", 500)
