"""Everything the command line does, in a line or two of Python."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import conspectus
import pytest
from conspectus.storage.errors import IndexNotFound, UnknownMethod, UsageError
from conspectus.storage.records import Document

QUESTION = "Who directed the film shot at Marrow, Vey in 1962?"


@pytest.fixture(scope="module")
def index(index_root: Path) -> conspectus.Index:
    return conspectus.open(index_root)


def test_build_takes_one_input_or_several(tmp_path: Path) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("Marie Curie discovered polonium.", "utf-8")
    second.write_text("Oxford is a city in England.", "utf-8")
    settings = conspectus.load_settings(overrides={"extraction": {"pipeline": "regex"}})
    one = conspectus.build(first, tmp_path / "index", settings)
    assert [each.title for each in one.retrieve("Who discovered polonium?").passages] == ["first"]
    both = conspectus.build([str(first), second], str(tmp_path / "index"), settings)
    assert {each.title for each in both.retrieve("polonium Oxford").passages} == {"first", "second"}
    assert both.verify() == []
    assert [each.title for each in one.retrieve("polonium Oxford").passages] == ["first"], "it keeps its version"


def test_it_works_where_a_loop_is_running_already(index: conspectus.Index) -> None:
    async def in_a_notebook() -> tuple[conspectus.Answer, conspectus.Answer]:
        return index.ask(QUESTION), await index.aio.ask(QUESTION)

    one, other = asyncio.run(in_a_notebook())
    assert one.text == other.text == index.ask(QUESTION).text


def test_threads_may_share_an_index(index_root: Path, index: conspectus.Index) -> None:
    questions = [QUESTION, "Where is Oxford?", "Who designed C++?", "What are the main themes?"]
    alone = [index.ask(each).text for each in questions]
    cold = conspectus.open(index_root)
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda question: cold.ask(question).text, questions * 2))
    assert together == alone * 2


@pytest.mark.parametrize("method", ["ppr", "ppr:hipporag2", "bm25"])
def test_many_questions_find_what_each_finds_alone(
    method: str, index: conspectus.Index, index_root: Path, questions: list[str]
) -> None:
    asked = [*questions[:5], "?", questions[0], "Who wrote " + "a very long novel " * 200]
    alone = [index.retrieve(each, method, 3) for each in asked]
    assert conspectus.open(index_root).retrieve_many(asked, method, 3) == alone
    assert index.retrieve_many([], method) == []


def test_mistakes_are_errors_of_one_family(index: conspectus.Index, tmp_path: Path) -> None:
    with pytest.raises(UnknownMethod):
        index.ask("Who?", method="nothing")
    with pytest.raises(UnknownMethod):
        index.retrieve("Who?", method="global")
    with pytest.raises(IndexNotFound):
        conspectus.open(tmp_path)
    assert issubclass(UnknownMethod, conspectus.ConspectusError)
    assert issubclass(IndexNotFound, conspectus.ConspectusError)


def test_documents_from_memory_are_built_and_added(tmp_path: Path) -> None:
    settings = conspectus.load_settings(overrides={"extraction": {"pipeline": "regex"}})
    named = {"notes/sea-wall.md": "The sea wall was raised in 1931.", "harbour": {"text": "Boats.", "year": 2024}}
    index = conspectus.build(texts=named, index=tmp_path / "index", settings=settings)
    held = {each.uri: each for each in index.context.index.rows(Document)}
    assert {uri: each.title for uri, each in held.items()} == {"notes/sea-wall.md": "sea wall", "harbour": "harbour"}
    assert held["harbour"].metadata["year"] == "2024"
    assert index.retrieve("Who raised the wall?", "bm25", k=1).passages[0].title == "sea wall"
    more = conspectus.add(texts=["The ferry leaves at noon."], index=tmp_path / "index", settings=settings)
    assert more.manifest.rows["documents"] == 3
    (unnamed,) = {each.uri: each for each in more.context.index.rows(Document)}.keys() - held.keys()
    assert unnamed.startswith("text-")
    again = conspectus.add(texts=["The ferry leaves at noon."], index=tmp_path / "index", settings=settings)
    assert again.report is not None
    assert again.report.unchanged, "the same text is the same document"
    with pytest.raises(UsageError, match="a document from memory is a text"):
        conspectus.build(texts=[{"body": "x"}], index=tmp_path / "other", settings=settings)


def test_what_a_notebook_shows(index: conspectus.Index, index_root: Path) -> None:
    rows = index.manifest.rows
    assert repr(index) == (
        f"Index({str(index_root)!r}, version {index.manifest.version}, {rows['documents']} documents, "
        f"{rows['chunks']} passages)"
    )
    answer = index.ask(QUESTION, method="bm25")
    assert str(answer) == answer.text
    assert repr(answer).startswith("Answer(")
    assert len(repr(answer)) < 500
    hostile = replace(answer, text="<script>alert(1)</script> *bold* [1]")
    assert "&lt;script&gt;" in hostile._repr_html_()
    assert "<script>" not in hostile._repr_html_()
    assert "\\<script\\>" in hostile._repr_markdown_()
    assert "\\*bold\\*" in hostile._repr_markdown_()
    assert answer.citations[0].uri in answer._repr_html_()


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question_is_refused(index: conspectus.Index, question: str) -> None:
    for ask in (index.ask, index.retrieve, index.explain, index.chat().ask):
        with pytest.raises(UsageError, match="the question is empty"):
            ask(question)
