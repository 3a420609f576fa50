"""`conspectus train`, on a tiny model."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conspectus.query.methods.fasttog.text import linearised

from tests.command_line import conspectus
from tests.conftest import write_rows
from tests.tiny_llama import save_llama
from tests.tiny_t5 import save_t5


def test_graph2text_is_trained_from_the_command_line(tmp_path: Path) -> None:
    rows = [{"text": f"A{n} lies in B{n}.", "triples": [[f"A{n}", "in", f"B{n}"]]} for n in range(12)]
    write_rows(tmp_path / "pairs.jsonl", rows)
    texts = [linearised([tuple(each) for each in row["triples"]]) for row in rows]  # type: ignore[misc]
    model = save_t5(tmp_path / "t5", [*texts, *(str(row["text"]) for row in rows)])
    words = [
        "train",
        "graph2text",
        tmp_path / "pairs.jsonl",
        "--model",
        model,
        "--out",
        tmp_path / "g2t",
        "--epochs",
        "1",
    ]
    done = conspectus(*words)
    assert done.status == 0, done.err
    assert "epoch 1: training loss" in done.err
    assert "written by people" in done.out
    report = json.loads(conspectus(*words, "--json", "--quiet").out)
    assert report["best"] == 1
    assert {"rouge1", "rouge2", "rouge_l", "factual", "relational"} <= set(report["validation"])
    assert conspectus(*words[:3], "--model", tmp_path, "--out", tmp_path / "new").status == 7
    assert conspectus(*words[:6], tmp_path).status == 2, "a folder with something else in it is not overwritten"
    (tmp_path / "bad.jsonl").write_text("{}\n", "utf-8")
    assert conspectus("train", "graph2text", tmp_path / "bad.jsonl", *words[3:]).status == 3


@pytest.fixture
def stances(tmp_path: Path) -> Path:
    """A few lines like those of ExplaGraphs."""
    lines = [
        f"A{n} is good.\tA{n} is bad.\t{'counter' if n % 2 else 'support'}\t(a{n}; {'not ' * (n % 2)}causes; good)"
        for n in range(20)
    ]
    (tmp_path / "stances.tsv").write_text("\n".join(lines), "utf-8")
    return tmp_path / "stances.tsv"


SMALL = "width=8 epochs=2 seeds=2 learning_rate=0.01"


def test_gretriever_is_trained_from_the_command_line(stances: Path, tmp_path: Path) -> None:
    model = save_llama(tmp_path / "llama", [stances.read_text("utf-8")], width=32)
    words = ["train", "gretriever", stances, "--model", model, "--out", tmp_path / "soft"]
    chosen = [word for each in SMALL.split() for word in ("--set", f"train_gretriever.{each}")]
    done = conspectus(*words, *chosen)
    assert done.status == 0, done.err
    assert "seed 1, epoch 2: training loss" in done.err
    assert "for the commonest answer" in done.out
    assert f"soft_prompt.folder={tmp_path / 'soft'}" in done.out
    again = conspectus(*words, *chosen, "--json", "--quiet")
    report = json.loads(again.out)
    assert again.err == ""
    assert (report["n_training"], report["n_test"], len(report["runs"])) == (12, 4, 2)
    assert conspectus(*words, *chosen, "--set", "train_gretriever.batch=2").status == 2, "another training is there"
    assert conspectus(*words[:-1], tmp_path, *chosen).status == 2, "a folder with something else is not overwritten"
    assert conspectus(*words[:4], tmp_path / "no", "--out", tmp_path / "new", *chosen).status == 7
    (tmp_path / "bad.tsv").write_text("a\tb\tsupport\t(a; b; c)\na\tb\tmaybe\t(a; b; c)\n", "utf-8")
    assert conspectus(*words[:2], tmp_path / "bad.tsv", *words[3:5], "--out", tmp_path / "new").status == 3


def test_without_the_extra_its_name_is_told(stances: Path, tmp_path: Path) -> None:
    code = "import sys; sys.modules['torch_geometric'] = None; from conspectus.cli import main; main()"
    words = ["train", "gretriever", stances, "--model", "any", "--out", tmp_path / "soft"]
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 7
    assert done.stderr.strip() == ("conspectus: torch-geometric is not installed: pip install 'conspectus[train]'")
    assert not (tmp_path / "soft").exists()
