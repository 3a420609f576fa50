"""Personalised PageRank, measured: milliseconds a query, agreement with igraph, memory to open the graph.

    OMP_NUM_THREADS=1 python benchmarks/ppr.py --nodes 100000 --edges 500000

One thread, because all the others have one, and because igraph's OpenMP threads spin while they wait.
The graph is random with a heavy-tailed degree (ends drawn with probability ~ (rank + 1) ** -0.6, a power law
of exponent 2.7) and weights 1 to 5. igraph's PRPACK solves the system to 1e-10 and is the reference.
"""

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import igraph
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from storage.graph.adjacency import Adjacency
from storage.graph.pagerank import forward_push, power_iteration

Scores = NDArray[np.float64]
Seeds = NDArray[np.int64]
TOP = 20


@dataclass(frozen=True, slots=True)
class Row:
    """One solver over all queries: medians of time, means of agreement, the worst of errors."""

    solver: str
    milliseconds: float
    cpu_milliseconds: float
    top_agreement: float
    largest_error: float


def heavy_tailed_graph(n_nodes: int, n_edges: int, rng: np.random.Generator) -> Adjacency:
    """Return a random graph of about `n_edges` edges (duplicates merge, loops go)."""
    popularity = (np.arange(n_nodes) + 1.0) ** -0.6
    popularity /= popularity.sum()
    names = rng.permutation(n_nodes)  # so that a node's id says nothing of its degree
    sources, targets = (names[rng.choice(n_nodes, n_edges, p=popularity)] for _ in range(2))
    return Adjacency.from_edges(n_nodes, sources, targets, rng.integers(1, 6, n_edges))


def igraph_solver(graph: Adjacency, damping: float) -> Callable[[Seeds], Scores]:
    """Return igraph's PRPACK over the same edges."""
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    once = rows < graph.indices
    reference = igraph.Graph(graph.n_nodes, np.column_stack([rows[once], graph.indices[once]]))
    weights = graph.weights[once].tolist()

    def solve(seeds: Seeds) -> Scores:
        reset = np.zeros(graph.n_nodes)
        reset[seeds] = 1.0
        return np.array(
            reference.personalized_pagerank(
                directed=False, damping=damping, reset=reset, weights=weights, implementation="prpack"
            )
        )

    return solve


def scipy_solver(
    graph: Adjacency, damping: float, dtype: type[np.floating], tolerance: float
) -> Callable[[Seeds], Scores]:
    """Return a bare power iteration over a transition matrix that is normalised once, beforehand."""
    adjacency = csr_array((graph.weights, graph.indices, graph.indptr)).astype(np.float64)
    inverse = np.divide(1.0, graph.strength, out=np.zeros(graph.n_nodes), where=graph.strength > 0)
    transition = (damping * adjacency @ diags_array(inverse)).tocsr().astype(dtype)

    def solve(seeds: Seeds) -> Scores:
        restart = np.zeros(graph.n_nodes, dtype=dtype)
        restart[seeds] = 1 / len(seeds)
        scores, change = restart, np.inf
        while change > tolerance:
            previous, scores = scores, transition @ scores
            scores[seeds] += (1 - scores.sum()) / len(seeds)
            change = np.abs(scores - previous).sum()
        return scores

    return solve


def power_solver(graph: Adjacency, damping: float) -> Callable[[Seeds], Scores]:
    """Return our power iteration."""

    def solve(seeds: Seeds) -> Scores:
        restart = np.zeros(graph.n_nodes)
        restart[seeds] = 1.0
        return power_iteration(graph, restart, damping).scores

    return solve


def push_solver(graph: Adjacency, damping: float, epsilon: float) -> Callable[[Seeds], Scores]:
    """Return our forward push, spread out for the comparison only."""

    def solve(seeds: Seeds) -> Scores:
        return forward_push(graph, seeds, np.ones(len(seeds)), damping, epsilon).dense(graph.n_nodes)

    return solve


def measure(name: str, solve: Callable[[Seeds], Scores], queries: list[Seeds], exact: list[Scores]) -> Row:
    """Return one row of the table; the first query is run once more beforehand, to warm the caches."""
    solve(queries[0])
    wall, cpu, agreement, error = [], [], [], []
    for seeds, truth in zip(queries, exact, strict=True):
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        scores = solve(seeds)
        wall.append(time.perf_counter() - wall_start)
        cpu.append(time.process_time() - cpu_start)
        agreement.append(len(np.intersect1d(best(scores), best(truth))) / TOP)
        error.append(np.abs(scores - truth).max())
    return Row(name, 1e3 * np.median(wall), 1e3 * np.median(cpu), float(np.mean(agreement)), max(error))


