"""Each operation on each front: Python, command line, HTTP, tools for agents, chat protocol. All show the same."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import conspectus
import pytest
from conspectus.operation_table import OPERATIONS
from conspectus.render.answers import answer_json, evidence_json, explanation_json
from conspectus.render.walks import json_of
from conspectus.server.mcp_tools import LONGEST
from conspectus.storage.settings import Settings, load_settings
from mcp import Client

from benchmarks.fake_server import FakeServer
from tests.command_line import conspectus as run
from tests.conspectus.server.running import QUESTION, ROWS, Running, build, running

REPLY = "Anna Berg met Otto Brand in Port Alma [1]. Anna Berg met Zora Flint in 1999 [1]. It is so [99]."
"""What a model writes: a sentence that its source supports, one that it does not, and a citation of nothing."""
INSTITUTE = {
    "id": "d",
    "title": "Tidal Institute",
    "text": "The Tidal Institute is a research institute in North Bay. It was founded by Mary Quill in 1902.",
}
"""A document with a fact that has a short answer."""
WORLD = Path(__file__).parents[2] / "examples" / "world" / "pages"
"""Documents whose communities stay whole on several levels."""
FRONTS = ("command line", "HTTP", "MCP")
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "ask": ("ask", {"question": QUESTION, "method": "ppr"}),
    "ask, short answer": ("ask", {"question": "When was the Tidal Institute founded?", "method": "ppr"}),
    "ask, misspelled": ("ask", {"question": "Who keeps the harbuor log?", "method": "ppr"}),
    "ask, unknown": ("ask", {"question": "Which moons of Jupiter did Galileo discover?"}),
    "ask, walk": ("ask", {"question": "Who met Otto Brand?", "method": "tog2", "topics": ["Otto Brand"]}),
    "ask, subgraph": ("ask", {"question": "Who met Otto Brand?", "method": "gretriever"}),
    "ask, filtered": ("ask", {"question": QUESTION, "method": "bm25", "where": "year > 2020"}),
    "ask, as of": ("ask", {"question": "Who founded the Tidal Institute?", "method": "ppr", "as_of": "1901"}),
    "retrieve, between": ("retrieve", {"question": "institute", "method": "bm25", "k": 2, "between": ["1901", "1903"]}),
    "retrieve": ("retrieve", {"question": QUESTION, "method": "bm25", "k": 2}),
    "explain": ("explain", {"question": QUESTION, "method": "ppr", "k": 2}),
    "status": ("status", {}),
    "methods": ("methods", {}),
    "documents": ("documents", {"title": "ott", "offset": 0, "limit": 2}),
    "documents, all": ("documents", {"offset": 1, "limit": 2}),
    "document": ("document", {"document": "c", "start": 5, "end": 10}),
    "document by title": ("document", {"document": "zebra plan", "start": 0, "end": 99}),
    "passages": ("passages", {"chunk": []}),
    "filters": ("filters", {}),
    "entities": ("entities", {"name": "o", "offset": 0, "limit": 3}),
    "entity": ("entity", {"entity": "Otto Brand", "limit": 5}),
    "neighbours": ("neighbours", {"entity": "Otto Brand", "direction": "both", "offset": 0, "limit": 9}),
    "timeline": ("timeline", {"entity": "Tidal Institute", "offset": 0, "limit": 9}),
    "timeline, as of": ("timeline", {"entity": "Tidal Institute", "as_of": "1903", "offset": 0, "limit": 9}),
    "documents, between": ("documents", {"between": ["1903", "1904"], "offset": 0, "limit": 9}),
    "conflicts": ("conflicts", {"offset": 0, "limit": 9}),
    "reports": ("reports", {"level": "c0", "offset": 0, "limit": 9}),
    "report": ("report", {"community": ""}),
    "nobody": ("entity", {"entity": "Nobody", "limit": 5}),
    "no such document": ("document", {"document": "none", "start": 0, "end": 5}),
    "no such method": ("ask", {"question": QUESTION, "method": "pprr"}),
    "no such level": ("reports", {"level": "c9", "offset": 0, "limit": 9}),
}
"""Operations with their arguments. Ids that depend on the index are added by `arguments_of`."""
WINDOW = {"as_of", "between"}
"""What agents can give with questions only."""
OTHERWISE = {"status", "methods"}
"""These tell more on the command line, and have tests of their own: what failed, and what a method lacks."""


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("fronts"), [*ROWS, INSTITUTE])


@pytest.fixture(scope="module")
def served(notes: Path) -> Iterator[Running]:
    with running(("notes", notes)) as server:
        yield server


def plain(value: Any) -> Any:  # noqa: ANN401  (JSON)
    """Return a result as JSON without what differs by front: empty fields, the time that it took, what was asked."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        kept = {
            name: plain(each) for name, each in value.items() if name not in {"seconds", "index", "next", "version"}
        }
        return {name: each for name, each in kept.items() if each not in (None, "", [], {})}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def arguments_of(case: str, index: conspectus.Index) -> tuple[str, dict[str, Any]]:
    name, given = CASES[case]
    if name == "passages":
        given = {"chunk": index.entity("Otto Brand").chunk_ids[:2]}
    if name == "report":
        given = {"community": index.reports("c0")[0].community_id}
    return name, given


