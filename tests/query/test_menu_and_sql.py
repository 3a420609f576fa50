"""The menu of methods, the words of answers, SQL over an index, and large indexes."""

import csv
import io
import json
from dataclasses import astuple, replace
from pathlib import Path
from string import Formatter

import conspectus
import numpy as np
import pytest
from conspectus.query.abstention import is_no_answer, no_answer
from conspectus.query.context import Context
from conspectus.query.filter.view import view_of
from conspectus.query.menu import METHODS, find_method, find_retriever
from conspectus.query.question.linking import open_linker
from conspectus.query.sayings import _table, saying, says
from conspectus.query.sql import select
from conspectus.query.walk import graph as walk_graph
from conspectus.storage import mapped
from conspectus.storage.errors import IndexCorrupt, NeedsModel, UnknownMethod, UsageError
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Document, Entity, Mention, Name, Relation
from conspectus.storage.tables import TABLES, write_table

from tests.command_line import conspectus as run


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [("pprr", "ppr"), ("bm-25", "bm25"), ("globl", "global"), ("global-c0", "global:c0")],
)  # fmt: skip
def test_an_unknown_name_is_answered_with_the_nearest(wrong: str, nearest: str) -> None:
    with pytest.raises(UnknownMethod, match=f"unknown method '{wrong}'; did you mean '{nearest}") as caught:
        find_method(wrong)
    assert isinstance(caught.value, UsageError)
    assert all(name in str(caught.value) for name in METHODS)


def test_methods_that_find_no_passages_say_so(context: Context) -> None:
    for name, method in METHODS.items():
        if not method.retrieves:
            with pytest.raises(UnknownMethod, match=f"'{name}' has no passages to retrieve"):
                find_retriever(name, context)
        elif not method.needs_model:
            assert find_retriever(name, context)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.needs_model])
def test_methods_without_a_stand_in_say_that_they_need_a_model(name: str, context: Context) -> None:
    with pytest.raises(NeedsModel, match=f"'{name}' takes a language model: set llm.model"):
        METHODS[name].answerer(context)
    if METHODS[name].retrieves:
        with pytest.raises(NeedsModel, match="set llm"):
            find_retriever(name, context)


def test_each_sentence_has_the_same_places_in_every_language() -> None:
    for key, sentences in _table().items():
        places = {language: sum(1 for _, name, *_ in Formatter().parse(text) if name is not None)
                  for language, text in sentences.items()}  # fmt: skip
        assert set(places.values()) == {places["en"]}, key
        assert sentences.keys() == _table()["name"].keys(), key


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        ("Wer hat die Hütte gebaut?", "Das weiß ich nicht"), ("Qui est le gardien du phare ?", "Je ne sais pas"),
        ("Quem construiu a casa?", "Não sei"), ("Kto zbudował dom?", "Nie wiem"), ("谁建了这座房子？", "不知道"),
        ("誰が家を建てましたか？", "分かりません"), ("누가 집을 지었습니까?", "모르겠습니다"),
        ("Who built it?", "I do not know"),
        ("ใครเป็นเจ้าของตลาด", "ไม่ทราบ"), ("من هو صاحب المطبعة؟", "لا أعرف"), ("Evi kim yaptı?", "Bilmiyorum"),
    ],
)  # fmt: skip
def test_an_abstention_is_in_the_language_of_the_question(question: str, beginning: str) -> None:
    text = no_answer(question, ["Roofs"], "The roof leaks.")
    assert text.startswith(beginning)
    assert "Roofs" in text
    assert is_no_answer(text)


def test_a_sentence_is_known_again() -> None:
    assert says("no answer of the graph", saying("no answer of the graph", "Qui est Ivo ?"))
    assert not is_no_answer("The roof leaks.")


@pytest.fixture(scope="module")
def index(index_root: Path) -> conspectus.Index:
    return conspectus.open(index_root)


