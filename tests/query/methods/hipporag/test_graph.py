"""The memory of HippoRAG: what of the tables it holds."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.methods.hipporag.graph import Memory, open_memory
from conspectus.storage.records import Chunk, Entity, Mention, Relation, Synonym


def weights(memory: Memory) -> dict[tuple[int, int], float]:
    graph = memory.phrases
    sources = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    found = zip(sources.tolist(), graph.indices.tolist(), graph.weights.tolist(), strict=True)
    return {(source, target): round(weight, 6) for source, target, weight in found if source < target}


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
