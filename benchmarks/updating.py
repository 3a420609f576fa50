"""Effects of updating one document: regenerated reports, modularity against a rebuild, tables that differ.

    python -m benchmarks.updating CORPUS.jsonl [--steps 50] [--memo MEMO.sqlite] [--seed 1]
    python -m benchmarks.updating --rings
    python -m benchmarks.updating --nodes 1000000

CORPUS has one row {"id", "title", "text"} per line; no model is used. First one document is added, one edited
and one deleted by builds of an index on disk, each compared with the version before, and the last with a build from
scratch. Then --steps further changes follow each other, for which only the communities are computed. `--memo` is
an initial memo (INDEX/cache/memo.sqlite), which saves the extraction and the vectors. `--rings` makes 40 updates
of rings of people, graphs with many equally good partitions, and prints how often communities were detected again, how
many stayed, and the mean loss of modularity against a fresh hierarchy. `--nodes` times the communities of a generated
graph of so many nodes and four times as many edges, half of them to a node nearby, half to one drawn by Zipf's law, and
their update after a thousand further edges.
"""

import argparse
import json
import random
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from conspectus.pipelines.backends.nlp import NlpBackend
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.build_plan import read_input
from conspectus.pipelines.runner import RunHere
from conspectus.pipelines.steps.chunks import split_documents
from conspectus.pipelines.steps.communities import Before, divide
from conspectus.pipelines.steps.sentences import place_sentences, sentences_of
from conspectus.storage.graph.edges import Edges, canonical_edges
from conspectus.storage.graph.incremental_leiden import changed_nodes, is_worse, losses, updated_leiden
from conspectus.storage.graph.leiden import Hierarchy, hierarchical_leiden, modularity
from conspectus.storage.index import StoredIndex
from conspectus.storage.memo import Memo
from conspectus.storage.records import Community, Entity, Report
from conspectus.storage.settings import Settings, load_settings

Row = dict[str, str]
AFTER = ("communities.parquet", "reports.parquet", "vectors/reports")
"""Files that may differ from those of a build from scratch."""


