"""The memory graph of HippoRAG, derived from an index's tables: phrases, passages and their edges.

Gutiérrez et al. 2024 (arXiv 2405.14831, section 2.2) build a graph of phrase nodes N, triple edges E and synonym edges
E′, and a matrix P of how often each phrase occurs in each passage; Gutiérrez et al. 2025 (arXiv 2502.14802, section
3.2) add the passages as nodes, joined with their phrases. Here N are the entities, E the relations, E′
the synonyms (with a cosine of at least `synonyms.threshold`), the passages the chunks, and P is counted from the
mentions. Only the tables are stored.

The papers do not specify the weights; these are from their code. The weight of a triple edge is the number of
statements of its triples (`Relation.weight`, summed over both directions), of a synonym edge its cosine, which replaces
a triple edge between the same phrases, and of a passage edge 1.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from conspectus.query.context import Context
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.index import per_index
from conspectus.storage.records import Chunk, Entity, Mention, Relation, Synonym
from conspectus.storage.tables import rows_of_ends, rows_of_ids

if TYPE_CHECKING:
    import pyarrow as pa
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """HippoRAG's memory of |P| passages and |N| phrases, rows as in the tables.

    Attributes:
        counts: (|N|, |P|) sparse float64, how often each phrase occurs in each passage.
        specificity: (|N|,) float64, s_i = 1 / |P_i|, one over the number of passages with phrase i; 1 for a
            phrase in no passage, known from an imported graph.
        phrases: the graph over N with E and E′.
        whole: the graph including passages: nodes 0 .. |N| - 1 are the phrases, the others the passages.
        facts: (|E|, 2), the two phrases of each triple.
    """

    counts: "csr_array"
    specificity: Floats
    phrases: Adjacency
    whole: Adjacency
    facts: Rows

    @property
    def n_phrases(self) -> int:
        """The number of phrases, |N|."""
        return len(self.specificity)


@dataclass(frozen=True, slots=True)
class MemoryEdges:
    """Undirected edges between phrases: their ends (e, 2), and their weights (e,)."""

    ends: Rows
    weights: Floats


@per_index
def open_memory(context: Context) -> Memory:
    """Return the memory of an index, made on first use."""
    index = context.index
    phrase_ids = index.arrow(Entity, "id").column("id")
    chunk_ids = index.arrow(Chunk, "id").column("id")
    mentions = index.arrow(Mention, "entity_id", "chunk_id").drop_null()
    held = [
        rows_of_ids(mentions.column("entity_id"), phrase_ids),
        rows_of_ids(mentions.column("chunk_id"), chunk_ids),
    ]
    facts = _edges(index.arrow(Relation, "source_id", "target_id", "weight"), "weight", phrase_ids)
    synonyms = _edges(index.arrow(Synonym, "source_id", "target_id", "similarity"), "similarity", phrase_ids)
    return make_memory(len(phrase_ids), len(chunk_ids), np.stack(held, 1), facts, synonyms)


def make_memory(n_phrases: int, n_passages: int, mentions: Rows, facts: MemoryEdges, synonyms: MemoryEdges) -> Memory:
    """Return the memory of phrases and passages numbered from 0.

    `mentions` (m, 2) has a row (phrase, passage) for each occurrence of a phrase in a passage.
    """
    from scipy.sparse import csr_array

    ones = np.ones(len(mentions))
    counts = csr_array((ones, (mentions[:, 0], mentions[:, 1])), shape=(n_phrases, n_passages))
    counts.sum_duplicates()
    places = np.diff(counts.indptr)
    specificity = 1.0 / np.maximum(places, 1)

    joined = _joined(n_phrases, facts, synonyms)
    holding = np.repeat(np.arange(n_phrases), places)
    whole = Adjacency.from_edges(
        n_phrases + n_passages,
        np.concatenate([joined.ends[:, 0], holding]),
        np.concatenate([joined.ends[:, 1], n_phrases + counts.indices]),
        np.concatenate([joined.weights, np.ones(len(holding))]),
    )
    phrases = Adjacency.from_edges(n_phrases, joined.ends[:, 0], joined.ends[:, 1], joined.weights)
    return Memory(counts, specificity, phrases, whole, facts.ends)


def _joined(n_phrases: int, facts: MemoryEdges, synonyms: MemoryEdges) -> MemoryEdges:
    """Return the edges of E ∪ E′; a synonym edge replaces a triple edge between the same phrases."""
    taken = _pair_keys(n_phrases, synonyms.ends)
    free = ~np.isin(_pair_keys(n_phrases, facts.ends), taken)
    return MemoryEdges(
        np.concatenate([facts.ends[free], synonyms.ends]), np.concatenate([facts.weights[free], synonyms.weights])
    )


def _pair_keys(n_phrases: int, ends: Rows) -> Rows:
    """Return a key for each pair, independent of the order of its ends."""
    keys: Rows = ends.min(axis=1, initial=n_phrases) * n_phrases + ends.max(axis=1, initial=0)
    return keys


def _edges(table: "pa.Table", weight: str, ids: "pa.ChunkedArray") -> MemoryEdges:
    ends = np.stack(rows_of_ends(table, ids), 1)
    return MemoryEdges(ends, table.column(weight).to_numpy().astype(np.float64))