def best(scores: Scores) -> NDArray[np.int64]:
    """Return the nodes of the highest scores; scores within 1e-12 tie, and the lower id wins."""
    return np.lexsort((np.arange(len(scores)), -scores.round(12)))[:TOP]


def resident_mib() -> tuple[float, float]:
    """Return what this process has in memory, in MiB: of its own, and of mapped files (Linux)."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["RssAnon"].split()[0]) / 1024, int(lines["RssFile"].split()[0]) / 1024


def memory_growth(folder: Path, seeds: Seeds, damping: float) -> tuple[float, NDArray[np.float64]]:
    """Return the seconds that opening takes, and the growth of memory by opening, by one push, by one power.

    The growth has shape (3, 2), its columns those of `resident_mib`.
    """
    small = Adjacency.from_edges(2, [0], [1], [1.0])
    power_iteration(small, [1.0, 0.0])  # what the libraries themselves need is not counted
    forward_push(small, [0], [1.0])
    marks = [resident_mib()]
    start = time.perf_counter()
    graph = Adjacency.load(folder)
    opened = time.perf_counter() - start
    marks.append(resident_mib())
    forward_push(graph, seeds, np.ones(len(seeds)), damping)
    marks.append(resident_mib())
    restart = np.zeros(graph.n_nodes)
    restart[seeds] = 1.0
    power_iteration(graph, restart, damping)
    marks.append(resident_mib())
    return opened, np.diff(marks, axis=0)


def main() -> None:
    """Build the graph, save it, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=500_000)
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=10, help="seeds of a query")
    parser.add_argument("--damping", type=float, default=0.5)
    parser.add_argument("--random-seed", type=int, default=0)
    options = parser.parse_args()

    rng = np.random.default_rng(options.random_seed)
    start = time.perf_counter()
    graph = heavy_tailed_graph(options.nodes, options.edges, rng)
    built = time.perf_counter() - start
    connected = np.flatnonzero(graph.strength)
    queries = [np.sort(rng.choice(connected, options.seeds, replace=False)) for _ in range(options.queries)]
    print(
        f"{graph.n_nodes:,} nodes, {graph.n_edges:,} edges, largest degree {np.diff(graph.indptr).max():,}; "
        f"built in {built:.1f} s"
    )
    print(f"{options.queries} queries of {options.seeds} seeds, damping {options.damping}")

    with tempfile.TemporaryDirectory() as name:
        graph.save(Path(name))
        size = sum(file.stat().st_size for file in Path(name).iterdir()) / 2**20
        graph = Adjacency.load(Path(name))

        reference = igraph_solver(graph, options.damping)
        exact = [reference(seeds) for seeds in queries]
        solvers = {
            "igraph prpack": reference,
            "scipy power, float64": scipy_solver(graph, options.damping, np.float64, 1e-10),
            "scipy power, float32, 1e-6": scipy_solver(graph, options.damping, np.float32, 1e-6),
            "ours, power": power_solver(graph, options.damping),
            "ours, push 1e-5": push_solver(graph, options.damping, 1e-5),
            "ours, push 1e-6": push_solver(graph, options.damping, 1e-6),
            "ours, push 1e-7": push_solver(graph, options.damping, 1e-7),
        }
        print(f"{'solver':<28}{'ms':>9}{'CPU ms':>9}{f'top {TOP}':>9}{'max error':>12}")
        for solver, solve in solvers.items():
            row = measure(solver, solve, queries, exact)
            print(
                f"{row.solver:<28}{row.milliseconds:>9.1f}{row.cpu_milliseconds:>9.1f}"
                f"{row.top_agreement:>9.3f}{row.largest_error:>12.1e}"
            )

        with multiprocessing.get_context("spawn").Pool(1) as pool:
            opened, growth = pool.apply(memory_growth, (Path(name), queries[0], options.damping))
        print(f"graph of {size:.0f} MiB on disk, opened in {1e3 * opened:.1f} ms; memory growth in MiB")
        print(f"{'by':<28}{'own':>9}{'mapped':>9}")
        for what, (own, mapped) in zip(("opening", "a push", "a power iteration"), growth, strict=True):
            print(f"{what:<28}{own:>9.1f}{mapped:>9.1f}")


if __name__ == "__main__":
    main()
