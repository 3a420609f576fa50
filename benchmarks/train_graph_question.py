"""Learn how likely the answer to a question to a graph is right (`query/graph_question/confidence.py`).

    python -m benchmarks.train_graph_question FOLDER... [--most 150] [--indexes FOLDER] [--as-they-are] [--out FILE]

A FOLDER has `kg.tsv` and `questions.jsonl`, whose questions have `answers` (none: the graph has no answer). Every
question with an answer is asked four times more: with a word that only colours, of its graph without the relations that
lead to the answer, of its graph without just the statements, and with a name of another graph in it. So the reader
meets questions that the graph cannot answer in as many ways as there are relations. Each graph is left out in turn to
measure the weights; those that are written are learned from all graphs. The examples are kept beside the indexes for
`--as-they-are`.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from conspectus import build, open_index
from conspectus.pipelines.evaluation.metrics import name_key
from conspectus.pipelines.evaluation.suites import Suite, SuiteQuestion, read_suite, sampled
from conspectus.query.context import Context
from conspectus.query.graph_question.answer import said
from conspectus.query.graph_question.candidates import query_of
from conspectus.query.graph_question.confidence import FEATURES, RATHER, confidence_features
from conspectus.query.graph_question.meanings import open_predicates
from conspectus.query.graph_question.mentions import open_names
from conspectus.query.graph_question.reader import GraphReading, read_graph_question
from conspectus.query.walk.graph import KnowledgeGraph, graph_of, open_graph, predicate_vectors, spoken
from conspectus.query.walk.run_query import run
from conspectus.storage.arrays import Floats, Ints
from conspectus.storage.settings import load_settings
from conspectus.storage.text.names import word_keys
from scipy.optimize import minimize
from wordfreq import top_n_list

OUT = Path(__file__).parent.parent / "query" / "graph_question" / "confidence.json"
AS_IT_IS, COLOURED = "as it is", "coloured"
ANOTHER_NAME, NO_RELATION, NO_STATEMENT = "another name", "without the relation", "without the statement"
"""The ways in which a question is asked."""
HIDDEN, NATURAL, PENALTY = 0.6, 3.0, 20.0
"""The weight of a question that has no answer, that of a question in people's words, and the penalty of the weights."""
IN_PEOPLES_WORDS = ("natural", "graph_questions")
"""Folders of the sets that people worded."""
_MOST_HIDDEN = 10
"""How many graphs without relations are made of a graph."""
_AT_ONCE = 6
"""Questions whose statements are left out of one graph."""
_CANDIDATES = 30
_ALIKE = 0.85
"""Cosine from which a relation says what a hidden one says, so that it is hidden too."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question as it was read: its features, whether the answer is right, and how it was asked."""

    graph: str
    question: str
    way: str
    features: list[float]
    right: bool


