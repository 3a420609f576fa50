"""Figures of a benchmark are kept with their command, and the page of measurements reads them."""

import json
import sys
from pathlib import Path

from benchmarks.record import record
from benchmarks.rows import Rows

WRITES = "import pathlib, sys; pathlib.Path(sys.argv[-1]).write_text(sys.argv[1])"


def test_figures_are_kept_with_command_and_date_and_the_name_stays(tmp_path: Path) -> None:
    target = tmp_path / "sizes.json"
    target.write_text(json.dumps({"name": "what is measured", "figures": {"old": 1}}))
    figures = {"methods": {"bm25": {"recall@5": {"mean": 0.5}, "answers": ["a text by others"]}}, "settings": {}}
    record(target, [sys.executable, "-c", WRITES, json.dumps(figures)])
    found = json.loads(target.read_text("utf-8"))
    assert found["name"] == "what is measured"
    assert found["figures"] == {"methods": {"bm25": {"recall@5": {"mean": 0.5}}}}
    assert found["command"].startswith(f"{Path(sys.executable).name} -c ")
    assert found["date"].startswith("20")
    assert found["machine"].split()[1:3] == ["cores", "of"]


def test_a_benchmark_may_add_to_its_figures(tmp_path: Path) -> None:
    target = tmp_path / "scale.json"
    adds = "import json, pathlib, sys; p = pathlib.Path(sys.argv[-1]); a = json.loads(sys.argv[1])"
    adds += "; p.write_text(json.dumps({**(json.loads(p.read_text()) if p.exists() else {}), **a}))"
    record(target, [sys.executable, "-c", adds, '{"10": 1}'])
    record(target, [sys.executable, "-c", adds, '{"20": 2}'])
    assert json.loads(target.read_text("utf-8"))["figures"] == {"10": 1, "20": 2}


def test_rows_are_printed_below_their_heads_and_written(tmp_path: Path, capsys) -> None:  # noqa: ANN001
    file = tmp_path / "rows.json"
    rows = Rows(file)
    rows.add({"questions": "a", "asked": 60, "quoted": 0.64321})
    rows.add({"questions": "b", "asked": 50})
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["questions", "asked", "quoted"]
    assert first.split() == ["a", "60", "0.6432"]
    assert second.split() == ["b", "50"]
    assert json.loads(file.read_text("utf-8"))[0]["quoted"] == 0.64321
