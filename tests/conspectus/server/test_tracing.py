"""Spans of questions and calls to models, with the names of the conventions and without any text."""

import asyncio
from pathlib import Path

import pytest
from conspectus.server import listen as run
from conspectus.server.tokens import Caller, Callers, _digest
from conspectus.storage.errors import MissingPart
from mcp import Client
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from benchmarks.fake_server import FakeServer
from tests.conspectus.server.running import QUESTION, ROWS, running
from tests.conspectus.server.test_limits import with_model

TOKEN = "token-nobody-should-see"
KEY = "key-nobody-should-see"


@pytest.fixture(scope="module")
def spans() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


def test_s10_spans_have_names_and_numbers_and_no_text(
    notes: Path, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    callers = Callers({_digest(TOKEN): Caller("team")})
    with (
        FakeServer("Anna Berg met Otto Brand.") as fake,
        running(("notes", notes), settings=with_model(fake, model="traced"), callers=callers, token=TOKEN) as server,
    ):
        spans.clear()
        assert server.ask(method="io").status_code == 200
        assert server.ask(method="io").status_code == 200  # remembered: no call, no span of one
        body = {"question": QUESTION, "method": "bm25", "where": "year >= 2020"}
        assert server.client.post("/v1/indexes/notes/retrieve", json=body).status_code == 200
        assert server.client.get("/v1/indexes/notes/entities?name=Quill").status_code == 200
        assert server.ask(where="nonsense ((").status_code == 400
        assert server.ask(method="no-such").status_code == 400

        made = spans.get_finished_spans()
        by = {span.name: span for span in made if "error.type" not in (span.attributes or {})}
        chat, asked, retrieval = by["chat traced"], by["invoke_agent notes"], by["retrieval notes"]
        assert chat.attributes is not None
        assert chat.attributes["gen_ai.operation.name"] == "chat"
        assert chat.attributes["gen_ai.request.model"] == "traced"
        assert int(str(chat.attributes["gen_ai.usage.input_tokens"])) > 0
        assert chat.kind is trace.SpanKind.CLIENT
        assert chat.parent is not None
        assert chat.parent.span_id in {span.context.span_id for span in made if span.name == "invoke_agent notes"}
        assert sum(span.name == "chat traced" for span in made) == 1
        for span, operation in ((asked, "invoke_agent"), (retrieval, "retrieval")):
            assert span.attributes is not None
            assert span.attributes["gen_ai.operation.name"] == operation
            assert span.attributes["gen_ai.data_source.id"] == "notes"
            assert span.attributes["conspectus.version"] == server.indexes[0].version
        assert any((span.attributes or {}).get("error.type") for span in made)
        told = "".join(span.to_json() for span in made).casefold()
        for text in (QUESTION, TOKEN, KEY, "year >=", "nonsense", "Anna", "Quill", "/v1/", str(ROWS[0]["text"])):
            assert text.casefold() not in told, text


def test_s10_tools_of_agents_leave_no_text_in_spans(notes: Path, spans: InMemorySpanExporter) -> None:
    async def scene(url: str) -> None:
        async with Client(f"{url}/mcp") as client:
            await client.call_tool("ask", {"question": QUESTION, "method": "bm25"})
            await client.read_resource("conspectus://indexes/notes/documents/a")

    with running(("notes", notes)) as server:
        spans.clear()
        asyncio.run(scene(server.url))
        told = "".join(span.to_json() for span in spans.get_finished_spans()).casefold()
        assert "invoke_agent notes" in told
        assert QUESTION.casefold() not in told
        assert "anna berg met" not in told


def test_sending_traces_needs_what_sends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    run.send_traces({})
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(MissingPart, match=r"conspectus\[otel\]"):
        run.send_traces({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})
