"""`conspectus index --estimate` as a user calls it."""

import json
from pathlib import Path

import pytest
from conspectus.render.builds import estimate_text as shown

from tests.command_line import conspectus
from tests.conftest import ISLES, write_rows

MODEL = ("--set", "llm.model=m", "--set", "llm.base_url=http://127.0.0.1:9/v1")
PRICES = ("--set", "llm.prices={m: {input: 0.15, output: 0.6}}")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = [json.loads(line) for line in (ISLES / "corpus.jsonl").read_text("utf-8").splitlines()[:6]]
    write_rows(tmp_path / "corpus.jsonl", rows)
    return tmp_path / "corpus.jsonl"


def test_a_table_of_steps_with_their_sum(corpus: Path) -> None:
    done = conspectus("index", corpus, "--index", "new", "--estimate", *MODEL, *PRICES)
    assert done.status == 0, done.err
    for word in ("extract", "glean_check", "report", "total", "range:", "time:", "are not known yet", "$0."):
        assert word in done.out
    assert not Path("new").exists()


def test_as_json(corpus: Path) -> None:
    done = conspectus("index", corpus, "--index", "new", "--estimate", "--json", "--latency", "2", *MODEL)
    made = json.loads(done.out)
    assert made["documents"] == 6
    assert made["total"]["cost"] is None
    assert made["total"]["calls"] == sum(each["calls"] for each in made["steps"])
    assert "a call takes 2 s" in made["time_assumes"]


def test_without_a_model_no_server_is_needed(corpus: Path) -> None:
    done = conspectus("index", corpus, "--estimate", "--set", "extraction.pipeline=regex")
    assert "no server is needed" in done.out


def test_latency_is_for_estimates_only(corpus: Path) -> None:
    done = conspectus("index", corpus, "--latency", "1")
    assert done.status == 2
    assert "--estimate" in done.err


@pytest.mark.parametrize("seconds", ["-1", "inf", "nan", "1e308"])
def test_a_latency_is_a_time_that_a_call_can_take(corpus: Path, seconds: str) -> None:
    done = conspectus("index", corpus, "--estimate", "--json", "--latency", seconds, *MODEL)
    assert done.status == 2
    assert "--latency" in done.err


def test_what_the_figures_rest_on_is_said() -> None:
    step = {
        "step": "extract", "model": "m", "calls": 1000, "remembered": 7, "prompt_tokens": 2000, "completion_tokens": 30,
        "cost": 1.5, "seconds": 3700.0, "low": {"calls": 1, "tokens": 2, "cost": 0.5},
        "high": {"calls": 3, "tokens": 4, "cost": 2.5},
    }  # fmt: skip
    text = shown(
        {
            "index": "a b", "documents": 3, "chunks": 4000, "rehearsed": 4000, "observed": 12, "unchanged": False,
            "steps": [step], "total": {**step, "step": "total", "model": ""}, "time_assumes": "much",
            "warnings": ["llm.max_cost is $1: one run will not suffice"],
        }
    )  # fmt: skip
    assert "'a b': 3 documents, 4,000 chunks" in text
    assert "1 h 2 min" in text
    assert "range: 1 to 3 calls, 2 to 4 tokens, $0.5000 to $2.5000" in text
    assert "as cached for 12 chunks" in text
    assert text.endswith("one run will not suffice")
