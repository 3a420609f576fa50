"""HippoRAG 1 and 2: the arithmetic of their papers, worked out by hand, by igraph, and on real indexes."""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import igraph
import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.methods.baselines import DenseRetriever
from conspectus.query.methods.hipporag.graph import Memory, MemoryEdges, make_memory, open_memory
from conspectus.query.methods.hipporag.hipporag import (
    HippoRag1,
    HippoRag2,
    passage_closeness,
    passage_scores,
    phrase_seeds,
    walk_from,
)
from conspectus.query.methods.hipporag.query_nodes import (
    Facts,
    named_entities,
    nearest_facts,
)
from conspectus.query.types import Evidence
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Entity, Mention, Relation, Synonym
from conspectus.storage.settings import LlmSettings, PprSettings, load_settings
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fake_server import FakeRequest, FakeServer
from tests.conftest import write_rows
from tests.tags import inside, prompt_of


def names_of(context: Context, question: str) -> tuple[str, ...]:
    return asyncio.run(named_entities(context, question)).names


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Does the author of The Oak House live in Oxford?", ("The Oak House", "Oxford")),
        ("Did Angela Merkel visit Oxford, oxford and OXFORD?", ("Angela Merkel", "Oxford")),
        ("is there a famous prize for a young author?", ("famous prize", "young author")),
        ("?!", ()),
        ("", ()),
    ],
)
def test_names_or_else_noun_phrases(question: str, names: tuple[str, ...], sample_context: Context) -> None:
    assert names_of(sample_context, question) == names


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


EXACT = PprSettings(solver="exact")
NO_EDGES = MemoryEdges(np.zeros((0, 2), np.int64), np.zeros(0))


