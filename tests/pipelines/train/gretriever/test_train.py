"""Training a soft graph prompt over tiny random models that are made on the spot."""

import asyncio
import hashlib
import json
import random
from dataclasses import asdict, replace
from pathlib import Path
from statistics import stdev

import pytest
from conspectus.pipelines.evaluation.graphqa.questions import GraphQa, GraphQuestion
from conspectus.pipelines.train.gretriever.plan import SeedRun, SoftPromptPlan, SoftPromptTraining
from conspectus.pipelines.train.gretriever.train import graphs_as_asked, of_settings, train_gretriever
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.query.menu import find_retriever
from conspectus.query.methods.gretriever.soft.checkpoint import LEARNED, REPORT, SoftShape, read_made
from conspectus.query.methods.gretriever.soft.frozen_model import FrozenModel, open_frozen
from conspectus.query.methods.gretriever.soft.graph_encodings import RememberedEncodings
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph
from conspectus.render.scores import soft_prompt_text as shown
from conspectus.storage.errors import InputError, SettingsError, UsageError
from conspectus.storage.settings import EmbeddingServerSettings, EmbeddingSettings, Settings, TrainGRetrieverSettings

from tests.conftest import write_rows
from tests.query import films
from tests.tiny_llama import save_llama

SHAPE = SoftShape(layers=1, heads=2, width=8, text_tokens=80, answer_tokens=3)


def encodings() -> RememberedEncodings:
    return RememberedEncodings(open_embedder(EmbeddingSettings(), EmbeddingServerSettings()))


def signature(model: FrozenModel) -> str:
    held = hashlib.sha256()
    for name, each in sorted(model.model.state_dict().items()):
        if "lora_" not in name:
            held.update(each.numpy().tobytes())
    return held.hexdigest()


GOOD, BAD = ("helps", "causes", "is a friend of", "desires"), ("harms", "not causes", "is an enemy of", "not desires")
THINGS = ("whales", "sharks", "owls", "bees", "children", "farmers", "doctors", "loans", "parades", "blockades")


