"""Precision, recall and F1 of entity resolution on labelled pairs of names, measured on a built index.

    python benchmarks/aliases.py [DATA] [--half own] [--indexes .conspectus/aliases]

The pairs are those of benchmarks/data/aliases.jsonl: names only, labelled by reading the texts, whether both denote the
same thing. The half "own" is about examples/world. The others need DATA, a folder with the question sets that they name
(`hotpotqa/corpus.jsonl`, ..., and `books/*.txt`); pairs of a missing set are left out, and counted. The MuSiQue pairs
were held out while the rules were made (see docs/resolution.md for the result). A pair counts as merged if both names
ended in one entity; a pair with a name that was not extracted cannot be merged, counts as not merged,
and is shown separately. The built indexes are kept, so that a second run pays only for what changed.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus.pipelines.build_index import build_index
from conspectus.storage.hashing import entity_id
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import current_manifest
from conspectus.storage.records import Entity, Merge
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.text.normalise import entity_key

EXAMPLES = Path(__file__).parent.parent / "examples"
PAIRS = Path(__file__).parent / "data" / "aliases.jsonl"


@dataclass(frozen=True, slots=True)
class Labelled:
    """Two names of one corpus, whether they denote the same thing, and the kind of the pair."""

    half: str
    kind: str
    same: bool
    left: str
    right: str
    corpus: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled pair, whether it was merged, and whether both names were extracted."""

    pair: Labelled
    merged: bool
    extracted: bool


def read_pairs(file: Path) -> list[Labelled]:
    """Return the labelled pairs of a file."""
    keys = Labelled.__dataclass_fields__
    lines = map(json.loads, file.read_text("utf-8").splitlines())
    return [Labelled(**{key: line[key] for key in keys}) for line in lines]


def built(folder: Path, indexes: Path, settings: Settings) -> StoredIndex:
    """Return the index of a corpus, building it if it is missing."""
    inputs = [folder / "corpus.jsonl"] if (folder / "corpus.jsonl").is_file() else sorted(folder.glob("*.txt"))
    root = indexes / folder.name
    build_index(inputs, root, settings)
    manifest = current_manifest(root)
    assert manifest is not None
    return StoredIndex(root, manifest)


def judged(pairs: Iterable[Labelled], index: StoredIndex) -> list[Judged]:
    """Return the decisions of an index about pairs of its corpus."""
    kept_of = {merge.alias_id: merge.entity_id for merge in index.rows(Merge) if not merge.undone}
    known = {entity.id for entity in index.rows(Entity)} | kept_of.keys()
    found = []
    for pair in pairs:
        ids = [entity_id(entity_key(name)) for name in (pair.left, pair.right)]
        extracted = all(id_ in known for id_ in ids)
        merged = extracted and kept_of.get(ids[0], ids[0]) == kept_of.get(ids[1], ids[1])
        found.append(Judged(pair, merged, extracted))
    return found


def line(name: str, some: Sequence[Judged]) -> str:
    """Return the figures of some pairs as a line of a table."""
    right = sum(item.merged and item.pair.same for item in some)
    merged, same = sum(item.merged for item in some), sum(item.pair.same for item in some)
    precision = right / merged if merged else 1.0
    recall = right / same if same else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    missing = sum(not item.extracted for item in some)
    figures = f"{precision:9.3f} {recall:6.3f} {f1:6.3f}" if same else f"{'':9} {'':6} {'':6}"
    return f"{name:24} {len(some):5} {same:5} {merged - right:6} {figures} {missing:8}"


def table(found: Sequence[Judged]) -> str:
    """Return the figures of all pairs, of each half, and of each kind in it."""
    lines = [f"{'':24} {'pairs':>5} {'same':>5} {'wrong':>6} {'precision':>9} {'recall':>6} {'F1':>6} {'no name':>8}"]
    for half, some in _by(found, lambda result: result.pair.half).items():
        lines.append(line(half, some))
        lines.append(line("  both names extracted", [item for item in some if item.extracted]))
        lines += [line(f"  {kind}", own) for kind, own in sorted(_by(some, lambda item: item.pair.kind).items())]
    return "\n".join([*lines, line("all", found)])


def _by(found: Sequence[Judged], key: Callable[[Judged], str]) -> Mapping[str, list[Judged]]:
    groups: defaultdict[str, list[Judged]] = defaultdict(list)
    for result in found:
        groups[key(result)].append(result)
    return groups


def main() -> None:
    """Print the table, and with --show each pair that was judged wrongly."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--half", choices=("own", "develop", "held back"))
    parser.add_argument("--pairs", type=Path, default=PAIRS)
    parser.add_argument("--indexes", type=Path, default=Path(".conspectus/aliases"))
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    pairs = [pair for pair in read_pairs(given.pairs) if given.half in (None, pair.half)]
    settings = load_settings()
    found: list[Judged] = []
    for corpus in sorted({pair.corpus for pair in pairs}):
        of_corpus = [pair for pair in pairs if pair.corpus == corpus]
        places = [folder / corpus for folder in (EXAMPLES, given.data) if folder and (folder / corpus).is_dir()]
        if places:
            found += judged(of_corpus, built(places[0], given.indexes, settings))
        else:
            print(f"{corpus} is not there: {len(of_corpus)} pairs left out")
    print(table(found))
    for result in found if given.show else ():
        if result.merged != result.pair.same:
            why = "merged" if result.merged else "apart" if result.extracted else "not extracted"
            print(f"{why:14} {result.pair.kind:12} {result.pair.left} | {result.pair.right} ({result.pair.corpus})")


if __name__ == "__main__":
    main()
