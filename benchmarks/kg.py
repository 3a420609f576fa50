"""Time to import a knowledge graph, end to end (reading, tables, vectors, communities, publishing).

    python benchmarks/kg.py [--triples 1000000] [--things 300000] [--predicates 200] [--set SECTION.KEY=VALUE ...]
    python benchmarks/kg.py --file FILE

Without --file, a graph is generated: the ends of a triple are drawn so that few things have many triples and most have
few, as in real graphs. The output shows the seconds of a first build, of a second one without changes, and of writing
the files that questions use, each with its CPU seconds (wall-clock time depends on the load), the peak resident set,
and for some methods the time to open the index and to answer the first and later questions. Use OMP_NUM_THREADS=1.
"""

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from conspectus import open as open_index
from conspectus.building import prepare
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.runner import RunHere
from conspectus.query.walk.graph import open_graph
from conspectus.storage.settings import load_settings, parse_override

_SYLLABLES = ("al", "be", "cor", "dan", "el", "fi", "gor", "hu", "il", "jo", "ka", "lem", "mo", "nur", "or", "pe")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, default=1_000_000)
    parser.add_argument("--things", type=int, default=300_000)
    parser.add_argument("--predicates", type=int, default=200)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--methods", default="auto,sparql,tog2", help="methods of the questions")
    parser.add_argument("--ask", type=Path, metavar="INDEX", help="only ask this index")
    given = parser.parse_args()
    if given.ask:
        ask(given.ask, given.methods)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = given.file or Path(folder, "kg.tsv")
        if not given.file:
            with file.open("w", encoding="utf-8") as stream:
                stream.writelines(made_up(given.triples, given.things, given.predicates))
        overrides: dict[str, dict[str, object]] = {}
        for section, key, value in map(parse_override, given.set):
            overrides.setdefault(section, {})[key] = value
        overrides.setdefault("kg", {})["files"] = (str(file),)
        settings = load_settings(None, overrides)
        index = Path(folder, "index")
        for what in ("first build", "second build"):
            began, before = time.perf_counter(), time.process_time()
            made = build_index([], index, settings, RunHere(_Told()))
            took = f"{time.perf_counter() - began:.1f} s, {time.process_time() - before:.1f} s of CPU"
            print(f"{what}: {took}{' (unchanged)' if made.unchanged else ''}")
        print(", ".join(f"{count:,} {name}" for name, count in made.rows.items() if count))
        for note in made.notes:
            print(note)
        began, before = time.perf_counter(), time.process_time()
        prepare(open_index(index))
        took = f"{time.perf_counter() - began:.1f} s, {time.process_time() - before:.1f} s of CPU"
        print(f"files that questions are answered from: {took}")
        print(f"largest resident set: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
        for method in given.methods.split(","):
            subprocess.run([sys.executable, __file__, "--ask", str(index), "--methods", method], check=True)


def ask(folder: Path, method: str) -> None:
    """Print how long opening, the first question and later ones take, in a fresh process."""
    began = time.perf_counter()
    index = open_index(folder)
    graph = open_graph(index.context)
    opened = time.perf_counter() - began
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])  # the peak would be that of the parent
    opened_size = pages * resource.getpagesize() / (1 << 20)
    if method == "sparql":
        began = time.perf_counter()
        index.query("ASK { ?a ?b ?c }")
        print(f"sparql: store made in {time.perf_counter() - began:.1f} s")
    names = [graph.names[row] for row in np.linspace(0, graph.n_entities - 1, _QUESTIONS, dtype=int)]
    took, spent = [], []
    for number, name in enumerate(names):
        predicate = graph.predicates[number % len(graph.predicates)].replace("_", " ")
        began, before = time.perf_counter(), time.process_time()
        index.ask(f"What is the {predicate} of {name}?" if number % 2 else f"How many {predicate} has {name}?", method)
        took.append(time.perf_counter() - began)
        spent.append(time.process_time() - before)
    later = np.array(took[1:]) * 1000
    print(
        f"{method}: opened in {opened:.2f} s ({opened_size:,.0f} MB), first question {took[0]:.2f} s "
        f"({spent[0]:.2f} s of CPU), "
        f"{len(later)} later ones {np.median(later):.0f} ms (median), {later.max():.0f} ms at most, "
        f"{np.median(spent[1:]) * 1000:.0f} ms of CPU"
    )


_QUESTIONS = 41


def made_up(triples: int, things: int, predicates: int, seed: int = 7) -> Iterator[str]:
    """Yield the lines of a generated graph; a few triples are repeated."""
    chance = random.Random(seed)
    names = [_name(chance, number) for number in range(things)]
    for _ in range(triples):
        source, target = chance.randrange(things), int(things * chance.random() ** 3)
        yield f"{names[source]}\trelation_{chance.randrange(predicates)}\t{names[target]}\n"


def _name(chance: random.Random, number: int) -> str:
    first, last = ("".join(chance.choices(_SYLLABLES, k=k)).title() for k in (3, 2))
    return f"{first} {last} {number}"


class _Told:
    """Announces the beginning of each step."""

    def __init__(self) -> None:
        self._step = ""
        self._began, self._before = time.perf_counter(), time.process_time()

    def __call__(self, step: str, done: int, total: int) -> None:
        if step != self._step:
            self._step = step
            spent = time.process_time() - self._before
            print(f"  {time.perf_counter() - self._began:6.1f} s, CPU {spent:6.1f} s: {step}", flush=True)


if __name__ == "__main__":
    main()
