"""Explanations: the parts of a score, and the paths of a walk."""

import asyncio
from itertools import pairwise
from math import exp, log

import pytest
from conspectus.query.context import Context
from conspectus.query.explain.explain import EXPLAINED, explain
from conspectus.query.explain.types import Explained, Explanation, Path, PathHop, PathNode
from conspectus.query.menu import METHODS, find_retriever
from conspectus.query.methods.hipporag.graph import open_memory
from conspectus.query.methods.ppr import ppr as ranking
from conspectus.storage.errors import UnknownMethod, UsageError
from conspectus.storage.graph.ppr_paths import edge_weight
from conspectus.storage.records import Entity

from tests.conftest import Build
from tests.query.methods.hipporag.test_hipporag import QUESTION, tarn

QUESTIONS = (
    "In which city does the author of The Oak House live?",
    "Who directed the film shot at Marrow, Vey in 1962?",
    "Where was C++ designed?",
    "what is it called",
)
ORCHARD = "Where was the director of The Glass Orchard born?"


@pytest.fixture(scope="module")
def films(build: Build) -> Context:
    passages = {
        "The Glass Orchard": "The Glass Orchard is a film by Ilse Varga.",
        "Ilse Varga": "Ilse Varga was born in Tihany.",
        "Tihany": "Tihany is a village on a lake.",
        "Balaton": "Tihany lies on the Balaton.",
    } | {f"Film {name}": f"A director was born in the country of the film {name}." for name in "ABCDEFGH"}
    return build([*passages.items(), ("", "A text without a title.")])


def explained(context: Context, question: str, method: str = "ppr", k: int = 5, **only: object) -> Explanation:
    return asyncio.run(explain(context, question, method, k, **only))  # type: ignore[arg-type]


def values(each: Explained) -> dict[str, float]:
    return {part.name: part.value for part in each.parts}


@pytest.mark.parametrize("method", EXPLAINED)
@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_explained_is_what_is_found(method: str, question: str, context: Context) -> None:
    found = asyncio.run(find_retriever(method, context).retrieve(question, 4))
    told = explained(context, question, method, 4)
    assert tuple(each.passage for each in told.passages) == found.passages
    assert [each.rank for each in told.passages] == [1, 2, 3, 4][: len(found.passages)]
    assert told.trace == found.trace
    assert told.formula


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_parts_make_the_score(question: str, context: Context) -> None:
    """By the formula that is printed, for every method."""
    logs: list[float] = []
    passages = explained(context, question, "ppr").passages
    for each in passages:
        part = values(each)
        together = part["closeness"] + part["gain"] + max(part["joint"], part["alone"])
        together += 3 * part["titles"] + 0.5 * part["words"]
        prior = part["walk"] + part["text"] + part["hop"] + 1e-6
        logs.append(log(prior) + 4 * together + 8 * (1 - part["names"]) * part["match"])
        assert each.passage.score == pytest.approx(exp(logs[-1] - logs[0]))
    for method in ("bm25", "dense", "hybrid"):
        for each in explained(context, question, method).passages:
            assert each.passage.score == pytest.approx(sum(values(each).values()), rel=1e-5)


@pytest.mark.parametrize("question", QUESTIONS)
def test_paths_are_in_the_graph(question: str, context: Context) -> None:
    graph, entities = context.index.graph(), context.index.rows(Entity)
    number = {each.id: len(context.chunks) + row for row, each in enumerate(entities)} | context.chunk_rows
    for each in explained(context, question, paths=7).passages:
        assert each.told == pytest.approx(sum(path.share for path in each.paths))
        assert each.told <= 1
        assert len(each.paths) <= 7
        shares = [path.share for path in each.paths]
        assert shares == sorted(shares, reverse=True)
        for path in each.paths:
            nodes = [number[hop.node.id] for hop in path.hops]
            assert path.hops[-1].node.id == each.passage.chunk_id
            assert path.hops[0].edge == ""
            assert path.why
            for (a, b), hop in zip(pairwise(nodes), path.hops[1:], strict=True):
                assert hop.share == pytest.approx(edge_weight(graph, a, b) / graph.strength[a])
                assert hop.share > 0


def test_a_chain_of_names_is_told_hop_by_hop(films: Context) -> None:
    first, second = explained(films, ORCHARD, k=2).passages
    assert [(first.passage.title, first.rank), (second.passage.title, second.rank)] == [
        ("The Glass Orchard", 1), ("Ilse Varga", 2),
    ]  # fmt: skip
    assert first.paths[0].why == 'the question names "The Glass Orchard"'
    assert [hop.node.name for hop in first.paths[0].hops] == ["The Glass Orchard"]
    chain = next(path for path in second.paths if len(path.hops) == 2)
    assert [(hop.node.name, hop.edge) for hop in chain.hops] == [
        ("The Glass Orchard", ""), ("Ilse Varga", 'names "Ilse Varga"'),
    ]  # fmt: skip
    hop = next(part for part in second.parts if part.name == "hop")
    assert hop.value > 0
    assert hop.detail == (
        "added for passages that answer the question with a name filled in, asked as "
        '"Where was the director of The Ilse Varga born?" for "The Glass Orchard"'
    )


