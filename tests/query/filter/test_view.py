"""What is left of an index for some documents is what an index of these documents alone would have."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.query.context import Context
from conspectus.query.filter.view import view_of
from conspectus.query.menu import METHODS
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Document, Entity, Mention, Name, Relation, Synonym
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.text.normalise import title_names
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from benchmarks.fake_server import FakeServer
from tests.conftest import write_rows

PEOPLE = ("Anna Berg", "ANNA BERG", "Otto Brand", "Mary Quill", "Morvandel Trask")
PLACES = ("Port Alma", "North Bay", "Apollo", "green tea", "old engines")
VERBS = ("met", "left", "SOLD", "sold")
TITLES = ("Anna Berg", "Apollo (yard)", "Apollo (ship)", "Otto Brand", "otto brand", "Port Alma")
QUESTION = "Who sold old engines to Anna Berg in Apollo?"

Stated = tuple[str, str, str]


@dataclass(frozen=True)
class Told:
    """A document, what it states, and whether it may be read."""

    title: str
    stated: tuple[Stated, ...]
    readable: bool

    @property
    def text(self) -> str:
        return "\n\n".join(f"then {' '.join(each)} again and again." for each in self.stated)

    @property
    def names(self) -> list[str]:
        """Every name in text and title: what a build looks for there does not depend on other documents then."""
        written = {part for each in self.stated for part in (each[0], each[2])}
        written |= set(title_names(self.title)[1:])
        return sorted(each for each in written if each[0].isupper())


told = st.builds(
    Told,
    st.sampled_from(TITLES),
    st.lists(
        st.tuples(st.sampled_from(PEOPLE), st.sampled_from(VERBS), st.sampled_from(PLACES)), min_size=1, max_size=4
    ).map(tuple),
    st.booleans(),
)
SHORT_FORM = [
    Told("Apollo (yard)", (("Anna Berg", "met", "North Bay"),), False),
    Told("Anna Berg", (("Otto Brand", "met", "Apollo (yard)"), ("Mary Quill", "left", "Apollo")), True),
]
"""Only a title that may not be read says that "Apollo" is short for something."""
corpora = st.lists(told, min_size=2, max_size=6).filter(lambda every: len({each.readable for each in every}) == 2)


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(dimensions=48) as running:
        yield running


def chosen(server: FakeServer, openie: Path) -> Settings:
    return load_settings(
        overrides={
            "extraction": {"pipeline": "regex", "openie": str(openie)},
            "embedding": {"provider": "endpoint", "model": "e"},
            "embedding_server": {"base_url": server.url},
            "synonyms": {"threshold": 0.2},
        }
    )


def built(folder: Path, documents: Sequence[tuple[int, Told]], server: FakeServer) -> Context:
    folder.mkdir()
    rows = [{"id": f"d{place}", "title": each.title, "text": each.text} for place, each in documents]
    write_rows(folder / "corpus.jsonl", rows)
    found = [
        {"id": f"d{place}", "entities": each.names, "triples": [list(one) for one in each.stated]}
        for place, each in documents
    ]
    write_rows(folder / "openie.jsonl", found)
    settings = chosen(server, folder / "openie.jsonl")
    build_index([folder / "corpus.jsonl"], folder / "index", settings)
    return Context(StoredIndex.open(folder / "index"), settings)


def rows(index: StoredIndex, record: type[Any]) -> list[Any]:
    """Return a table. What it quotes is chosen by how rare words are, and a build has other words."""
    found = index.rows(record)
    if record is Document:
        return [replace(each, uri="") for each in found]
    return [replace(each, description="") for each in found] if record is Entity else found


def passages(context: Context, method: str) -> list[tuple[str, float]]:
    retriever = METHODS[method].retriever
    found = asyncio.run(retriever(context).retrieve(QUESTION, 10))
    return [(each.chunk_id, round(each.score, 5)) for each in found.passages]


@settings(
    max_examples=6,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(corpora)
@example(SHORT_FORM)
def test_a_part_of_an_index_is_the_index_of_a_part(
    server: FakeServer, tmp_path_factory: pytest.TempPathFactory, documents: list[Told]
) -> None:
    folder = tmp_path_factory.mktemp("part")
    numbered = list(enumerate(documents))
    readable = [(place, each) for place, each in numbered if each.readable]
    whole = built(folder / "whole", numbered, server)
    alone = built(folder / "alone", readable, server)
    index = view_of(whole.index, {f"d{place}" for place, _ in readable}, whole.embedder, graph=True)
    part = Context(index, whole.settings)

    for record in (Document, Chunk, Mention, Relation, Name, Entity):
        assert rows(index, record) == rows(alone.index, record), record.__name__
    ours, theirs = index.graph(), alone.index.graph()
    assert np.array_equal(ours.indices, theirs.indices)
    assert np.array_equal(ours.weights, theirs.weights)
    assert index.rows(Synonym) == alone.index.rows(Synonym)

    vector = whole.embedder.embed_query(QUESTION)[np.newaxis]
    for name in ("chunks", "entities", "relations", "predicates"):
        every = np.arange(alone.index.manifest.rows[name])
        assert index.vectors(name).n_rows == len(every)
        assert np.array_equal(
            index.vectors(name).scores(vector, every), alone.index.vectors(name).scores(vector, every)
        )
    assert np.array_equal(part.bm25.scores(QUESTION), alone.bm25.scores(QUESTION))
    for method in ("bm25", "dense", "hybrid", "ppr", "ppr:hipporag1", "ppr:hipporag2"):
        assert passages(part, method) == passages(alone, method), method


def test_all_documents_are_the_index_itself(sample_context: Context) -> None:
    index = sample_context.index
    every = {each.id for each in index.rows(Document)} | {"unknown"}
    assert view_of(index, every, sample_context.embedder, graph=True) is index


def test_what_is_left_quotes_what_may_be_read(context: Context) -> None:
    index = context.index
    documents = {each.id: each for each in index.rows(Document)}
    some = set(sorted(documents)[::2])
    part = view_of(index, some, context.embedder, graph=True)
    readable = " ".join(" ".join(documents[id_].text.split()) for id_ in some)
    changed = 0
    before = {each.id: each for each in index.rows(Entity)}
    for each in part.rows(Entity):
        changed += each.description != before[each.id].description
        assert all(sentence.strip() in readable for sentence in each.description.split(". ")), each
    assert changed > 3
    names = {each.id: each.name for each in part.rows(Entity)}
    for relation in part.rows(Relation):
        assert relation.source_id in names
        assert relation.target_id in names


def test_without_documents_nothing_is_left(sample_context: Context) -> None:
    none = view_of(sample_context.index, set(), sample_context.embedder, graph=True)
    for record in (Document, Chunk, Entity, Mention, Relation, Name):
        assert none.rows(record) == []
    assert none.graph().n_nodes == 0
    assert none.vectors("chunks").search(np.zeros((1, none.vectors("chunks").dimension), np.float32), 3)[1].size == 0
