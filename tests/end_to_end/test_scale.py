"""The benchmark of large corpora: the corpus is the same every time, its grammar is read, and each figure is there."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.generated_corpus import GeneratedAnnotator, GeneratedCorpus


def test_names_and_statements_of_a_passage_are_found_where_they_are() -> None:
    passage = next(GeneratedCorpus(10).passages())
    text = str(passage["text"])
    found = GeneratedAnnotator().annotate(text)
    assert found.phrases[0].text == passage["title"]
    assert all(text[each.start : each.end] == each.text for each in found.phrases)
    assert found.triples
    assert all(text[each.start : each.end].startswith(each.subject.text) for each in found.triples)


def test_the_benchmark_measures_building_and_asking(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.scale", "--passages", "60", "--json", str(tmp_path / "out.json")]
    subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    figures = json.loads((tmp_path / "out.json").read_text("utf-8"))["60"]
    assert figures["rows"]["chunks"] == 60
    assert figures["failures"] == 0
    assert figures["questions"].keys() >= {"dense", "bm25", "ppr", "global", "tog2"}
    wanted = ("peak_bytes", "cpu_ms_per_passage", "open_seconds", "first_question_seconds", "reader_bytes")
    assert all(figures[name] > 0 for name in (*wanted, "filtered_first_seconds", "filtered_ms", "version_bytes"))
