"""`conspectus train`, on a tiny model."""

import json
import subprocess
import sys
from pathlib import Path

from conspectus.query.methods.fasttog.text import linearised

from tests.command_line import conspectus
from tests.conftest import write_rows
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
    assert "before training" in done.out
    report = json.loads(conspectus(*words, "--json", "--quiet").out)
    assert report["best"] == 1
    assert 0 <= report["before"] <= 1
    assert report["after"] == report["epochs"][0]["rouge_l"]
    assert conspectus(*words[:3], "--model", tmp_path, "--out", tmp_path / "new").status == 7
    assert conspectus(*words[:6], tmp_path).status == 2, "a folder with something else in it is not overwritten"
    (tmp_path / "bad.jsonl").write_text("{}\n", "utf-8")
    assert conspectus("train", "graph2text", tmp_path / "bad.jsonl", *words[3:]).status == 3


def test_without_the_extra_its_name_is_told(tmp_path: Path) -> None:
    code = "import sys; sys.modules['torch_geometric'] = None; from conspectus.cli import main; main()"
    words = ["train", "gretriever", tmp_path, "--model", "any", "--out", tmp_path / "soft"]
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 7
    assert done.stderr.strip() == ("conspectus: torch-geometric is not installed: pip install 'conspectus[train]'")
    assert not (tmp_path / "soft").exists()