def test_tables_are_arrow_and_queries_see_them(index: conspectus.Index) -> None:
    tables = index.tables()
    assert {name: table.num_rows for name, table in tables.items()} == {
        name: index.manifest.rows[name] for name in TABLES
    }
    joined = "SELECT d.id, count(*) AS n FROM Chunks c JOIN documents d ON c.document_id = d.id GROUP BY d.id"
    found = select(index.context, joined)
    assert found.complete
    assert sum(row["n"] for row in found.dicts()) == index.manifest.rows["chunks"]
    assert not select(index.context, "FROM chunks", rows=1).complete


def test_a_view_has_rows_of_its_documents_only(index: conspectus.Index) -> None:
    title = index.tables()["documents"].to_pylist()[0]["title"]
    view = index.filter(f'title = "{title}"')
    assert {row[0] for row in select(view.context, "SELECT title FROM documents").rows} == {title}
    assert view.tables()["documents"].num_rows == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM '/etc/passwd'", "SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM glob('/*')",
        "SELECT * FROM read_parquet('http://127.0.0.1/x')", "SELECT * FROM sniff_csv('/etc/passwd')",
        "COPY documents TO '{here}/out.csv'", "EXPORT DATABASE '{here}/out'", "ATTACH '{here}/out.db'",
        "INSTALL httpfs", "LOAD httpfs", "SET enable_external_access = true", "CREATE TABLE x (i INT)",
        "DROP VIEW documents", "SELECT 1; SELECT 2", "PRAGMA database_list", "SELECT * FROM hidden",
        "SELECT getenv('HOME')",
        "SELECT * FROM duckdb_secrets()", "CALL pragma_version()",
        "SELECT * FROM query('COPY documents TO ''{here}/x''')",
        "WITH gone AS (DELETE FROM documents RETURNING *) SELECT * FROM gone", "", "SELEC 1", "SELECT (",
    ],
)  # fmt: skip
def test_nothing_else_is_read_and_nothing_changed(index: conspectus.Index, tmp_path: Path, text: str) -> None:
    hidden = index.tables()["documents"]  # a variable is no table
    with pytest.raises(UsageError) as refused:
        select(index.context, text.replace("{here}", str(tmp_path)))
    assert "\n" not in str(refused.value)
    assert hidden.num_rows
    assert not list(tmp_path.iterdir())


def test_a_query_that_never_ends_is_ended(index: conspectus.Index) -> None:
    forever = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range * b.range = 7"
    with pytest.raises(UsageError, match=r"longer than 0\.3 s"):
        select(index.context, forever, seconds=0.3)


def test_the_command_prints_csv_and_json(index_root: Path) -> None:
    query = "SELECT id, title, metadata FROM documents ORDER BY id"
    printed = run("sql", query, "--index", index_root)
    assert (printed.status, printed.err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    found = json.loads(run("sql", query, "--index", index_root, "--json").out)
    assert [row["id"] for row in rows] == [row[0] for row in found["rows"]]
    some = run("sql", query, "--index", index_root, "--rows", "1")
    assert len(some.out.splitlines()) == 2
    assert "there are more" in some.err
    assert run("sql", "DROP TABLE documents", "--index", index_root).status == 2
    assert "documents(id string" in run("sql", "--schema").out


TRIED = ("ppr", "local", "global:dynamic", "tog2", "plan", "sparql")
QUESTIONS = ("Who directed the film that Ada Mirren wrote?", "What is The Salt Road about?")


@pytest.fixture
def large(films_and_pages: Context, monkeypatch: pytest.MonkeyPatch) -> Context:
    monkeypatch.setattr(mapped, "MAPPED_ROWS", 1)
    monkeypatch.setattr(walk_graph, "LARGE", 1)
    return Context(StoredIndex.open(films_and_pages.index.root), films_and_pages.settings)


@pytest.mark.parametrize("method", TRIED)
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
