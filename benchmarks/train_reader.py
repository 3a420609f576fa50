"""Learn the weights of the reader without a language model from questions with known answers.

    python -m benchmarks.train_reader FOLDER... [--most 149] [--indexes FOLDER] [--as-they-are] [--out FILE]

A FOLDER contains `questions.jsonl` and `documents/` or `corpus.jsonl`, or folders that do. A question has `answers` or
`accepted` strings (with `all`: strings that an answer must have) and perhaps `evidence`; one without any, or marked
`unanswerable`, has no answer. If questions name a `part`, each such subfolder of `documents/` is an index of its own.
If folders side by side have questions of the same ids, these are translations: each index whose encoder knows many
languages is asked them as well, every question in one other language.

A statement is an example of an answer if it contains an accepted string and, where the evidence is known, a part of it.
Every answerable question is used a second time without the statements that contain an answer: what is left are its
hardest negatives, neighbours of the answer, as in documents that do not have it. Fitted are logistic regressions,
whether a statement answers, and whether the best statements do. Each collection is left out in turn to measure them;
what is written, by default to query/answer_writing/reader_weights.json, is learned from all of them.

Printed are the figures by collection and the reliability diagram: how many of the answers with some probability are
right. Questions asked of the encoder of many languages have weights of their own: those of the encoder of English, but
for what their examples say.
"""

import argparse
import asyncio
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from conspectus import build, open_index
from conspectus.prompts.embedding.local import MULTILINGUAL_MODEL
from conspectus.query.answer_writing.asked import Asked, asked_of
from conspectus.query.answer_writing.extractive import is_bridge
from conspectus.query.answer_writing.features import (
    ANSWER_FEATURES,
    NEXT_FEATURES,
    STATEMENT_FEATURES,
    Held,
    answer_features,
    next_features,
)
from conspectus.query.answer_writing.quotes import quotes_for
from conspectus.query.answer_writing.support import SETS, matter
from conspectus.query.context import Context
from conspectus.query.logistic import Logistic
from conspectus.query.menu import DEFAULT_RETRIEVER, find_method
from conspectus.query.question.question import encoder_of
from conspectus.query.types import Passage
from conspectus.storage.arrays import Bools, Floats
from scipy.optimize import minimize

OUT = Path(__file__).parent.parent / "query" / "answer_writing" / "reader_weights.json"
HIDDEN = 0.2
"""Weight of a question whose answers are left out: fewer questions have no answer than have one."""
WRONG = {"fact": 1.0, "other": 0.7, "of many": 0.25}
"""The cost of a wrong answer, where a right one is worth 1 and none 0. A wrong date, person, place or number misleads
more than a quotation that does not explain enough. In a few files one can look for oneself; of many passages the
nearest ones are worth showing."""
LEAST = {kind: round(cost / (1 + cost), 2) for kind, cost in WRONG.items()}
"""The least probability of an answer that is given: its worth is then above that of none."""
PENALTY = 1.0
"""Of the squares of the weights of the standardised features."""
PENALTY_OF_ANSWERS = 10.0
"""Of those of the decision, which has more features and fewer examples."""
PENALTY_OF_PRIOR = 100.0
"""Of the squares of their differences from the weights that are learned before. Of 3, 10, 30, 100, 300 and 1,000 it is
among the three with which answers of a collection that is left out are the most probable."""
COUNT = 6
"""The most statements of an answer, as `answer.sentences` has it."""
NEEDLESS = 0.03
"""The cost of a needless further statement, where one that answers is worth 1."""
LEAST_NEXT = round(NEEDLESS / (1 + NEEDLESS), 2)
"""The least probability of a further statement."""
FOR = frozenset({
    "names", "words", "all words",
    "words in order", "number", "cosine", "meaning of words", "position", "has the kind", "definition",
    "has the measure", "list asked for", "best statement", "told together", "words told",
    "cosine in another language", "score", "new names", "new words", "bridge",
    "in the time", "lead", "lead over the fifth",
})  # fmt: skip
"""Features that cannot speak against an answer. Without this, two that mostly come together get weights of opposite
signs, and a question where only one of them holds is judged by an accident of the questions here. Figures with the
collections left out are the same with and without it."""
AGAINST = frozenset({
    "missing name", "missing everywhere", "rank", "margin", "lacks the kind", "distance to the kind",
    "negation differs", "missing meaning", "lacks the measure",
    "at another time", *(name for name in ANSWER_FEATURES if name.endswith(", lacks it")),
})  # fmt: skip
"""Features that cannot speak for an answer."""

Rankers = tuple[Logistic, Logistic]
"""The models of statements and of further statements."""


