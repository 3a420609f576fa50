"""A narrowed index from the front door: from Python and from the command line."""

import json
import re
from pathlib import Path

import pytest
from conspectus.api import Index, open_index
from conspectus.pipelines.build_index import build_index
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.conversation.history import Conversation, Turn
from conspectus.query.menu import METHODS
from conspectus.storage.errors import UsageError
from conspectus.storage.records import Document, Entity, Relation
from conspectus.storage.settings import load_settings

from benchmarks.fake_server import FakeServer
from tests.command_line import conspectus
from tests.conftest import write_rows

ROWS = [
    {"id": "a", "title": "Anna", "text": "Anna Berg met Otto Brand in Port Alma.", "year": 2020, "access": "team-a"},
    {"id": "b", "title": "Otto", "text": "Otto Brand left Port Alma for North Bay.", "year": 2021, "access": "team-b"},
    {"id": "c", "title": "Mary", "text": "Mary Quill lives in North Bay.", "year": 2022},
]
GRAPH = "Port Alma\tlies in\tGreen Land\nGreen Land\tis part of\tBlue Land\n"
QUESTION = "Who met Otto Brand in Port Alma?"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("narrow")
    write_rows(folder / "rows.jsonl", ROWS)
    (folder / "kg.tsv").write_text(GRAPH, "utf-8")
    kg = {"files": [str(folder / "kg.tsv")]}
    settings = load_settings(overrides={"extraction": {"pipeline": "regex"}, "kg": kg})
    build_index([folder / "rows.jsonl"], folder / "index", settings)
    return folder / "index"


def opened(made: Path, **access: str) -> Index:
    return open_index(made, load_settings(overrides={"access": access}))


def documents(index: Index) -> set[str]:
    return {each.id for each in index.context.index.rows(Document)}


def test_filters_narrow_further_and_never_widen(made: Path) -> None:
    index = opened(made)
    assert documents(index.filter(access=["team-b"])) == {"b", "c"}
    assert documents(index.filter(access=["team-b"]).filter("year > 2020")) == {"b", "c"}
    assert documents(index.filter(access=["team-b"]).filter(access=["team-a"])) == {"c"}
    assert documents(index.filter("year = 2021").filter()) == {"b"}
    assert index.filter().context is index.context
    assert index.filter("year > 0").context.index is index.context.index, "all documents are the index itself"


def test_without_a_tag_the_settings_decide(made: Path) -> None:
    assert documents(opened(made).filter()) == {"a", "b", "c"}
    careful = opened(made, unasked="untagged")
    assert {each.document_id for each in careful.retrieve(QUESTION, "bm25").passages} <= {"c"}
    assert {each.document_id for each in careful.filter(access=["team-a"]).retrieve(QUESTION, "bm25").passages} == {"a"}
    assert documents(careful.filter(access=["team-a"]).filter()) == {"a", "c"}


def test_a_graph_is_for_everybody_unless_the_settings_deny_it(made: Path) -> None:
    def names(index: Index) -> set[str]:
        return {each.name for each in index.context.index.rows(Entity)}

    public = opened(made).filter("id = c")
    assert {"Green Land", "Blue Land", "Port Alma", "Mary Quill"} <= names(public)
    assert "Anna Berg" not in names(public)
    assert {each.predicate for each in public.context.index.rows(Relation)} == {"lies in", "is part of"}
    denied = opened(made, graph="denied").filter("id = c")
    assert names(denied) == {"Mary Quill", "North Bay", "Mary"}
    assert denied.context.index.rows(Relation) == []
    assert "Green Land" not in names(opened(made, graph="denied").filter())


