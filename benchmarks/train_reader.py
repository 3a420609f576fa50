"""Learn the weights of the reader without a language model from questions with known answers.

    python -m benchmarks.train_reader FOLDER... [--indexes FOLDER] [--as-they-are] [--out FILE]

A FOLDER contains `questions.jsonl` and `documents/` or `corpus.jsonl`, or folders that do. A question has `answers` or
`accepted` strings (with `all`: strings that an answer must have) and perhaps `evidence`; one without any, or marked
`unanswerable`, has no answer. If questions name a `part`, each such subfolder of `documents/` is an index of its own.

A statement is an example of an answer if it contains an accepted string and, where the evidence is known, a part of it.
Every answerable question is used a second time without the statements that contain an answer: what is left are its
hardest negatives, neighbours of the answer, as in documents that do not have it. Two logistic regressions are fitted:
whether a statement answers, and whether the best statements do. Each collection is left out in turn to measure them;
the weights that are written, by default to query/answer_writing/reader_weights.json, are those of all of them.

Printed are the figures by collection and the reliability diagram: how many of the answers with some probability are
right.
"""

import argparse
import asyncio
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from conspectus.query.answer_writing.extractive import quotes_for
from conspectus.query.answer_writing.ranker import (
    ANSWER_FEATURES,
    STATEMENT_FEATURES,
    Held,
    Logistic,
    answer_features,
    asked_of,
)
from conspectus.query.answer_writing.support import unknown_names
from conspectus.query.context import Context
from conspectus.query.menu import DEFAULT_RETRIEVER, find_method
from conspectus.query.types import Passage
from conspectus.storage.arrays import Floats
from scipy.optimize import minimize

from conspectus import build, open_index

OUT = Path(__file__).parent.parent / "query" / "answer_writing" / "reader_weights.json"
TOP = 3
"""An answer is right if one of so many best statements is."""
HIDDEN = 0.4
"""Weight of a question whose answers are left out: fewer questions have no answer than have one."""
WRONG = 1.25
"""The cost of a wrong answer, where a right one is worth 1 and none 0."""
LEAST = round(WRONG / (1 + WRONG), 2)
"""The least probability of an answer that is given: its worth is then above that of none."""
PENALTY = 1.0
"""Of the squares of the weights of the standardised features."""
FOR = frozenset({
    "names", "names of context", "names around", "words", "words of context", "related words", "all words",
    "names and words", "words in order", "number", "cosine", "position", "has the kind", "definition", "heading",
    "best statement", "lead", "words in context", "told by three", "nearest passage",
    "nearest passage in another language",
})  # fmt: skip
"""Features that cannot speak against an answer. Without this, two that mostly come together get weights of opposite
signs, and a question where only one of them holds is judged by an accident of the questions here. Figures with the
collections left out are the same with and without it."""
AGAINST = frozenset({
    "missing name", "missing word", "missing from three", "missing everywhere", "rank", "margin", "lacks the kind",
    "distance to the kind", "negation differs", "unknown names",
})  # fmt: skip
"""Features that cannot speak for an answer."""


@dataclass(frozen=True)
class Example:
    """A question with its statements: their features, which of them answer, and what the decision needs.

    Attributes:
        collection: The collection that it is from.
        features: (n, f) of the statements.
        right: (n,) whether each answers.
        held: What each has of the question.
        decide: Returns the features of the answer from the logits of the statements.
        hidden: Whether the statements that answer are left out.
    """

    collection: str
    context: Context
    question: str
    features: Floats
    right: Floats
    held: tuple[Held, ...]
    nearest: float
    unknown: int
    hidden: bool

    def decide(self, logits: Floats) -> Floats:
        """Return the features of the answer."""
        asked = asked_of(self.context, self.question)
        return answer_features(
            self.context, asked, logits.tolist(), self.features, self.held, self.nearest, self.unknown
        )


