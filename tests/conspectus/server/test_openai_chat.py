"""The official client of OpenAI's API, over a real socket."""

import json
from pathlib import Path

import openai
import pytest
from conspectus.server.openai_chat import NOTES, SOURCES
from conspectus.storage.settings import load_settings

from benchmarks.fake_server import FakeServer
from tests.conspectus.server.running import QUESTION, Running, running


@pytest.fixture
def client(server: Running) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0)


def test_a_model_is_an_index_and_a_method(client: openai.OpenAI) -> None:
    names = {model.id for model in client.models.list()}
    assert {"notes/auto", "notes/ppr", "notes/global"} <= names
    for name in (*names, "notes"):
        assert client.models.retrieve(name).id == name
    for name in ("notes/io", "notes/none", "none/ppr"):
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve(name)


def test_a_reply_is_a_cited_answer_with_its_sources_in_three_forms(client: openai.OpenAI, server: Running) -> None:
    reply = client.chat.completions.create(
        model="notes/ppr", temperature=0, max_tokens=99, messages=[{"role": "user", "content": QUESTION}]
    )
    content = reply.choices[0].message.content or ""
    expected = server.ask(method="ppr").json()
    text, _, sources = content.partition(SOURCES)
    assert text == expected["text"]
    assert "[1] Anna" in sources
    found = (reply.choices[0].message.annotations or [])[0].url_citation
    assert content[found.start_index : found.end_index] == "[1]"
    first = expected["citations"][0]
    span = f"{first['start']}-{first['end']}"
    assert found.url == f"{server.url}/#/notes/ask?doc={first['document_id']}&span={span}", "the page opens it"
    listed = (reply.model_extra or {})["sources"]
    assert [one["document"] for one in listed] == [[one["quote"]] for one in expected["citations"]]
    assert reply.system_fingerprint == server.indexes[0].version


def test_the_pieces_together_are_the_whole_reply(client: openai.OpenAI) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    whole = client.chat.completions.create(model="notes", messages=messages)  # type: ignore[arg-type]
    chunks = list(
        client.chat.completions.create(  # type: ignore[call-overload]
            model="notes", messages=messages, stream=True, stream_options={"include_usage": True}
        )
    )
    pieces = [choice.delta.content or "" for chunk in chunks for choice in chunk.choices]
    assert "".join(pieces) == whole.choices[0].message.content
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1] == "stop"
    assert chunks[-1].usage.total_tokens == 0
    assert any("sources" in (chunk.model_extra or {}) for chunk in chunks)


def test_a_conversation_goes_on(client: openai.OpenAI, server: Running) -> None:
    before = [
        {"role": "user", "content": "Who left Port Alma?"},
        {"role": "assistant", "content": f"Otto Brand. [1]{SOURCES}\n[1] Otto"},
        {"role": "user", "content": [{"type": "text", "text": "And when?"}]},
    ]
    reply = client.chat.completions.create(model="notes/ppr", messages=before)  # type: ignore[arg-type]
    turn = {"question": "Who left Port Alma?", "answer": "Otto Brand. [1]"}
    asked = server.ask(question="And when?", method="ppr", history=[turn]).json()
    content, _, notes = (reply.choices[0].message.content or "").partition(SOURCES)[0].partition(NOTES)
    assert content.endswith(asked["text"])
    assert notes == "".join(f"\n- {note}" for note in asked["notes"])
    assert notes


def test_what_a_chat_program_asks_by_itself_is_not_looked_up(client: openai.OpenAI) -> None:
    history = "<chat_history>\nUSER: Who met Otto?\n</chat_history>"
    task = f"### Task:\nGenerate a concise title.\n### Guidelines:\n- short\n{history}"
    for stream in (False, True):
        reply = client.chat.completions.create(
            model="notes/auto", messages=[{"role": "user", "content": task}], stream=stream
        )
        text = (
            "".join(choice.delta.content or "" for chunk in reply for choice in chunk.choices)
            if stream
            else reply.choices[0].message.content
        )
        assert json.loads(text) == {"title": "Who met Otto?"}


def test_errors_are_those_that_the_client_knows(client: openai.OpenAI) -> None:
    user = {"role": "user", "content": QUESTION}
    with pytest.raises(openai.NotFoundError, match="no index"):
        client.chat.completions.create(model="other/ppr", messages=[user])  # type: ignore[list-item]
    with pytest.raises(openai.BadRequestError, match="unknown method"):
        client.chat.completions.create(model="notes/none", messages=[user], stream=True)  # type: ignore[list-item]
    with pytest.raises(openai.BadRequestError, match="last message"):
        client.chat.completions.create(model="notes", messages=[{"role": "assistant", "content": "x"}])


def test_what_nothing_supports_is_in_no_piece_of_a_stream(notes: Path) -> None:
    with FakeServer("Zora Flint robbed the Harbour Bank in 1999 [1].") as fake:
        settings = load_settings(overrides={"llm": {"model": "writer", "attempts": 1, "base_url": fake.url}})
        with running(("notes", notes), settings=settings) as server:
            chat = openai.OpenAI(base_url=f"{server.url}/v1", api_key="any")
            user = {"role": "user", "content": "Who met Anna Berg, and where?"}
            pieces = chat.chat.completions.create(model="notes/bm25", messages=[user], stream=True)  # type: ignore[list-item]
            said = "".join(choice.delta.content or "" for chunk in pieces for choice in chunk.choices)
            whole = chat.chat.completions.create(model="notes/bm25", messages=[user])  # type: ignore[list-item]
            events = server.ask(question="Who met Anna Berg, and where?", method="bm25", stream=True).text
    assert said == whole.choices[0].message.content
    assert "Zora" not in said.partition(NOTES)[0]
    assert {line for line in events.splitlines() if line.startswith("event: ")} == {"event: step", "event: answer"}
