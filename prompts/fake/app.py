"""What the server answers: from a whole request to a reply and how it is to be sent."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from conspectus.prompts.fake import chat, embeddings
from conspectus.prompts.fake.asked import FakeRequest
from conspectus.prompts.fake.faults import FaultKind
from conspectus.prompts.fake.instances import UnsupportedSchema
from conspectus.prompts.fake.limits import Limiter, Refusal
from conspectus.prompts.fake.malformed import MALFORMED
from conspectus.prompts.fake.manner import Change, Manner
from conspectus.prompts.fake.mishaps import instead, spoil
from conspectus.prompts.fake.patterns import UnsupportedPattern
from conspectus.prompts.fake.recorded import Recorded, Records, row_of
from conspectus.prompts.fake.refused import Refused, check_chat, failure, lacking
from conspectus.prompts.fake.routes import Route, authorise, bearer, check_model, route
from conspectus.prompts.fake.wire import Incoming, Outgoing
from pydantic import ValidationError

Headers = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Exchange:
    """One recorded request while it is answered: what is learnt about it on the way."""

    records: Records
    row: Recorded
    raw: bytes
    status: int = 200
    fault: FaultKind | None = None
    refused: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def done(self, sent: bool) -> None:
        """Record the end."""
        status = self.status if sent else None
        self.records.finish(
            self.row, self.raw, status, self.fault, self.refused, self.prompt_tokens, self.completion_tokens
        )


class App:
    """The server without its sockets."""

    def __init__(self, manner: Manner, records: Records) -> None:
        self.records = records
        self.manner = manner
        self._limiter = Limiter(manner.limits)

    def change(self, **changes: Any) -> None:  # noqa: ANN401 - fields of Manner
        """Behave otherwise from the next request on. New limits start afresh."""
        self.manner = replace(self.manner, **changes)
        if "limits" in changes:
            self._limiter = Limiter(self.manner.limits)

    def answer(self, incoming: Incoming) -> Outgoing:
        """Return the reply to a request; completions, embeddings and what leads nowhere are recorded."""
        try:
            way = route(incoming.method, incoming.target)
            if way.endpoint in ("chat", "embeddings"):
                return self._recorded(incoming, lambda exchange, body: self._served(way, exchange, body))
            return self._told(way, incoming)
        except Refused as refused:
            wrong = refused
        if wrong.status not in (404, 405):
            return _failed(wrong)

        def refuse(exchange: Exchange, body: Mapping[str, Any] | None) -> Outgoing:
            raise wrong

        return self._recorded(incoming, refuse)

    def _recorded(
        self, incoming: Incoming, serve: Callable[[Exchange, Mapping[str, Any] | None], Outgoing]
    ) -> Outgoing:
        body = _parsed(incoming.body)
        headers = {name: value for name, value in incoming.headers.items() if name not in ("authorization", "api-key")}
        row = self.records.arrive(incoming.target, incoming.body, body, headers, bearer(incoming.headers))
        exchange = Exchange(self.records, row, incoming.body)
        answered = False
        try:
            authorise(incoming.headers, self.manner.api_key)
            reply = serve(exchange, body)
            answered = True
        except Refused as refused:
            reply = _failed(refused)
            answered = True
        finally:
            if not answered:  # a rule of the user's has failed: the request is over all the same
                exchange.done(False)
        exchange.status = reply.status
        return replace(reply, done=exchange.done)

    def _told(self, way: Route, incoming: Incoming) -> Outgoing:
        """Answer what is about the server itself."""
        if way.endpoint == "settings":
            return self._changed(incoming.body)
        if way.endpoint == "records":
            start = parse_qs(urlsplit(incoming.target).query).get("from", ["0"])[0]
            if not start.isdecimal():
                raise Refused(400, "`from` is the number of a request.", param="from")
            rows = [row_of(row) for row in self.records.rows(int(start))]
            return _json(asdict(self.records.measures()) | {"records": rows})
        authorise(incoming.headers, self.manner.api_key)
        names = self.manner.models or ("fake",)
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "fake"} for name in names]
        return _json({"object": "list", "data": models})

    def _changed(self, body: bytes) -> Outgoing:
        try:
            change = Change.model_validate_json(body)
        except ValidationError as error:
            told = "; ".join(f"{'.'.join(map(str, each['loc'])) or 'body'}: {each['msg']}" for each in error.errors())
            raise Refused(400, f"These settings are not understood: {told}.") from error
        self.change(**{name: getattr(change, name) for name in change.model_fields_set})
        manner = self.manner
        latency = None if callable(manner.latency) else manner.latency
        return _json({"latency": latency, "faults": asdict(manner.faults), "limits": asdict(manner.limits)})

    def _served(self, way: Route, exchange: Exchange, body: Mapping[str, Any] | None) -> Outgoing:
        """Check the request, then come limits, faults, and the reply itself."""
        if body is None:
            told = "We could not parse the JSON body of your request. It must be one JSON object, in UTF-8."
            raise Refused(400, told)
        manner, row = self.manner, exchange.row
        request = FakeRequest(row.path, body, row.headers, row.number, row.attempt)
        check_model(request.model, way.deployment, manner.models)
        words: list[list[str]] = []
        if way.endpoint == "chat":
            request = self._checked(request)
            exchange.prompt_tokens = sum(manner.count(text) for _, text in request.messages)
            self._check_length(exchange.prompt_tokens, request.max_tokens or 0)
        else:
            words = embeddings.inputs(body, manner.largest_batch)
            exchange.prompt_tokens = embeddings.tokens(body, words, manner.count)
        limits = self._limited(exchange, request)
        wait = manner.wait(request)
        fault = exchange.fault = manner.faults.draw(request, manner.seed)
        other = None if fault is None else instead(fault, manner.faults)
        if other is not None:
            return replace(other, wait=0.0 if fault == "429" else wait, headers=other.headers + limits)
        model = request.model or way.deployment or ""
        if way.endpoint == "chat":
            reply = self._completion(exchange, request, model, wait)
        else:
            used = None if "usage" in manner.without else exchange.prompt_tokens
            reply = _json(embeddings.payload(body, words, manner.dimensions, used, model), wait)
        reply = replace(reply, headers=reply.headers + limits) if limits else reply
        return spoil(reply, fault, manner.faults)

    def _checked(self, request: FakeRequest) -> FakeRequest:
        """Return the request without what the server ignores; Refused for what it does not take."""
        manner = self.manner
        body = request.body
        while manner.without and (found := lacking(body, manner.without)) is not None:
            parameter, refused = found
            if manner.unsupported == "refuse":
                raise refused
            body = {name: value for name, value in body.items() if name != parameter}
        check_chat(body)
        return request if body is request.body else replace(request, body=body)

    def _check_length(self, prompt: int, asked: int) -> None:
        most = self.manner.context_length
        if most is not None and prompt + asked > most:
            told = (
                f"This model's maximum context length is {most} tokens. However, you requested {prompt + asked} tokens "
                f"({prompt} in the messages, {asked} in the completion). "
                "Please reduce the length of the messages or completion."
            )
            raise Refused(400, told, param="messages", code="context_length_exceeded")

    def _limited(self, exchange: Exchange, request: FakeRequest) -> Headers:
        """Return the headers about limits; Refused (429) where one is reached."""
        limiter, now = self._limiter, time.monotonic()
        asked = request.max_tokens or 0
        refusal = limiter.take(now, exchange.prompt_tokens, asked, self.records.in_flight - 1)
        if refusal is None:
            return limiter.headers(now)
        exchange.refused = refusal.limit
        headers = limiter.headers(now)
        if refusal.retry_after is not None:
            headers += limiter.retry_headers(refusal.retry_after)
        raise replace(failure(429, _reached(refusal, request.model), headers), type=refusal.limit)

    def _completion(self, exchange: Exchange, request: FakeRequest, model: str, wait: float) -> Outgoing:
        manner = self.manner
        try:
            said = manner.replies.answer(request)
        except (UnsupportedSchema, UnsupportedPattern) as error:
            told = f"Invalid schema for response_format: {error}"
            raise Refused(400, told, param="response_format") from error
        wait = wait if said[0].latency is None else said[0].latency
        if said[0].status >= 400:
            return replace(_failed(failure(said[0].status, said[0].text or "")), wait=wait)
        malformed = exchange.fault if exchange.fault in MALFORMED else None
        choices = [chat.choose(request, each, manner.count, malformed) for each in said]
        exchange.completion_tokens = sum(choice.tokens for choice in choices)
        self._limiter.completed(time.monotonic(), exchange.completion_tokens)
        usage = chat.Usage(exchange.prompt_tokens, exchange.completion_tokens)
        created = int(exchange.row.arrived)
        if not request.body.get("stream"):
            told_usage = None if "usage" in manner.without else usage
            return _json(chat.completion(request, choices, told_usage, created, model), wait)
        options = request.body.get("stream_options") or {}
        told_usage = usage if options.get("include_usage") and "usage" not in manner.without else None
        parts = tuple(chat.events(request, choices, told_usage, created, model, manner.piece))
        return Outgoing(200, parts, kind="text/event-stream", streamed=True, wait=wait, gap=manner.piece_delay)


def _parsed(raw: bytes) -> Mapping[str, Any] | None:
    """Return the JSON object that a body is, None for anything else."""
    try:
        body = json.loads(raw.decode("utf-8"))
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _json(payload: Mapping[str, Any], wait: float = 0.0) -> Outgoing:
    return Outgoing(200, (json.dumps(payload).encode(),), wait=wait)


def _failed(refused: Refused) -> Outgoing:
    return Outgoing(refused.status, (refused.body(),), refused.headers)


def _reached(refusal: Refusal, model: str) -> str:
    if refusal.retry_after is None:
        return f"Request too large for {model} on {refusal.limit} per min. The input or output tokens must be reduced."
    return f"Rate limit reached for {model} on {refusal.limit} per min. Please try again in {refusal.retry_after:.3f}s."
