"""A view has rows, words and vectors of permitted documents only, with the numbers of the whole index."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.query.context import Context
from conspectus.query.filter.view import view_of
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Document, Entity, Mention, Name, Relation
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.tables import TABLES
from conspectus.storage.text.analysis import stem_in_language
from conspectus.storage.text.embedded import chunk_text, entity_text, predicate_words, relation_text
from conspectus.storage.text.normalise import title_names
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from benchmarks.fake_server import FakeServer
from tests.conftest import write_rows

PEOPLE = ("Anna Berg", "ANNA BERG", "Otto Brand", "Mary Quill", "Morvandel Trask")
PLACES = ("Port Alma", "North Bay", "Apollo", "green tea", "old engines")
VERBS = ("met", "left", "SOLD", "sold")
TITLES = ("Anna Berg", "Apollo (yard)", "Apollo (ship)", "Otto Brand", "otto brand", "Port Alma")
NO_TEXT = re.compile(r"id$|ids$|^(sha256|uri|match|kind|same_as)$")
LABELS = {"NAME", "TITLE", "CONCEPT", "none", "stated", "document", "day", "month", "year", "decade"}

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
OTHER_CAPITALS = [
    Told("Otto Brand", (("ANNA BERG", "SOLD", "green tea"), ("ANNA BERG", "met", "Apollo")), False),
    Told("otto brand", (("Anna Berg", "sold", "green tea"), ("Mary Quill", "met", "North Bay")), True),
]
"""What may not be read writes a name, a title and a predicate in other capitals, and more often."""
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


def texts(value: Any) -> Iterator[str]:  # noqa: ANN401  (a row, or a value in it)
    """Yield every text in a row."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        yield from chain.from_iterable(map(texts, value))
    elif is_dataclass(value):
        yield from chain.from_iterable(
            texts(getattr(value, field.name)) for field in fields(value) if not NO_TEXT.search(field.name)
        )


@settings(
    max_examples=3,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(corpora)
@example(SHORT_FORM)
@example(OTHER_CAPITALS)
def test_a_view_has_the_words_of_its_documents_and_the_numbers_of_the_index(
    server: FakeServer, tmp_path_factory: pytest.TempPathFactory, documents: list[Told]
) -> None:
    context = built(tmp_path_factory.mktemp("view") / "index", [*enumerate(documents)], server)
    readable = {f"d{place}": each for place, each in enumerate(documents) if each.readable}
    whole, view = context.index, view_of(context.index, set(readable), context.embedder, graph=True)

    written = set(re.findall(r"\w+", " ".join(f"{each.title} {each.text}" for each in readable.values())))
    known = written | {word.casefold() for word in written}
    told = " ".join(text for record in TABLES.values() for row in view.rows(record) for text in texts(row))
    assert set(re.findall(r"[^\W\d]\w*", told)) - known <= LABELS
    assert view.rows(Entity)
    stems = {stem_in_language(word, "en") for word in known}
    assert {term.casefold() for term in view.lexical().vocabulary} <= {*known, *stems}

    chunks, entities = (np.array([whole.ids(kind)[row.id] for row in view.rows(kind)]) for kind in (Chunk, Entity))
    assert {chunk.document_id for chunk in view.rows(Chunk)} == set(readable)
    for word in sorted(known):
        asked = view.lexical().scores(word)
        assert asked.tolist() in (whole.lexical().scores(word)[chunks].tolist(), [0.0] * len(chunks))
        assert asked.any() or word not in written
    nodes = np.append(chunks, entities + len(whole.rows(Chunk)))
    graphs = [csr_array((each.weights, each.indices, each.indptr)) for each in (whole.graph(), view.graph())]
    expected, found = (each.toarray() for each in (graphs[0][nodes][:, nodes], graphs[1]))
    assert np.array_equal(found, expected)
    assert np.array_equal(view.graph().strength, expected.sum(axis=1, dtype=np.float64))

    for name in ("chunks", "entities", "relations", "predicates"):
        vectors, of_rows = view.vectors(name), embedded(view, name)
        assert vectors.n_rows == len(of_rows)
        for row, text in enumerate(of_rows):
            (first, *_), _ = vectors.vectors_of(np.array([row]))
            assert np.allclose(first, context.embedder.embed([text])[0], atol=1e-6), text


def test_a_short_form_of_a_hidden_title_is_short_for_nothing(server: FakeServer, tmp_path: Path) -> None:
    context = built(tmp_path / "index", [*enumerate(SHORT_FORM)], server)
    views = [view_of(context.index, some, context.embedder, graph=True) for some in ({"d1"}, {"d0", "d1"})]
    names = {each.id: each.name for each in context.index.rows(Entity)}
    found = [{(each.surface, names.get(each.entity_id or "")) for each in view.rows(Mention)} for view in views]
    assert ("Apollo", "Apollo (yard)") not in found[0]
    assert ("Apollo (yard)", "Apollo (yard)") in found[0]
    assert ("Apollo", "Apollo (yard)") in found[1]


def embedded(index: StoredIndex, name: str) -> list[str]:
    """Return the texts of which an index has vectors, as its rows have them."""
    if name == "chunks":
        documents = {document.id: document for document in index.rows(Document)}
        return [chunk_text(chunk, documents[chunk.document_id]) for chunk in index.rows(Chunk)]
    if name == "entities":
        return [entity_text(entity) for entity in index.rows(Entity)]
    names = {entity.id: entity.name for entity in index.rows(Entity)}
    if name == "relations":
        return [relation_text(relation, names) for relation in index.rows(Relation)]
    return [predicate_words(each) for each in sorted({relation.predicate for relation in index.rows(Relation)})]


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
