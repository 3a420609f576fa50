"""The real client of the Model Context Protocol: over stdio, over HTTP, in the present protocol and the one before."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from conspectus.server.callers import Caller, Callers, _digest
from tests.conspectus.server.running import FORBIDDEN, QUESTION, Running, running

TOOLS = {"ask", "retrieve", "explain", "entity", "neighbours", "reports", "document", "status"}


async def every_tool(client: Client) -> dict[str, Any]:
    """List the tools, call each, and return what they say."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools.keys() == TOOLS
    for tool in tools.values():
        assert tool.output_schema
        assert tool.annotations
        assert tool.annotations.read_only_hint
        assert "context" not in tool.input_schema["properties"]
    calls: dict[str, dict[str, Any]] = {
        "ask": {"question": QUESTION, "method": "ppr"},
        "retrieve": {"question": QUESTION, "k": 9, "method": "bm25"},
        "explain": {"question": QUESTION, "k": 9, "method": "bm25"},
        "entity": {"name": "Otto Brand"},
        "neighbours": {"entity": "Otto Brand"},
        "reports": {"level": "c0"},
        "document": {"id": "a", "start": 0, "end": 9},
        "status": {},
    }
    said = {}
    for name, arguments in calls.items():
        result = await client.call_tool(name, arguments)
        assert not result.is_error, (name, result)
        said[name] = result.structured_content
    assert said["document"]["text"] == "Anna Berg"
    assert said["ask"]["citations"][0]["document_id"] == "a"
    for name, arguments in (("ask", {}), ("ask", {"question": "x", "method": "none"}), ("entity", {"name": "Nobody"})):
        assert (await client.call_tool(name, arguments)).is_error
    return said


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_http(server: Running, mode: str) -> None:
    async def scene() -> None:
        async with Client(f"{server.url}/mcp", mode=mode) as client:  # type: ignore[arg-type]
            said = await every_tool(client)
            assert said["ask"]["version"] == server.indexes[0].version

    asyncio.run(scene())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_stdio(notes: Path, mode: str) -> None:
    async def scene() -> None:
        command = ["-m", "conspectus.cli", "mcp", str(notes), "--access", "team-a"]
        started = StdioServerParameters(command=sys.executable, args=command)
        async with Client(started, mode=mode) as client:  # type: ignore[arg-type]
            said = str(await every_tool(client)).casefold()
            assert not [word for word in FORBIDDEN if word in said]

    asyncio.run(scene())


def test_a_tool_sees_what_the_token_permits(notes: Path) -> None:
    token = "token-of-the-team"
    callers = Callers({_digest(token): Caller("team", ("team-a",), frozenset({"notes"}))})

    async def scene(server: Running) -> None:
        with_token = httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"})
        async with with_token, Client(streamable_http_client(f"{server.url}/mcp", http_client=with_token)) as client:
            said = str(await every_tool(client)).casefold()
            assert not [word for word in FORBIDDEN if word in said]
            for arguments in ({"id": "secret/plan.md"}, {"id": "a", "index": "other"}):
                assert (await client.call_tool("document", arguments)).is_error

    with running(("notes", notes), ("other", notes), callers=callers, token=token) as server:
        asyncio.run(scene(server))
        assert server.client.post("/mcp", headers={"authorization": "none"}).status_code == 401
        assert server.client.post("/mcp", headers={"host": "evil.example"}).status_code == 421
