"""Graph-to-text on a tiny T5 that is made on the spot."""

import json
from pathlib import Path

import pytest
from conspectus.pipelines.train.graph2text import (
    Graph2TextPlan,
    Graph2TextTraining,
    TrainingPair,
    divided,
    read_pairs,
    train_graph2text,
)
from conspectus.query.methods.fasttog.text import linearised
from conspectus.render.scores import graph2text_text as shown
from conspectus.storage.errors import InputError

from tests.tiny_t5 import save_t5

TOWNS = [f"{first}{last}" for first in ("Aar", "Bel", "Cor", "Dun", "Esk") for last in ("ford", "mouth", "wick", "ton")]
PAIRS = [
    TrainingPair(((town, "locatedIn", country),), f"{town} lies in {country}.")
    for town in TOWNS
    for country in ("Ostrava", "Tarn")
]
PLAN = Graph2TextPlan(learning_rate=3e-3, epochs=3, batch=8)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [linearised(each.triples) for each in PAIRS] + [each.text for each in PAIRS]
    return save_t5(tmp_path_factory.mktemp("t5"), texts)


@pytest.fixture(scope="module")
def trained(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph2TextTraining, Path, list[str]]:
    out = tmp_path_factory.mktemp("trained") / "g2t"
    lines: list[str] = []
    return train_graph2text(PAIRS, tiny, out, PLAN, lines.append), out, lines


def test_training_is_reported_and_kept(trained: tuple[Graph2TextTraining, Path, list[str]]) -> None:
    report, out, lines = trained
    assert (report.n_training, report.n_validation) == (36, 4)
    assert len(report.epochs) == 3
    assert report.epochs[-1].training_loss < report.epochs[0].training_loss
    assert report.best == max(report.epochs, key=lambda each: (each.rouge_l, each.number)).number
    assert report.after == max(each.rouge_l for each in report.epochs) > report.before
    assert len(lines) == 4
    assert (out / "model.safetensors").is_file()
    assert not list(out.glob("*.bin"))
    assert json.loads((out / "graph2text.json").read_text())["plan"]["seed"] == 7
    assert f"after epoch {report.best}" in shown(report, out)


def test_pairs_are_read_line_by_line(tmp_path: Path) -> None:
    line = {"text": "A  lies in B.", "triples": [["A", "in", "B"]], "id": 3}
    (tmp_path / "a.jsonl").write_text(json.dumps(line) + "\n\n", "utf-8")
    (tmp_path / "b.jsonl").write_text(json.dumps(line | {"text": "B holds A."}), "utf-8")
    assert [each.text for each in read_pairs(tmp_path)] == ["A lies in B.", "B holds A."]
    for broken, said in [
        ("{", "jsonl:1:"),
        ('{"text": "a"}', "triples"),
        ('{"text": "a", "triples": [["b"]]}', "triples"),
    ]:
        (tmp_path / "broken.jsonl").write_text(broken, "utf-8")
        with pytest.raises(InputError, match=said):
            read_pairs(tmp_path / "broken.jsonl")
    (tmp_path / "empty.jsonl").write_text("", "utf-8")
    with pytest.raises(InputError, match="no pairs"):
        read_pairs(tmp_path / "empty.jsonl")


def test_texts_of_the_same_triples_stay_on_one_side() -> None:
    doubled = [*PAIRS, *(TrainingPair(each.triples, f"In {each.text}") for each in PAIRS)]
    learn, held_out = divided(doubled, 0.1, 1)
    assert len(learn) + len(held_out) == len(doubled)
    assert not {each.triples for each in learn} & {each.triples for each in held_out}
    assert divided(doubled, 0.1, 1) == (learn, held_out)
    assert divided(doubled, 0.1, 2) != (learn, held_out)
    with pytest.raises(InputError):
        divided(PAIRS[:1], 0.1, 1)
