"""A large index is mapped, and answers as one that is read into memory."""

from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.filter.view import view_of
from conspectus.query.menu import find_method
from conspectus.query.question.linking import open_linker
from conspectus.query.walk import graph as walk_graph
from conspectus.storage import mapped
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Document, Entity, Mention, Name, Relation
from conspectus.storage.tables import TABLES, write_table

METHODS = ("ppr", "local", "global:dynamic", "tog2", "plan", "sparql")
QUESTIONS = ("Who directed the film that Ada Mirren wrote?", "What is The Salt Road about?")


@pytest.fixture
def large(films_and_pages: Context, monkeypatch: pytest.MonkeyPatch) -> Context:
    monkeypatch.setattr(mapped, "MAPPED_ROWS", 1)
    monkeypatch.setattr(walk_graph, "LARGE", 1)
    return Context(StoredIndex.open(films_and_pages.index.root), films_and_pages.settings)


@pytest.mark.parametrize("method", METHODS)
async def test_answers_are_those_of_the_tables_in_memory(method: str, films_and_pages: Context, large: Context) -> None:
    for question in QUESTIONS:
        small_answer = await find_method(method).answerer(films_and_pages).answer(question)
        large_answer = await find_method(method).answerer(large).answer(question)
        assert (large_answer.text, large_answer.citations) == (small_answer.text, small_answer.citations)
        found, expected = (replace(answer.evidence, walk=None) for answer in (large_answer, small_answer))
        assert found == expected  # a walk has the seconds of each step


def test_a_view_has_the_rows_of_a_view_of_tables_in_memory(films_and_pages: Context, large: Context) -> None:
    some = {document.id for document in films_and_pages.index.rows(Document)[::2]}
    expected, view = (view_of(each.index, some, each.embedder, graph=True) for each in (films_and_pages, large))
    for record in TABLES.values():
        assert view.rows(record) == expected.rows(record), record.__name__
    for ours, theirs in zip(astuple(view.graph()), astuple(expected.graph()), strict=True):
        assert np.array_equal(ours, theirs)
    assert (view.lexical().scores(QUESTIONS[0]) == expected.lexical().scores(QUESTIONS[0])).all()
    assert view.lexical().scores(QUESTIONS[0]).any()
    assert view.rows(Mention)
    assert {entity.description for entity in view.rows(Entity)} != {""}


def test_a_view_finds_its_names_as_a_view_of_tables_in_memory_does(films_and_pages: Context, large: Context) -> None:
    documents = films_and_pages.index.rows(Document)
    found = 0
    for some in ({each.id for each in documents[place::3]} for place in range(3)):
        views = [view_of(each.index, some, each.embedder, graph=True) for each in (films_and_pages, large)]
        expected, mapped_names = map(open_linker, views)
        for text in (*QUESTIONS, *(document.text for document in documents)):
            assert mapped_names.link(text) == expected.link(text)
            found += len(expected.link(text).entity_rows)
    assert found


def test_rows_are_those_of_the_table(large: Context) -> None:
    index = large.index
    for record in (Document, Chunk, Entity, Relation, Name):
        rows = index.rows(record)
        assert index.is_mapped(record)
        assert list(index.each(record)) == [index.each(record)[row] for row in range(len(rows))] == rows
        assert index.each(record)[-1] == rows[-1]
        assert {row.id: index.ids(record)[row.id] for row in rows} == {row.id: at for at, row in enumerate(rows)}
        assert "nothing" not in index.ids(record)
    assert dict(index.by_id(Document, "title")) == {row.id: row.title for row in index.rows(Document)}


def test_ids_out_of_order_are_refused(large: Context, tmp_path: Path) -> None:
    rows = large.index.rows(Chunk)
    write_table(tmp_path / "chunks.parquet", Chunk, rows[::-1])
    with pytest.raises(IndexCorrupt, match="not sorted"):
        mapped.write_mapped(tmp_path / "chunks.parquet", Chunk, tmp_path / "mapped")
