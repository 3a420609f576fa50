"""From a suite to an answer: training is killed, goes on, and what it made answers."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from tests.command_line import conspectus
from tests.conftest import write_rows
from tests.tiny_llama import save_llama

MANY = 20
DETAILS = ("colour", "length", "sound", "budget", "language", "licence", "camera", "studio")
CHOSEN = "width=8 epochs=3 seeds=1 learning_rate=0.01 batch=2"
OVERRIDES = [word for each in CHOSEN.split() for word in ("--set", f"train_gretriever.{each}")]
OVERRIDES += ["--set", "gretriever.top_k_edges=1", "--set", "gretriever.edge_cost=1"]


KILLED = """
import os, signal, sys
from conspectus.cli import main

write = sys.stderr.write

def dying(text):
    write(text)
    if "epoch 1:" in text:
        os.kill(os.getpid(), signal.SIGKILL)

sys.stderr.write = dying
main()
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of films and who made them."""
    folder = tmp_path_factory.mktemp("films") / "films"
    folder.mkdir()
    triples = [f"Film {each}\tdirected by\tPerson {each % 7}" for each in range(MANY)]
    triples += [f"Person {each}\tborn in\tTown {each % 3}" for each in range(7)]
    triples += [f"Film {each}\t{what}\t{what} {each}" for each in range(MANY) for what in DETAILS]
    (folder / "kg.tsv").write_text("\n".join(triples), "utf-8")
    rows = [
        {"id": str(n), "question": f"Who directed Film {n}?", "answers": [f"Person {n % 7}"], "entities": [f"Film {n}"]}
        for n in range(MANY)
    ]
    write_rows(folder / "questions.jsonl", rows)
    return folder


@pytest.fixture(scope="module")
def llama(suite: Path) -> Path:
    texts = ["Question: Who directed Film? Answer: node_id, node_attr src edge_attr dst"] * 9
    texts += [(suite / "kg.tsv").read_text("utf-8")]
    return save_llama(suite.parent / "llama", texts, words=80, width=32)


def command(suite: Path, llama: Path, out: Path) -> list[str | Path]:
    return ["train", "gretriever", suite, "--model", llama, "--out", out, *OVERRIDES]


def test_a_training_on_a_suite_that_was_killed_goes_on_and_answers(suite: Path, llama: Path, tmp_path: Path) -> None:
    whole = conspectus(*command(suite, llama, tmp_path / "whole"), "--json")
    assert whole.status == 0, whole.err
    assert "seed 0, epoch 1:" in whole.err

    killed = [sys.executable, "-c", KILLED, *command(suite, llama, tmp_path / "soft")]
    assert subprocess.run(killed, check=False).returncode == -signal.SIGKILL
    assert not (tmp_path / "soft" / "gretriever.json").exists()

    again = conspectus(*command(suite, llama, tmp_path / "soft"), "--json")
    assert again.status == 0, again.err
    assert "seed 0, epoch 1:" not in again.err, "what was done is not done again"
    first, second = json.loads(whole.out), json.loads(again.out)
    for report in (first, second):
        report["minutes_per_epoch"] = 0
        for each in report["runs"][0]["epochs"]:
            each["seconds"] = 0
    assert first == second
    assert (tmp_path / "whole" / "learned.safetensors").read_bytes() == (
        tmp_path / "soft" / "learned.safetensors"
    ).read_bytes()
    assert {name.split(".")[0] for name in load_file(tmp_path / "soft" / "learned.safetensors")} == {
        "encoder",
        "projector",
    }
    assert first["before"]["nodes"] > first["after"]["nodes"] > 0, "graphs are cut to what a question needs"

    index = ["--index", tmp_path / "index"]
    built = conspectus("index", "--kg", suite / "kg.tsv", *index, "--quiet")
    assert built.status == 0, built.err
    ask = ["ask", "Who directed Film 3?", "--method", "gretriever", *index]
    told = conspectus(*ask, "--set", f"soft_prompt.folder={tmp_path / 'soft'}", "--json")
    assert told.status == 0, told.err
    answer = json.loads(told.out)
    assert answer["method"] == "gretriever:soft"
    assert any("the trained model writes" in str(each) for each in answer["trace"])

    for override, status, said in (
        (f"soft_prompt.folder={tmp_path / 'nothing'}", 7, "contains no gretriever.json"),
        (f"soft_prompt.folder={suite}", 7, "contains no gretriever.json"),
        ("soft_prompt.model=another", 7, "no causal model"),
    ):
        refused = conspectus(*ask, "--set", f"soft_prompt.folder={tmp_path / 'soft'}", "--set", override)
        assert refused.status == status, refused.err
        assert said in refused.err
        assert refused.err.count("\n") == 1
