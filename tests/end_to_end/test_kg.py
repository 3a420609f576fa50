"""A knowledge graph brought along, with documents and without, as a user does it."""

import json
import shutil
from pathlib import Path

import pytest
from conspectus import open as open_index
from conspectus.query.menu import METHODS
from conspectus.storage.hashing import entity_id
from conspectus.storage.records import Community, Entity, Relation, Report

from tests.command_line import conspectus
from tests.conftest import write_rows
from tests.query.films import TRIPLES

REGEX = ("--set", "extraction.pipeline=regex", "-q")
TEXT = "Grey Heron is a film by Ada Mirren. It was shot in the salt marshes of Tarn by a crew of nine in 1970."


@pytest.fixture
def graph() -> Path:
    path = Path("films.tsv")
    path.write_text("".join("\t".join(each) + "\n" for each in TRIPLES), "utf-8")
    return path


def build(*words: str | Path) -> dict[str, object]:
    done = conspectus("index", *words, "--index", "i", "--json", *REGEX)
    assert done.status == 0, done.err
    found: dict[str, object] = json.loads(done.out)
    return found


def test_a_graph_alone_is_an_index(graph: Path) -> None:
    made = build("--kg", graph)
    rows = made["rows"]
    assert isinstance(rows, dict)
    assert (rows["documents"], rows["chunks"], rows["relations"], rows["reports"]) == (0, 0, len(TRIPLES), 0)
    assert rows["predicates"] == len({predicate for _, predicate, _ in TRIPLES})
    assert rows["communities"] > 1
    assert build("--kg", graph)["unchanged"]
    assert conspectus("verify", "--index", "i").status == 0
    assert "22 relations" in conspectus("status", "--index", "i").out
    index = open_index("i")
    for name, method in METHODS.items():
        if method.missing(index.context.settings) is None:
            answer = index.ask("What is said about nothing in particular?", name)
            assert (answer.citations, bool(answer.text)) == ((), True), name
        if method.missing(index.context.settings) is None and method.retrieves:
            assert index.retrieve("Who directed Grey Heron?", name).passages == (), name


def test_the_index_is_equal_to_its_input(graph: Path) -> None:
    first = build("--kg", graph, "--exact")["version"]
    more = Path("more.tsv")
    more.write_text("Salt Pans\tshot_in\tTarn\n", "utf-8")
    both = build("--kg", graph, "--kg", more, "--exact")
    assert both["version"] != first
    relations = open_index("i").context.index.rows(Relation)
    assert "shot_in" in {each.predicate for each in relations}
    assert build("--kg", more, "--kg", graph, "--exact")["unchanged"], "the order of files does not matter"
    assert build("--kg", graph, "--exact")["version"] == first, "a file that is gone is gone from the index"
    shutil.rmtree("i")
    assert build("--kg", graph, "--exact")["version"] == first


def test_documents_and_a_graph_meet(graph: Path) -> None:
    Path("docs").mkdir()
    Path("docs", "heron.txt").write_text(TEXT, "utf-8")
    build("docs", "--kg", graph)
    assert conspectus("verify", "--index", "i").status == 0
    index = open_index("i").context.index
    entities = {each.id: each for each in index.rows(Entity)}
    heron, port = entities[entity_id("grey heron")], entities[entity_id("port alma")]
    assert (heron.frequency, port.frequency) == (1, 0)
    assert heron.degree >= 5
    stated = [each for each in index.rows(Relation) if each.source_id == heron.id]
    assert {each.predicate for each in stated if not each.chunk_ids} >= {"directed_by", "has_genre"}
    reported = {each.community_id for each in index.rows(Report)}
    assert all(each.chunk_ids for each in index.rows(Community) if each.id in reported)
    answer = open_index("i").ask("Grey Heron was directed by which director?", "kaping", topics=["Grey Heron"])
    assert answer.names == ("Ada Mirren",)


def test_lines_that_are_lost_are_told(graph: Path) -> None:
    with graph.open("a", encoding="utf-8") as stream:
        stream.write("no triple\n")
    done = conspectus("index", "--kg", graph, "--index", "i", *REGEX)
    assert done.status == 0
    assert "1 failure (1 of 23 triples)" in done.out
    assert "kg: films.tsv:23: 1 columns, not 3 (no triple)" in conspectus("status", "--failures", "--index", "i").out


def test_mistakes_are_told(graph: Path) -> None:
    assert conspectus("index", "--index", "i").status == 2
    assert "give documents, or a graph with --kg" in conspectus("index", "--index", "i").err
    assert conspectus("index", "--kg", "absent.tsv", "--index", "i").status == 2
    Path("films.xyz").write_text("x", "utf-8")
    assert "a graph is read from" in conspectus("index", "--kg", "films.xyz", "--index", "i").err
    build("--kg", graph)
    done = conspectus("ask", "Who?", "--method", "ppr", "--topic", "Grey Heron", "--index", "i")
    assert (done.status, "does not walk from topics" in done.err) == (2, True)


def suite(folder: Path) -> Path:
    folder.mkdir()
    (folder / "kg.tsv").write_text("".join("\t".join(each) + "\n" for each in TRIPLES), "utf-8")
    asked = [
        {"id": 1, "question": "Grey Heron was directed by which director?", "answers": ["ada_mirren"], "hops": 1},
        {"id": 2, "question": "In what place was Mary Quill born?", "answers": ["Tarn", "Pelluci"], "hops": 1},
    ]
    topics = ("Grey Heron", "Mary Quill")
    write_rows(
        folder / "questions.jsonl", [each | {"entities": [name]} for each, name in zip(asked, topics, strict=True)]
    )
    return folder


def test_a_suite_over_a_graph_is_measured(tmp_path: Path) -> None:
    folder = suite(tmp_path / "films")
    before = sorted(folder.iterdir())
    words = ("evaluate", folder, "--methods", "kaping,groups", "--set", "extraction.pipeline=regex", "-q")
    done = conspectus(*words, "--topic", "given,linked", "--json", "r.json")
    assert done.status == 0, done.err
    found = json.loads(Path("r.json").read_text("utf-8"))
    assert list(found["methods"]) == ["kaping (given)", "groups (given)", "kaping (linked)", "groups (linked)"]
    assert found["methods"]["kaping (given)"]["hits@1"]["mean"] == 1.0
    assert found["methods"]["kaping (given)"]["f1"]["mean"] == pytest.approx(5 / 6)
    assert "2 measured for answers" in done.out
    assert "hops" in done.out
    done = conspectus(*words, "--sweep", "kaping.hops=1,2", "--questions", "1", "--json", "s.json")
    assert done.status == 0, done.err
    assert list(json.loads(Path("s.json").read_text("utf-8"))["sweep"]["values"]) == ["1", "2"]
    assert sorted(folder.iterdir()) == before
    assert conspectus(*words, "--topic", "found").status == 2


def test_what_it_would_take_can_be_told_without_documents(graph: Path) -> None:
    done = conspectus("index", "--kg", graph, "--index", "i", "--estimate", "--json")
    assert done.status == 0
    assert json.loads(done.out)["total"]["calls"] == 0
    assert not Path("i").exists()
