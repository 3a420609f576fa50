"""Indexes from open information extraction: with a model, and from a file that was made elsewhere."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from conspectus.api import open_index
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.build_report import BuildReport
from conspectus.pipelines.estimation.estimate import estimate
from conspectus.storage.errors import NeedsModel
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Failure, Name, Relation
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.text.nlp import CONCEPT
from conspectus.storage.verify import verify

from benchmarks.fake_server import FakeRequest, FakeServer
from tests.command_line import conspectus
from tests.conftest import write_rows
from tests.tags import inside

CORPUS = [
    {"id": "maule", "text": "Ada Maule was born in Mora. She ran the Tarn mill."},
    {"id": "mora", "text": "Mora is a town in Dalarna. Ada Maule left Mora in 1871."},
    {"id": "reyes", "text": "Tom Reyes painted Ada Maule in Oxbow. Tom Reyes later moved to Mora."},
]
EXTRACTED: list[Mapping[str, object]] = [
    {"id": "maule", "entities": ["Ada Maule", "Mora"], "triples": [["Ada Maule", "was born in", "Mora"]]},
    {"id": "mora", "entities": ["Mora", "Dalarna"], "triples": [["Mora", "is a town in", "Dalarna"]]},
    {"id": "nobody", "entities": ["Zed"]},
]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    folder.mkdir()
    write_rows(folder / "corpus.jsonl", CORPUS)
    question = {"id": "q", "question": "Where was Ada Maule born?", "answers": ["Mora"], "supporting": ["maule"]}
    write_rows(folder / "questions.jsonl", [question])
    write_rows(folder / "openie.jsonl", EXTRACTED)
    return folder


def settings(**extraction: object) -> Settings:
    return load_settings(overrides={"extraction": {"pipeline": "regex", **extraction}})


def build(suite: Path, index: Path, chosen: Settings) -> BuildReport:
    return build_index([suite / "corpus.jsonl"], index, chosen)


def predicates(index: Path) -> set[str]:
    return {each.predicate for each in StoredIndex.open(index).rows(Relation)}


def test_a_file_takes_the_extractors_place(suite: Path, tmp_path: Path) -> None:
    chosen = settings(openie=str(suite / "openie.jsonl"))
    built = build(suite, tmp_path / "index", chosen)
    index = StoredIndex.open(tmp_path / "index")
    assert verify(index) == []
    assert predicates(tmp_path / "index") == {"was born in", "is a town in"}
    assert {"Ada Maule", "Mora", "Dalarna", "Tom Reyes", "Oxbow"} <= {each.name for each in index.rows(Entity)}
    assert built.notes == ("2 of 3 documents as openie.jsonl has them, the other 1 by regex",)
    assert built.failures == tuple(index.rows(Failure))
    expected = Failure("extract", "openie.jsonl:3", "no document has this id", "nobody")
    assert built.failures == (expected,)
    assert built.failed_share == pytest.approx(1 / 3)
    assert index.manifest.models["extraction"] == "openie.jsonl, regex"
    found = open_index(tmp_path / "index", chosen).retrieve("Where was Ada Maule born?", "ppr:hipporag2", 1)
    assert found.passages[0].document_id == "maule"


def test_what_an_untitled_text_begins_with_names_it(suite: Path, tmp_path: Path) -> None:
    rows = [
        {"id": "mill", "text": "Red mill wheels turn in Mora."},
        {"id": "year", "text": "1871 saw Ada Maule leave."},
        {"id": "other", "text": "She met Ada Maule where red mill wheels turn."},
    ]
    write_rows(suite / "corpus.jsonl", rows)
    extracted: list[Mapping[str, object]] = [
        {"id": "mill", "entities": ["Mora"], "triples": [["Red mill wheels", "turn in", "Mora"]]},
        {"id": "year", "entities": ["1871", "Ada Maule"]},
        {"id": "other", "entities": ["Ada Maule"]},
    ]
    write_rows(suite / "openie.jsonl", extracted)
    built = build(suite, tmp_path / "index", settings(openie=str(suite / "openie.jsonl")))
    assert built.notes == ("3 of 3 documents as openie.jsonl has them",)
    names = {each.name for each in StoredIndex.open(tmp_path / "index").rows(Name)}
    assert names == {"Ada Maule"}


def test_its_content_is_part_of_the_fingerprint(suite: Path, tmp_path: Path) -> None:
    file = suite / "openie.jsonl"
    build(suite, tmp_path / "index", settings(openie=str(file)))
    shutil.copy(file, tmp_path / "openie.jsonl")
    assert build(suite, tmp_path / "index", settings(openie=str(tmp_path / "openie.jsonl"))).unchanged
    file.write_text(file.read_text("utf-8").replace("was born in", "comes from"), "utf-8")
    assert not build(suite, tmp_path / "index", settings(openie=str(file))).unchanged
    assert "comes from" in predicates(tmp_path / "index")
    assert str(tmp_path) not in json.dumps(StoredIndex.open(tmp_path / "index").manifest.settings)


def test_the_command_line_names_it(suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    common = ("--set", "extraction.pipeline=regex", "--set", "build.failure_threshold=0.5")
    named = ("--openie", suite / "openie.jsonl")
    done = conspectus("index", suite / "corpus.jsonl", "--index", tmp_path / "index", *named, *common)
    assert done.status == 0, done.err
    assert "2 of 3 documents as openie.jsonl has them, the other 1 by regex" in done.out
    assert "was born in" in predicates(tmp_path / "index")
    measure = ("evaluate", suite, "--methods", "ppr:hipporag1,ppr:hipporag2", "--k", "1", *common)
    for words in ((*measure, *named), measure):
        done = conspectus(*words)
        assert done.status == 0, done.err
        assert "ppr:hipporag2" in done.out
        assert ("2 of 3 documents" in done.err) == (words is not measure)
    indexes = sorted(Path(".conspectus/suites").iterdir())
    assert sorted("was born in" in predicates(each) for each in indexes) == [False, True]
    missing = conspectus("index", suite / "corpus.jsonl", "--openie", suite / "missing.jsonl")
    assert missing.status == 2
    assert "missing.jsonl" in missing.err


def model(request: FakeRequest) -> str:
    text, given = inside(request.prompt, "text"), request.last.partition("\nNamed entities: ")[2]
    names = [name for name in ("Ada Maule", "Mora", "Dalarna", "Tom Reyes") if name in text]
    if not given:
        return json.dumps({"entities": names})
    return json.dumps({"triples": [[first, "is told of with", "plain words"] for first in json.loads(given)]})


def test_a_model_extracts_and_nothing_else_asks_it(suite: Path, tmp_path: Path) -> None:
    with FakeServer(model) as server:
        overrides: dict[str, dict[str, object]] = {
            "extraction": {"method": "openie", "pipeline": "regex"},
            "llm": {"model": "m", "base_url": server.url, "attempts": 1},
        }
        chosen = load_settings(overrides=overrides)
        assert chosen.extracts_with == "m"
        built = build(suite, tmp_path / "index", chosen)
        assert built.failures == ()
        assert {each.step: each.calls for each in built.spending} == {"openie_ner": 3, "openie_triples": 3}
        index = StoredIndex.open(tmp_path / "index")
        assert verify(index) == []
        assert index.manifest.models["extraction"] == "m"
        entities = {each.name: each for each in index.rows(Entity)}
        assert entities.keys() == {"Ada Maule", "Mora", "Dalarna", "Tom Reyes", "plain words"}
        assert entities["plain words"].type == CONCEPT
        assert entities["Mora"].description == "Ada Maule was born in Mora. Ada Maule left Mora in 1871."
        assert predicates(tmp_path / "index") == {"is told of with"}

        assert build(suite, tmp_path / "index", chosen).unchanged
        write_rows(suite / "corpus.jsonl", [*CORPUS, {"id": "more", "text": "Mora again."}])
        spent = {each.step: (each.calls, each.remembered) for each in build(suite, tmp_path / "index", chosen).spending}
        assert spent == {"openie_ner": (1, 3), "openie_triples": (1, 3)}
        write_rows(suite / "corpus.jsonl", [*CORPUS, {"id": "a", "text": "A."}, {"id": "b", "text": "B."}])
        told = estimate([suite / "corpus.jsonl"], tmp_path / "index", chosen)
        assert {step.step: (step.calls, step.remembered) for step in told.steps} == {
            "openie_ner": (2, 3),
            "openie_triples": (2, 3),
        }


def test_it_needs_a_model(suite: Path, tmp_path: Path) -> None:
    with pytest.raises(NeedsModel, match="`openie`"):
        build(suite, tmp_path / "index", settings(method="openie"))
