"""OpenAI's chat protocol: a model is an index and a method (`notes/ppr`), and a reply is a cited answer.

Chat programs differ in how they display sources, so these are sent in three forms: as text at the end of the reply,
which every program shows; as `sources`, which Open WebUI shows; and as `annotations` of type `url_citation`, whose URLs
open the page with the cited characters marked. System messages and sampling parameters are accepted and have no effect.
"""

import json
import re
import time
from collections.abc import AsyncGenerator
from itertools import pairwise
from typing import Annotated, Any, Literal
from urllib.parse import quote

from conspectus.operation_table import ASK
from conspectus.query.menu import DEFAULT_METHOD
from conspectus.query.question.bounds import MOST_CHARACTERS
from conspectus.query.sayings import saying
from conspectus.query.types import Answer, Citation
from conspectus.render.answers import source_lines
from conspectus.rows import json_text
from conspectus.server.ask_routes import AnswerStream, leaves, service_of, stream_response
from conspectus.server.bodies import LONGEST_ANSWER, MOST_TURNS, NARROWING, Access, AsOf, Between, TurnGiven, Where
from conspectus.server.request_checks import Refused, error_body
from conspectus.server.service import Called
from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field

SOURCES = "\n\nSources:"
"""Heading of the sources in the text of a reply."""
NOTES = "\n\nNotes:"
"""Heading of how the question was read, and of the sentences that the citation check marks as unsupported."""
_MARK = re.compile(r"\[(\d{1,4})\]")
_CHORE = "### Task:"
"""Prefix of the messages that Open WebUI sends automatically for a title, tags or follow-up questions."""

router = APIRouter(tags=["openai"])


class MessagePart(BaseModel):
    """A part of a message. Only text is read."""

    type: str
    text: Annotated[str, Field(max_length=LONGEST_ANSWER)] = ""