def stances(many: int) -> GraphQa:
    """Graphs of three things each whose relations are all good or all bad, under one and the same question."""
    draw = random.Random(4)

    def made(number: int) -> GraphQuestion:
        good = draw.random() < 0.5
        said = [draw.choice(GOOD if good else BAD) for _ in range(2)]
        edges = (TextualEdge(0, said[0], 1), TextualEdge(1, said[1], 2))
        graph = TextualGraph(tuple(draw.sample(THINGS, 3)), edges)
        return GraphQuestion(str(number), graph, "Is it good?", ("support" if good else "counter",))

    every = tuple(made(number) for number in range(2 * many))
    return GraphQa("stances", "accuracy", every[:many], every[many : many + many // 4], every[many + many // 4 :])


def test_a_graph_token_tells_a_random_model_what_is_in_the_graph(tmp_path: Path) -> None:
    """A random frozen Llama: above the commonest answer with the graphs, at chance with those of other questions."""
    data = stances(64)
    texts = [text for each in data.training for text in (each.graph.to_text(), each.question)]
    folder = save_llama(tmp_path / "llama", texts)
    opened: list[FrozenModel] = []

    def open_model() -> FrozenModel:
        opened.append(open_frozen(str(folder)))
        return opened[-1]

    shape = SoftShape(layers=2, width=64, answer_tokens=1)
    plan = SoftPromptPlan(learning_rate=5e-3, batch=8, epochs=5, seeds=1)
    report = train_gretriever(data, encodings(), open_model, shape, plan, tmp_path / "out", lambda line: None)
    assert signature(opened[0]) == signature(open_frozen(str(folder))), "the model itself has not changed by a bit"
    losses = [each.training_loss for each in report.runs[0].epochs]
    assert losses[-1] < losses[0] / 2
    assert report.mean > report.majority + 0.2
    assert abs(report.shuffled - 0.5) < 0.15
    assert (report.n_training, report.n_validation, report.n_test) == (64, 16, 48)


ANIMALS = ("whale", "shark", "hen", "owl", "fox", "bee")


def small(many: int = 12) -> GraphQa:
    def made(number: int) -> GraphQuestion:
        animal, good = ANIMALS[number % 6], number % 2 == 0
        graph = TextualGraph((animal, "sea"), (TextualEdge(0, "lives in" if good else "not lives in", 1),))
        return GraphQuestion(str(number), graph, f"Does a {animal} live there?", ("support" if good else "counter",))

    every = tuple(made(number) for number in range(2 * many))
    return GraphQa("animals", "accuracy", every[:many], every[many : many + 4], every[many + 4 :])


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_llama(tmp_path_factory.mktemp("llama"), [each.question for each in small().training], width=32)


def run(llama: Path, out: Path, shape: SoftShape, plan: SoftPromptPlan, stop: str = "never") -> SoftPromptTraining:
    def tell(line: str) -> None:
        if stop in line:
            raise KeyboardInterrupt

    return train_gretriever(small(), encodings(), lambda: open_frozen(str(llama)), shape, plan, out, tell)


def numbers(report: SoftPromptTraining) -> SoftPromptTraining:
    """A report without what the clock says."""

    def still(each: SeedRun) -> SeedRun:
        return replace(each, epochs=tuple(replace(epoch, seconds=0.0) for epoch in each.epochs))

    return replace(report, minutes_per_epoch=0.0, runs=tuple(map(still, report.runs)))


def test_a_training_that_was_stopped_comes_to_the_same_numbers(llama: Path, tmp_path: Path) -> None:
    shape = replace(SHAPE, lora=True, lora_dropout=0.3, dropout=0.3)
    plan = SoftPromptPlan(learning_rate=1e-2, epochs=4, patience=4, seeds=2)
    whole = run(llama, tmp_path / "whole", shape, plan)
    with pytest.raises(KeyboardInterrupt):
        run(llama, tmp_path / "stopped", shape, plan, stop="seed 1, epoch 2")
    states = sorted(each.name for each in (tmp_path / "stopped").rglob("state*"))
    assert states == ["state.safetensors"]
    again = run(llama, tmp_path / "stopped", shape, plan)
    assert numbers(again) == numbers(whole)
    for name in (LEARNED, f"seeds/0/{LEARNED}", f"seeds/1/{LEARNED}"):
        assert (tmp_path / "stopped" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not list((tmp_path / "whole").rglob("state*"))
    assert {each.suffix for each in (tmp_path / "whole").rglob("*") if each.is_file()} == {".json", ".safetensors"}


def test_the_report_is_of_all_seeds(llama: Path, tmp_path: Path) -> None:
    plan = SoftPromptPlan(learning_rate=1e-2, epochs=2, seeds=3, seed=5)
    report = run(llama, tmp_path / "out", SHAPE, plan)
    scores = [each.score for each in report.runs]
    assert [each.seed for each in report.runs] == [5, 6, 7]
    assert report.mean == pytest.approx(sum(scores) / 3)
    assert report.deviation == stdev(scores)
    assert report.kept == min(report.runs, key=lambda each: each.validation_loss).seed
    kept = tmp_path / "out" / "seeds" / str(report.kept) / LEARNED
    assert (tmp_path / "out" / LEARNED).read_bytes() == kept.read_bytes()
    held = json.loads((tmp_path / "out" / REPORT).read_text("utf-8"))
    assert (held["mean"], held["plan"]["seeds"]) == (report.mean, 3)
    made = read_made(tmp_path / "out")
    assert (made.model, made.shape, made.embedder) == (str(llama), SHAPE, encodings().name)
    assert "commonest answer" in shown(report, tmp_path / "out")
    with pytest.raises(UsageError, match=r"another training \(heads was 2 and is 4, batch was 4 and is 2\)"):
        run(llama, tmp_path / "out", replace(SHAPE, heads=4), replace(plan, batch=2))


def test_a_state_of_something_else_is_told(llama: Path, tmp_path: Path) -> None:
    state = tmp_path / "out" / "seeds" / "0" / "state.safetensors"
    state.parent.mkdir(parents=True)
    state.write_bytes(b"nothing")
    with pytest.raises(InputError, match="remove it to start again"):
        run(llama, tmp_path / "out", SHAPE, SoftPromptPlan(seeds=1))


def test_a_finished_seed_is_not_trained_again_and_a_broken_one_is_told(llama: Path, tmp_path: Path) -> None:
    plan = SoftPromptPlan(learning_rate=1e-2, epochs=1, seeds=2)
    whole = run(llama, tmp_path, SHAPE, plan)
    assert run(llama, tmp_path, SHAPE, plan, stop="seed") == whole, "nothing is told, as nothing is done"
    (tmp_path / LEARNED).unlink()
    (tmp_path / "seeds" / "0" / LEARNED).unlink()
    assert numbers(run(llama, tmp_path, SHAPE, plan)) == numbers(whole), "what was learned is missing: learned anew"
    (tmp_path / "seeds" / "1" / "run.json").write_text('{"seed": 1, "best"', "utf-8")
    with pytest.raises(InputError, match=r"run.json cannot be read: .*; remove it to train this seed again"):
        run(llama, tmp_path, SHAPE, plan)
    (tmp_path / "training.json").write_text("{", "utf-8")
    with pytest.raises(UsageError, match=r"training.json cannot be read"):
        run(llama, tmp_path, SHAPE, plan)


def test_steps_that_are_too_large_are_told(llama: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"learning_rate 1e\+30 is too large"):
        run(llama, tmp_path, SHAPE, SoftPromptPlan(learning_rate=1e30, epochs=2, seeds=1))


def test_defaults_are_the_papers_and_every_setting_arrives() -> None:
    assert of_settings(SoftShape, TrainGRetrieverSettings()) == SoftShape()
    assert of_settings(SoftPromptPlan, TrainGRetrieverSettings()) == SoftPromptPlan()
    given = {"encoder": "gat", "width": 6, "projector": False, "soft_tokens": 4, "text": False, "lora": True}
    planned = {"learning_rate": 1e-3, "epochs": 3, "batch": 2, "seeds": 2}
    chosen = TrainGRetrieverSettings.model_validate(given | planned)
    assert asdict(of_settings(SoftShape, chosen)) == asdict(SoftShape()) | given
    assert asdict(of_settings(SoftPromptPlan, chosen)) == asdict(SoftPromptPlan()) | planned
    assert Settings.model_construct().train_gretriever.retrieval
    with pytest.raises(ValueError, match="nothing would be trained"):
        TrainGRetrieverSettings(encoder="none", soft_tokens=0)


# Graphs as they are asked with


def test_graphs_of_a_suite_are_those_that_asking_its_index_retrieves(tmp_path: Path) -> None:
    context = films.build(tmp_path, films.TRIPLES)
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "kg.tsv").write_text("".join("\t".join(each) + "\n" for each in films.TRIPLES), "utf-8")
    asked = {f"What is the {said} of {one}?": (one, other) for one, said, other in films.TRIPLES}
    rows = [{"id": q, "question": q, "answers": [who], "entities": [film]} for q, (film, who) in asked.items()]
    write_rows(suite / "questions.jsonl", rows)
    data = graphs_as_asked(suite, context, TrainGRetrieverSettings())
    assert {each.question for each in data.questions} == set(asked)
    for each in data.questions:
        found = asyncio.run(find_retriever("gretriever", context).retrieve(each.question, 1))
        assert found.subgraph
        assert each.graph.to_text() == found.subgraph.text.to_text()
    with pytest.raises(UsageError, match=r"no suite with a kg\.tsv"):
        graphs_as_asked(tmp_path, context, TrainGRetrieverSettings())
    with pytest.raises(UsageError, match="retrieval is false"):
        graphs_as_asked(suite, context, TrainGRetrieverSettings(retrieval=False))
