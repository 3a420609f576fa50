"""Compare our prize-collecting Steiner trees with pcst_fast: profit on random graphs, and time.

    python benchmarks/pcst.py [--reference PYTHON]

PYTHON is an interpreter that has pcst_fast and numpy < 2 (under numpy 2 the wheel of 1.0.10 gives wrong arrays).
Without one only our own figures are printed. Seconds are CPU seconds, so that other processes hardly matter.
"""

import argparse
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from conspectus.storage.arrays import Floats
from conspectus.storage.graph.pcst import prize_collecting_tree

Problem = tuple[str, npt.NDArray[np.int64], Floats, Floats]

REFERENCE = """
import sys, time
import numpy as np
from pcst_fast import pcst_fast
given, made = np.load(sys.argv[1]), {}
for i in range(int(given["count"])):
    began = time.process_time()
    prizes, costs = given[f"prizes{i}"], given[f"costs{i}"]
    nodes, edges = pcst_fast(given[f"ends{i}"], prizes, costs, -1, 1, "strong", 0)
    made[f"seconds{i}"] = time.process_time() - began
    made[f"profit{i}"] = float(prizes[nodes].sum() - costs[edges].sum())
np.savez(sys.argv[2], **made)
"""


def problems() -> Iterator[Problem]:
    """Yield 50 graphs of 1,000 nodes of each kind, then two of 100,000 edges."""
    for kind in ("every second node", "twenty nodes", "ranks"):
        for seed in range(50):
            random = np.random.default_rng(seed)
            ends = random.integers(0, 1000, (int(random.choice([1500, 3000, 5000])), 2))
            ends = ends[ends[:, 0] != ends[:, 1]]
            prizes, costs = np.zeros(1000), random.random(len(ends))
            if kind == "every second node":
                prizes = random.random(1000) * (random.random(1000) < 0.5)
            elif kind == "twenty nodes":
                prizes[random.choice(1000, 20, replace=False)] = random.random(20) * 5
            else:
                prizes[random.choice(1000, 10, replace=False)] = np.arange(10, 0, -1.0)
                costs = np.ones(len(ends))
            yield kind, ends, costs, prizes
    for kind in ("100 k edges, all nodes", "100 k edges, ten nodes"):
        random = np.random.default_rng(1)
        ends, costs = random.integers(0, 30_000, (100_000, 2)), random.random(100_000)
        prizes = random.random(30_000)
        if kind.endswith("ten nodes"):
            prizes = np.zeros(30_000)
            prizes[random.choice(30_000, 10, replace=False)] = np.arange(10, 0, -1.0)
        yield kind, ends, costs, prizes


def reference(python: str, given: list[Problem]) -> tuple[list[float], list[float]]:
    """Return the profits and the seconds of pcst_fast."""
    with tempfile.TemporaryDirectory() as folder:
        into, out, script = (Path(folder) / name for name in ("given.npz", "made.npz", "reference.py"))
        arrays: dict[str, npt.ArrayLike] = {"count": len(given)}
        for i, (_, ends, costs, prizes) in enumerate(given):
            arrays |= {f"ends{i}": ends, f"costs{i}": costs, f"prizes{i}": prizes}
        np.savez(into, **arrays)
        script.write_text(REFERENCE, "utf-8")
        subprocess.run([python, str(script), str(into), str(out)], check=True)
        made = np.load(out)
        count = range(len(given))
        profits, seconds = ([float(made[f"{what}{i}"]) for i in count] for what in ("profit", "seconds"))
        return profits, seconds


def main() -> None:
    """Solve all problems and print one line per kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--reference", metavar="PYTHON", help="an interpreter with pcst_fast and numpy < 2")
    chosen = parser.parse_args()
    given = list(problems())
    prize_collecting_tree(*given[0][1:])  # exclude loading on first use from the time
    profits, seconds = [], []
    for _, ends, costs, prizes in given:
        began = time.process_time()
        tree = prize_collecting_tree(ends, costs, prizes)
        seconds.append(time.process_time() - began)
        assert len(tree.nodes) == len(tree.edges) + 1
        assert np.isclose(prizes[tree.nodes].sum() - costs[tree.edges].sum(), tree.profit)
        profits.append(tree.profit)
    theirs, their_seconds = reference(chosen.reference, given) if chosen.reference else (profits, seconds)
    for kind in dict.fromkeys(item[0] for item in given):
        rows = [i for i, item in enumerate(given) if item[0] == kind]
        ours, other = np.array(profits)[rows], np.array(theirs)[rows]
        line = f"{kind:24} {len(rows):3} graphs, ours {np.mean(np.array(seconds)[rows]):.3f} s"
        if chosen.reference:
            close = np.isclose(ours, other, rtol=0, atol=1e-9)
            better = int(((ours > other) & ~close).sum())
            line += (
                f", pcst_fast {np.mean(np.array(their_seconds)[rows]):.3f} s; better {better}, "
                f"equal {int(close.sum())}, worse {len(rows) - better - int(close.sum())}"
            )
        print(line)


if __name__ == "__main__":
    main()
