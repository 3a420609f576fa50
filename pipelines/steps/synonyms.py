"""Find synonyms: pairs of entities whose names have similar embeddings by cosine.

HippoRAG joins phrases above a cosine of 0.8 (Gutiérrez et al., NeurIPS 2024, section 2.3). Apart from the limit on
neighbours, whether two names are joined depends only on the two names, so that adding a document changes no other
pair. Up to `EXACT_NAMES` names, all pairs are compared. Beyond, two names are compared if they share one of the 16
partitions, of 4,096 fixed by the seed, in which each is deepest (random projections with the multi-probe idea of Lv
et al., VLDB 2007) and the signs of 512 further projections are mostly the same (Charikar, STOC 2002).
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from conspectus.pipelines.steps.vectors import Windows
from conspectus.storage.arrays import Bools, Floats, Ints, Rows, Vectors, distinct, drop_pages
from conspectus.storage.blas_threads import one_blas_thread
from conspectus.storage.joins import Groups
from conspectus.storage.records import Entity, Synonym
from conspectus.storage.settings import SynonymSettings
from conspectus.storage.spilled import array_of
from conspectus.storage.tables import arrow_of, taken
from conspectus.storage.vectors.faiss_index import has_faiss
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

# Measured by benchmarks/synonyms.py on MiniLM vectors of 100,000 names, before signs: 25 s of CPU (all pairs 46 s),
# and 0.9997 of the pairs above 0.8 are found; with 12 partitions 18 s and 0.997, with 20 33 s and 0.99997.
_PARTITIONS = 4096
_PARTITIONS_OF_A_VECTOR = 16
_DECIMALS = 6
# Candidates are found in float32, whose sums are off by less than this.
_ROUNDING = 1e-5
_SIGNS = 512
_DEVIATIONS = 4
"""Standard deviations of the number of signs in which two vectors differ: fewer than one pair of 10,000 is lost."""
# Components are multiples of 1/8192: sums of them are exact in float32 below 2^24, in any order.
_QUANTUM = 1 << 13
_BLOCK_ROWS = 2048
_DEPTHS_AT_ONCE = 512
"""Vectors whose depths in all partitions are computed at once: 9 MB."""

Signs = NDArray[np.uint8]
"""Signs (n, 64 bytes) of the depths of vectors in 512 directions."""

EXACT_NAMES = 50_000
"""Up to this number of names all pairs are compared; beyond, names that share a partition."""
MOST_SYNONYMS = 50
"""Maximum synonyms that one entity contributes: more would join a hub to everything."""
_BLOCK_PAIRS = 512
_QUERIES = 256
"""Names of a partition that are compared with it and those after them at once."""
_PAIRS_AT_ONCE = 1 << 20


def synonyms_of(entities: Sequence[Entity], vectors: Windows, settings: SynonymSettings, seed: int) -> list[Synonym]:
    """Return the synonyms among the entities of the documents, given the vectors of entities by row.

    Entities that only an imported graph has are left out: the graph already distinguishes them.
    """
    rows = distinct(vectors.rows)
    places = np.flatnonzero(arrow_of(Entity, entities, ["frequency"])["frequency"].to_numpy()[rows])
    ids, names = taken(arrow_of(Entity, entities, ["id", "name"]), rows[places]).columns
    return find_synonyms(ids, names, _picked(vectors.first(), places), settings, seed)


def _picked(vectors: Vectors, rows: Rows) -> Vectors:
    """Return some rows of vectors, which may be mapped; these themselves if the rows are all, in order."""
    if np.array_equal(rows, np.arange(len(vectors))):
        return np.ascontiguousarray(vectors, np.float32)
    return np.ascontiguousarray(vectors[rows], np.float32)


def find_synonyms(
    entity_ids: "Sequence[str] | pa.ChunkedArray",
    names: "Sequence[str] | pa.ChunkedArray",
    vectors: Vectors,
    settings: SynonymSettings,
    seed: int,
    *,
    most: int = MOST_SYNONYMS,
    exact_names: int = EXACT_NAMES,
) -> list[Synonym]:
    """Return the pairs with a cosine of at least `settings.threshold`, sorted by (source_id, target_id).

    Names that differ in a number (Apollo 11, Apollo 13) are never synonyms, nor are different names with a cosine of 1:
    the model cannot distinguish either. The order of the entities does not matter.

    Args:
        entity_ids: (n,) distinct ids.
        names: (n,) their names.
        vectors: (n, d) float32, rows of length 1.
        settings: The least cosine.
        seed: Seed of the partitions.
        most: A pair is returned if it is among the `most` best of at least one of its two entities.
        exact_names: Up to this number of names all pairs are compared.
    """
    from pyarrow import compute

    ids, written = _column(entity_ids), _column(names)
    order = compute.sort_indices(ids).to_numpy().astype(np.int64)
    ids, written, vectors = ids.take(order), written.take(order), _picked(vectors, order)

    def joined(pairs: _Pairs) -> _Pairs:
        near = pairs.where(pairs.cosine >= settings.threshold)
        columns = (written.take(rows).to_pylist() for rows in (near.left, near.right))
        kept = [
            _numbers(left) == _numbers(right) and (cosine < 1 or _letters(left) == _letters(right))
            for left, right, cosine in zip(*columns, near.cosine.tolist(), strict=True)
        ]
        return near.where(np.array(kept, np.bool_))

    least = settings.threshold - _ROUNDING
    exact = len(ids) <= exact_names
    codes = _all_pairs(vectors, least) if exact else _pairs_of_partitions(vectors, least, seed)
    best = _Pairs.none()
    for batch in _batches(codes):
        best = _best_of_each(best.and_(joined(_compared(vectors, batch))), most)
    ends = (ids.take(rows).to_pylist() for rows in (best.left, best.right))
    return [Synonym(left, right, cosine) for left, right, cosine in zip(*ends, best.cosine.tolist(), strict=True)]


def _column(texts: "Sequence[str] | pa.ChunkedArray") -> "pa.Array":
    import pyarrow as pa

    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else pa.array(texts, pa.string())


@dataclass(frozen=True)
class _Pairs:
    """Pairs of rows, left < right, with their cosines."""

    left: Ints
    right: Ints
    cosine: Floats

    @classmethod
    def none(cls) -> "_Pairs":
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))

    def where(self, kept: Bools | Ints) -> "_Pairs":
        return _Pairs(self.left[kept], self.right[kept], self.cosine[kept])

    def and_(self, more: "_Pairs") -> "_Pairs":
        return _Pairs(
            np.concatenate([self.left, more.left]),
            np.concatenate([self.right, more.right]),
            np.concatenate([self.cosine, more.cosine]),
        )


def _numbers(name: str) -> tuple[str, ...]:
    """Return the whole numbers in a name, sorted, without leading zeros and in ASCII digits.

    >>> _numbers("9/11 and Apollo 011")
    ('11', '11', '9')
    """
    found = ("".join(str(unicodedata.decimal(digit)) for digit in run) for run in re.findall(r"\d+", name))
    return tuple(sorted(number.lstrip("0") for number in found))


def _letters(name: str) -> str:
    """Return what a name is spelled with, less accents, case and punctuation; itself if that is nothing.

    >>> _letters("Ångström, A.") == _letters("angstrom a")
    True
    """
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(character for character in plain if character.isalnum()) or name


def _all_pairs(vectors: Vectors, least: float) -> Iterator[Ints]:
    return _near_pairs(vectors, np.arange(len(vectors)), least)


def _pairs_of_partitions(vectors: Vectors, least: float, seed: int) -> Iterator[Ints]:
    """Yield the near pairs of each partition; a pair that shares several partitions is yielded several times.

    The products are small: on two threads they took four times the processor time.
    """
    with one_blas_thread():
        members, signs = _partitions(vectors, seed)
        for partition in range(len(members)):
            drop_pages(vectors)
            yield from _signed_pairs(vectors, signs, members[partition], least)


def _signed_pairs(vectors: Vectors, signs: Signs, rows: Ints, least: float) -> Iterator[Ints]:
    """Yield the near pairs of the given rows, of those whose signs differ in few places."""
    angle = np.arccos(min(least, 1.0)) / np.pi  # the share of directions that separate two vectors
    most_apart = int(_SIGNS * angle + _DEVIATIONS * np.sqrt(_SIGNS * angle * (1 - angle)))
    own = signs[rows]
    for start in range(0, len(rows), _QUERIES):
        left, right = _alike(own[start : start + _QUERIES], own[start:], most_apart)
        ones, others = rows[start + np.stack([left, right])[:, left < right]]
        for first in range(0, len(ones), _BLOCK_PAIRS):
            one, other = ones[first : first + _BLOCK_PAIRS], others[first : first + _BLOCK_PAIRS]
            kept = np.einsum("ij,ij->i", vectors[one], vectors[other]) >= least
            yield one[kept] * len(vectors) + other[kept]


def _alike(queries: Signs, names: Signs, most_apart: int) -> tuple[Ints, Ints]:
    """Return the pairs of a query and a name that differ in at most so many signs."""
    if not has_faiss():
        one, other = queries.view(np.uint64), names.view(np.uint64)
        apart = np.zeros((len(one), len(other)), np.uint16)
        for word in range(one.shape[1]):
            apart += np.bitwise_count(one[:, word, None] ^ other[:, word])
        return np.divmod(np.flatnonzero(apart <= most_apart), len(other))
    import faiss

    index = faiss.IndexBinaryFlat(_SIGNS)
    index.add(names)
    ends, _, found = index.range_search(queries, most_apart + 1)  # distances below this
    return np.repeat(np.arange(len(queries)), np.diff(ends).astype(np.int64)), found


def _partitions(vectors: Vectors, seed: int) -> tuple[Groups, Signs]:
    """Return the rows of the vectors that are deepest in each partition, and the signs of each vector.

    A partition is a random direction of plus and minus ones, and the depth the inner product with it.
    Components are converted to whole numbers, so a depth is exact and does not depend on the other vectors. A vector
    is in every partition that ties with its last one. Its signs (512) are those of its depths in further directions.
    """
    drawn = np.random.default_rng(seed).integers(0, 2, (_PARTITIONS + _SIGNS, vectors.shape[1]))
    directions = (2 * drawn - 1).astype(np.float32)
    entries = array_of(len(vectors) * _PARTITIONS_OF_A_VECTOR, np.int64)
    signs = array_of(len(vectors) * _SIGNS // 8, np.uint8)
    for start in range(0, len(vectors), _DEPTHS_AT_ONCE):
        depths = np.rint(vectors[start : start + _DEPTHS_AT_ONCE] * _QUANTUM) @ directions.T
        signs.append(np.packbits(depths[:, _PARTITIONS:] > 0, axis=1).ravel())
        depths = depths[:, :_PARTITIONS]
        place = _PARTITIONS - _PARTITIONS_OF_A_VECTOR
        last = np.partition(depths, place, axis=1)[:, place]
        row, partition = np.divmod(np.flatnonzero(depths >= last[:, None]), _PARTITIONS)
        entries.append(partition << 32 | row + start)
        drop_pages(vectors)
    return Groups.of_pairs(entries.array(), _PARTITIONS), signs.array().reshape(-1, _SIGNS // 8)


def _near_pairs(vectors: Vectors, rows: Ints, least: float) -> Iterator[Ints]:
    """Yield, as left * n + right, the pairs of the given rows (ascending) with a product of about `least`."""
    for i in range(0, len(rows), _BLOCK_ROWS):
        left = rows[i : i + _BLOCK_ROWS]
        for j in range(i, len(rows), _BLOCK_ROWS):
            right = rows[j : j + _BLOCK_ROWS]
            # Of the flat array: np.nonzero of two dimensions takes 13 times as long.
            down, across = np.divmod(np.flatnonzero(vectors[left] @ vectors[right].T >= least), len(right))
            pairs = left[down] * len(vectors) + right[across]
            yield pairs[left[down] < right[across]]


def _batches(codes: Iterator[Ints]) -> Iterator[Ints]:
    """Yield the codes in sets of about a million, each without repeats."""
    waiting: list[Ints] = []
    count = 0
    for some in codes:
        waiting.append(some)
        count += len(some)
        if count >= _PAIRS_AT_ONCE:
            yield distinct(np.concatenate(waiting))
            waiting, count = [], 0
    if count:
        yield distinct(np.concatenate(waiting))


def _compared(vectors: Vectors, codes: Ints) -> _Pairs:
    """Return the pairs with their cosines, each summed separately in float64 and then rounded."""
    left, right = np.divmod(codes, len(vectors))
    cosine = np.empty(len(codes))
    for start in range(0, len(codes), _BLOCK_PAIRS):
        some = slice(start, start + _BLOCK_PAIRS)
        a, b = vectors[left[some]].astype(np.float64), vectors[right[some]].astype(np.float64)
        cosine[some] = np.einsum("ij,ij->i", a, b)
    return _Pairs(left, right, np.minimum(np.round(cosine, _DECIMALS), 1.0))


def _best_of_each(pairs: _Pairs, most: int) -> _Pairs:
    """Return, sorted and without repeats, the pairs that are among the `most` best of an end.

    A pair dropped from a subset of all pairs would also be dropped from the whole, so this may be applied
    incrementally.
    """
    order = np.lexsort((pairs.right, pairs.left))
    pairs = pairs.where(order)
    repeats = (np.diff(pairs.left, prepend=-1) == 0) & (np.diff(pairs.right, prepend=-1) == 0)
    pairs = pairs.where(~repeats)
    n_pairs = len(pairs.left)
    end, other = np.concatenate([pairs.left, pairs.right]), np.concatenate([pairs.right, pairs.left])
    ranked = np.lexsort((other, -np.tile(pairs.cosine, 2), end))
    place = np.arange(2 * n_pairs) - np.searchsorted(end[ranked], end[ranked])
    return pairs.where(distinct(ranked[place < most] % max(n_pairs, 1)))