def main() -> None:
    """Learn and measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=120)
    parser.add_argument("--indexes", type=Path, default=Path(".conspectus/graph_questions"))
    parser.add_argument("--as-they-are", action="store_true", help="take the examples of the last run")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    suites = {f"{folder.parent.name}_{folder.name}": sampled(read_suite(folder), args.most) for folder in args.folders}
    names = {
        graph: [spoken(name) for question in suite.questions for name in question.entities[:1]]
        for graph, suite in suites.items()
    }
    examples: list[Example] = []
    for graph, suite in suites.items():
        kept = args.indexes / f"{graph}.jsonl"
        if not (args.as_they_are and kept.exists()):
            others = [name for other in names if family(other) != family(graph) for name in names[other]]
            found = list(examples_of(graph, suite, args.indexes / graph, others))
            kept.write_text("".join(json.dumps(asdict(example)) + "\n" for example in found))
        examples += [Example(**json.loads(line)) for line in kept.read_text().splitlines()]
        print(graph, len(examples), "examples", flush=True)
    families = sorted({family(example.graph) for example in examples})
    probabilities: dict[int, float] = {}
    for left_out in families:
        learned = learn([each for each in examples if family(each.graph) != left_out])
        for place, each in enumerate(examples):
            if family(each.graph) == left_out:
                probabilities[place] = probability(learned, each)
    measure(examples, [probabilities[place] for place in range(len(examples))])
    weights = learn(examples)
    of_features = dict(zip(FEATURES, np.round(weights[:-1], 3).tolist(), strict=True))
    written = {"constant": round(float(weights[-1]), 3), "weights": of_features}
    args.out.write_text(json.dumps(written, indent=1) + "\n")


def family(graph: str) -> str:
    """Return the name that graphs with the same triples share: they are left out together."""
    return next((name for name in ("metaqa", "webqsp", "pathquestion") if name in graph), graph)


def learn(examples: Sequence[Example]) -> Floats:
    """Return the weights of the features, then the bias, of a logistic regression with an L2 penalty."""
    features = np.array([each.features for each in examples])
    right = np.array([each.right for each in examples], float)
    of_way = [1.0 if each.way in (AS_IT_IS, COLOURED) else HIDDEN for each in examples]
    of_graph = [NATURAL if each.graph.startswith(IN_PEOPLES_WORDS) else 1.0 for each in examples]
    weights = np.array(of_way) * np.array(of_graph)
    mean = np.average(features, axis=0, weights=weights)
    spread = np.sqrt(np.average((features - mean) ** 2, axis=0, weights=weights))
    spread[spread < 1e-6] = 1.0
    scaled = np.column_stack([(features - mean) / spread, np.ones(len(features))])

    def loss(parameters: Floats) -> tuple[float, Floats]:
        logits = scaled @ parameters
        penalty = np.append(parameters[:-1], 0.0)
        surplus = weights * (1 / (1 + np.exp(-logits)) - right)
        cost = (weights * (np.logaddexp(0, logits) - right * logits)).sum() + PENALTY * (penalty**2).sum() / 2
        return float(cost), scaled.T @ surplus + PENALTY * penalty

    found = minimize(loss, np.zeros(scaled.shape[1]), jac=True, method="L-BFGS-B").x
    return np.append(found[:-1] / spread, found[-1] - (found[:-1] * mean / spread).sum())


def probability(weights: Floats, example: Example) -> float:
    """Return how likely an example's answer is right."""
    return float(1 / (1 + np.exp(-weights[-1] - np.array(example.features) @ weights[:-1])))


def measure(examples: Sequence[Example], probabilities: Sequence[float]) -> None:
    """Print how the decisions fall by graph, and how many of the answers with some probability are right."""
    for graph in dict.fromkeys(each.graph for each in examples):
        own = [(each, p) for each, p in zip(examples, probabilities, strict=True) if each.graph == graph]
        line = f"{graph:28}"
        for way in (AS_IT_IS, COLOURED, ANOTHER_NAME, NO_RELATION, NO_STATEMENT):
            for right in (True, False):
                shown = [p >= RATHER for each, p in own if each.way == way and each.right == right]
                if shown:
                    line += f" {way} {'right' if right else 'wrong'}: {np.mean(shown):.2f} of {len(shown)} shown;"
        print(line)
    held, right = np.array(probabilities), np.array([each.right for each in examples])
    for low in np.arange(0, 1, 0.1):
        within = (held >= low) & (held < low + 0.1)
        if within.any():
            print(f"{low:.1f} to {low + 0.1:.1f}: {right[within].mean():.2f} of {within.sum()} are right")


def examples_of(graph: str, suite: Suite, folder: Path, strange: Sequence[str]) -> Iterator[Example]:
    """Yield the examples of one graph."""
    if not folder.exists():
        build([], folder, settings=suite.settings(load_settings()))
    context = open_index(folder).context
    hidden: dict[tuple[int, ...], list[SuiteQuestion]] = {}
    proven: list[tuple[SuiteQuestion, set[int]]] = []
    draw = np.random.default_rng(7)
    for question in suite.questions:
        example, reading = read(context, graph, question, AS_IT_IS)
        if example:
            yield example
        if not question.answers:
            continue
        relations, proof = leading(context, reading, question)
        if relations:
            hidden.setdefault(relations, []).append(question)
        if proof:
            proven.append((question, proof))
        example, _ = read(context, graph, replace(question, question=coloured(question.question, draw)), COLOURED)
        if example:
            yield example
        name = next((name for name in question.entities if spoken(name).lower() in question.question.lower()), "")
        if name:
            start = question.question.lower().index(spoken(name).lower())
            other = next(
                each for each in draw.permutation(strange).tolist() if not open_names(context).is_name(word_keys(each))
            )
            text = question.question[:start] + other + question.question[start + len(spoken(name)) :]
            example, _ = read(context, graph, replace(question, question=text, answers=()), ANOTHER_NAME)
            if example:
                yield example
    for relations, questions in sorted(hidden.items(), key=lambda item: -len(item[1]))[:_MOST_HIDDEN]:
        stated = open_graph(context).stated
        other_context = without(folder, context, np.flatnonzero(np.isin(stated, relations)), relations)
        for question in questions:
            example, _ = read(other_context, graph, question, NO_RELATION)
            if example:
                yield example
    for start in range(0, len(proven), _AT_ONCE):
        rows = sorted(set().union(*(proof for _, proof in proven[start : start + _AT_ONCE])))
        other_context = without(folder, context, rows, ())
        for question, _ in proven[start : start + _AT_ONCE]:
            example, _ = read(other_context, graph, question, NO_STATEMENT)
            if example:
                yield example


