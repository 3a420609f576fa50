"""A graph and documents in one index, as docs/graphs.md shows it: answers that rest on triples and on a passage."""

import json
import re
import shlex
from pathlib import Path

import pytest
from conspectus import open as open_index
from conspectus.storage.settings import load_settings

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer, Rule
from tests.command_line import conspectus
from tests.tags import prompt_of

ROOT = Path(__file__).parents[2]
QUESTION = "Who built the harbour of the village where the director of Grey Heron was born?"
FROM_EVIDENCE = "from evidence found in a knowledge graph and in texts"
WALKED = [("Grey Heron", "directed_by", "Ada Mirren"), ("Ada Mirren", "born_in", "Pelluci")]


def documented() -> tuple[list[list[str]], str]:
    """The commands of the section, each without `conspectus`, and what the last of them prints."""
    section = (ROOT / "docs" / "graphs.md").read_text("utf-8").split("## A graph and documents together")[1]
    commands, printed = section.split("\n## ")[0].split("```")[1:4:2]
    return [shlex.split(line)[1:] for line in commands.strip().splitlines()], printed.strip()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index of the films and of the pages about them, made as the document says."""
    made = tmp_path_factory.mktemp("both")
    (made / "examples").symlink_to(ROOT / "examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        done = conspectus(*documented()[0][0], "-q")
    assert done.status == 0, done.err
    assert "4 documents" in done.out
    return made


@pytest.fixture
def both(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The index, from where the document's commands find it."""
    monkeypatch.chdir(folder)
    return folder / "both.index"


def test_the_documented_example_prints_what_it_says(both: Path) -> None:
    commands, printed = documented()
    done = conspectus(*commands[-1])
    assert done.status == 0, done.err
    took = re.compile(r"\d+\.\d+ s")
    assert took.sub("", done.out.strip()) == took.sub("", printed)
    found = json.loads(conspectus(*commands[-1], "--json").out)
    assert [(each["source"], each["predicate"], each["target"]) for each in found["triples"]] == WALKED
    assert any("Tomas Reyle" in each["quote"] for each in found["citations"])
    assert (found["names"], found["method"]) == (["Tomas Reyle"], "tog2:offline")
    assert {each["number"] for each in found["triples"]}.isdisjoint(each["number"] for each in found["citations"])


def test_what_neither_says_is_not_known(both: Path) -> None:
    index, question = open_index(both), "What did the director of Salt Pans eat in the village?"
    found = index.ask(question)
    assert (found.known, found.triples) == (False, ())
    assert not index.ask(question, "tog2").known


@pytest.mark.parametrize(
    "question", ["Tell me about Pelluci.", "Was weißt du über Pelluci?", "Que sais-tu de Pelluci ?"]
)
def test_what_documents_know_of_a_thing_is_told(question: str, both: Path) -> None:
    found = open_index(both).ask(question)
    assert found.known, found.text
    assert any("fishing village" in each.quote for each in found.citations)
    assert found.question == question


def told(prompt: str, *said: str) -> list[int]:
    """The numbers of the paths and texts of the question asked that say something."""
    own = prompt.rpartition("<evidence>")[2]
    pieces = re.split(r"^\[(\d+)\] ", own, flags=re.MULTILINE)[1:]
    return [int(number) for number, text in zip(pieces[::2], pieces[1::2], strict=True) if any(s in text for s in said)]


def test_a_model_answers_from_a_path_and_a_passage(both: Path) -> None:
    def relations(request: FakeRequest) -> str:
        lines = request.prompt.splitlines()
        wanted = [line for line in lines if re.match(r"\d+\. .*-\[(directed by|born in)\]->", line)]
        return json.dumps({"relations": [{"number": int(each.split(".")[0]), "score": 9} for each in wanted]})

    def reason(request: FakeRequest) -> FakeReply:
        passage = told(request.prompt, "Tomas Reyle")
        path = [*told(request.prompt, "[directed by]-> (Ada Mirren)"), *told(request.prompt, "[born in]-> (Pelluci)")]
        if not passage or len(path) < 2:
            return FakeReply("{No} {It is not known in which village.}")
        return FakeReply(f"{{Yes}} {{Tomas Reyle}} {''.join(f'[{each}]' for each in (path[0], path[-1], passage[0]))}")

    script = [
        Rule('{"1": "Grey Heron"}', "You choose the entities of a knowledge graph"),
        Rule(relations, "you choose the relations to follow"),
        Rule("Who built the harbour of Pelluci?", "Write the question to look up next"),
        Rule(reason, FROM_EVIDENCE),
    ]
    with FakeServer(script) as server:
        index = open_index(both, load_settings(overrides={"llm": {"model": "m", "base_url": server.url}}))
        answer = index.ask(QUESTION, "tog2", topics=["Grey Heron"])
        asked = [prompt_of(each.body) for each in server.requests if each.body]
    assert (answer.method, answer.names, answer.usage.depth) == ("tog2", ("Tomas Reyle",), 2)
    assert [(each.source, each.predicate, each.target) for each in answer.triples] == WALKED
    assert [each.title for each in answer.citations] == ["Pelluci"]
    assert "Tomas Reyle" in answer.citations[0].quote
    assert answer.citations[0].number > len(answer.triples)
    reasoned = [each for each in asked if FROM_EVIDENCE in each]
    assert len(reasoned) == 3, "before the walk and after each of its rounds"
    assert not told(reasoned[0], "[born in]-> (Pelluci)"), "a path is told once the walk has come along it"