def test_what_a_hidden_graph_says_of_a_statement_of_documents_is_hidden(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.jsonl", ROWS)
    stated = {"id": "b", "entities": ["Otto Brand", "Port Alma"], "triples": [["Otto Brand", "left", "Port Alma"]]}
    write_rows(tmp_path / "openie.jsonl", [stated])
    (tmp_path / "kg.tsv").write_text("head\trelation\ttail\tsince\nOtto Brand\tleft\tPort Alma\tzyquorth\n", "utf-8")
    extraction = {"pipeline": "regex", "openie": str(tmp_path / "openie.jsonl")}
    kg = {"files": [str(tmp_path / "kg.tsv")]}
    build_index(
        [tmp_path / "rows.jsonl"], tmp_path / "index", load_settings(overrides={"extraction": extraction, "kg": kg})
    )
    for graph, told in (("public", ["zyquorth"]), ("denied", [])):
        narrow = opened(tmp_path / "index", graph=graph).filter("id = b").context.index
        assert [[each.value for each in row.qualifiers] for row in narrow.rows(Relation)] == [told]


@pytest.mark.parametrize("method", [name for name, each in METHODS.items() if each.missing(load_settings()) is None])
def test_where_nothing_is_left_nothing_is_known(made: Path, method: str) -> None:
    index = opened(made, graph="denied").filter("year > 3000")
    found = index.ask(QUESTION, method)
    assert found.text.startswith(NO_ANSWER)
    assert not found.known
    assert found.trace[0].detail == "where year > 3000: 0 documents"


def test_global_search_reads_the_passages_where_no_report_is_left(made: Path) -> None:
    found = opened(made, graph="denied").filter("id = c").ask("Where does Mary Quill live?", "global:c0")
    assert any("the passages are read, as ts does" in each.detail for each in found.trace)
    assert found.citations[0].document_id == "c"
    dynamic = opened(made, graph="denied").filter("id = c").ask("Where does Mary Quill live?", "global:dynamic")
    assert dynamic.citations[0].document_id == "c"


def test_a_picture_is_of_the_index_that_was_asked(made: Path) -> None:
    index = opened(made)
    found = index.filter("id = c").ask("Where does Port Alma lie?", "tog")
    with pytest.raises(UsageError, match="id = c"):
        index.draw(found)
    assert "svg" in index.filter("id = c").draw(found)
    with pytest.raises(UsageError, match="whole"):
        index.filter("id = c").verify()


def test_turns_of_another_filter_are_not_shown_to_a_model(made: Path) -> None:
    secret = Turn("Who?", "Who met Otto Brand?", "Anna Berg, says zyquorth.", "ppr")
    same = Turn("Where?", "Where is Mary Quill?", "In North Bay, says nimbrel.", "ppr", narrowed="where id = c")
    with FakeServer("Where does Mary Quill live?") as server:
        llm = {"model": "m", "base_url": server.url, "attempts": 1}
        index = open_index(made, load_settings(overrides={"llm": llm}))
        index.filter("id = c").retrieve("And she?", "bm25", history=Conversation((secret, same)))
        sent = json.dumps([each.body for each in server.requests])
    assert "nimbrel" in sent
    assert "zyquorth" not in sent


def test_the_command_line_takes_filters(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ("--index", made, "--method", "bm25", "--json")
    found = json.loads(conspectus("retrieve", QUESTION, *asked, "--access", "team-b").out)
    assert {each["document_id"] for each in found["passages"]} == {"b"}
    assert found["trace"][0] == {"name": "filter", "detail": "access team-b: 2 documents"}
    found = json.loads(conspectus("ask", QUESTION, *asked, "--where", "year<=2020", "--session", "talk").out)
    assert found["narrowed"] == "where year<=2020"
    assert {each["document_id"] for each in found["citations"]} == {"a"}
    assert json.loads((tmp_path / "talk").read_text("utf-8"))["narrowed"] == "where year<=2020"
    explained = json.loads(conspectus("explain", QUESTION, "--index", made, "--where", "year>2020", "--json").out)
    assert "Anna" not in json.dumps(explained)
    listed = conspectus("reports", "--index", made, "--where", "year>2020").out
    assert "Anna" not in listed
    write_rows(tmp_path / "questions.jsonl", [{"id": "1", "question": QUESTION}])
    many = conspectus("retrieve", "--questions", "questions.jsonl", *asked, "--where", "id = c")
    assert not re.search(r'"document_id": "[ab]"', many.out)
    wrong = conspectus("ask", QUESTION, "--index", made, "--where", "year >")
    assert wrong.status == 2
    assert "at character 7" in wrong.err
    assert wrong.err.count("\n") == 1
