"""As of a date: nothing later, and nothing that had ended by then, reaches a model or an answer, by any method."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conspectus.api import Index, open_index
from conspectus.pipelines.build_index import build_index
from conspectus.query.menu import METHODS
from conspectus.storage.errors import ModelError, UsageError
from conspectus.storage.records import Chunk, Claim, DatedFact, Document, Entity, Mention, Relation
from conspectus.storage.settings import load_settings
from conspectus.storage.tables import TABLES

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer, made_up
from tests.command_line import conspectus as run
from tests.conftest import write_rows
from tests.graph_model import records

LATER = ("Zorblat", "2011", "Quixmere", "2012", "Vexford", "Morvande")
ENDED = ("Glimpard", "1985")
TEXTS = [
    ("Oster Works", "Anna Berg founded Oster Works in 1995. Anna Berg sold Oster Works to Zorblat Trask in 2011. "
     "Oster Works made lamps in Port Alma. Carl Glimpard led Oster Works from 1980 to 1985."),
    ("Port Alma", "Otto Brand built Port Alma in 1990. In May 2012 Otto Brand met Zorblat Trask in Quixmere."),
    ("North Bay", "Mary Quill has led North Bay since 1999. Mary Quill knows Anna Berg and Otto Brand."),
    ("Meeting", "Otto Brand met Anna Berg in 1998."),
    ("Again", "Otto Brand met Anna Berg in 2011. It rained."),
    ("Games of 2012", "Anna Berg swam in Vexford."),
]  # fmt: skip
DATED = {"id": "minutes", "title": "Minutes", "text": "Anna Berg chose Morvande Flint.", "date": "2013-04-05"}
QUESTIONS = (
    "Who owns Oster Works?",
    "What did Otto Brand do?",
    "Who is Zorblat Trask?",
    "Where is Quixmer?",
    "What are the main themes?",
)


CLAIMS = {
    '("claim"<|>"Anna Berg"<|>"NONE"<|>"founding"<|>"TRUE"<|>"1995"<|>"1995"<|>"It began."<|>"founded Oster Works")##':
        "founded Oster Works",
    '("claim"<|>"Anna Berg"<|>"NONE"<|>"sale"<|>"TRUE"<|>"2011"<|>"2011"<|>"Sold to Zorblat."<|>"sold Oster Works")##':
        "sold Oster Works",
    '("claim"<|>"Mary Quill"<|>"NONE"<|>"plan"<|>"TRUE"<|>"2012"<|>"NONE"<|>"Off to Vexford."<|>"knows Anna Berg")##':
        "knows Anna Berg",
}  # fmt: skip
"""Claims, and words of the texts that state them; the date of the last is the model's alone."""


def telling(request: FakeRequest) -> FakeReply | str:
    """Extract names, and describe each with every word that should be hidden and is in the prompt."""
    form = json.dumps(request.body.get("response_format", "")) + request.last
    words = " ".join(word for word in LATER + ENDED if word in request.prompt) or "nothing"
    if "findings" in form:
        finding = {"summary": words, "explanation": f"It says {words}.", "records": ["E1", "R1"]}
        report = {"title": words, "summary": words, "rating": 5, "rating_explanation": "", "findings": [finding]}
        return json.dumps(report)
    if '"required": ["description"]' in form:
        return json.dumps({"description": f"It says {words}."})
    if '("claim"' in request.prompt:
        told = "\n".join(row for row, words in CLAIMS.items() if words in request.last)
        return f"{told}\n<|COMPLETE|>"
    if "<|>" in request.prompt:
        return records(request.last).replace("is named in it", f"is named with {words}")
    return made_up(request)[:200] if "response_format" not in request.body else made_up(request)


@pytest.fixture(scope="module", params=["", "m"], ids=["without a model", "with a model"])
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Index, FakeServer]]:
    folder = tmp_path_factory.mktemp("dates")
    rows = [{"id": title, "title": title, "text": text} for title, text in TEXTS]
    write_rows(folder / "in.jsonl", [*rows, DATED])
    with FakeServer(telling) as server:
        settings = load_settings(
            overrides={
                "extraction": {"pipeline": "regex", "claims": bool(request.param)},
                "llm": {"model": request.param, "base_url": server.url, "attempts": 1},
                "reports": {"min_size": 2},
                "ircot": {"max_steps": 2},
                "rerank": {"candidates": "bm25"},
            }
        )
        build_index([folder / "in.jsonl"], folder / "index", settings)
        yield open_index(folder / "index", settings), server


def seen(text: str, words: tuple[str, ...]) -> set[str]:
    return {word for word in words if word in text}


def test_no_method_shows_what_is_later_or_had_ended(asked: tuple[Index, FakeServer]) -> None:
    index, server = asked
    view = index.filter(as_of="2000-06")
    for name, method in METHODS.items():
        if method.missing(index.context.settings) is not None:
            continue
        before, told = len(server.requests), []
        for question in QUESTIONS:
            try:
                told.append(repr(view.ask(question, name)))
            except ModelError as error:
                told.append(str(error))
            if method.retrieves:
                told.append(repr(view.retrieve(question, name).passages))
        prompts = [json.dumps(each.body, ensure_ascii=False) for each in server.requests[before:]]
        text = "\n".join([*told, *prompts]).replace(QUESTIONS[2], "")  # the question itself names one
        assert seen(text.replace("Who is Zorblat Trask", ""), (*LATER, *ENDED)) <= {"Zorblat"}, name
        assert "Zorblat" not in "\n".join(told[:2]), name


