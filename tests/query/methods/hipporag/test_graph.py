"""The memory of HippoRAG: what of the tables it holds."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.methods.hipporag.graph import Memory, MemoryEdges, make_memory, open_memory
from conspectus.storage.records import Chunk, Entity, Mention, Relation, Synonym


def edges(*rows: tuple[int, int, float]) -> MemoryEdges:
    ends = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2)
    return MemoryEdges(ends, np.array([row[2] for row in rows], np.float64))


def weights(memory: Memory, *, whole: bool = False) -> dict[tuple[int, int], float]:
    graph = memory.whole if whole else memory.phrases
    sources = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    found = zip(sources.tolist(), graph.indices.tolist(), graph.weights.tolist(), strict=True)
    return {(source, target): round(weight, 6) for source, target, weight in found if source < target}


def test_counts_and_specificity() -> None:
    # Phrase 0 stands twice in passage 0, phrase 1 once in each, phrase 2 nowhere.
    memory = make_memory(3, 2, np.array([[0, 0], [1, 1], [0, 0], [1, 0]]), edges(), edges())
    assert memory.counts.toarray().tolist() == [[2, 0], [1, 1], [0, 0]]
    assert memory.specificity.tolist() == [1.0, 0.5, 1.0]


def test_edges_are_triples_synonyms_and_passages() -> None:
    facts = edges((0, 1, 2.0), (1, 0, 1.0), (1, 2, 1.0))
    memory = make_memory(4, 1, np.array([[0, 0], [0, 0], [3, 0]]), facts, edges((2, 3, 0.9)))
    expected = {(0, 1): 3.0, (1, 2): 1.0, (2, 3): 0.9}
    assert weights(memory) == expected
    assert weights(memory, whole=True) == {**expected, (0, 4): 1.0, (3, 4): 1.0}
    assert memory.facts.tolist() == [[0, 1], [1, 0], [1, 2]]


def test_nothing_to_remember() -> None:
    memory = make_memory(0, 1, np.zeros((0, 2), np.int64), edges(), edges())
    assert memory.n_phrases == 0
    assert memory.whole.n_nodes == 1


def test_it_is_what_the_tables_say(sample_context: Context) -> None:
    index = sample_context.index
    memory = open_memory(sample_context)
    assert open_memory(sample_context) is memory
    entities, chunks = index.rows(Entity), index.rows(Chunk)
    row_of = {each.id: row for row, each in enumerate(entities)}
    place_of = {each.id: row for row, each in enumerate(chunks)}
    counted = Counter((row_of[m.entity_id], place_of[m.chunk_id]) for m in index.rows(Mention) if m.entity_id)
    assert memory.counts.shape == (len(entities), len(chunks))
    assert {(row, place): memory.counts[row, place] for row, place in counted} == counted
    assert memory.counts.nnz == len(counted)
    assert memory.specificity == pytest.approx([1 / each.frequency for each in entities])
    synonyms = {tuple(sorted((row_of[s.source_id], row_of[s.target_id]))): s.similarity for s in index.rows(Synonym)}
    stated: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for each in index.rows(Relation):
        pair = tuple(sorted((row_of[each.source_id], row_of[each.target_id])))
        stated[pair] += 0 if pair in synonyms else each.weight
    joined = {**{pair: weight for pair, weight in stated.items() if weight}, **synonyms}
    assert synonyms
    assert weights(memory) == pytest.approx({pair: round(weight, 6) for pair, weight in joined.items()}, abs=1e-6)
