"""Engines and threads: SQL, the threads of BLAS, and calls that are given up."""

from collections.abc import Callable
from concurrent.futures import CancelledError
from contextvars import copy_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from conspectus.query.context import Context
from conspectus.storage import sql_engine
from conspectus.storage.blas_threads import one_blas_thread
from conspectus.storage.cancellation import Cancellation
from conspectus.storage.errors import IndexUnusable
from conspectus.storage.hashing import entity_id, mention_id, short_id
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Entity, Link
from conspectus.storage.spilled import SPILLED, spilling_to
from conspectus.storage.sql_engine import Engine
from conspectus.storage.text.postings import PostingsMaker, TextColumn
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

TEXTS = st.lists(st.text(st.characters(blacklist_categories=["Cs"]) | st.sampled_from(" \t\x0b\x1f\x85\u2003")))
PLACE = st.none() | st.integers(0, 1 << 40)


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@given(TEXTS)
def test_ids_and_spaces(texts: list[str]) -> None:
    with Engine() as engine:
        engine.run("CREATE TABLE texts (text VARCHAR)")
        engine.insert("texts", ((text,) for text in texts))
        found = rows_of(engine.table("SELECT entity_id(text), relation_id(text, 'by', text), spaced(text) FROM texts"))
    assert found == [
        (entity_id(text), short_id("relation", text, "by", text), " ".join(text.split())) for text in texts
    ]


@given(PLACE, PLACE)
def test_ids_of_mentions(start: int | None, end: int | None) -> None:
    with Engine() as engine:
        engine.run("CREATE TABLE places (begins BIGINT, ends BIGINT)")
        engine.insert("places", [(start, end)])
        (found,) = rows_of(engine.table("SELECT mention_id('c', 'e', begins, ends) FROM places"))
    assert found == (mention_id("c", "e", start, end),)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3))),
    st.dictionaries(st.sampled_from("abcd"), st.text("xy")),
)
def test_a_join_is_that_of_dictionaries(rows: list[tuple[str, int]], names: dict[str, str]) -> None:
    with Engine() as engine:
        engine.run("CREATE TABLE rows (key VARCHAR, number INTEGER); CREATE TABLE names (key VARCHAR, name VARCHAR)")
        engine.insert("rows", rows)
        engine.insert("names", names.items())
        found = rows_of(engine.table("SELECT number, name FROM rows JOIN names USING (key) ORDER BY rows.rowid"))
    assert found == [(number, names[key]) for key, number in rows if key in names]


def test_rows_that_do_not_fit_in_memory_spill_and_are_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_engine, "memory", lambda: 60 << 20)
    (tmp_path / f"{SPILLED}of-a-killed-process").mkdir()
    with spilling_to(tmp_path):
        with Engine() as engine:
            engine.run("CREATE TABLE seen AS SELECT sha256(i::VARCHAR) AS id FROM range(1_000_000) AS t(i)")
            query = "SELECT id, 'next', id, 'to', '', NULL, 1 FROM (SELECT DISTINCT id FROM seen)"
            found = engine.rows(Link, query)
            assert any(path.name.startswith(SPILLED) and any(path.iterdir()) for path in tmp_path.iterdir())
        assert not list(tmp_path.iterdir())
    ids = found.table["id"].to_pylist()
    assert len(ids) == 1_000_000
    assert ids == sorted(ids)


def test_too_little_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_engine, "memory", lambda: 30 << 20)
    with pytest.raises(IndexUnusable, match="memory or disk do not suffice"), Engine() as engine:
        engine.run("CREATE TABLE seen AS SELECT sha256(i::VARCHAR) AS id FROM range(1_000_000) AS t(i)")


@pytest.mark.parametrize("statement", ["FROM read_csv('/etc/passwd')", "INSTALL httpfs", "LOAD httpfs"])
def test_no_file_and_no_extension_is_opened(statement: str) -> None:
    with Engine() as engine, pytest.raises(Exception, match=r"disabled|not found|Extension"):
        engine.run(statement)


def blas_threads() -> set[int]:
    return {
        each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas" and "numpy" in each["filepath"]
    }


def test_the_limit_holds_until_the_last_one_leaves() -> None:
    assert np.ones((2, 2)) @ np.ones(2) is not None
    with threadpool_limits(limits=2, user_api="blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}


READS: dict[str, Callable[[Context], object]] = {
    "a row": lambda context: context.index.each(Chunk)[0],
    "rows": lambda context: list(context.index.each(Chunk)),
    "a table": lambda context: context.index.rows(Entity),
    "names": lambda context: list(TextColumn(lambda: context.index.arrow(Entity, "name").column("name"))),
    "words of names": lambda _: PostingsMaker().add("ferry", 1),
    "vectors of texts": lambda context: context.embedder.embed(["The ferry leaves at six."]),
}


@pytest.mark.parametrize("what", READS)
def test_what_nobody_waits_for_any_more_is_not_read(what: str, sample_context: Context) -> None:
    opened = Context(StoredIndex.open(sample_context.index.root), sample_context.settings)
    READS[what](opened)

    def read() -> None:
        stopped = Cancellation()
        stopped.enter()
        stopped.cancel()
        with pytest.raises(CancelledError):
            READS[what](Context(StoredIndex.open(opened.index.root), opened.settings))

    copy_context().run(read)
