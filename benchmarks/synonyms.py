"""Synonym edges of 100,000 phrases: recall and CPU time, compared with HippoRAG's own search on the same vectors.

    OMP_NUM_THREADS=1 python benchmarks/synonyms.py NAMES.txt [--vectors NAMES.npy]

NAMES.txt has one phrase per line; their vectors are made with the packaged encoder, and stored in --vectors if it is
given. HippoRAG compares blocks of 1,000 queries with blocks of 10,000 keys, keeps the 2,047 best keys of each query,
and then reads each list down to the threshold; the same is done here, with torch. All pairs above the threshold are in
these lists, as long as no phrase has more of them, so recall is the share of them that ours finds.

Ours are all given the same name, so that the name rules, which HippoRAG lacks, exclude no pair. Last, half
of the phrases are searched alone: the pairs among them must be those found among all.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from conspectus.pipelines.steps.synonyms import find_synonyms
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.storage.arrays import Vectors
from conspectus.storage.settings import SynonymSettings, load_settings
from numpy.typing import NDArray

Pairs = set[tuple[int, int]]

NEIGHBOURS = 2_047
QUERIES, KEYS = 1_000, 10_000


def vectors_of(names: list[str], kept: Path | None) -> Vectors:
    """Return the unit vectors of the names, (n, d), from the file if it exists."""
    if kept and kept.is_file():
        found: Vectors = np.load(kept, allow_pickle=False)
        return found
    settings = load_settings()
    embedder = open_embedder(settings.embedding, settings.embedding_server)
    made = embedder.embed([embedder.windows(name)[0] for name in names])
    if kept:
        np.save(kept, made, allow_pickle=False)
    return made


def by_hipporag(vectors: Vectors, threshold: float, rows: int) -> Pairs:
    """Return the pairs that HippoRAG's search finds for the first `rows` phrases among all."""
    every = torch.from_numpy(vectors)
    found: Pairs = set()
    for first in range(0, rows, QUERIES):
        queries = every[first : min(first + QUERIES, rows)]
        scores, places = [], []
        for start in range(0, len(every), KEYS):
            keys = every[start : start + KEYS]
            best = torch.mm(queries, keys.T).topk(min(NEIGHBOURS, len(keys)), dim=1)
            scores.append(best.values)
            places.append(best.indices + start)
        together = torch.cat(scores, dim=1)
        best = together.topk(min(NEIGHBOURS, together.shape[1]), dim=1)
        of_row = torch.cat(places, dim=1).gather(1, best.indices)
        row, column = torch.nonzero(best.values >= threshold, as_tuple=True)
        for query, key in zip((row + first).tolist(), of_row[row, column].tolist(), strict=True):
            if query != key:
                found.add((min(query, key), max(query, key)))
    return found


def by_us(vectors: Vectors, rows: NDArray[np.int64], threshold: float, exact: bool) -> Pairs:
    """Return the pairs that `find_synonyms` finds among some rows, exhaustively or by partitions."""
    ids, names = [f"{row:09}" for row in rows], ["name"] * len(rows)
    limit = max(len(vectors), 1) if exact else 1
    wanted = SynonymSettings(threshold=threshold)
    found = find_synonyms(ids, names, vectors[rows], wanted, 7, most=NEIGHBOURS, exact_names=limit)
    return {(int(result.source_id), int(result.target_id)) for result in found}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", type=Path)
    parser.add_argument("--vectors", type=Path, help="where the vectors are kept, a .npy")
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--rows", type=int, help="measure HippoRAG on the first so many phrases (all), and scale")
    options = parser.parse_args()
    names = options.names.read_text("utf-8").splitlines()
    vectors = vectors_of(names, options.vectors)
    every = np.arange(len(vectors))
    rows = options.rows or len(vectors)
    print(f"{len(vectors):,} phrases x {vectors.shape[1]}, cosine from {options.threshold}")

    began = time.process_time()
    reference = by_hipporag(vectors, options.threshold, rows)
    seconds = (time.process_time() - began) * len(vectors) / rows
    scaled = "" if rows == len(vectors) else f", scaled from {rows:,} phrases"
    print(f"{'search':<24}{'CPU s':>8}{'share':>8}{'pairs':>10}{'recall':>9}")
    print(f"{'HippoRAG, kNN 2,047':<24}{seconds:>8.1f}{1:>8.1%}{len(reference):>10,}{1:>9.4f}{scaled}")
    found: Pairs = set()
    for label, exact in (("ours, all pairs", True), ("ours, partitions", False)):
        began = time.process_time()
        found = by_us(vectors, every, options.threshold, exact)
        spent = time.process_time() - began
        recall = len(found & reference) / len(reference)
        print(f"{label:<24}{spent:>8.1f}{spent / seconds:>8.1%}{len(found):>10,}{recall:>9.4f}")

    half = every[np.random.default_rng(0).random(len(vectors)) < 0.5]
    within = set(half.tolist())
    expected = {pair for pair in found if within.issuperset(pair)}
    same = by_us(vectors, half, options.threshold, False) == expected
    print(f"partitions, {len(half):,} of the phrases alone: {'the same' if same else 'other'} pairs among them")


if __name__ == "__main__":
    main()