def coloured(text: str, draw: np.random.Generator) -> str:
    """Return a question with an adjective or an adverb more, drawn from the common ones of English."""
    parts = text.split()
    adjectives = [word for word in _common() if word.endswith(("ous", "ful", "ible", "ish", "less"))]
    adverbs = [word for word in _common() if word.endswith("ly")]
    places = [
        at for at in range(1, len(parts)) if parts[at - 1].lower() in {"the", "a", "of", "by", "in", "is", "does"}
    ]
    if places and draw.random() < 0.6:
        parts.insert(int(draw.choice(places)), str(draw.choice(adjectives)))
    else:
        parts.insert(int(draw.integers(1, len(parts))), str(draw.choice(adverbs)))
    return " ".join(parts)


@cache
def _common() -> list[str]:
    return [word for word in top_n_list("en", 6_000) if word.isalpha() and len(word) > 5]


def read(context: Context, graph: str, question: SuiteQuestion, way: str) -> tuple[Example | None, GraphReading]:
    """Return a question as an example, None if nothing answers it, and its reading."""
    reading = read_graph_question(context, question.question)
    if reading.best is None or reading.answer is None or not (reading.answer.found or reading.answer.relations):
        return None, reading
    features = confidence_features(open_predicates(context), reading, reading.answer).tolist()
    return Example(graph, question.question, way, features, is_right(context, reading, question)), reading


def is_right(context: Context, reading: GraphReading, question: SuiteQuestion) -> bool:
    """Return whether the first name of an answer is right."""
    names = said(context, reading)[1]
    return bool(names) and name_key(names[0]) in set(map(name_key, question.answers))


def leading(context: Context, reading: GraphReading, question: SuiteQuestion) -> tuple[tuple[int, ...], set[int]]:
    """Return a relation of the first right candidate, with others alike, and the proof of an answer of one step."""
    predicates = open_predicates(context)
    for candidate in reading.candidates[:_CANDIDATES]:
        answer = run(predicates.graph, query_of(predicates, reading.asked, candidate))
        tried = replace(
            reading, candidates=(candidate,), query=query_of(predicates, reading.asked, candidate), answer=answer
        )
        steps = [step for step, _ in candidate.steps] + (
            [candidate.literal.step[0]] if candidate.literal and candidate.literal.step else []
        )
        if is_right(context, tried, question) and steps:
            words = reading.scoring.account(candidate).words
            said_steps = [step for step, word in zip(steps, words, strict=False) if word >= 0] or steps
            chosen = said_steps[len(question.question) % len(said_steps)]
            alike = np.flatnonzero(np.asarray(predicates.vectors) @ predicates.vectors[chosen] >= _ALIKE)
            relations = tuple(sorted({chosen, *alike.tolist()}))
            plain = candidate.form == "things" and len(candidate.steps) == 1 and not candidate.literal
            return relations, set(answer.relations if plain else ())
    return (), set()


def without(folder: Path, context: Context, statements: Sequence[int] | Ints, hidden: Sequence[int]) -> Context:
    """Return the context of an index whose graph lacks some statements, and the predicates `hidden`."""
    graph, vectors = open_graph(context), predicate_vectors(context)
    kept = np.setdiff1d(np.arange(len(graph.predicates)), hidden)
    rows = np.setdiff1d(np.arange(len(graph.stated)), statements)
    less: KnowledgeGraph = graph_of(
        graph.names, [graph.predicates[number] for number in kept], graph.sources[rows], graph.targets[rows],
        np.searchsorted(kept, graph.stated[rows]).astype(np.int32), graph.entity_ids, graph.relation_ids,
        graph.descriptions,
    )  # fmt: skip
    opened = open_index(folder).context
    opened.index.once(open_graph.__wrapped__, lambda: less)
    opened.index.once(predicate_vectors.__wrapped__, lambda: vectors[kept])
    return opened


if __name__ == "__main__":
    main()