def of_python(index: conspectus.Index, name: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401  (JSON)
    """Return what Python returns, or the message of its error."""
    others = {"where", *WINDOW, *(() if name == "entity" else ("offset", "limit"))}
    arguments = {key: value for key, value in given.items() if key not in others}
    view = index.filter(given.get("where"), as_of=given.get("as_of"), between=given.get("between"))
    try:
        found = getattr(view, "report_on" if name == "report" else name)(**arguments)
    except conspectus.ConspectusError as error:
        return str(error)
    if name == "ask":
        return plain(answer_json(found, json_of(found, view.context) if found.evidence.walk else None))
    if name == "retrieve":
        return plain(evidence_json(given["question"], given["method"], found))
    if name == "explain":
        return plain(explanation_json(found))
    if OPERATIONS[name].paged:
        rows = found[given["offset"] : given["offset"] + given["limit"]]
        return plain({"total": len(found), "rows": rows})
    return plain(found)


def of_command_line(place: Path, name: str, given: Mapping[str, Any], *more: str) -> Any:  # noqa: ANN401  (JSON)
    positional = {"question", "document", "chunk", "entity", "community"}
    words = [name]
    words += ["--between", *given["between"]] if "between" in given else []
    for key, value in given.items():
        for each in [] if key == "between" else value if isinstance(value, list) else [value]:
            words += [str(each)] if key in positional else [f"--{key.removesuffix('s').replace('_', '-')}", str(each)]
    done = run(*words, "--index", str(place), "--json", *more)
    return plain(json.loads(done.out)) if done.status == 0 else done.err.removeprefix("conspectus: ").strip()


def of_http(server: Running, name: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401  (JSON)
    operation = OPERATIONS[name]
    path = operation.path.replace(":path", "")
    inside = {key for key in given if f"{{{key}}}" in path}
    address = "/v1/methods" if name == "methods" else f"/v1/indexes/notes/{path.format(**given)}"
    rest = {key: value for key, value in given.items() if key not in inside}
    client = server.client
    got = client.post(address, json=rest) if operation.asks else client.get(address, params=rest)
    return plain(got.json()) if got.status_code == 200 else got.json()["error"]["message"]


def of_mcp(server: Running, name: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401  (JSON)
    async def call() -> Any:  # noqa: ANN401
        async with Client(f"{server.url}/mcp") as client:
            longest = {"longest": LONGEST} if OPERATIONS[name].asks else {}
            result = await client.call_tool(name, {**given, **longest})
            text = result.content[0].text  # type: ignore[union-attr]
            if result.is_error:
                return text.removeprefix(f"Error executing tool {name}: ")
            found = json.loads(text)
            return plain(found)

    return asyncio.run(call())


def of_front(front: str, server: Running, name: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401  (JSON)
    if front == "command line":
        return of_command_line(server.indexes[0].root, name, given)
    return of_http(server, name, given) if front == "HTTP" else of_mcp(server, name, given)


def test_every_operation_has_a_row() -> None:
    apart = {"failures", "diff"}  # below, and in test_versions.py
    assert {name for name, _ in CASES.values()} == OPERATIONS.keys() - apart


def test_the_status_on_the_command_line(served: Running) -> None:
    root = served.indexes[0].root
    expected = of_python(conspectus.open(root), "status", {})
    shown = of_command_line(root, "status", {})
    assert shown["rows"] == expected["rows"]
    assert shown["models"] == expected["models"]
    assert shown["format_version"] == expected["format"]
    assert shown.get("corrections") == expected.get("corrections")
    assert json.loads(run("status", "--index", str(root), "--json").out)["version"] == served.indexes[0].version


def test_a_community_on_several_levels_is_counted_once(tmp_path: Path) -> None:
    index = conspectus.build(WORLD, tmp_path / "index")
    expected = index.status().rows["communities"]
    assert expected < index.manifest.rows["communities"]
    assert of_command_line(tmp_path / "index", "status", {})["rows"]["communities"] == expected


def test_the_methods_on_the_command_line(served: Running) -> None:
    done = run("methods", "--json")
    assert done.status == 0
    shown = json.loads(done.out)
    rows = of_python(conspectus.open(served.indexes[0].root), "methods", {})
    expected = {row["name"]: row["about"] for row in rows}
    assert {name: shown.pop(name) for name in expected} == expected
    assert shown
    assert all("; needs " in about for about in shown.values())


def test_failures_are_the_same_on_each_front(tmp_path: Path) -> None:
    place = build(tmp_path, [*ROWS, {"id": "empty", "title": "Empty", "text": ""}])
    expected = plain([asdict(failure) for failure in conspectus.open(place).failures()])
    assert [row["item_id"] for row in expected] == ["rows.jsonl#5"]
    assert of_command_line(place, "status", {})["failures"] == expected
    with running(("notes", place)) as server:
        found = of_http(server, "failures", {"offset": 0, "limit": 9})
    assert found == {"total": 1, "rows": expected}


@pytest.mark.parametrize(
    ("case", "front"),
    [
        (case, front)
        for case, (name, given) in CASES.items()
        for front in FRONTS
        if (front != FRONTS[0] or name not in OTHERWISE)
        and (front != "MCP" or OPERATIONS[name].tool is not None)
        and (front != "MCP" or OPERATIONS[name].asks or WINDOW.isdisjoint(given))
    ],
)
def test_each_front_shows_what_python_returns(case: str, front: str, served: Running) -> None:
    index = conspectus.open(served.indexes[0].root)
    name, given = arguments_of(case, index)
    expected = of_python(index, name, given)
    assert expected
    assert of_front(front, served, name, given) == expected


def test_the_short_answer_is_on_every_front_for_people(served: Running) -> None:
    question = CASES["ask, short answer"][1]["question"]
    printed = run("ask", question, "--method", "ppr", "--index", str(served.indexes[0].root)).out
    chat = {"model": "notes/ppr", "messages": [{"role": "user", "content": question}]}
    replied = served.client.post("/v1/chat/completions", json=chat).json()["choices"][0]["message"]["content"]
    assert replied.startswith("In short: 1902\n")
    assert "\nIn short: 1902\n" in printed
    answer = conspectus.open(served.indexes[0].root).ask(question, "ppr")
    assert answer._repr_html_().startswith("<div><p>1902</p>")
    assert answer._repr_markdown_().startswith("1902\n")


def test_the_cases_have_what_fronts_could_leave_out(served: Running) -> None:
    index = conspectus.open(served.indexes[0].root)
    answers = {case: of_python(index, *arguments_of(case, index)) for case, (name, _) in CASES.items() if name == "ask"}
    assert answers["ask, short answer"]["span"] == "1902"
    assert answers["ask, misspelled"]["notes"] == ["read 'harbuor' as 'harbour'"]
    assert answers["ask, unknown"]["known"] is False
    assert answers["ask, walk"]["walk"]["decisions"]
    assert answers["ask, subgraph"]["subgraph"]
    assert answers["ask, filtered"]["narrowed"]
    assert answers["ask, as of"]["known"] is False
    assert answers["ask, as of"]["narrowed"] == "as of 1901"


def with_model(fake: FakeServer) -> Settings:
    return load_settings(overrides={"llm": {"model": "writer", "attempts": 1, "base_url": fake.url}})


def test_what_a_model_wrote_and_what_is_in_doubt_is_the_same_everywhere(notes: Path) -> None:
    given = {"question": "Who met Anna Berg, and where?", "method": "bm25"}
    with FakeServer(REPLY) as fake, running(("notes", notes), settings=with_model(fake)) as server:
        expected = of_python(conspectus.open(notes, with_model(fake)), "ask", given)
        url = ("--set", "llm.model=writer", "--set", f"llm.base_url={fake.url}", "--set", "llm.attempts=1")
        shown = {
            "HTTP": of_http(server, "ask", given),
            "MCP": of_mcp(server, "ask", given),
            "command line": of_command_line(notes, "ask", given, *url),
        }
        printed = run("ask", given["question"], "--method", "bm25", "--index", str(notes), *url).out
        chat = {"model": "notes/bm25", "messages": [{"role": "user", "content": given["question"]}]}
        replied = server.client.post("/v1/chat/completions", json=chat).json()["choices"][0]["message"]["content"]
    assert expected["unsupported"] == expected["dropped_citations"] == 1
    assert len(expected["notes"]) == 2
    for front, found in shown.items():
        for part in (
            "text",
            "span",
            "known",
            "notes",
            "citations",
            "checks",
            "unsupported",
            "dropped_citations",
            "trace",
        ):
            assert found.get(part) == expected.get(part), (front, part)
    for front, text in (("terminal", printed), ("chat", replied)):
        for note in expected["notes"]:
            assert note in text, front
        assert expected["citations"][0]["quote"] in text, front
