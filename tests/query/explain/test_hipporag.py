"""Explaining HippoRAG: its paths are in its memory, and its parts make its scores."""

import asyncio
from itertools import pairwise

import pytest
from conspectus.query.context import Context
from conspectus.query.explain.explain import explain
from conspectus.query.explain.types import Explanation
from conspectus.query.methods.hipporag.graph import open_memory
from conspectus.storage.graph.ppr_paths import edge_weight
from conspectus.storage.records import Entity

from tests.query.methods.hipporag.test_hipporag import QUESTION, tarn

__all__ = ["tarn"]
METHODS = ["ppr:hipporag1", "ppr:hipporag2"]


def explained(context: Context, method: str, k: int = 5, **only: object) -> Explanation:
    return asyncio.run(explain(context, QUESTION, method, k, **only))  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_parts_make_the_score_and_paths_carry_it(method: str, tarn: Context) -> None:
    told = explained(tarn, method, paths=50)
    assert told.passages
    for each in told.passages:
        assert sum(part.value for part in each.parts) == pytest.approx(each.passage.score)
        assert each.mass == each.passage.score
        assert each.told == pytest.approx(sum(path.share for path in each.paths), abs=1e-9)
        assert 0.6 < each.told <= 1
        assert all(path.hops[-1].node.id == each.passage.chunk_id for path in each.paths)


@pytest.mark.parametrize("method", METHODS)
def test_paths_follow_edges_of_the_memory(method: str, tarn: Context) -> None:
    memory = open_memory(tarn)
    numbers = {each.id: row for row, each in enumerate(tarn.index.rows(Entity))}
    numbers |= {id_: memory.n_phrases + row for id_, row in tarn.chunk_rows.items()}
    edges = 0
    for each in explained(tarn, method).passages:
        for path in each.paths:
            for before, hop in pairwise(path.hops):
                source, end = numbers[before.node.id], numbers[hop.node.id]
                weight = edge_weight(memory.whole, source, end)
                assert weight > 0
                assert hop.edge
                if method == "ppr:hipporag2":
                    assert hop.share == pytest.approx(weight / memory.whole.strength[source])
                edges += 1
    assert edges > 5


def test_triples_and_seeds_are_told(tarn: Context) -> None:
    first = {hop.edge for each in explained(tarn, "ppr:hipporag1").passages for path in each.paths for hop in path.hops}
    assert "is mentioned in" in first
    assert first & {"founded", "(turned round) founded"}
    whys = {path.why for each in explained(tarn, "ppr:hipporag2").passages for path in each.paths}
    assert any("Ada Lindqvist founded Tarn Brewery" in why for why in whys)