def test_hipporag_1_by_hand() -> None:
    """Phrases 0 Stanford, 1 Thomas, 2 Alzheimer's; triples (1, works at, 0) and (1, studies, 2).

    P = [[2, 0, 0], [1, 1, 0], [0, 1, 3]], so s = (1, 1/2, 1/2). Query nodes 0 and 2: equal probability times
    specificity is (1, 0, 1/2), scaled r = (2/3, 0, 1/3).

    PPR at damping 1/2 on the path 0 - 1 - 2, a step from 1 going each way with 1/2:
        x0 = 1/2 (x1 / 2) + 1/2 * 2/3        x2 = 1/2 (x1 / 2) + 1/2 * 1/3        x1 = 1/2 (x0 + x2)
        x0 + x2 = x1 / 2 + 1/2, so x1 = x1 / 4 + 1/4 = 1/3, x0 = 1/12 + 1/3 = 5/12, x2 = 1/12 + 1/6 = 3/12.

    p = n' P = (2 * 5/12 + 4/12, 4/12 + 3/12, 3 * 3/12) = (14/12, 7/12, 9/12).
    """
    held = [(0, 0), (0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (2, 2), (2, 2)]
    facts = MemoryEdges(np.array([[1, 0], [1, 2]]), np.ones(2))
    memory = make_memory(3, 3, np.array(held), facts, NO_EDGES)
    rows = np.array([0, 2])
    walk = walk_from(memory.phrases, rows, memory.specificity[rows], EXACT)
    assert walk.scores == pytest.approx([5 / 12, 4 / 12, 3 / 12], abs=1e-9)
    assert passage_scores(memory, walk) == pytest.approx([14 / 12, 7 / 12, 9 / 12], abs=1e-9)
    pushed = walk_from(memory.phrases, rows, memory.specificity[rows], PprSettings())
    assert passage_scores(memory, pushed) == pytest.approx([14 / 12, 7 / 12, 9 / 12], abs=1e-5)


def test_seeds_of_hipporag_2_by_hand() -> None:
    """Facts (0, 1) with score 1.0 and (1, 2) with 0.4; phrase 0 stands in 1 passage, 1 in 4, 2 in 1.

    Means of the fact scores: 1.0, 0.7, 0.4. Mass, each over its passages: 1.0, 0.175, 0.4. The two best by the mean
    would be 0 and 1, by the mass they are 0 and 2.
    """
    held = [(0, 0), (1, 0), (1, 1), (1, 2), (1, 3), (2, 0)]
    memory = make_memory(3, 4, np.array(held), MemoryEdges(np.array([[0, 1], [1, 2]]), np.ones(2)), NO_EDGES)
    facts = Facts(np.array([0, 1]), np.array([1.0, 0.4]))
    phrases, mass = phrase_seeds(memory, facts, 5)
    assert phrases.tolist() == [0, 1, 2]
    assert mass == pytest.approx([1.0, 0.175, 0.4])
    phrases, mass = phrase_seeds(memory, facts, 2)
    assert phrases.tolist() == [0, 2], "a phrase of many passages falls out first"
    assert mass == pytest.approx([1.0, 0.4])


DOCUMENTS = {
    "river": ("", "The Tarn rises in Mora. The Tarn flows past Oxbow."),
    "brewer": ("", "Ada Lindqvist was born in Mora. She founded Tarn Brewery."),
    "brewery": ("", "Tarn Brewery stands in Oxbow. It has forty employees."),
    "town": ("", "Mora is a town in Dalarna. Dalarna is known for red wooden horses."),
    "other": ("", "Kestrel Mill grinds oats. Its owner is Tom Reyes."),
}
EXTRACTED = {
    "river": (["Tarn", "Mora", "Oxbow"], [["Tarn", "rises in", "Mora"], ["Tarn", "flows past", "Oxbow"]]),
    "brewer": (
        ["Ada Lindqvist", "Mora", "Tarn Brewery"],
        [["Ada Lindqvist", "was born in", "Mora"], ["Ada Lindqvist", "founded", "Tarn Brewery"]],
    ),
    "brewery": (
        ["Tarn Brewery", "Oxbow"],
        [["Tarn Brewery", "stands in", "Oxbow"], ["Tarn Brewery", "has", "forty employees"]],
    ),
    "town": (["Mora", "Dalarna"], [["Mora", "is a town in", "Dalarna"], ["Dalarna", "known for", "wooden horses"]]),
    "other": (
        ["Kestrel Mill", "Tom Reyes"],
        [["Kestrel Mill", "grinds", "oats"], ["Tom Reyes", "owns", "the mill"]],
    ),
}
QUESTION = "Where was the founder of Tarn Brewery born?"


@pytest.fixture(scope="module")
def tarn(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """An index of a few passages from an extraction that was made elsewhere."""
    from conspectus.pipelines.build_index import build_index

    folder = tmp_path_factory.mktemp("tarn")
    rows = [{"id": id_, "title": title, "text": text} for id_, (title, text) in DOCUMENTS.items()]
    write_rows(folder / "corpus.jsonl", rows)
    extracted = [{"id": id_, "entities": found[0], "triples": found[1]} for id_, found in EXTRACTED.items()]
    write_rows(folder / "openie.jsonl", extracted)
    overrides = {"extraction": {"openie": str(folder / "openie.jsonl")}, "ppr": {"solver": "exact"}}
    settings = load_settings(overrides=overrides)
    assert not build_index([folder / "corpus.jsonl"], folder / "index", settings).failures
    return Context(StoredIndex.open(folder / "index"), settings)


def by_igraph(graph: Adjacency, reset: np.ndarray) -> np.ndarray:
    sources = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    once = sources < graph.indices
    reference = igraph.Graph(graph.n_nodes, np.column_stack([sources, graph.indices])[once])
    weights = graph.weights[once].astype(float).tolist()
    found = reference.personalized_pagerank(
        damping=0.5, reset=reset.tolist(), weights=weights, directed=False, implementation="prpack"
    )
    return np.array(found)


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    """Up to eight phrases in up to five passages, with any triples and synonyms among them."""
    n_phrases, n_passages = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    phrase, passage = st.integers(0, n_phrases - 1), st.integers(0, n_passages - 1)

    def edges(weight: st.SearchStrategy[float]) -> MemoryEdges:
        pairs = st.tuples(phrase, phrase).filter(lambda pair: pair[0] != pair[1])
        found = draw(st.lists(st.tuples(pairs, weight), max_size=12 if n_phrases > 1 else 0))
        return MemoryEdges(
            np.array([pair for pair, _ in found], np.int64).reshape(-1, 2), np.array([w for _, w in found])
        )

    held = [(each, draw(passage)) for each in range(n_phrases)]
    held += draw(st.lists(st.tuples(phrase, passage), max_size=20))
    synonyms = edges(st.integers(80, 100).map(lambda cosine: cosine / 100))
    once = np.unique(np.sort(synonyms.ends, axis=1), axis=0, return_index=True)[1]
    synonyms = MemoryEdges(synonyms.ends[once], synonyms.weights[once])
    return make_memory(n_phrases, n_passages, np.array(held), edges(st.integers(1, 9).map(float)), synonyms)


@given(memory=memories(), data=st.data())
def test_both_walks_are_igraphs(memory: Memory, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.integers(0, memory.n_phrases - 1), min_size=1, unique=True))
    rows = np.array(sorted(drawn))
    reset = np.zeros(memory.n_phrases)
    reset[rows] = memory.specificity[rows]
    by_entities = walk_from(memory.phrases, rows, memory.specificity[rows], EXACT).scores
    assert by_entities == pytest.approx(by_igraph(memory.phrases, reset), abs=1e-6)
    near = np.linspace(0, 0.05, memory.counts.shape[1])
    reset = np.concatenate([reset, near])
    nodes = np.concatenate([rows, memory.n_phrases + np.arange(len(near))])
    mass = np.concatenate([memory.specificity[rows], near])
    by_facts = walk_from(memory.whole, nodes, mass, EXACT).scores
    assert by_facts == pytest.approx(by_igraph(memory.whole, reset), abs=1e-6)


def scores_of(context: Context, found: Evidence) -> dict[str, float]:
    return {each.document_id: each.score for each in found.passages}


def documents(context: Context) -> list[str]:
    return [each.document_id for each in context.chunks]


def test_hipporag_2_is_igraphs_walk_to_the_passages(tarn: Context) -> None:
    found = asyncio.run(HippoRag2(tarn).retrieve(QUESTION, 10))
    vector = tarn.embedder.embed_query(QUESTION)
    memory = open_memory(tarn)
    every = np.arange(tarn.index.manifest.rows["relations"])
    cosines = tarn.index.vectors("relations").scores(vector[np.newaxis], every)[0].astype(float)
    best = np.argsort(-cosines, kind="stable")[:5]
    facts = nearest_facts(tarn, vector, 5)
    assert facts.rows.tolist() == best.tolist()
    assert facts.scores == pytest.approx((cosines[best] - cosines.min()) / (cosines.max() - cosines.min()), abs=1e-6)
    assert [each.id for each in found.relations] == [tarn.index.rows(Relation)[row].id for row in best]
    reset = np.zeros(memory.whole.n_nodes)
    phrases, mass = phrase_seeds(memory, facts, 5)
    reset[phrases] = mass
    near = passage_closeness(tarn, vector)
    assert (near.min(), near.max()) == (0.0, 1.0)
    reset[memory.n_phrases :] = 0.05 * near
    expected = by_igraph(memory.whole, reset)[memory.n_phrases :]
    assert scores_of(tarn, found) == pytest.approx(dict(zip(documents(tarn), expected, strict=True)), abs=1e-6)


def test_a_question_that_names_nothing_falls_back_to_dense(tarn: Context) -> None:
    found = asyncio.run(HippoRag1(tarn).retrieve("?!", 3))
    assert found.passages == asyncio.run(DenseRetriever(tarn).retrieve("?!", 3)).passages
    assert "nothing is linked" in {step.detail.split(":")[0] for step in found.trace if step.name == "fall back"}


@pytest.fixture
def replies() -> dict[str, object]:
    """What the model says to a list of entities, and to a choice of facts."""
    return {
        "entities": {"entities": ["Tarn Brewery", "tarn brewery", "the founder of Tarn Brewery"]},
        "facts": {"facts": [2, 1, 99]},
    }


@pytest.fixture
def served(tarn: Context, replies: dict[str, object], tmp_path: Path) -> Iterator[tuple[Context, FakeServer]]:
    """The index with a model that says what `replies` hold."""

    def reply(request: FakeRequest) -> str:
        said = replies["facts" if "<facts>" in request.last else "entities"]
        return said if isinstance(said, str) else json.dumps(said)

    with FakeServer(reply) as server:
        index = StoredIndex.open(tarn.index.root)
        index.root = tmp_path  # its memo is not the index's own
        llm = LlmSettings(model="m", base_url=server.url, attempts=1)
        yield Context(index, tarn.settings.model_copy(update={"llm": llm})), server


def asked(server: FakeServer) -> list[str]:
    """The prompts of all calls."""
    calls = [each for each in server.requests if each.path.endswith("/chat/completions")]
    return [prompt_of(each.body) for each in calls if each.body]


def test_the_model_lists_the_entities(served: tuple[Context, FakeServer]) -> None:
    context, server = served
    found = asyncio.run(HippoRag1(context).retrieve(QUESTION, 3))
    (prompt,) = asked(server)
    assert inside(prompt, "question") == QUESTION
    assert {each.name for each in found.entities} == {"Tarn Brewery"}  # both are nearest to it
    assert found.trace[0].detail == "the model lists Tarn Brewery, the founder of Tarn Brewery"
    assert found.passages[0].document_id in {"brewer", "brewery"}


def test_an_unusable_list_is_made_without_the_model(
    served: tuple[Context, FakeServer], tarn: Context, replies: dict[str, object]
) -> None:
    context, _ = served
    replies["entities"] = "I cannot say."
    found = asyncio.run(HippoRag1(context).retrieve(QUESTION, 3))
    assert found.trace[0].detail.startswith("the model's list is unusable")
    assert found.passages == asyncio.run(HippoRag1(tarn).retrieve(QUESTION, 3)).passages


def test_no_fact_kept_is_dense_retrieval(
    served: tuple[Context, FakeServer], tarn: Context, replies: dict[str, object]
) -> None:
    context, _ = served
    replies["facts"] = {"facts": []}
    found = asyncio.run(HippoRag2(context).retrieve(QUESTION, 3))
    assert found.passages == asyncio.run(DenseRetriever(tarn).retrieve(QUESTION, 3)).passages
    assert "no fact is kept: the nearest passages" in {step.detail for step in found.trace}


def test_an_unusable_reply_filters_nothing(
    served: tuple[Context, FakeServer], tarn: Context, replies: dict[str, object]
) -> None:
    context, server = served
    replies["facts"] = "All of them."
    found = asyncio.run(HippoRag2(context).retrieve(QUESTION, 3))
    assert asked(server)
    assert found.passages == asyncio.run(HippoRag2(tarn).retrieve(QUESTION, 3)).passages


def test_the_transcript_of_hipporag_2(served: tuple[Context, FakeServer], tarn: Context) -> None:
    """Filter first, then the walk from what is kept, then one reading of its passages."""
    context, server = served
    answer = asyncio.run(METHODS["ppr:hipporag2"].answerer(context).answer(QUESTION))
    filtering, reading = asked(server)
    assert inside(filtering, "facts").startswith("1. ")
    assert "on the numbered passages alone" in reading
    every = nearest_facts(tarn, tarn.embedder.embed_query(QUESTION), 5)
    memory = open_memory(tarn)
    kept = every.at([0, 1])
    assert [each.name for each in answer.evidence.entities] == [
        tarn.index.rows(Entity)[row].name for row in phrase_seeds(memory, kept, 5)[0]
    ]
    for number, passage in enumerate(answer.evidence.passages, start=1):
        assert f"[{number}] {passage.title}".strip() + f"\n{passage.text}" in reading
    assert [each.name for each in answer.trace] == ["facts", "filter", "seed", "walk", "match", "read"]
