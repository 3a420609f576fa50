"""Learn how much words, meaning, titles and the walk count with the encoder of many languages, leaving one out.

    OMP_NUM_THREADS=1 python -m benchmarks.language_weights SUITE INDEX [SUITE INDEX ...]

Each SUITE is a question set in one language, INDEX its index (that of `conspectus evaluate SUITE --index INDEX`). What
the formulas of `hybrid` and `ppr` add up is computed once for each question; then each weight is set to each value of
its grid. For each language, the value that is best in the others (R@1 + R@5) is tried in it. Printed are R@1 and R@5 of
each language with today's value, with the one learned from the others, and that value.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from conspectus.api import open_index
from conspectus.pipelines.evaluation.metrics import rank_documents, recall_at
from conspectus.pipelines.evaluation.suites import read_suite
from conspectus.query.methods.baselines import RRF_CONSTANT, RRF_DEPTH
from conspectus.query.methods.ppr import ppr
from conspectus.query.methods.ppr.seeds import COSINE_WEIGHT
from conspectus.query.question.question import open_question
from conspectus.storage.arrays import Floats
from conspectus.storage.settings import load_settings

Weights = Mapping[str, float]
TODAY: Weights = {"meaning in hybrid": 0.25, "titles": 0.0, "walk": 1.0, "cosine": 1.0, "words": 1.0}
GRID: Mapping[str, Sequence[float]] = {
    "meaning in hybrid": (0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 1.0),
    "titles": (0.0, 0.5, 1.0, 1.5, 3.0),
    "walk": (0.0, 0.25, 0.5, 1.0, 2.0),
    "cosine": (0.0, 0.25, 0.5, 0.75, 1.0, 1.5),
    "words": (0.5, 1.0, 1.5, 2.0, 3.0),
}
"""Weights as shares of those in the formulas, except the first two, which are themselves in them."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a question's passages are ranked by: BM25 and cosines of all, and the candidates of `ppr`."""

    documents: Sequence[str]
    wanted: Sequence[str]
    words: Floats
    cosines: Floats
    candidates: ppr.Candidates
    prior: Floats
    gain: Floats


def measured(suite: Path, index: Path) -> list[Ranked]:
    """Return what each question of a suite is ranked by."""
    context = open_index(str(index), load_settings()).context
    documents = [chunk.document_id for chunk in context.chunks]
    rows = np.arange(len(documents))
    found = []
    for asked in read_suite(suite).questions:
        question, ranking = open_question(context, asked.question), ppr.rank_passages(context, asked.question, 20)
        assert isinstance(ranking, ppr.PprRanking), asked.question
        cosines = context.chunk_vectors.scores(question.vector[np.newaxis], rows)[0].astype(np.float64)
        found.append(
            Ranked(
                documents,
                asked.supporting,
                question.bm25_scores,
                cosines,
                ranking.candidates,
                ranking.candidates.prior + ranking.hop_prior,
                ranking.hop.gain,
            )
        )
    return found


def hybrid(ranked: Ranked, weights: Weights) -> Sequence[int]:
    """Return the rows of passages by weighted reciprocal rank fusion."""
    scores = np.zeros(len(ranked.documents))
    for values, weight in ((ranked.words, 1.0), (ranked.cosines, weights["meaning in hybrid"])):
        best = np.argsort(-values, kind="stable")[:RRF_DEPTH]
        best = best[(values[best] > 0) | (values is ranked.cosines)]
        scores[best] += weight / (RRF_CONSTANT + 1 + np.arange(len(best)))
    order: list[int] = np.argsort(-scores, kind="stable").tolist()
    return order


def walked(ranked: Ranked, weights: Weights) -> Sequence[int]:
    """Return the rows of passages by the formula of `ppr`, without leading names."""
    found, near = ranked.candidates, weights["cosine"] * ranked.candidates.closeness
    words = weights["words"] * ranked.words[found.rows]
    logs = weights["walk"] * np.log(ranked.prior + 1e-6)
    logs += 4 * (near + ranked.gain + found.pairs.together + weights["titles"] * found.pairs.titles + 0.5 * found.words)
    logs += 8 * (COSINE_WEIGHT * np.maximum(near, 0) + words)
    order: list[int] = found.rows[np.lexsort((found.rows, -logs))].tolist()
    return order


def recalls(suite: Sequence[Ranked], rank: Callable[[Ranked, Weights], Sequence[int]], weights: Weights) -> Floats:
    """Return the mean (R@1, R@5) over the questions of a suite."""
    values = []
    for ranked in suite:
        order = rank_documents([ranked.documents[row] for row in rank(ranked, weights)])
        values.append([recall_at(k, order, ranked.wanted) for k in (1, 5)])
    return np.asarray(np.mean(values, axis=0), np.float64)


def main() -> None:
    """Learn each weight from the other languages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", type=Path, nargs="+", metavar="SUITE INDEX")
    places = parser.parse_args().places
    suites = {suite.name: measured(suite, index) for suite, index in zip(places[::2], places[1::2], strict=True)}
    for name, grid in GRID.items():
        rank = hybrid if name == "meaning in hybrid" else walked
        table = {
            value: {each: recalls(suite, rank, {**TODAY, name: value}) for each, suite in suites.items()}
            for value in grid
        }
        print(f"{name} (today {TODAY[name]:g})")
        for left_out in suites:
            others = [each for each in suites if each != left_out]
            sums = [(round(sum(float(table[value][each].sum()) for each in others), 9), -value) for value in grid]
            best = -max(sums)[1]
            now, then = table[TODAY[name]][left_out], table[best][left_out]
            print(f"  {left_out}: {now[0]:.3f} {now[1]:.3f} -> {then[0]:.3f} {then[1]:.3f} with {best:g}", flush=True)


if __name__ == "__main__":
    main()
