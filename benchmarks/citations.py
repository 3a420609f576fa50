"""Measure how well citation verification separates true pairs of sentence and source from swapped pairs.

A true pair is the statement made by a suite's question and answer (or, without a question, the fact itself) and its
support: from each supporting document the sentence that shares most with it, chosen like a reader's citation. The
swapped pair is the same statement with such sentences from other documents: among those nearest in topic, the ones that
share most with it. The threshold is chosen on every second document; precision and recall are measured on the others.

    python benchmarks/citations.py SUITE [--pairs 100] [--threshold 0.6]
"""

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from conspectus.pipelines.evaluation.suites import SuiteQuestion, read_questions
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.query.citations.entailment import CitedText, closeness, missing, quotes
from conspectus.query.citations.matching import aligned_span
from conspectus.query.types import Passage
from conspectus.storage.settings import CitationSettings, EmbeddingServerSettings, EmbeddingSettings
from conspectus.storage.text.bm25 import Bm25

SEED = 5
NEAREST = 10
"""Number of other documents on the topic from which the swapped pairs are chosen."""
TRIED = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75)


@dataclass(frozen=True, slots=True)
class Pair:
    """A statement, the text cited for it, and whether the text is its own source."""

    statement: str
    sources: tuple[CitedText, ...]
    true: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair, whether the source contains all its names and numbers, and its cosine (1 for a quotation)."""

    pair: Pair
    named: bool
    cosine: float

    def passes(self, threshold: float) -> bool:
        """Return whether the pair counts as supported."""
        return self.named and self.cosine >= threshold


class Corpus:
    """The documents of a suite as passages, with their similarities."""

    def __init__(self, path: Path) -> None:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
        self.passages = [
            Passage(row["id"], row["id"], 0, len(row["text"]), 0.0, row["text"], row.get("title") or "") for row in rows
        ]
        self.row = {passage.document_id: row for row, passage in enumerate(self.passages)}
        texts = [f"{passage.title}\n{passage.text}" for passage in self.passages]
        self._weigh = Bm25.of(texts, ["en"] * len(texts)).inverse_document_frequency
        embedder = open_embedder(EmbeddingSettings(), EmbeddingServerSettings())
        self._vectors = embedder.embed([embedder.windows(text)[0] for text in texts])

    def source(self, statement: str, row: int) -> tuple[CitedText, float]:
        """Return the sentence of a document that is cited for a statement, and the weight of the shared words."""
        passage = self.passages[row]
        span = aligned_span(statement, passage, self._weigh)
        quote = passage.text[span.start : span.end]
        return CitedText(quote, passage.title), len(set(statement.lower().split()) & set(quote.lower().split()))

    def others(self, rows: Sequence[int], statement: str) -> list[CitedText]:
        """Return as many sources for a statement from other documents on the topic: those that share most with it."""
        near = np.argsort(-(self._vectors @ self._vectors[rows[0]]), kind="stable").tolist()
        found = [self.source(statement, row) for row in near if row not in rows][:NEAREST]
        return [source for source, _ in sorted(found, key=lambda result: -result[1])[: len(rows)]]


def pairs_of(corpus: Corpus, questions: Sequence[SuiteQuestion], half: int, most: int) -> list[Pair]:
    """Return `most` true pairs and as many swapped ones, from every second supporting document."""
    usable = [
        question
        for question in questions
        if question.answers and question.supporting and question.supporting[0] in corpus.row
    ]
    mine = set(sorted({item.supporting[0] for item in usable})[half::2])
    usable = [item for item in usable if item.supporting[0] in mine]
    random.Random(SEED).shuffle(usable)
    pairs = []
    for entry in usable[:most]:
        statement = f"{entry.question} {entry.answers[0]}".strip()
        rows = [corpus.row[id_] for id_ in entry.supporting if id_ in corpus.row]
        own = tuple(corpus.source(statement, row)[0] for row in rows)
        pairs += [Pair(statement, own, True), Pair(statement, tuple(corpus.others(rows, statement)), False)]
    return pairs


def judged(pair: Pair) -> Judged:
    """Return the result of the check."""
    if quotes(pair.statement, pair.sources):
        return Judged(pair, True, 1.0)
    return Judged(pair, not missing(pair.statement, pair.sources), closeness(pair.statement, pair.sources))


def precision_and_recall(found: Sequence[Judged], threshold: float) -> tuple[float, float]:
    """Return the share of passing pairs that are true, and the share of true pairs that pass."""
    passed = [result for result in found if result.passes(threshold)]
    right = sum(item.pair.true for item in passed)
    return right / max(1, len(passed)), right / max(1, sum(result.pair.true for result in found))


def told(name: str, found: Sequence[Judged], threshold: float) -> str:
    """Return the figures as a line."""
    precision, recall = precision_and_recall(found, threshold)
    true = sum(result.pair.true for result in found)
    return (
        f"{name}: {true} true and {len(found) - true} swapped pairs, threshold {threshold:g}: "
        f"precision {precision:.3f}, recall {recall:.3f}"
    )


def best_threshold(found: Sequence[Judged]) -> float:
    """Return the threshold with the largest minimum of precision and recall."""
    return max(TRIED, key=lambda item: min(precision_and_recall(found, item)))


def main() -> None:
    """Print the figures of a suite."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--threshold", type=float, default=CitationSettings().threshold)
    options = parser.parse_args()
    corpus = Corpus(options.suite / "corpus.jsonl")
    questions = read_questions(options.suite / "questions.jsonl")
    first, second = ([judged(item) for item in pairs_of(corpus, questions, half, options.pairs)] for half in (0, 1))
    print(f"best threshold on the first half: {best_threshold(first):g}")
    print(told("first half", first, options.threshold))
    print(told("second half", second, options.threshold))
    print(told("second half, at the best of the first", second, best_threshold(first)))


if __name__ == "__main__":
    main()
