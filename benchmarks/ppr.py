"""Personalised PageRank: milliseconds per query, agreement with igraph, memory to open the graph.

    OMP_NUM_THREADS=1 python benchmarks/ppr.py [--sizes 100000:500000,1000000:5000000]

One thread, because the other solvers use one, and because igraph's OpenMP threads spin while they wait.
The graph is random with a heavy-tailed degree (ends drawn with probability ~ (rank + 1) ** -0.6, a power law
of exponent 2.7) and weights 1 to 5. igraph's PRPACK, which HippoRAG uses, solves the system to 1e-10 and is the
reference. Then two concurrent processes open the graph from disk and report how much memory each step adds.
"""

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import igraph
import numpy as np
from conspectus.storage.arrays import Floats
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.pagerank import EPSILON, forward_push, power_iteration
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

if TYPE_CHECKING:
    from multiprocessing import Queue
    from multiprocessing.synchronize import Barrier

Seeds = NDArray[np.int64]
TOP = 20


@dataclass(frozen=True, slots=True)
class Row:
    """One solver over all queries: median time, mean agreement, worst error."""

    solver: str
    milliseconds: float
    cpu_milliseconds: float
    top_agreement: float
    largest_error: float


def heavy_tailed_graph(n_nodes: int, n_edges: int, rng: np.random.Generator) -> Adjacency:
    """Return a random graph of about `n_edges` edges (duplicates are merged, loops dropped)."""
    popularity = (np.arange(n_nodes) + 1.0) ** -0.6
    popularity /= popularity.sum()
    names = rng.permutation(n_nodes)  # so that a node's id is independent of its degree
    sources, targets = (names[rng.choice(n_nodes, n_edges, p=popularity)] for _ in range(2))
    return Adjacency.from_edges(n_nodes, sources, targets, rng.integers(1, 6, n_edges))


def igraph_solver(graph: Adjacency, damping: float) -> Callable[[Seeds], Floats]:
    """Return igraph's PRPACK over the same edges."""
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    once = rows < graph.indices
    reference = igraph.Graph(graph.n_nodes, np.column_stack([rows[once], graph.indices[once]]))
    weights = graph.weights[once].tolist()

    def solve(seeds: Seeds) -> Floats:
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
) -> Callable[[Seeds], Floats]:
    """Return a plain power iteration over a transition matrix that is normalised once, beforehand."""
    adjacency = csr_array((graph.weights, graph.indices, graph.indptr)).astype(np.float64)
    inverse = np.divide(1.0, graph.strength, out=np.zeros(graph.n_nodes), where=graph.strength > 0)
    transition = (damping * adjacency @ diags_array(inverse)).tocsr().astype(dtype)

    def solve(seeds: Seeds) -> Floats:
        restart = np.zeros(graph.n_nodes, dtype=dtype)
        restart[seeds] = 1 / len(seeds)
        scores, change = restart, np.inf
        while change > tolerance:
            previous, scores = scores, transition @ scores
            scores[seeds] += (1 - scores.sum()) / len(seeds)
            change = np.abs(scores - previous).sum()
        return scores

    return solve


def power_solver(graph: Adjacency, damping: float) -> Callable[[Seeds], Floats]:
    """Return our power iteration."""

    def solve(seeds: Seeds) -> Floats:
        restart = np.zeros(graph.n_nodes)
        restart[seeds] = 1.0
        return power_iteration(graph, restart, damping).scores

    return solve


def push_solver(graph: Adjacency, damping: float, epsilon: float) -> Callable[[Seeds], Floats]:
    """Return our forward push, as a dense vector for the comparison only."""

    def solve(seeds: Seeds) -> Floats:
        return forward_push(graph, seeds, np.ones(len(seeds)), damping, epsilon).dense(graph.n_nodes)

    return solve


def measure(name: str, solve: Callable[[Seeds], Floats], queries: list[Seeds], exact: list[Floats]) -> Row:
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