def chunk_of(context: Context, title: str) -> str:
    return next(each.id for each in context.chunks if context.titles[each.document_id] == title)


def test_a_passage_that_was_not_found_is_told_too(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """How far the walk came, and its rank if it has one."""
    monkeypatch.setattr(ranking, "_POOL", 3)
    ppr = context.settings.ppr.model_copy(update={"bridge_passages": 0})
    settings = context.settings.model_copy(update={"ppr": ppr})
    narrow = Context(context.index, settings)
    ranked = {each.passage.chunk_id for each in explained(narrow, QUESTIONS[0], k=3).passages}
    outside = [
        explained(narrow, QUESTIONS[0], k=3, chunk=each.id).passages[0]
        for each in context.chunks
        if each.id not in ranked
    ]
    assert all(each.rank is None and each.note == "not among the 3 passages that were ranked" for each in outside)
    assert any(each.mass > 0 and each.paths for each in outside)
    assert all(values(each) == {"walk": each.mass} for each in outside)
    monkeypatch.undo()
    beyond = explained(context, QUESTIONS[0], k=60).passages[30]
    assert beyond.rank == 31


def test_what_cannot_be_explained_is_said(context: Context) -> None:
    for method in sorted(set(METHODS) - set(EXPLAINED)):
        with pytest.raises(UsageError, match=rf"'{method}' cannot be explained; those that can: ppr, ppr:hipp"):
            explained(context, "x", method)
    with pytest.raises(UnknownMethod, match="did you mean 'ppr'"):
        explained(context, "x", "pppr")
    for only, message in (
        ({"passage": 6}, "no passage 6 among the 5"), ({"passage": 0}, "ranks begin at 1"),
        ({"chunk": "nothing"}, "has no chunk 'nothing'"), ({"passage": 1, "chunk": "x"}, "give one of them"),
        ({"paths": 0}, "at least 1"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            explained(context, QUESTIONS[0], **only)
    with pytest.raises(UsageError, match="is not in the result"):
        explained(context, "Oxford", "bm25", 2, chunk=chunk_of(context, "C++"))


@pytest.mark.parametrize("method", EXPLAINED)
@pytest.mark.parametrize("question", ["", "?! …", "北京大学在哪里？", "Oxford \udcff\ud800", "x" * 3000])
def test_odd_questions(method: str, question: str, sample_context: Context) -> None:
    assert explained(sample_context, question, method).method == method


def test_passages_of_one_document_have_their_place(build: Build) -> None:
    long = " ".join(f"In {1500 + i} Oxford had {i} ships." for i in range(150))
    told = explained(build([("Ships", long), ("Oxford", "Oxford is a city.")]), "How many ships had Oxford in 1520?")
    names = {hop.node.name for each in told.passages for path in each.paths for hop in path.hops}
    assert "Oxford" in names
    assert any(name.startswith("Ships, passage ") for name in names)


A, B, C, T = (PathNode("passage", id_, id_.upper()) for id_ in "abct")


def path(share: float, *nodes: PathNode) -> Path:
    hops = tuple(PathHop(node, "names" if place else "", 0.5) for place, node in enumerate(nodes))
    return Path(f"why {nodes[0].id}", hops, share)


__all__ = ["tarn"]
HIPPORAG = ["ppr:hipporag1", "ppr:hipporag2"]


def explained_hipporag(context: Context, method: str, k: int = 5, **only: object) -> Explanation:
    return asyncio.run(explain(context, QUESTION, method, k, **only))  # type: ignore[arg-type]


@pytest.mark.parametrize("method", HIPPORAG)
def test_parts_make_the_score_and_paths_carry_it(method: str, tarn: Context) -> None:
    told = explained_hipporag(tarn, method, paths=50)
    assert told.passages
    for each in told.passages:
        assert sum(part.value for part in each.parts) == pytest.approx(each.passage.score)
        assert each.mass == each.passage.score
        assert each.told == pytest.approx(sum(path.share for path in each.paths), abs=1e-9)
        assert 0.6 < each.told <= 1
        assert all(path.hops[-1].node.id == each.passage.chunk_id for path in each.paths)


@pytest.mark.parametrize("method", HIPPORAG)
def test_paths_follow_edges_of_the_memory(method: str, tarn: Context) -> None:
    memory = open_memory(tarn)
    numbers = {each.id: row for row, each in enumerate(tarn.index.rows(Entity))}
    numbers |= {id_: memory.n_phrases + row for id_, row in tarn.chunk_rows.items()}
    edges = 0
    for each in explained_hipporag(tarn, method).passages:
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
