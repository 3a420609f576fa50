"""Questions, judgements and measured answers, as the command line gives them."""

import json
import re
from pathlib import Path

import pytest

from benchmarks.fake_server import FakeRequest, FakeServer
from tests.command_line import conspectus
from tests.conftest import write_rows


def model(request: FakeRequest) -> str:
    """Think up questions, answer them, and prefer what begins earlier in the alphabet."""
    prompt = request.prompt
    if "kinds of people" in prompt:
        return json.dumps({"people": [{"role": "Reader", "interest": "wants to know"}]})
    if "different tasks" in prompt:
        return json.dumps({"tasks": ["Find the themes."]})
    if "different questions" in prompt:
        return json.dumps({"questions": ["What ties it together?", "What changes?"]})
    if "The criterion:" in prompt:
        first, second = re.findall(r"Answer \d:\n\n(.+?)\n\n", prompt, re.S)
        return json.dumps({"reason": "because", "better": "1" if first < second else "2"})
    return "It is so [1]." if "Passages:" in prompt else "{}"


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    write_rows(tmp_path / "questions.jsonl", [{"id": "q", "question": "Who wrote The Oak House?"}])
    return tmp_path / "questions.jsonl"


def test_without_a_model_it_says_so(sample_root: Path, asked: Path) -> None:
    for words in (("questions", "--to", "new.jsonl"), ("judge", asked, "--methods", "ppr,bm25")):
        done = conspectus(*words, "--index", sample_root)
        assert (done.status, done.out) == (6, "")
        assert "llm.model" in done.err
    assert not Path("new.jsonl").exists()


def test_questions_are_written_and_can_be_judged_on(sample_root: Path, tmp_path: Path) -> None:
    with FakeServer(model) as server:
        llm = ("--set", "llm.model=m", "--set", f"llm.base_url={server.url}", "--index", sample_root)
        words = ("questions", "--users", "1", "--tasks", "1", "--questions", "2", "--to", "made.jsonl", *llm)
        done = conspectus(*words)
        assert (done.status, done.out, done.err) == (0, "wrote 2 questions to made.jsonl\n", "")
        rows = [json.loads(line) for line in (tmp_path / "made.jsonl").read_text("utf-8").splitlines()]
        assert [each["question"] for each in rows] == ["What ties it together?", "What changes?"]
        assert rows[0]["user"] == "Reader: wants to know"
        assert conspectus(*words).status == 2, "it is there already"
        again = conspectus(*words, "--force", "--about", "A club's minutes")
        assert again.status == 0
        assert any("A club's minutes" in str(each.body) for each in server.requests)
        short = conspectus("questions", "--users", "1", "--tasks", "1", "--questions", "3", "--to", "short.jsonl", *llm)
        assert "fewer questions than asked for (2 of 3)" in short.err

        done = conspectus("judge", "made.jsonl", "--methods", "ppr,bm25", "--repeats", "2", "--json", "r.json", *llm)
    assert (done.status, done.err) == (0, "")
    result = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert (result["questions"], result["repeats"], result["failures"]) == (2, 2, [])
    for criterion in ("comprehensiveness", "diversity", "empowerment", "directness"):
        assert f"{criterion}: how often the row wins" in done.out
        assert result["criteria"][criterion]["inconsistent"] == 0
    assert "2 questions, 2 repeats in both orders" in done.out


def test_a_judge_that_contradicts_itself_is_named(sample_root: Path, asked: Path) -> None:
    def biased(request: FakeRequest) -> str:
        judging = "The criterion:" in request.prompt
        return json.dumps({"reason": "", "better": "1"}) if judging else f"It is so [1]. {len(request.prompt)}"

    with FakeServer(biased) as server:
        llm = ("--set", "llm.model=m", "--set", f"llm.base_url={server.url}", "--index", sample_root)
        done = conspectus("judge", asked, "--methods", "bm25,ppr,ss", "--repeats", "1", *llm)
    assert done.status == 0
    assert "contradicts itself in 100% of swapped pairs: do not rely on these rates" in done.out


def test_answers_are_measured(tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    suite.mkdir()
    text = "Marie Curie discovered polonium in Paris. Marie Curie was born in Warsaw."
    write_rows(suite / "corpus.jsonl", [{"id": "a", "title": "Marie Curie", "text": text}])
    question = {"id": "q", "question": "Who discovered polonium?", "answers": ["Marie Curie"], "supporting": ["a"]}
    write_rows(suite / "questions.jsonl", [question, {"id": "r", "question": "Why?", "supporting": ["a"]}])
    before = sorted(suite.rglob("*"))
    done = conspectus(
        "evaluate", suite, "--methods", "bm25,global:c0", "--k", "1", "--answers", "--json", "result.json", "--quiet",
        "--set", "extraction.pipeline=regex",
    )  # fmt: skip
    assert (done.status, done.err) == (0, "")
    head = done.out.splitlines()[0].split()
    assert head[:5] == ["method", "recall@1", "all@1", "rougeL", "coverage"]
    assert {"exact_match", "f1", "coverage_words", "s/question"} <= set(head)
    assert "2 questions, 2 measured for retrieval, 1 measured for answers" in done.out
    result = json.loads((tmp_path / "result.json").read_text("utf-8"))
    assert result["questions"] == 2
    assert result["measured"] == {"retrieval": 2, "answers": 1}
    assert result["methods"]["bm25"]["coverage_words"]["mean"] == 1
    assert "recall@1" not in result["methods"]["global:c0"]
    assert "rougeL" in result["methods"]["global:c0"]
    assert sorted(suite.rglob("*")) == before, "the suite is never written to"
    assert list((tmp_path / ".conspectus" / "suites").iterdir()), "its index is kept"
    for missing in ("questions.jsonl", "corpus.jsonl"):
        (suite / missing).unlink()
        done = conspectus("evaluate", suite)
        assert (done.status, done.out) == (3, "")
        assert missing in done.err