def best(scores: Floats) -> NDArray[np.int64]:
    """Return the nodes of the highest scores; scores within 1e-12 tie, and the lower id wins."""
    return np.lexsort((np.arange(len(scores)), -scores.round(12)))[:TOP]


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a process in MiB: private, mapped files, and its share of these (a page mapped n times counts 1/n)."""

    own: float
    mapped: float
    share: float

    @classmethod
    def now(cls) -> "Memory":
        """Return the memory of this process (Linux)."""
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
        kib = {line.split(":")[0]: int(line.split()[1]) for line in lines}
        mapped = kib["Rss"] - kib["Anonymous"]
        return cls(kib["Pss_Anon"] / 1024, mapped / 1024, kib["Pss_File"] / 1024)

    def since(self, before: "Memory") -> "Memory":
        """Return the difference."""
        return Memory(self.own - before.own, self.mapped - before.mapped, self.share - before.share)


STEPS = ("opening", "a push", "reading all")


def memory_growth(
    folder: Path, seeds: Seeds, damping: float, together: "Barrier", results: "Queue[tuple[float, list[Memory]]]"
) -> None:
    """Put the seconds of opening, and the memory growth of each of STEPS, into `results`.

    The processes that share the barrier take each step at the same time.
    """
    small = Adjacency.from_edges(2, [0], [1], [1.0])
    power_iteration(small, [1.0, 0.0])  # exclude memory of the libraries themselves
    forward_push(small, [0], [1.0])
    together.wait()
    before, growth = Memory.now(), []
    start = time.perf_counter()
    graph = Adjacency.load(folder)
    opened = time.perf_counter() - start
    together.wait()
    growth.append(Memory.now().since(before))
    together.wait()
    forward_push(graph, seeds, np.ones(len(seeds)), damping)
    together.wait()
    growth.append(Memory.now().since(before))
    together.wait()
    for array in (graph.indptr, graph.indices, graph.weights, graph.strength):
        array.max()
    together.wait()
    growth.append(Memory.now().since(before))
    together.wait()
    results.put((opened, growth))


def two_processes(folder: Path, seeds: Seeds, damping: float) -> list[tuple[float, list[Memory]]]:
    """Return the reports of two processes that open one graph at the same time."""
    spawn = multiprocessing.get_context("spawn")
    together, results = spawn.Barrier(2), spawn.Queue()
    workers = [spawn.Process(target=memory_growth, args=(folder, seeds, damping, together, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    found = [results.get() for _ in workers]
    for item in workers:
        item.join()
    return found


def compare(n_nodes: int, n_edges: int, options: argparse.Namespace) -> None:
    """Build a graph, save it, and print both tables."""
    rng = np.random.default_rng(options.random_seed)
    start = time.perf_counter()
    graph = heavy_tailed_graph(n_nodes, n_edges, rng)
    built = time.perf_counter() - start
    connected = np.flatnonzero(graph.strength)
    queries = [np.sort(rng.choice(connected, options.seeds, replace=False)) for _ in range(options.queries)]
    print(
        f"{graph.n_nodes:,} nodes, {len(graph.indices) // 2:,} edges, largest degree {np.diff(graph.indptr).max():,}; "
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
            "ours, exact": power_solver(graph, options.damping),
            f"ours, push {EPSILON:g} (default)": push_solver(graph, options.damping, EPSILON),
            "ours, push 1e-6": push_solver(graph, options.damping, 1e-6),
            "ours, push 1e-7": push_solver(graph, options.damping, 1e-7),
        }
        print(f"{'solver':<28}{'ms':>9}{'CPU ms':>9}{'faster':>9}{f'top {TOP}':>9}{'max error':>12}")
        slowest = 0.0
        for solver, solve in solvers.items():
            row = measure(solver, solve, queries, exact)
            slowest = slowest or row.cpu_milliseconds
            print(
                f"{row.solver:<28}{row.milliseconds:>9.1f}{row.cpu_milliseconds:>9.1f}"
                f"{f'{slowest / row.cpu_milliseconds:.0f} x':>9}{row.top_agreement:>9.3f}{row.largest_error:>12.1e}"
            )
        agreement, walks = random_agreement(graph, connected, options, rng)
        print(f"top {TOP} of push as of exact over {walks} random walks: {agreement:.4f}")

        found = two_processes(Path(name), queries[0], options.damping)
    print(f"graph of {size:.0f} MiB on disk, mapped by this process and two more; growth of these since before, MiB")
    print(f"{'after':<28}{'own':>9}{'mapped':>9}{'share':>9}")
    for number, (opened, growth) in enumerate(found, start=1):
        print(f"process {number}, opened in {1e3 * opened:.1f} ms")
        for what, item in zip(STEPS, growth, strict=True):
            print(f"  {what:<26}{item.own:>9.1f}{item.mapped:>9.1f}{item.share:>9.1f}")


def random_agreement(
    graph: Adjacency, connected: Seeds, options: argparse.Namespace, rng: np.random.Generator
) -> tuple[float, int]:
    """Return the share of the exact best nodes that push finds, over random walks with the default settings."""
    exact, push = power_solver(graph, options.damping), push_solver(graph, options.damping, EPSILON)
    shares = []
    for _ in range(options.walks):
        seeds = np.sort(rng.choice(connected, options.seeds, replace=False))
        shares.append(len(np.intersect1d(best(push(seeds)), best(exact(seeds)))) / TOP)
    return float(np.mean(shares)), options.walks


def main() -> None:
    """Compare the solvers at each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100000:500000,1000000:5000000", help="nodes:edges, with commas")
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--walks", type=int, default=100, help="random walks on which push and exact are compared")
    parser.add_argument("--seeds", type=int, default=10, help="seeds of a query")
    parser.add_argument("--damping", type=float, default=0.5)
    parser.add_argument("--random-seed", type=int, default=0)
    options = parser.parse_args()
    for size in options.sizes.split(","):
        n_nodes, n_edges = (int(part) for part in size.split(":"))
        compare(n_nodes, n_edges, options)
        print()


if __name__ == "__main__":
    main()
