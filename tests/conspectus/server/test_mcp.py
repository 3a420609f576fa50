"""The real client of the Model Context Protocol: over stdio and over HTTP, in the present protocol and the one
before."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from conspectus.operation_table import OPERATIONS
from conspectus.server.mcp_tools import LONGER, SHORT
from conspectus.server.tokens import Caller, Callers, _digest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.conspectus.server.running import FORBIDDEN, QUESTION, Running, running
from tests.waiting import LIMIT

TOOLS = {name for name, operation in OPERATIONS.items() if operation.tool is not None}


def text_of(result: Any) -> Any:  # noqa: ANN401  (JSON)
    """Return what a tool said."""
    (content,) = result.content
    return json.loads(content.text)


async def every_tool(client: Client) -> dict[str, Any]:
    """List the tools, call each, and return what they say."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools.keys() == TOOLS
    assert sum(len(tool.model_dump_json(exclude_none=True, by_alias=True)) for tool in tools.values()) <= 9_000
    for tool in tools.values():
        assert tool.title
        assert tool.annotations
        assert tool.annotations.read_only_hint
        assert "context" not in tool.input_schema["properties"]
    calls: dict[str, dict[str, Any]] = {
        "ask": {"question": QUESTION, "method": "ppr"},
        "retrieve": {"question": QUESTION, "k": 9, "method": "bm25", "between": ["1900", "2030"]},
        "explain": {"question": QUESTION, "k": 9, "method": "bm25"},
        "entity": {"entity": "Otto Brand"},
        "neighbours": {"entity": "Otto Brand"},
        "reports": {"level": "c0"},
        "document": {"document": "a", "start": 0, "end": 9},
        "status": {},
        "methods": {},
        "documents": {},
        "filters": {},
        "entities": {"name": "otto"},
        "timeline": {"entity": "Otto Brand"},
        "conflicts": {},
    }
    said = {}
    for name, arguments in calls.items():
        result = await client.call_tool(name, arguments)
        assert not result.is_error, (name, result)
        said[name] = text_of(result)
        assert len(result.content[0].text) <= (SHORT if OPERATIONS[name].asks else LONGER)  # type: ignore[union-attr]
    assert said["document"]["text"] == "Anna Berg"
    assert said["ask"]["citations"][0]["document_id"] == "a"
    for name, arguments in (
        ("ask", {}),
        ("ask", {"question": "x", "method": "none"}),
        ("entity", {"entity": "Nobody"}),
        ("document", {"document": "none"}),
    ):
        refused = await client.call_tool(name, arguments)
        assert refused.is_error
        assert "/v1/" not in str(refused)
    return said


async def every_resource(client: Client, index: str) -> str:
    """Read each kind of resource, take each prompt, and return what they say."""
    base = f"conspectus://indexes/{index}"
    templates = {one.uri_template for one in (await client.list_resource_templates()).resource_templates}
    assert {one.partition("{index}")[2].partition("{")[0] for one in templates} == {
        "/documents/",
        "/reports/",
        "/filters",
    }
    listed = (await client.list_resources()).resources
    assert {f"{base}/filters", f"{base}/documents/a"} <= {str(one.uri) for one in listed}
    for one in listed:
        assert (await client.read_resource(str(one.uri))).contents
    reports = await client.call_tool("reports", {"level": "c0"})
    communities = [row["community_id"] for row in text_of(reports).get("rows", [])]  # none in a restricted view
    addresses = [f"{base}/documents/a", f"{base}/documents/a?start=5&end=9", f"{base}/filters"]
    addresses += [f"{base}/reports/{each}" for each in communities]
    texts = [(await client.read_resource(address)).contents[0].text for address in addresses]  # type: ignore[union-attr]
    assert texts[0].startswith("Anna Berg")
    assert texts[1] == "Berg"
    assert "year  " in texts[2]
    assert all(text.startswith("# ") for text in texts[3:])
    for address in ("documents/none", "documents/../../etc/passwd", "documents/a?start=x", "reports/none"):
        with pytest.raises(MCPError) as told:
            await client.read_resource(f"{base}/{address}")
        assert "conspectus/" not in str(told.value)
    prompts = [one.name for one in (await client.list_prompts()).prompts]
    assert prompts == ["answer_with_citations"]
    for name in prompts:
        prompt = await client.get_prompt(name, {"question": QUESTION})
        assert prompt.messages[0].content.text.endswith(QUESTION)  # type: ignore[union-attr]
    return "\n".join([*texts, *map(str, listed)])


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_http(server: Running, mode: str) -> None:
    async def scene() -> None:
        async with Client(f"{server.url}/mcp", mode=mode) as client:  # type: ignore[arg-type]
            said = await every_tool(client)
            assert said["status"]["version"] == server.indexes[0].version
            assert "\n# " in await every_resource(client, "notes")  # a report
            versions = {"auto": "2026-07-28", "legacy": "2025-11-25"}
            assert client.protocol_version == versions[mode]

    asyncio.run(scene())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_stdio(notes: Path, mode: str) -> None:
    async def scene() -> None:
        command = ["-m", "conspectus.cli", "mcp", str(notes), "--access", "team-a"]
        started = StdioServerParameters(command=sys.executable, args=command)
        async with Client(started, mode=mode) as client:  # type: ignore[arg-type]
            said = str(await every_tool(client)) + await every_resource(client, "index")
            assert not [word for word in FORBIDDEN if word in said.casefold()]

    asyncio.run(scene())


def test_over_stdio_stderr_has_lines_of_the_log_only(notes: Path) -> None:
    command = [sys.executable, "-m", "conspectus.cli", "mcp", str(notes)]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    calls = {"name": "retrieve", "arguments": {"question": "Who met Otto Brand?", "method": "hybrid"}}
    sent = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": calls},
    ]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        process.stdin.write("".join(f"{json.dumps(row)}\n" for row in sent))
        process.stdin.flush()
        replies = [json.loads(process.stdout.readline()) for _ in range(2)]
        _, err = process.communicate(timeout=LIMIT)
    assert "Otto Brand" in str(replies[1]["result"])
    assert [json.loads(line)["event"] for line in err.splitlines()] in ([], ["loaded"])


def test_a_tool_sees_what_the_token_permits(notes: Path) -> None:
    token = "token-of-the-team"
    callers = Callers({_digest(token): Caller("team", ("team-a",), frozenset({"notes"}))})

    async def scene(server: Running) -> None:
        with_token = httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"})
        async with with_token, Client(streamable_http_client(f"{server.url}/mcp", http_client=with_token)) as client:
            said = str(await every_tool(client)).casefold()
            assert not [word for word in FORBIDDEN if word in said]
            with pytest.raises(MCPError):
                await client.read_resource("conspectus://indexes/other/documents/a")
            for arguments in ({"document": "secret/plan.md"}, {"document": "a", "index": "other"}):
                assert (await client.call_tool("document", arguments)).is_error

    with running(("notes", notes), ("other", notes), callers=callers, token=token) as server:
        asyncio.run(scene(server))
        assert server.client.post("/mcp", headers={"authorization": "none"}).status_code == 401
        assert server.client.post("/mcp", headers={"host": "evil.example"}).status_code == 421
