"""Compare FastToG's community detections, and random communities, without a model.

    OMP_NUM_THREADS=1 python benchmarks/detections.py SUITE [--index FOLDER] [--questions 100] [--set fasttog.KEY=VALUE]

SUITE is a question set over a graph; topics are given. For each detection of `fasttog.detection`, and for pruning by
modularity and at random (`fasttog.coarse`), the table shows Hits@1 with its 95 % interval, F1, the average depth, the
mean Q(c) of the communities that survive the coarse pruning, their number of entities, and the median CPU time in
milliseconds, excluding the embedding of the question.
"""

import argparse
import asyncio
import time
from collections.abc import Set
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median

from conspectus.pipelines.evaluation.metrics import answered, bootstrap, set_quality
from conspectus.pipelines.evaluation.suites import SuiteQuestion, read_suite, sampled, suite_index
from conspectus.query.context import Context
from conspectus.query.methods.fasttog.fasttog import FastToG
from conspectus.query.methods.fasttog.local_search import CommunityCandidate, CommunitySearch, Members, Searched
from conspectus.storage.index import StoredIndex
from conspectus.storage.settings import load_settings, parse_override

DETECTIONS = ("louvain", "girvan_newman", "agglomerative", "spectral", "hierarchy", "random")


@dataclass(frozen=True, slots=True, eq=False)
class Noted(CommunitySearch):
    """A search that records which communities survive the coarse pruning."""

    kept: list[CommunityCandidate] = field(default_factory=list)

    def around(self, origin: Members, visited: Set[Members]) -> Searched:
        """Return the search result, and record it."""
        found = CommunitySearch.around(self, origin, visited)
        self.kept.extend(found.kept)
        return found


class Watched(FastToG):
    """FastToG without a model that records the candidates of every search."""

    def __init__(self, context: Context) -> None:
        super().__init__("fasttog", context, None)
        self.kept: list[CommunityCandidate] = []

    def _search(self, question: str) -> CommunitySearch:
        made = super()._search(question)
        return Noted(made.graph, made.settings, made.closeness, made.hierarchy, self.kept)


def measure(context: Context, questions: tuple[SuiteQuestion, ...]) -> str:
    """Return a line of the table."""
    walker = Watched(context)
    hits, f1, depth, seconds = list[float](), list[float](), list[float](), list[float]()
    for question in questions:
        began = time.process_time()
        answer = asyncio.run(walker.answer_about(question.question, question.entities, _nobody))
        seconds.append(time.process_time() - began)
        quality = set_quality(answered(answer), question.answers)
        hits.append(quality["hits@1"])
        f1.append(quality["f1"])
        depth.append(float(answer.usage.depth))
    right = bootstrap(hits)
    return (
        f"{right.mean:>8.3f} [{right.low:.3f}, {right.high:.3f}]{mean(f1):>8.3f}{mean(depth):>8.2f}"
        f"{mean(item.modularity for item in walker.kept):>8.2f}{mean(len(item.nodes) for item in walker.kept):>8.2f}"
        f"{1e3 * median(seconds):>8.0f}"
    )


def _nobody(piece: str) -> None:
    """No-op streaming callback."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--set", action="append", default=[], metavar="fasttog.KEY=VALUE")
    given = parser.parse_args()
    overrides: dict[str, dict[str, object]] = {}
    for section, key, value in map(parse_override, given.set):
        overrides.setdefault(section, {})[key] = value
    suite = sampled(read_suite(given.suite), given.questions)
    settings = suite.settings(load_settings(None, overrides))
    context = Context(StoredIndex.open(given.index or suite_index(suite, settings)), settings)
    measure(context, suite.questions)  # warm the cache of question embeddings
    print(f"{suite.name}: {len(suite.questions)} questions, topics given")
    print(
        f"{'detection':<15}{'pruned by':<12}{'hits@1':>8}{'':<15}{'f1':>8}{'depth':>8}{'Q(c)':>8}{'nodes':>8}{'ms':>8}"
    )
    for detection in DETECTIONS:
        for coarse in ("modularity", "random"):
            changed = settings.fasttog.model_copy(update={"detection": detection, "coarse": coarse})
            under = Context(context.index, settings.model_copy(update={"fasttog": changed}))
            print(f"{detection:<15}{coarse:<12}{measure(under, suite.questions)}", flush=True)


if __name__ == "__main__":
    main()