@dataclass(frozen=True)
class Example:
    """A question with its statements, and what the decision to answer needs.

    Attributes:
        collection: The collection that it is from.
        asked: The question.
        features: (n, f) of the statements.
        right: (n,) whether each answers.
        held: What each has of the question.
        bridges: (n, n) whether the passage of the second is about something that the first names.
        same: (n, n) whether two are in one passage.
        n_chunks: The number of passages of the index.
        hidden: Whether the statements that answer are left out.
    """

    collection: str
    asked: Asked
    features: Floats
    right: Floats
    held: tuple[Held, ...]
    bridges: Bools
    same: Bools
    n_chunks: int
    hidden: bool

    def further(self, logits: Floats, chosen: Sequence[int]) -> Floats:
        """Return the features of each statement beside the chosen ones, (n, len(NEXT_FEATURES))."""
        told = [self.held[row] for row in chosen]
        bridges, same = self.bridges[chosen].any(axis=0).tolist(), self.same[chosen].any(axis=0).tolist()
        return np.array([
            next_features(self.asked, logit, held, told, bridge=bridges[row], same=same[row])
            for row, (logit, held) in enumerate(zip(logits.tolist(), self.held, strict=True))
        ])  # fmt: skip

    def chosen(self, logits: Floats, further: Logistic) -> list[int]:
        """Return the statements that are quoted, the best first."""
        rows = [int(logits.argmax())]
        while len(rows) < min(COUNT, len(logits)):
            chances = 1 / (1 + np.exp(-further.logits(self.further(logits, rows))))
            chances[rows] = 0
            if chances.max() < LEAST_NEXT:
                break
            rows.append(int(chances.argmax()))
        return rows


Outcomes = tuple[list[Example], Floats, Floats, Floats]
"""Examples, the features of their answers, whether each is right, and its weight."""


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


def accepted_of(row: dict[str, Any]) -> list[str]:
    """Return the strings of which an answer has one."""
    return [*(row.get("accepted") or ()), *(row.get("answers") or ()), *(row.get("all") or ())]


def answers(row: dict[str, Any], text: str) -> bool:
    """Return whether a statement answers a question."""
    if not any(holds(text, each) for each in accepted_of(row)):
        return False
    evidence = row.get("evidence") or ()
    known = [squeezed(each) for each in ([evidence] if isinstance(evidence, str) else evidence)]
    told = squeezed(text)
    return not known or any(each in told or told in each or _overlap(each, told) for each in known)


def _overlap(one: str, other: str) -> bool:
    first, second = set(one.split()), set(other.split())
    return len(first & second) >= 0.5 * min(len(first), len(second))