def main() -> None:
    """Make the changes and print the effect of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--rings", action="store_true")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--builds", type=int, default=3)
    parser.add_argument("--memo", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.rings:
        for people, documents in ((60, 80), (100, 150), (200, 300), (400, 600)):
            ring(people, documents, random.Random(options.seed))
        return
    if options.nodes:
        large(options.nodes, np.random.default_rng(options.seed))
        return
    rows = [json.loads(line) for line in options.corpus.read_text("utf-8").splitlines() if line.strip()]
    changes = Changes(rows, random.Random(options.seed))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "index" / "cache").mkdir(parents=True)
        if options.memo:
            shutil.copy(options.memo, place / "index" / "cache" / "memo.sqlite")
        on_disk(place, changes, options.builds)
        in_memory(place, changes, options.steps)


def large(n_nodes: int, rng: np.random.Generator) -> None:
    """Time the communities of a large graph, and their update."""
    source = np.repeat(np.arange(n_nodes), _EDGES_OF_A_NODE)
    near = (source + rng.integers(1, _NEAR, len(source))) % n_nodes
    drawn = (n_nodes * rng.random(len(source)) ** 4).astype(np.int64)
    target = np.where(rng.random(len(source)) < 0.5, near, drawn)
    new = rng.integers(0, n_nodes, (2, 1000))
    before = canonical_edges(n_nodes, source, target, np.ones(len(source)))
    edges = canonical_edges(n_nodes, *np.append([source, target], new, axis=1), np.ones(len(source) + 1000))
    fresh = _timed("hierarchy", lambda: hierarchical_leiden(before, seed=0))
    changed = changed_nodes(edges, before, np.arange(n_nodes))
    levels = list(fresh.levels)
    updated = _timed("update", lambda: updated_leiden(edges, levels, changed, seed=0, max_cluster_size=10))
    again = _timed("again", lambda: hierarchical_leiden(edges, seed=0))
    lost = losses(again, updated, edges)
    print(f"{len(edges.weights):,} edges, {len(again):,} communities; the update loses {lost[0]:.2%}")


_EDGES_OF_A_NODE, _NEAR = 4, 200


def _timed(what: str, work: Callable[[], Hierarchy]) -> Hierarchy:
    began, cpu = time.perf_counter(), time.process_time()
    found = work()
    spent = f"{time.perf_counter() - began:.1f} s, {time.process_time() - cpu:.1f} s of processor"
    print(
        f"{what:10} {spent}, largest memory so far {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB"
    )
    return found


@dataclass
class Changes:
    """A corpus that changes by one document at a time; one row is held out to be added first."""

    rows: list[Row]
    rng: random.Random

    def __post_init__(self) -> None:
        self.out = [self.rows.pop(self.rng.randrange(len(self.rows)))]

    def write(self, path: Path) -> Path:
        """Write the corpus in its current state."""
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows), "utf-8")
        return path

    def each(self) -> Iterator[str]:
        """Make one change after the other, and yield a description of each."""
        while True:
            self.rows.append(self.out.pop(0))
            yield "add"
            at, other = self.rng.sample(range(len(self.rows)), 2)
            said = self.rows[other]["text"].partition(". ")[0]
            self.rows[at] = {**self.rows[at], "text": f"{self.rows[at]['text']} {said}."}
            yield "edit"
            self.out.append(self.rows.pop(self.rng.randrange(len(self.rows))))
            yield "delete"


def on_disk(place: Path, changes: Changes, builds: int) -> None:
    """Build, change, build again, and compare the versions."""
    stable = load_settings(overrides={"communities": {"update": "stable"}})
    corpus = place / "corpus.jsonl"
    index = place / "index"
    build_index([changes.write(corpus)], index, stable)
    for _, what in zip(range(builds), changes.each(), strict=False):
        before = {report.id: report for report in StoredIndex.open(index).rows(Report)}
        began = time.perf_counter()
        done = build_index([changes.write(corpus)], index, stable)
        seconds = time.perf_counter() - began
        now = StoredIndex.open(index).rows(Report)
        new = sum(item.id not in before for item in now)
        other = sum(item.id in before and item.full_text != before[item.id].full_text for item in now)
        rows = sum(item.id in before and item != before[item.id] for item in now)
        print(
            f"{what:6}  {len(now)} reports: {new} new, {other} of other text, {rows} of any other value: "
            f"{(new + other) / len(now):.2%} made again; {seconds:.0f} s {' '.join(done.notes)}",
            flush=True,
        )
    exact = load_settings(overrides={"communities": {"update": "exact"}})
    (place / "fresh" / "cache").mkdir(parents=True)
    shutil.copy(index / "cache" / "memo.sqlite", place / "fresh" / "cache" / "memo.sqlite")
    build_index([corpus], place / "fresh", exact)
    fresh, updated = StoredIndex.open(place / "fresh").manifest.files, StoredIndex.open(index).manifest.files
    differing = sorted(name for name in fresh if fresh[name] != updated.get(name))
    kept = [name for name in differing if not name.startswith(AFTER)]
    print(f"against a build from nothing: {kept or 'no'} table before communities differs", flush=True)


@dataclass(frozen=True, slots=True)
class World:
    """The communities and their inputs."""

    before: Before
    entities: Sequence[Entity]
    communities: Sequence[Community]
    edges: Edges
    notes: tuple[str, ...]


def in_memory(place: Path, changes: Changes, steps: int) -> None:
    """Change and partition repeatedly, each time from the previous communities."""
    settings = load_settings()
    memo = Memo(place / "index" / "cache" / "memo.sqlite")
    world = divided(place, changes, settings, memo, None)
    first = reported(world, settings)
    anew = 0
    worst = 0.0
    for step, what in zip(range(1, steps + 1), changes.each(), strict=False):
        old = reported(world, settings)
        world = divided(place, changes, settings, memo, world.before)
        fresh = divided_anew(world, settings)
        now = reported(world, settings)
        share = len(now - old) / len(now)
        anew += bool(world.notes)
        worst = max(worst, share)
        print(
            f"{step:3} {what:6}  {share:6.2%} of {len(now)} reports are of new communities; modularity by level "
            f"{told(qualities(world.edges, world))}, anew {told(qualities(world.edges, fresh))} "
            f"{' '.join(world.notes)}",
            flush=True,
        )
    if steps:
        now = reported(world, settings)
        print(f"worst {worst:.2%}; divided anew {anew} times; of the first {len(now & first) / len(now):.1%} are left")


def divided(place: Path, changes: Changes, settings: Settings, memo: Memo, before: Before | None) -> World:
    """Return the communities of the current corpus, updated from `before` if given."""
    documents, _ = read_input([changes.write(place / "steps.jsonl")], settings)
    chunks = split_documents(documents, settings.chunks)
    knowledge = NlpBackend(settings, memo, RunHere()).extract(documents, chunks).knowledge
    sentences = sentences_of(documents, chunks, knowledge.mentions)
    named = place_sentences(documents, chunks, knowledge.mentions).of_entity
    made = divide(
        knowledge.entities,
        knowledge.relations,
        knowledge.mentions,
        sentences,
        settings.communities,
        (lambda _: before) if before else None,
    )
    after = Before(knowledge.entities, knowledge.relations, named, made.communities)
    return World(after, knowledge.entities, made.communities, joined(after), made.notes)


def divided_anew(world: World, settings: Settings) -> World:
    """Return the same with communities computed from scratch."""
    edges, chosen = world.edges, settings.communities
    hierarchy = hierarchical_leiden(edges, seed=chosen.seed, max_cluster_size=chosen.max_cluster_size)
    communities = [
        Community(
            str(item.id), level, None, None, False, tuple(world.entities[row].id for row in item.members), (), (), 0
        )
        for level in range(len(hierarchy.levels))
        for item in hierarchy.at(level)
    ]
    return World(world.before, world.entities, communities, edges, ())


def ring(people: int, documents: int, chance: random.Random, updates: int = 40) -> None:
    """Replace documents of a ring, each naming three people near each other, one by one, and print the effect."""

    def draw(at: int) -> list[int]:
        return sorted({(at * people // documents + chance.randrange(12)) % people for _ in range(3)})

    def graph() -> Edges:
        pairs = [pair for triple in triples for pair in combinations(triple, 2)]
        lower, upper = np.array(pairs, np.int64).T
        return canonical_edges(people, lower, upper, np.ones(len(pairs), np.float32))

    def detect(edges: Edges) -> Hierarchy:
        return hierarchical_leiden(edges, seed=7, max_cluster_size=10)

    def parts(hierarchy: Hierarchy) -> set[bytes]:
        return {(labels == label).tobytes() for labels in hierarchy.levels for label in np.unique(labels)}

    triples = [draw(at) for at in range(documents)]
    old, again, kept, lost = graph(), 0, [], []
    hierarchy = detect(old)
    for _ in range(updates):
        at = chance.randrange(documents)
        triples[at] = draw(at)
        now = graph()
        fresh, before = detect(now), parts(hierarchy)
        changed = changed_nodes(now, old, np.arange(people))
        updated = updated_leiden(now, hierarchy.levels, changed, seed=7, max_cluster_size=10)
        worse = is_worse(losses(fresh, updated, now))
        hierarchy, old, again = fresh if worse else updated, now, again + worse
        kept.append(len(parts(hierarchy) & before) / len(parts(hierarchy)))
        lost.append(losses(fresh, hierarchy, now))
    coarsest, finer = np.mean([found[0] for found in lost]), np.mean([found[-1] for found in lost])
    print(
        f"{people} people: detected again {again} of {updates} times, {np.mean(kept):.2f} of the communities kept; "
        f"modularity lost: coarsest level {coarsest:.2%}, finest {finer:.2%}",
        flush=True,
    )


def joined(before: Before) -> Edges:
    """Return the edges between the entities."""
    from conspectus.pipelines.steps.communities import edges_of

    return edges_of(before.entities, before.relations, before.named)


def reported(world: World, settings: Settings) -> set[str]:
    """Return the ids of the communities with a report."""
    least = settings.reports.min_size
    return {community.id for community in world.communities if community.same_as is None and community.size >= least}


def qualities(edges: Edges, world: World) -> list[float]:
    """Return the modularity of each level."""
    row_of = {entity.id: row for row, entity in enumerate(world.entities)}
    levels = [
        np.zeros(edges.n_nodes, np.int64) for _ in range(1 + max(community.level for community in world.communities))
    ]
    for label, item in enumerate(world.communities):
        levels[item.level][[row_of[id_] for id_ in item.entity_ids]] = label
    return [modularity(edges, labels) for labels in levels]


def told(found: Sequence[float]) -> str:
    """Return numbers as one line of text."""
    return " ".join(f"{result:.4f}" for result in found)


if __name__ == "__main__":
    main()