def squeezed(text: str) -> str:
    """Return a text case-folded, with compatible characters made equal and white space as single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def holds(text: str, wanted: str) -> bool:
    """Return whether a text has a string as whole words: "3" is neither in "13" nor in "3.5"."""
    wanted = squeezed(wanted.removeprefix("^"))
    before, after = r"(?<![0-9a-z])(?<![0-9][.,])", r"(?![0-9a-z])(?![.,][0-9])"
    bounded = (
        before * bool(re.match("[0-9a-z]", wanted)) + re.escape(wanted) + after * bool(re.search("[0-9a-z]$", wanted))
    )
    return bool(wanted) and re.search(bounded, squeezed(text)) is not None


def answers(row: dict[str, Any], text: str) -> bool:
    """Return whether a statement answers a question."""
    accepted = [*(row.get("accepted") or ()), *(row.get("answers") or ()), *(row.get("all") or ())]
    if not any(holds(text, each) for each in accepted):
        return False
    evidence = row.get("evidence") or ()
    known = [squeezed(each) for each in ([evidence] if isinstance(evidence, str) else evidence)]
    told = squeezed(text)
    return not known or any(each in told or told in each or _overlap(each, told) for each in known)


def _overlap(one: str, other: str) -> bool:
    first, second = set(one.split()), set(other.split())
    return len(first & second) >= 0.5 * min(len(first), len(second))


def collections(folders: Sequence[Path]) -> Iterator[tuple[str, Path, list[dict[str, Any]]]]:
    """Yield the name of each index, its documents, and its questions."""
    for path in sorted(found for folder in folders for found in folder.rglob("questions.jsonl")):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
        corpus = path.parent / "corpus.jsonl"
        documents = corpus if corpus.exists() else path.parent / "documents"
        for part in sorted({row.get("part", "") for row in rows}):
            own = [row for row in rows if row.get("part", "") == part and not row.get("turns")]
            if documents.exists():
                yield "__".join(filter(None, (path.parent.name, part))), documents / part, own


def passages_of(context: Context, question: str) -> Sequence[Passage]:
    """Return the passages that the default method reads."""
    retriever = find_method(DEFAULT_RETRIEVER).retriever(context)
    return asyncio.run(retriever.retrieve(question, context.settings.answer.passages)).passages


def examples(name: str, context: Context, rows: Sequence[dict[str, Any]]) -> Iterator[Example]:
    """Yield the examples of the questions of an index."""
    for row in rows:
        question = row["question"]
        quotes = quotes_for(context, question, passages_of(context, question))
        if not quotes:
            continue
        can = not row.get("unanswerable") and (row.get("answers") or row.get("accepted") or row.get("all"))
        shown = [" ".join(part.text for part in quote.excerpt.shown) for quote in quotes]
        right = np.array([bool(can) and answers(row, text) for text in shown], np.float64)
        nearest, _ = context.chunk_vectors.search(asked_of(context, question).vector[np.newaxis], 1)
        features = np.array([quote.features for quote in quotes])
        held = tuple(quote.held for quote in quotes)
        unknown = len(unknown_names(context, question))
        for hidden in (False, True) if right.any() else (False,):
            kept = np.flatnonzero(right == 0) if hidden else np.arange(len(quotes))
            if len(kept):
                yield Example(
                    name.partition("__")[0], context, question, features[kept], right[kept],
                    tuple(held[at] for at in kept.tolist()), float(nearest[0][0]), unknown, hidden,
                )  # fmt: skip


def fitted(features: Floats, right: Floats, weights: Floats, names: Sequence[str]) -> Logistic:
    """Return the logistic regression of some rows, with a penalty on the standardised weights, each within its sign."""
    mean, scale = features.mean(0), features.std(0)
    scale[scale < 1e-9] = 1.0
    rows = np.hstack([(features - mean) / scale, np.ones((len(features), 1))])
    ridge = np.array([PENALTY] * len(names) + [1e-6])

    def loss(found: Floats) -> tuple[float, Floats]:
        logits = np.clip(rows @ found, -30, 30)
        slope = rows.T @ (weights * (1 / (1 + np.exp(-logits)) - right)) + ridge * found
        return float((weights * (np.logaddexp(0, logits) - right * logits)).sum() + (ridge * found**2).sum() / 2), slope

    bounds = [(0 if name in FOR else None, 0 if name in AGAINST else None) for name in names]
    found = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", bounds=[*bounds, (None, None)]).x
    own = found[:-1] / scale
    return Logistic(own, float(found[-1] - own @ mean))


def fit_statements(found: Sequence[Example]) -> Logistic:
    """Return the ranker of statements; each question weighs the same."""
    told = [each for each in found if not each.hidden]
    weights = np.concatenate([np.full(len(each.right), 10 / len(each.right)) for each in told])
    features = np.vstack([each.features for each in told])
    return fitted(features, np.concatenate([each.right for each in told]), weights, STATEMENT_FEATURES)


def outcomes(found: Sequence[Example], ranker: Logistic) -> tuple[Floats, Floats, Floats]:
    """Return the features of the answers, whether each is right, and its weight."""
    rows, right = [], []
    for each in found:
        logits = ranker.logits(each.features)
        rows.append(each.decide(logits))
        right.append(float(each.right[np.argsort(-logits, kind="stable")[:TOP]].any()))
    return np.array(rows), np.array(right), np.array([HIDDEN if each.hidden else 1.0 for each in found])


def measured(found: Sequence[Example]) -> dict[str, Any]:
    """Return the figures with each collection left out in turn."""
    groups = sorted({each.collection for each in found})
    parts = {}
    first: list[bool] = []
    for group in groups:
        ranker = fit_statements([each for each in found if each.collection != group])
        own = [each for each in found if each.collection == group]
        parts[group] = outcomes(own, ranker)
        first += [bool(each.right[ranker.logits(each.features).argmax()]) for each in own if each.right.any()]
    table = {}
    for group in groups:
        features, told, weights = (
            np.concatenate(each) for each in zip(*(parts[other] for other in groups if other != group), strict=True)
        )
        model = fitted(features, told, weights, ANSWER_FEATURES)
        table[group] = (1 / (1 + np.exp(-model.logits(parts[group][0]))), *parts[group][1:])
    every, told, weights = (np.concatenate(each) for each in zip(*table.values(), strict=True))
    print("probability  answers  of them right")
    for low in np.arange(0, 1, 0.1):
        among = (every >= low) & (every < low + 0.1)
        if among.any():
            right = np.average(told[among], weights=weights[among])
            print(f"{low:.1f} to {low + 0.1:.1f}  {among.sum():7}  {right:.2f}")
    figures = {
        group: {
            "answers": len(told),
            "right and answered": round(float(told[own >= LEAST].sum() / max(1, told.sum())), 3),
            "not right and declined": round(float((own < LEAST)[told == 0].mean()), 3) if (told == 0).any() else None,
        }
        for group, (own, told, _) in table.items()
    }
    figures["all"] = {
        "answers": len(told),
        "best statement right": round(float(np.mean(first)), 3),
        "right and answered": round(float(told[every >= LEAST].sum() / told.sum()), 3),
        "not right and declined": round(float((every < LEAST)[told == 0].mean()), 3),
    }
    return figures


def main() -> None:
    """Learn the weights and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--indexes", type=Path, default=Path(".conspectus/reader"))
    parser.add_argument("--as-they-are", action="store_true", help="use the indexes without looking at the documents")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    found: list[Example] = []
    for name, documents, rows in collections(options.folders):
        place = options.indexes / name
        if options.as_they_are and not place.exists():
            continue
        index = open_index(place) if options.as_they_are else build([documents], place)
        found += examples(name, index.context, rows)
    figures = measured(found)
    ranker = fit_statements(found)
    decision = fitted(*outcomes(found, ranker), ANSWER_FEATURES)
    written = {
        "statement": _packed(ranker, STATEMENT_FEATURES),
        "answer": _packed(decision, ANSWER_FEATURES),
        "least": LEAST,
        "worth": 0.5,
        "figures": figures,
    }
    options.out.write_text(json.dumps(written, indent=1) + "\n", "utf-8")
    print(json.dumps(figures["all"]), options.out)


def _packed(model: Logistic, names: Sequence[str]) -> dict[str, Any]:
    told = {name: round(float(weight), 4) for name, weight in zip(names, model.weights, strict=True)}
    return {"weights": told, "constant": round(model.constant, 4)}


if __name__ == "__main__":
    main()