def collections(folders: Sequence[Path], most: int) -> Iterator[tuple[str, str, Path, list[dict[str, Any]]]]:
    """Yield the collection and name of each index, its documents, and its questions, at most `most`, evenly chosen.

    Translations of one set of questions are one collection.
    """
    for path in sorted(found for folder in folders for found in folder.rglob("questions.jsonl")):
        rows = _rows(path)
        rows = rows[:: -(-len(rows) // most)]
        corpus = path.parent / "corpus.jsonl"
        documents = corpus if corpus.exists() else path.parent / "documents"
        for part in sorted({row.get("part", "") for row in rows}):
            own = [row for row in rows if row.get("part", "") == part and not row.get("turns")]
            if documents.exists():
                name = "__".join(filter(None, (path.parent.name, part)))
                translated = list(_translated(path, own))
                group = path.parent.parent.name if translated else path.parent.name
                yield group, name, documents / part, [*own, *translated]


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _translated(path: Path, rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield questions in other languages, from the folders beside that have their ids."""
    beside = [_rows(other) for other in sorted(path.parent.parent.glob("*/questions.jsonl")) if other != path]
    asked = [{row["id"]: row["question"] for row in each if {"id", "question"} <= row.keys()} for each in beside]
    same = [each for each in asked if rows and rows[0].get("id") in each]
    for at, row in enumerate(rows if same else ()):
        yield {**row, "question": same[at % len(same)][row["id"]], "translated": True}


def passages_of(context: Context, question: str) -> Sequence[Passage]:
    """Return the passages that the default method reads."""
    retriever = find_method(DEFAULT_RETRIEVER).retriever(context)
    return asyncio.run(retriever.retrieve(question, context.settings.answer.passages)).passages


def examples(group: str, context: Context, rows: Sequence[dict[str, Any]]) -> Iterator[Example]:
    """Yield the examples of the questions of an index that belongs to a collection."""
    for row in rows:
        if accepted_of(row) and all(each.strip("^").casefold() in ("yes", "no") for each in accepted_of(row)):
            continue  # no statement has these words
        if row.get("translated") and encoder_of(context.index) != MULTILINGUAL_MODEL:
            continue
        question = row["question"]
        quotes = quotes_for(context, question, passages_of(context, question))
        if not quotes:
            continue
        can = not row.get("unanswerable") and accepted_of(row)
        shown = [" ".join(part.text for part in quote.excerpt.shown) for quote in quotes]
        right = np.array([bool(can) and answers(row, text) for text in shown], np.float64)
        asked = asked_of(context, question)
        features = np.array([quote.features for quote in quotes])
        bridges = np.array([[is_bridge(quote, other, question) for quote in quotes] for other in quotes])
        chunks = np.array([quote.excerpt.passage.chunk_id for quote in quotes])
        for hidden in (False, True) if right.any() else (False,):
            kept = np.flatnonzero(right == 0) if hidden else np.arange(len(quotes))
            if len(kept):
                yield Example(
                    group, asked, features[kept], right[kept],
                    tuple(quotes[at].held for at in kept.tolist()), bridges[np.ix_(kept, kept)],
                    chunks[kept][:, None] == chunks[kept],
                    context.index.manifest.rows["chunks"], hidden,
                )  # fmt: skip


def fitted(
    features: Floats, right: Floats, weights: Floats, names: Sequence[str], prior: Logistic | None = None,
    penalty: float = PENALTY,
) -> Logistic:  # fmt: skip
    """Return the logistic regression of some rows, each weight within its sign.

    Penalised is how far the standardised weights are from those of `prior`, or from 0.
    """
    mean, scale = features.mean(0), features.std(0)
    scale[scale < 1e-9] = 1.0
    rows = np.hstack([(features - mean) / scale, np.ones((len(features), 1))])
    ridge = np.array([PENALTY_OF_PRIOR if prior else penalty] * len(names) + [1e-6])
    center = np.append(prior.weights * scale, prior.constant + prior.weights @ mean) if prior else np.zeros(len(ridge))

    def loss(found: Floats) -> tuple[float, Floats]:
        logits = np.clip(rows @ found, -30, 30)
        slope = rows.T @ (weights * (1 / (1 + np.exp(-logits)) - right)) + ridge * (found - center)
        lost = (weights * (np.logaddexp(0, logits) - right * logits)).sum()
        return float(lost + (ridge * (found - center) ** 2).sum() / 2), slope

    bounds = [(0 if name in FOR else None, 0 if name in AGAINST else None) for name in names]
    found = minimize(loss, center, jac=True, method="L-BFGS-B", bounds=[*bounds, (None, None)]).x
    own = found[:-1] / scale
    return Logistic(own, float(found[-1] - own @ mean))


def share_of_collections(found: Sequence[Example]) -> dict[str, float]:
    """Return the weight of a question of each collection: one of many counts less, so that no collection decides."""
    counts = Counter(each.collection for each in found)
    mean = sum(count**0.5 for count in counts.values()) / len(found)
    return {name: count**-0.5 / mean for name, count in counts.items()}


def fit_statements(found: Sequence[Example], prior: Logistic | None = None) -> Logistic:
    """Return the ranker of statements; each question weighs the same."""
    told = [each for each in found if not each.hidden]
    share = share_of_collections(found)
    weights = np.concatenate([
        np.full(len(each.right), 10 * share[each.collection] / len(each.right)) for each in told
    ])  # fmt: skip
    features = np.vstack([each.features for each in told])
    return fitted(features, np.concatenate([each.right for each in told]), weights, STATEMENT_FEATURES, prior)


def fit_next(found: Sequence[Example], ranker: Logistic, prior: Logistic | None = None) -> Logistic:
    """Return the ranker of a further statement: it answers, and the first one does not."""
    rows, right, weights = [], [], []
    for each in found:
        logits = ranker.logits(each.features)
        first = int(logits.argmax())
        others = np.delete(np.arange(len(logits)), first)
        if len(others) and not each.hidden:
            rows.append(each.further(logits, [first])[others])
            right.append(each.right[others] * (1 - each.right[first]))
            weights.append(np.full(len(others), 10 / len(others)))
    return fitted(np.vstack(rows), np.concatenate(right), np.concatenate(weights), NEXT_FEATURES, prior)


def outcomes(found: Sequence[Example], ranker: Logistic, further: Logistic) -> tuple[Floats, Floats, Floats]:
    """Return the features of the answers, whether each is right, and its weight."""
    rows, right = [], []
    for each in found:
        logits = ranker.logits(each.features)
        chosen = each.chosen(logits, further)
        rows.append(answer_features(each.asked, logits, each.features, each.held, chosen))
        right.append(float(each.right[chosen].any()))
    share = share_of_collections(found)
    weights = [share[each.collection] * (HIDDEN if each.hidden else 1.0) for each in found]
    return np.array(rows), np.array(right), np.array(weights)


def fit_answers(rows: Floats, right: Floats, weights: Floats) -> Logistic:
    """Return the model that tells whether an answer is right."""
    return fitted(rows, right, weights, ANSWER_FEATURES, penalty=PENALTY_OF_ANSWERS)


def without_each(found: Sequence[Example], prior: Rankers | None) -> tuple[dict[str, Outcomes], list[bool]]:
    """Return the outcomes of each collection by rankers learned without it, and where its best statements are right."""
    parts, first = dict[str, Outcomes](), list[bool]()
    for group in sorted({each.collection for each in found}):
        ranker, further = learned([each for each in found if each.collection != group], prior)
        own = [each for each in found if each.collection == group]
        parts[group] = (own, *outcomes(own, ranker, further))
        first += [bool(each.right[ranker.logits(each.features).argmax()]) for each in own if each.right.any()]
    return parts, first


def measured(sets: dict[str, tuple[dict[str, Outcomes], list[bool]]]) -> dict[str, Any]:
    """Return the figures of each set of weights, each collection left out in turn, and print how reliable they are."""
    every = [(group, *of_group) for parts, _ in sets.values() for group, of_group in parts.items()]
    figures: dict[str, Any] = {}
    for name, (parts, first) in sets.items():
        table = {}
        for group, (own, rows, told, weights) in parts.items():
            others = [each for each in every if each[0] != group]
            model = fit_answers(*(np.concatenate([each[at] for each in others]) for at in (2, 3, 4)))
            chance = 1 / (1 + np.exp(-model.logits(rows)))
            least = np.array([LEAST[matter(each.asked, each.n_chunks)] for each in own])
            table[group] = chance, chance >= least, told, weights
        print(name)
        figures[name] = _figures(table) | {"best statement right": round(float(np.mean(first)), 3)}
    return figures


def _figures(table: dict[str, tuple[Floats, Bools, Floats, Floats]]) -> dict[str, Any]:
    chances, answered, told, weights = (np.concatenate(each) for each in zip(*table.values(), strict=True))
    print("probability  answers  of them right")
    for low in np.arange(0, 1, 0.1):
        among = (chances >= low) & (chances < low + 0.1)
        if among.any():
            right = np.average(told[among], weights=weights[among])
            print(f"{low:.1f} to {low + 0.1:.1f}  {among.sum():7}  {right:.2f}")
    every = {group: (given, right) for group, (_, given, right, _) in table.items()} | {"all": (answered, told)}
    return {
        group: {
            "answers": len(right),
            "right and answered": round(float(right[given].sum() / max(1, right.sum())), 3),
            "not right and declined": round(float((~given)[right == 0].mean()), 3) if (right == 0).any() else None,
        }
        for group, (given, right) in every.items()
    }


def main() -> None:
    """Learn the weights and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=149, help="questions of each folder")
    parser.add_argument("--indexes", type=Path, default=Path(".conspectus/reader"))
    parser.add_argument("--as-they-are", action="store_true", help="use the indexes without looking at the documents")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    found: list[Example] = []
    for group, name, documents, rows in collections(options.folders, options.most):
        place = options.indexes / name
        if options.as_they_are and not place.exists():
            continue
        index = open_index(place) if options.as_they_are else build([documents], place)
        found += examples(group, index.context, rows)
    written: dict[str, Any] = {"least": LEAST, "least_next": LEAST_NEXT}
    prior: Rankers | None = None
    answers_, parts = list[tuple[Floats, Floats, Floats]](), {}
    for by_many_languages, name in SETS.items():
        own = [each for each in found if each.asked.by_many_languages == by_many_languages]
        parts[name] = without_each(own, prior)
        prior = learned(own, prior)
        packed = map(_packed, prior, (STATEMENT_FEATURES, NEXT_FEATURES))
        written[name] = dict(zip(("statement", "next"), packed, strict=True))
        answers_.append(outcomes(own, *prior))
    written["answer"] = _packed(fit_answers(*map(np.concatenate, zip(*answers_, strict=True))), ANSWER_FEATURES)
    for name, figures in measured(parts).items():
        written[name]["figures"] = figures
    options.out.write_text(json.dumps(written, indent=1) + "\n", "utf-8")
    print(options.out)


def learned(found: Sequence[Example], prior: Rankers | None) -> Rankers:
    """Return the models of statements and of further statements, learned from those of `prior` on."""
    first_prior, next_prior = prior or (None, None)
    ranker = fit_statements(found, first_prior)
    return ranker, fit_next(found, ranker, next_prior)


def _packed(model: Logistic, names: Sequence[str]) -> dict[str, Any]:
    told = {name: round(float(weight), 4) for name, weight in zip(names, model.weights, strict=True)}
    return {"weights": told, "constant": round(model.constant, 4)}


if __name__ == "__main__":
    main()