def test_no_table_has_what_is_later_or_had_ended(asked: tuple[Index, FakeServer]) -> None:
    index, _ = asked
    view = index.filter(as_of="2000")
    told = {name: repr(view.context.index.rows(record)) for name, record in TABLES.items()}
    told |= {
        "reports": repr(view.reports()),
        "entities": repr(view.entities()[:]),
        "timeline": repr(view.timeline("Anna Berg")),
    }
    for name, text in told.items():
        assert seen(text, (*LATER, *ENDED)) == set(), name
    types = [claim.type for claim in view.context.index.rows(Claim)]
    assert types == (["founding"] if index.context.settings.llm.model else [])
    whole = repr([index.context.index.rows(record) for record in (Entity, Relation, Chunk, DatedFact, Document)])
    assert seen(whole, (*LATER, *ENDED)) == {*LATER, *ENDED}


def test_what_held_remains_where_it_was(asked: tuple[Index, FakeServer]) -> None:
    index, _ = asked
    view = index.filter(as_of="2000")
    texts = {document.id: document.text for document in view.context.index.rows(Document)}
    assert set(texts) == {"Oster Works", "Port Alma", "North Bay", "Meeting", "Again"}
    for id_, text in TEXTS:
        if id_ in texts:
            assert len(texts[id_]) == len(text)
            assert all(a in (b, " ") for a, b in zip(texts[id_], text, strict=True))
    assert texts["Oster Works"].split(".")[0] == "Anna Berg founded Oster Works in 1995"
    assert "made lamps" in texts["Oster Works"]
    for chunk in view.context.index.rows(Chunk):
        assert texts[chunk.document_id][chunk.start : chunk.end] == chunk.text
    places = {chunk.id: chunk for chunk in view.context.index.rows(Chunk)}
    for mention in view.context.index.rows(Mention):
        if mention.start is not None:
            assert texts[places[mention.chunk_id].document_id][mention.start : mention.end] == mention.surface
    passage = view.retrieve("Oster Works", method="bm25", k=1).passages[0]
    assert passage.text == texts["Oster Works"][passage.start : passage.end]
    assert view.retrieve("Quixmere", method="bm25").passages == ()


def test_other_windows(asked: tuple[Index, FakeServer]) -> None:
    index, _ = asked

    def text(**window: object) -> str:
        return " ".join(document.text for document in index.filter(**window).context.index.rows(Document))  # type: ignore[arg-type]

    assert "Glimpard" in text(as_of="1983")
    assert "founded" not in text(as_of="1983")
    assert "founded" in text(between=["1995", "2005"])
    assert "built" not in text(between=["1995", "2005"]), "that was in 1990"
    assert "since 1999" in text(between=["2001", "2005"])
    assert "Morvande" in text(as_of="2013-04-05")
    assert "Morvande" not in text(as_of="2013-04-04"), "the document is of the next day"
    assert index.filter(as_of="2000").retrieve("lamps", "bm25").trace[0].detail == "as of 2000: 5 documents"
    for wrong in ({"as_of": "soon"}, {"between": ["2005", "2001"]}, {"as_of": "2000", "between": ["1990", "1999"]}):
        with pytest.raises(UsageError):
            index.filter(**wrong)  # type: ignore[arg-type]


def test_the_command_line_asks_as_of_a_date(asked: tuple[Index, FakeServer]) -> None:
    place: Path = asked[0].context.index.root
    done = run("timeline", "Anna Berg", "--index", place, "--as-of", "2000", "--json")
    assert done.status == 0
    assert seen(done.out, LATER) == set()
    done = run("documents", "--index", place, "--between", "2013-01", "2014", "--json")
    assert "minutes" in done.out
    assert run("documents", "--index", place, "--as-of", "soon").status == 2


def test_a_graph_shows_the_statements_that_held(tmp_path: Path) -> None:
    rows = [
        "source\trelation\ttarget\tstart\tend",
        "Ada\tmayor of\tOster\t1990\t1995",
        "Ada\tmayor of\tOster\t2001\t2004",
        "Otto\tmayor of\tOster\t1996\t2000",
        "Zora\tmayor of\tOster\t2005\t",
        "Ada\tborn in\tVey\t\t",
        "Zora\tborn on\t4 May 2003\t\t",
    ]
    (tmp_path / "kg.tsv").write_text("\n".join(rows) + "\n")
    build_index([], tmp_path / "index", load_settings(overrides={"kg": {"files": [str(tmp_path / "kg.tsv")]}}))
    index = open_index(tmp_path / "index")

    def stated(view: Index) -> set[tuple[str, ...]]:
        names = {each.id: each.name for each in view.context.index.rows(Entity)}
        return {
            (names[each.source_id], each.predicate, *(part.value for part in each.qualifiers))
            for each in view.context.index.rows(Relation)
        }

    assert ("Ada", "mayor of", "1990", "1995", "2001", "2004") in stated(index)
    assert stated(index.filter(as_of="1993")) == {("Ada", "mayor of", "1990", "1995"), ("Ada", "born in")}
    assert stated(index.filter(as_of="1998")) == {("Otto", "mayor of", "1996", "2000"), ("Ada", "born in")}
    assert "4 May 2003" not in repr(index.filter(as_of="1998").entities()[:])
    assert [row.when for row in index.filter(as_of="2006").timeline("Oster")] == ["since 2005"]
    assert [row.when for row in index.timeline("Oster")] == [
        "1990 to 1995",
        "1996 to 2000",
        "2001 to 2004",
        "since 2005",
    ]
