"""Learn how candidate queries of a question to a graph are ranked (`query/graph_question/ranking.json`).

    python -m benchmarks.train_graph_ranking FOLDER... [--most 400] [--indexes FOLDER] [--as-they-are] [--out FILE]

A FOLDER has `kg.tsv` and `questions.jsonl`, whose questions have `answers`. The candidates of each question, as the
stored weights find them, are run, and a softmax over their scores is to choose those whose answers are right: its loss
is the logarithm of the F1 that it expects. Each graph is left out in turn to measure how often the first candidate is
right; what is written is learned from all graphs. Weights that few questions teach stay near those that are stored,
and as the search keeps the best candidates of each length by these, a second run begins where the first one ends. The
candidates are kept beside the indexes for `--as-they-are`.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from conspectus import build, open_index
from conspectus.pipelines.evaluation.metrics import name_key
from conspectus.pipelines.evaluation.suites import Suite, read_suite, sampled
from conspectus.query.context import Context
from conspectus.query.graph_question.answer import said
from conspectus.query.graph_question.candidates import query_of
from conspectus.query.graph_question.meanings import open_predicates
from conspectus.query.graph_question.reader import GraphReading, compared, read_candidates
from conspectus.query.graph_question.scoring import COMPARED, FEATURES
from conspectus.query.logistic import Logistic, stored_weights
from conspectus.query.walk.run_query import run
from conspectus.storage.arrays import Floats
from conspectus.storage.settings import load_settings
from scipy.optimize import minimize

from benchmarks.train_graph_question import family

OUT = Path(__file__).parent.parent / "query" / "graph_question" / "ranking.json"
WEIGHT, PENALTY = 60.0, 10.0
"""The weight of all questions of a graph, so that each graph teaches as much, and the penalty of changes of weights."""
_CANDIDATES = 40
"""Number of candidates of a question that are run."""
_SCALES = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
_LEAST_SPREAD = 0.3
"""Features that hardly differ among the candidates of a question are scaled as if they did."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A question with its candidates: their features (n, f) and the F1 of their answers (n,)."""

    graph: str
    question: str
    features: list[list[float]]
    f1: list[float]


def main() -> None:
    """Learn and measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=400)
    parser.add_argument("--indexes", type=Path, default=Path(".conspectus/graph_questions"))
    parser.add_argument("--as-they-are", action="store_true", help="take the candidates of the last run")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    questions: list[Ranked] = []
    for folder in args.folders:
        graph = f"{folder.parent.name}_{folder.name}"
        kept = args.indexes / f"{graph}.candidates.jsonl"
        if not (args.as_they_are and kept.exists()):
            found = list(candidates_of(graph, sampled(read_suite(folder), args.most), args.indexes / graph))
            kept.write_text("".join(json.dumps(asdict(each)) + "\n" for each in found))
        questions += [Ranked(**json.loads(line)) for line in kept.read_text().splitlines()]
        print(graph, len(questions), "questions", flush=True)
    names = (*FEATURES, *COMPARED)
    before = stored_weights("query.graph_question", "ranking.json")
    stored = {stage: Logistic.of(before[stage], names[: len(before[stage]["weights"])]).weights for stage in before}
    measure(questions, stored["compared"])
    learned = {}
    for stage, features in {"search": FEATURES, "compared": names}.items():
        weights = learn(questions, stored[stage]).tolist()
        learned[stage] = {"weights": dict(zip(features, weights, strict=True)), "constant": 0.0}
    args.out.write_text(json.dumps(learned, indent=1) + "\n")


def candidates_of(graph: str, suite: Suite, folder: Path) -> Iterator[Ranked]:
    """Yield the questions of one graph that have answers, each with its best candidates."""
    if not folder.exists():
        build([], folder, settings=suite.settings(load_settings()))
    context = open_index(folder).context
    for question in suite.questions:
        reading = read_candidates(context, question.question, None)
        if question.answers and reading.candidates:
            predicates = open_predicates(context)
            best = compared(reading.scoring, predicates, reading.asked, reading.candidates[:_CANDIDATES])
            of_path = [reading.scoring.compared_features(each) for each in best]
            features = [
                [round(value, 4) for value in (*reading.scoring.features(each), *path)]
                for each, path in zip(best, of_path, strict=True)
            ]
            values = []
            for each in best:
                query = query_of(predicates, reading.asked, each)
                answer = run(predicates.graph, query)
                tried = replace(reading, candidates=(each,), query=query, answer=answer)
                values.append(f1_of(context, tried, question.answers))
            yield Ranked(graph, question.question, features, values)


def f1_of(context: Context, reading: GraphReading, answers: Sequence[str]) -> float:
    """Return the F1 of the names that a reading answers with."""
    found = set(map(name_key, said(context, reading)[1]))
    right = len(found & set(map(name_key, answers)))
    return round(2 * right / (len(found) + len(set(answers))), 4) if right else 0.0


def learn(questions: Sequence[Ranked], before: Floats) -> Floats:
    """Return the weights of the first features, (f,), from those before."""
    n_features = len(before)
    able = [each for each in questions if max(each.f1) > 0 and len(each.f1) > 1]
    rows = [np.array(each.features)[:, :n_features] for each in able]
    spread = np.maximum(np.concatenate([row - row.mean(axis=0) for row in rows]).std(axis=0), _LEAST_SPREAD)
    scaled = [row / spread for row in rows]
    values = [np.array(each.f1) for each in able]
    taught = Counter(each.graph for each in able)
    weights = [WEIGHT / taught[each.graph] for each in able]

    def loss(parameters: Floats, near: Floats) -> tuple[float, Floats]:
        change = parameters - near
        cost, slope = PENALTY * float(change @ change) / 2, PENALTY * change
        for row, value, weight in zip(scaled, values, weights, strict=True):
            logits = row @ parameters
            chosen = np.exp(logits - logits.max())
            chosen /= chosen.sum()
            expected = float(chosen @ value)
            cost -= weight * float(np.log(expected))
            slope = slope - weight * ((chosen * value / expected - chosen) @ row)
        return cost, slope

    scaled_alike = [before * spread * scale for scale in _SCALES]
    near = min(scaled_alike, key=lambda parameters: loss(parameters, parameters)[0])
    found = minimize(loss, near, (near,), jac=True, method="L-BFGS-B").x
    return np.round(found / spread, 4)


def measure(questions: Sequence[Ranked], before: Floats) -> None:
    """Print by graph the F1 of the first candidate, of the best one, and with weights that the graph has not taught."""
    for left_out in sorted({family(each.graph) for each in questions}):
        weights = learn([each for each in questions if family(each.graph) != left_out], before)
        for graph in sorted({each.graph for each in questions if family(each.graph) == left_out}):
            own = [each for each in questions if each.graph == graph]
            first = np.mean([each.f1[0] for each in own])
            learned = np.mean([each.f1[int(np.argmax(np.array(each.features) @ weights))] for each in own])
            best = np.mean([max(each.f1) for each in own])
            print(f"{graph:28} {len(own)} questions: F1 {first:.3f} now, {learned:.3f} learned, {best:.3f} at best")


if __name__ == "__main__":
    main()
