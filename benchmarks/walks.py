"""Compare forward push with the exact walk on real questions over a real index.

    OMP_NUM_THREADS=1 python benchmarks/walks.py SUITE [--index FOLDER] [--questions 100]

For `ppr`, `ppr:hipporag1` and `ppr:hipporag2`, the seeds of each question are computed as in the method, and the walk
is computed by push and exactly. The output shows the shares of the 20 best nodes and of the 20 best passages that push
also finds, and the milliseconds of both walks. SUITE is a question set; the index is that of `conspectus evaluate
SUITE`.
"""

import argparse
import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from conspectus.pipelines.evaluation.suites import read_suite, suite_index
from conspectus.query.context import Context
from conspectus.query.methods.hipporag import hipporag
from conspectus.query.methods.hipporag.graph import open_memory
from conspectus.query.methods.hipporag.hipporag import HippoRag1, HippoRag2
from conspectus.query.methods.ppr.ppr import rank_passages
from conspectus.query.types import Step
from conspectus.storage.arrays import Floats
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.pagerank import EPSILON, forward_push, personalized_pagerank, power_iteration
from conspectus.storage.index import StoredIndex
from conspectus.storage.settings import load_settings
from numpy.typing import NDArray

TOP = 20


@dataclass(frozen=True, slots=True)
class Start:
    """The seeds of one walk, and how it scores the passages."""

    graph: Adjacency
    seeds: NDArray[np.int64]
    mass: Floats
    passages: Callable[[Floats], Floats]


@dataclass(slots=True)
class Tally:
    """Measurements over the walks of a method."""

    nodes: list[float] = field(default_factory=list)
    passages: list[float] = field(default_factory=list)
    push: list[float] = field(default_factory=list)
    exact: list[float] = field(default_factory=list)
    pushed: int = 0


def of_ppr(context: Context, question: str) -> Start | None:
    """Return the walk of `ppr`."""
    found = rank_passages(context, question, TOP)
    n_chunks = context.index.manifest.rows["chunks"]
    if isinstance(found, Step):
        return None
    return Start(context.index.graph(), found.seeds, found.mass, lambda scores: scores[:n_chunks])


def of_hipporag(context: Context, question: str, method: type[HippoRag1] | type[HippoRag2]) -> Start | None:
    """Return the walk of a HippoRAG method; None if it has no seeds."""
    found = asyncio.run(method(context).rank(question, TOP))
    memory = open_memory(context)
    if not isinstance(found, hipporag.MemoryRanking):
        return None
    if method is HippoRag1:
        return Start(found.graph, found.seeds, found.mass, lambda scores: memory.counts.T @ scores)
    return Start(found.graph, found.seeds, found.mass, lambda scores: scores[memory.n_phrases :])


def measure(start: Start, tally: Tally) -> None:
    """Walk both ways and add their agreement."""
    graph = start.graph
    began = time.process_time()
    push = forward_push(graph, start.seeds, start.mass).dense(graph.n_nodes)
    tally.push.append(time.process_time() - began)
    began = time.process_time()
    exact = power_iteration(graph, np.bincount(start.seeds, start.mass, graph.n_nodes)).dense(graph.n_nodes)
    tally.exact.append(time.process_time() - began)
    tally.nodes.append(shared(push, exact))
    tally.passages.append(shared(start.passages(push), start.passages(exact)))
    tally.pushed += personalized_pagerank(graph, start.seeds, start.mass).solver == "push"


def shared(found: Floats, truth: Floats) -> float:
    """Return the share of the TOP best of the truth that are among those found; ties go by number."""
    ours, best = (np.lexsort((np.arange(len(item)), -item.round(12)))[:TOP] for item in (found, truth))
    return len(np.intersect1d(ours, best)) / len(best)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--random-seed", type=int, default=0)
    options = parser.parse_args()
    suite, settings = read_suite(options.suite), load_settings()
    context = Context(StoredIndex.open(options.index or suite_index(suite, settings)), settings)
    order = np.random.default_rng(options.random_seed).permutation(len(suite.questions))[: options.questions]
    print(f"{suite.name}: {len(order)} random questions, push to {EPSILON:g}")
    print(
        f"{'walk':<16}{'nodes':>9}{'edges':>9}{f'top {TOP}':>9}{'passages':>10}{'push ms':>9}{'exact ms':>10}  as set"
    )
    methods: dict[str, Callable[[str], Start | None]] = {
        "ppr": lambda question: of_ppr(context, question),
        "ppr:hipporag1": lambda question: of_hipporag(context, question, HippoRag1),
        "ppr:hipporag2": lambda question: of_hipporag(context, question, HippoRag2),
    }
    for name, start_of in methods.items():
        tally, graph = Tally(), context.index.graph()
        for row in order:
            start = start_of(suite.questions[row].question)
            if start:
                graph = start.graph
                measure(start, tally)
        print(
            f"{name:<16}{graph.n_nodes:>9,}{len(graph.indices) // 2:>9,}{np.mean(tally.nodes):>9.4f}"
            f"{np.mean(tally.passages):>10.4f}"
            f"{1e3 * np.mean(tally.push):>9.1f}{1e3 * np.mean(tally.exact):>10.1f}  "
            f"{tally.pushed} of {len(tally.nodes)} by push"
        )


if __name__ == "__main__":
    main()
