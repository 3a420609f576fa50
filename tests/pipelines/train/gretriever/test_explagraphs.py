"""What a random model can be told about graphs in the form of ExplaGraphs by a graph token, and by nothing else."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from conspectus.pipelines.evaluation.graphqa.questions import read_graphqa
from conspectus.pipelines.train.gretriever.plan import SoftPromptPlan
from conspectus.pipelines.train.gretriever.train import train_gretriever
from conspectus.query.methods.gretriever.soft.checkpoint import SoftShape
from conspectus.query.methods.gretriever.soft.frozen_model import FrozenModel, open_frozen
from conspectus.query.methods.gretriever.soft.graph_encodings import RememberedEncodings
from conspectus.storage.arrays import Vectors

from tests.tiny_llama import save_llama

FOR = ("capable of", "used for", "causes", "desires", "part of", "is a", "has property", "created by")
AGAINST = ("not capable of", "is not a", "not desires", "not part of", "antonym of", "not causes")


def graphs(many: int) -> list[str]:
    """Return lines of a set without arguments: a counter's graph denies more often than that of a support."""
    rng, lines = np.random.default_rng(5), []
    for _ in range(many):
        stance, denies = ("support", 0.1) if rng.random() < 0.55 else ("counter", 0.4)
        nodes = [f"thing {number}" for number in rng.permutation(40)[: rng.integers(4, 6)]]
        relations = [rng.choice(AGAINST if rng.random() < denies else FOR) for _ in nodes[1:]]
        triples = zip(nodes, relations, nodes[1:], strict=False)
        lines.append(f"\t\t{stance}\t" + "".join(f"({head}; {relation}; {tail})" for head, relation, tail in triples))
    return lines


class Words:
    """Unit vectors of texts that say which of a few words they have: an encoder that reads relations, and no names."""

    name, max_tokens = "words", 1_000

    def __init__(self, words: Iterable[str]) -> None:
        self._places = {word: place for place, word in enumerate(sorted(set(words)))}

    @property
    def dimension(self) -> int:
        return len(self._places) + 1

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        vectors[:, -1] = 1
        for row, text in enumerate(texts):
            vectors[row, [self._places[word] for word in text.split() if word in self._places]] = 1
        made: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return made

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self.embed([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)

    def windows(self, text: str) -> list[str]:
        return [text]


def numbers_of(model: FrozenModel) -> str:
    held = hashlib.sha256()
    for _, each in sorted(model.model.state_dict().items()):
        held.update(each.numpy().tobytes())
    return held.hexdigest()


def test_the_graph_token_alone_tells_more_than_the_commonest_stance(tmp_path: Path) -> None:
    """600 graphs to learn from, 200 held back; the question is the same for all, so that only the token differs."""
    (tmp_path / "graphs.tsv").write_text("\n".join(graphs(1_000)), "utf-8")
    data = read_graphqa(tmp_path)
    folder = save_llama(tmp_path / "llama", [data.training[0].question])
    opened: list[FrozenModel] = []

    def open_model() -> FrozenModel:
        opened.append(open_frozen(str(folder)))
        return opened[-1]

    words = Words(word for each in data.training for edge in each.graph.edges for word in edge.text.split())
    shape = SoftShape(layers=2, width=64, text=False, answer_tokens=1)
    plan = SoftPromptPlan(learning_rate=2e-3, batch=16, epochs=4, seeds=1)
    report = train_gretriever(data, RememberedEncodings(words), open_model, shape, plan, tmp_path / "o", print)
    assert (report.n_training, report.n_validation, report.n_test) == (600, 200, 200)
    assert report.majority == pytest.approx(0.525, abs=0.001)
    losses = [each.training_loss for each in report.runs[0].epochs]
    assert losses[-1] < losses[0] / 2
    assert report.mean > report.majority + 0.06
    assert abs(report.shuffled - 0.5) < 0.06, "with the graphs of others no more than chance is left"
    assert numbers_of(opened[0]) == numbers_of(open_frozen(str(folder))), "of the model itself not a bit has changed"