class ChatMessage(BaseModel):
    """A message of the conversation."""

    role: str
    content: Annotated[str, Field(max_length=LONGEST_ANSWER)] | list[MessagePart] | None = None

    @property
    def text(self) -> str:
        """Its text."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


class StreamOptions(BaseModel):
    """What a stream has besides pieces."""

    include_usage: bool = False


class ChatRequest(BaseModel):
    """A request for a reply; what narrows the index is ours."""

    model: Annotated[str, Field(max_length=300)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=4 * MOST_TURNS)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    where: Where = None
    access: Access = None
    as_of: AsOf = None
    between: Between = None


@router.get("/v1/models")
async def models(request: Request) -> dict[str, Any]:
    """The models: every index that the caller may ask, with every method that can run."""
    service = service_of(request)
    visible, methods = service.visible(request.state.caller), service.methods()
    return {"object": "list", "data": [_model(f"{one.name}/{each.name}") for one in visible for each in methods]}


@router.get("/v1/models/{model:path}")
async def model(request: Request, model: Annotated[str, Path(max_length=300)]) -> dict[str, Any]:
    """One model."""
    index, _, method = model.partition("/")
    service_of(request).find(request.state.caller, index)
    if (method or DEFAULT_METHOD) not in {each.name for each in service_of(request).methods()}:
        raise Refused(404, "not_found", "the index has no such model; /v1/models lists them")
    return _model(model)


@router.post("/v1/chat/completions")
async def completions(request: Request, chat: ChatRequest) -> Any:  # noqa: ANN401  (a stream passes as it is)
    """Reply to the last message with a cited answer."""
    index, _, method = chat.model.partition("/")
    reply = _Reply(request, chat.model, index)
    if chore := _chore(chat.messages[-1].text):
        service_of(request).find(request.state.caller, index)
        return stream_response(reply.chunks_of(chore)) if chat.stream else reply.whole(chore)
    asked = asked_of(chat, method or DEFAULT_METHOD)
    service, caller = service_of(request), request.state.caller
    if not chat.stream:
        answer, _, version = await service.call(caller, index, ASK, asked, leaves(request))
        return reply.whole(content_of(answer), answer, version.name)
    stream = AnswerStream(lambda tell: service.call(caller, index, ASK, asked, leaves(request), tell))
    await stream.begin()
    return stream_response(reply.chunks(stream, usage=bool(chat.stream_options and chat.stream_options.include_usage)))


def asked_of(chat: ChatRequest, method: str) -> dict[str, Any]:
    """Return a conversation as the arguments of a question: the last message, and the earlier turns. Raises Refused."""
    said = [message for message in chat.messages if message.role in {"user", "assistant"} and message.text.strip()]
    if not said or said[-1].role != "user":
        raise Refused(400, "bad_request", "the last message must be from the user and contain text")
    if len(said[-1].text) > MOST_CHARACTERS:
        raise Refused(400, "bad_request", f"a question has at most {MOST_CHARACTERS:,} characters")
    turns = [
        _turn(before.text[:MOST_CHARACTERS], *after.text.partition(SOURCES)[0].partition(NOTES)[::2])
        for before, after in pairwise(said)
        if before.role == "user" and after.role == "assistant"
    ]
    narrowed = {name: getattr(chat, name) for name in NARROWING}
    return {"question": said[-1].text, "method": method, "history": turns[-MOST_TURNS:], **narrowed}


def _turn(question: str, reply: str, notes: str) -> TurnGiven:
    """Return an earlier question with the reply and its notes as `content_of` or a stream gave them."""
    before, _, after = saying("in short", question, "\0").partition("\0")
    parts = reply.split("\n\n")
    short = next((part for part in parts if part.startswith(before) and part.endswith(after)), "")
    rest = "\n\n".join(part for part in parts if part != short)
    short = short.removeprefix(before).removesuffix(after)[:2_000]
    _, _, understood = notes.partition("\n- understood as: ")  # as `Answer.notes` has it
    standalone = understood.partition("\n")[0][:MOST_CHARACTERS]
    return TurnGiven(question=question, answer=rest, short=short, standalone=standalone)


def content_of(answer: Answer) -> str:
    """Return the text of a reply: the short answer, the answer, and what supports it."""
    short = f"{saying('in short', answer.question, answer.span)}\n\n" if answer.span else ""
    return short + answer.text + _support(answer)


def _support(answer: Answer) -> str:
    """Return the notes of an answer, and its sources by number."""
    notes = "".join(f"\n- {note}" for note in answer.notes)
    sources = "".join(f"\n{line.strip()}" for line in source_lines(answer) if line)
    return (NOTES + notes if notes else "") + (SOURCES + sources if sources else "")


class _Reply:
    """Writes the replies of one request."""

    def __init__(self, request: Request, model: str, index: str) -> None:
        self._id = f"chatcmpl-{request.state.log['request']}"
        self._request_id = str(request.state.log["request"])
        self._created = int(time.time())
        self._model = model
        self._page = f"{request.base_url}#/{quote(index, safe='')}/ask"

    def whole(self, content: str, answer: Answer | None = None, version: str = "") -> dict[str, Any]:
        """Return a reply that is not streamed."""
        message = {"role": "assistant", "content": content, "refusal": None}
        more: dict[str, Any] = {}
        if answer is not None:
            message["annotations"] = self._annotations(content, answer)  # type: ignore[assignment]
            more = {"sources": self._sources(answer)}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {**self._head("chat.completion", version), "choices": [choice], "usage": _usage(answer), **more}

    async def chunks(self, stream: AnswerStream, *, usage: bool) -> AsyncGenerator[str, None]:
        """Yield a streamed reply: its content is one piece, as it is shown only once its sentences are checked."""
        yield self._chunk({"role": "assistant", "content": ""})
        try:
            async for part in stream.parts():
                if isinstance(part, Called):
                    answer, content = part.result, content_of(part.result)
                    yield self._chunk({"content": content})
                    found = {"annotations": self._annotations(content, answer)}
                    yield self._chunk(found, sources=self._sources(answer))
                    yield self._chunk({}, "stop")
                    if usage:
                        yield self._line(
                            {**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(answer)}
                        )
                    yield "data: [DONE]\n\n"
        except Refused as refused:
            yield self._line(error_body(refused.kind, refused.message, self._request_id))

    async def chunks_of(self, content: str) -> AsyncGenerator[str, None]:
        """Yield a reply whose content is already known."""
        yield self._chunk({"role": "assistant", "content": content})
        yield self._chunk({}, "stop")
        yield "data: [DONE]\n\n"

    def _chunk(self, delta: dict[str, Any], reason: str | None = None, **more: object) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return self._line({**self._head("chat.completion.chunk"), "choices": [choice], **more})

    @staticmethod
    def _line(data: dict[str, Any]) -> str:
        return f"data: {json_text(data)}\n\n"

    def _head(self, kind: str, version: str = "") -> dict[str, Any]:
        named = {"system_fingerprint": version} if version else {}
        return {"id": self._id, "object": kind, "created": self._created, "model": self._model, **named}

    def _annotations(self, content: str, answer: Answer) -> list[dict[str, Any]]:
        """Return an annotation for each citation mark in the text of the answer."""
        cited = {one.number: one for one in answer.citations}
        found = []
        for mark in _MARK.finditer(content.rpartition(SOURCES)[0] or content):
            if one := cited.get(int(mark[1])):
                place = {"start_index": mark.start(), "end_index": mark.end(), "title": one.title}
                place["url"] = self._address(one)
                found.append({"type": "url_citation", "url_citation": place})
        return found

    def _sources(self, answer: Answer) -> list[dict[str, Any]]:
        """Return the sources as Open WebUI shows them."""
        return [
            {
                "source": {"id": one.document_id, "name": f"[{one.number}] {one.title}", "url": address},
                "document": [one.quote],
                "metadata": [{"source": address, "name": one.title, "start": one.start, "end": one.end}],
            }
            for one in answer.citations
            for address in [self._address(one)]
        ]

    def _address(self, cited: Citation) -> str:
        """Return the address of the page, with the document open and the span marked."""
        return f"{self._page}?doc={quote(cited.document_id, safe='')}&span={cited.start}-{cited.end}"


def _model(id_: str) -> dict[str, Any]:
    return {"id": id_, "object": "model", "created": 0, "owned_by": "conspectus"}


def _usage(answer: Answer | None) -> dict[str, int]:
    took = (answer.usage.prompt_tokens, answer.usage.completion_tokens) if answer else (0, 0)
    return {"prompt_tokens": took[0], "completion_tokens": took[1], "total_tokens": sum(took)}


def _chore(text: str) -> str:
    """Return a reply to a chat program's automatic request, without retrieval; "" if the text is not one."""
    if not (text.startswith(_CHORE) and "<chat_history>" in text):
        return ""
    task = text.partition("### Guidelines")[0].casefold()
    if "title" in task:
        first = re.search(r"USER:\s*(.+)", text.rpartition("<chat_history>")[2])
        return json.dumps({"title": " ".join(first[1].split()[:8]) if first else "Conversation"}, ensure_ascii=False)
    return json.dumps({"tags": []} if "tag" in task else {"follow_ups": []})
