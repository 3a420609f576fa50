"""Vectors from a server that speaks OpenAI's protocol.

The server's tokenizer is not available, so texts are measured with our own, with a margin: a text has at most `_MARGIN`
times `embedding.max_input_tokens` of our tokens. If the server still finds a text too long, it is split in half and
resent, as is a request with too many texts.
"""

import asyncio
import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from conspectus.prompts.client.event_loop import wait_for
from conspectus.prompts.client.model_file import url_of
from conspectus.prompts.client.retry import BadRequest, TryAgain
from conspectus.prompts.client.server import Address, Call, ModelServer, Parsed, open_server
from conspectus.prompts.client.usage_and_cost import Spending, no_budget, record
from conspectus.prompts.embedding.vector_cache import EmbedsQuestions
from conspectus.prompts.embedding.windows import MOST_OF_QUESTION, cut_windows, estimated_spans, without_surrogates
from conspectus.storage.arrays import Floats, Vectors, unit_sum
from conspectus.storage.errors import ModelRefused, ModelUnavailable, SettingsError
from conspectus.storage.settings import EmbeddingServerSettings, EmbeddingSettings

PATH = "/embeddings"
STEP = "embed"
"""The step in reports of usage."""

_SECONDS = 120.0  # longest time of a reply: a server on a CPU may have a queue of batches
_MARGIN = 0.8
"""A tokenizer with another vocabulary makes up to a quarter more tokens than ours (XLM-RoBERTa's does on English)."""
_BYTES_PER_TOKEN = 4
_BLANK = "-"
"""Sent for a text without a visible character: many servers refuse to embed an empty text."""
_TOO_MUCH = re.compile(r"batch|many|array|token|length|long|large|limit|maximum|exceed|size|context", re.IGNORECASE)
_TOO_LARGE = 413
_ENCODING = re.compile(r"encoding|base64", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EmbeddingReply:
    """Unit vectors (n, d), and the tokens that the server reported; None if it reported none."""

    rows: Vectors
    tokens: int | None


class EndpointEmbedder(EmbedsQuestions):
    """An `Embedder` on the server of `embedding_server`. Thread-safe, but must not be used on the call loop.

    Only the vectors of recent questions are cached here; the index stores those of documents.

    Args:
        embedding: Section `embedding`.
        server: Section `embedding_server`.
        dimension: Length that vectors must have; None for that of the first reply.

    Raises:
        SettingsError: `embedding.max_input_tokens` leaves no room after a prefix. On first use: a key is missing.
    """

    def __init__(
        self, embedding: EmbeddingSettings, server: EmbeddingServerSettings, dimension: int | None = None
    ) -> None:
        self._embedding = embedding
        self._settings = server
        self._dimension = dimension or embedding.dimensions
        self._most_texts = server.batch_size
        self._base64 = True
        super().__init__()
        longest = max(embedding.document_prefix, embedding.query_prefix, key=len)
        if len(estimated_spans(longest)) > self.max_tokens // 2:
            raise SettingsError(
                f"embedding.max_input_tokens is {embedding.max_input_tokens}, which leaves too little room "
                f"behind the prefix {longest!r}"
            )

    @property
    def name(self) -> str:
        """`endpoint:` and everything that shapes a text's vector: model, dimensions, prefix. Not the server."""
        embedding = self._embedding
        dimensions = f"@{embedding.dimensions}" if embedding.dimensions else ""
        prefix = f" {embedding.document_prefix!r}" if embedding.document_prefix else ""
        return f"endpoint:{embedding.model}{dimensions}{prefix}"

    @property
    def dimension(self) -> int:
        """The length of a vector; if it is unknown, the server is asked for one."""
        if self._dimension is None:
            self._vectors([""], self._embedding.document_prefix)
        assert self._dimension is not None
        return self._dimension

    @property
    def max_tokens(self) -> int:
        """Most tokens in a text with its prefix, by the cautious count of `estimated_spans`."""
        return int(self._embedding.max_input_tokens * _MARGIN)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, float32 (n, d), from as many concurrent requests as the settings allow.

        A text without a visible character is embedded as "-"; a text that the server finds too long, as the normalised
        sum of its parts. Raises ValueError if a text has more than `max_tokens` tokens.
        """
        prefix = self._embedding.document_prefix
        for row, text in enumerate(texts):
            if not self._fits(prefix, text):
                raise ValueError(
                    f"text {row} ({text[:60]!r}...) has more than {self.max_tokens} tokens: embed its windows instead"
                )
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return self._vectors(texts, prefix)

    def embed_tokens(self, texts: Sequence[str]) -> None:
        """Return None: a server does not show the vectors of tokens."""

    def windows(self, text: str) -> list[str]:
        """Return pieces of at most `max_tokens` tokens that cover the text and overlap by up to 32 tokens."""
        return self._windows(self._embedding.document_prefix, text)

    def _embed_questions(self, texts: Sequence[str]) -> list[Vectors]:
        prefix = self._embedding.query_prefix
        pieces = [self._windows(prefix, text, ceil(MOST_OF_QUESTION / self.max_tokens)) for text in texts]
        vectors = self._vectors([piece for of_text in pieces for piece in of_text], prefix)
        ends = np.cumsum([len(of_text) for of_text in pieces])
        return [unit_sum(rows) for rows in np.split(vectors, ends[:-1])]

    def _windows(self, prefix: str, text: str, most: int | None = None) -> list[str]:
        if self._fits(prefix, text):
            return [text]
        spans = estimated_spans(text)
        room = self.max_tokens - len(estimated_spans(prefix))
        words = [0] * len(spans)  # spans that touch belong to one word
        for i in range(1, len(spans)):
            words[i] = words[i - 1] + (spans[i][0] > spans[i - 1][1])
        return cut_windows(
            text,
            [start for start, _ in spans],
            words,
            room=room,
            fits=partial(self._fits, prefix),
            most=most,
        )

    def _fits(self, prefix: str, text: str) -> bool:
        whole, most = prefix + text, self.max_tokens
        return len(whole.encode("utf-8", "replace")) <= most or len(estimated_spans(whole)) <= most

    def _vectors(self, texts: Sequence[str], prefix: str) -> Vectors:
        try:
            return wait_for(self._all(_address(self._settings, self._embedding.model), texts, prefix))
        except (ModelUnavailable, ModelRefused, SettingsError) as error:
            kind = next(kind for kind in (ModelUnavailable, ModelRefused, SettingsError) if isinstance(error, kind))
            raise kind(f"embedding with {self.name}: {error}") from error

    async def _all(self, address: Address, texts: Sequence[str], prefix: str) -> Vectors:
        server = open_server(address)
        # Batch texts of similar length: a server that pads them has less to pad.
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        size = self._settings.batch_size
        batches = [order[start : start + size] for start in range(0, len(order), size)]
        tasks = [asyncio.create_task(self._batch([texts[i] for i in rows], prefix, server)) for rows in batches]
        try:
            found = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for rows, (of_batch, _) in zip(batches, found, strict=True):
            vectors[rows] = of_batch
        return vectors

    async def _batch(self, texts: Sequence[str], prefix: str, server: ModelServer) -> tuple[Vectors, bool]:
        """Return the vectors of texts, and whether one of them was too long for the server.

        A request that is too large for the server is sent in halves.
        """
        refused = False
        if len(texts) <= self._most_texts:
            try:
                return await self._post(texts, prefix, server), False
            except ModelRefused as error:
                if not _is_too_much(error):
                    raise
                if len(texts) == 1:
                    halves = _halves(texts[0])
                    if not halves:
                        raise
                    parts, _ = await self._batch(halves, prefix, server)
                    return unit_sum(parts)[np.newaxis], True
                refused = True
        half = -(-len(texts) // 2)
        first, first_too_long = await self._batch(texts[:half], prefix, server)
        second, second_too_long = await self._batch(texts[half:], prefix, server)
        too_long = first_too_long or second_too_long
        if refused and not too_long:  # then there were too many
            self._most_texts = min(self._most_texts, half)
        return np.concatenate([first, second]), too_long

    async def _post(self, texts: Sequence[str], prefix: str, server: ModelServer) -> Vectors:
        inputs = [without_surrogates(prefix + text) if (prefix + text).strip() else _BLANK for text in texts]
        n_bytes = sum(len(text.encode()) for text in inputs)
        while True:
            in_base64 = self._base64
            call = Call(
                PATH,
                body=self._body(inputs, in_base64),
                expected=n_bytes / _BYTES_PER_TOKEN,
                reserve=no_budget,
                parse=partial(self._parse, n_texts=len(inputs), n_bytes=n_bytes),
            )
            reply = None
            try:
                reply = await server.send(call)
            except BadRequest as error:
                if not (in_base64 and _ENCODING.search(error.refusal)):
                    raise
                self._base64 = False
                continue
            finally:
                record(self._spending(call, reply, n_bytes))
            return reply.rows

    def _body(self, inputs: Sequence[str], in_base64: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._embedding.model, "input": list(inputs)}
        if self._embedding.dimensions:
            body["dimensions"] = self._embedding.dimensions
        return body | ({"encoding_format": "base64"} if in_base64 else {})

    def _parse(self, body: Mapping[str, Any], n_texts: int, n_bytes: int) -> Parsed[EmbeddingReply]:
        reply = read_vectors(body, n_texts)
        dimension = reply.rows.shape[1]
        if self._dimension is None:
            self._dimension = dimension
        if dimension != self._dimension:
            raise ModelRefused(
                f"the vectors have {dimension} numbers where {self._dimension} are needed: the server cannot shorten "
                f"them (embedding.dimensions), or has another model under this name now (then rebuild the index)"
            )
        tokens = n_bytes // _BYTES_PER_TOKEN if reply.tokens is None else reply.tokens
        return Parsed(reply, tokens, self._cost(tokens))

    def _cost(self, tokens: int) -> float | None:
        return None if self._settings.price is None else tokens * self._settings.price / 1_000_000

    def _spending(self, call: Call[EmbeddingReply], reply: EmbeddingReply | None, n_bytes: int) -> Spending:
        unconfirmed = call.unconfirmed * n_bytes
        spent = Spending(STEP, self._embedding.model, attempts=call.attempts, unconfirmed_tokens=unconfirmed)
        if reply is None:
            return spent
        tokens = n_bytes // _BYTES_PER_TOKEN if reply.tokens is None else reply.tokens
        return replace(spent, calls=1, prompt_tokens=tokens, cost=self._cost(tokens), estimated=reply.tokens is None)


def _is_too_much(error: ModelRefused) -> bool:
    """Whether the server may accept a smaller request."""
    if isinstance(error, BadRequest):
        return _TOO_MUCH.search(error.refusal) is not None
    return getattr(error.__cause__, "status_code", None) == _TOO_LARGE


def _halves(text: str) -> list[str]:
    """Return a text in two parts, cut before a word if possible; nothing if it is too short to cut.

    >>> _halves("one two three")
    ['one ', 'two three']
    """
    if len(text) < 2:
        return []
    middle = text.rfind(" ", 0, len(text) // 2) + 1 or len(text) // 2
    return [text[:middle], text[middle:]]


def _address(server: EmbeddingServerSettings, model: str) -> Address:
    return Address(
        url_of(model, server.base_url, embeddings=True),
        server.api_version,
        server.api_key_variable,
        _SECONDS,
        server.attempts,
        server.concurrency,
        section="embedding_server",
        model_key="embedding.model",
    )


def read_vectors(body: Mapping[str, Any], n_texts: int) -> EmbeddingReply:
    """Return the vectors of a response body, strictly, so that no vector is silently wrong.

    Args:
        body: The parsed body, with vectors as floats or in base64 (little-endian float32).
        n_texts: Number of texts that were sent.

    Returns:
        Unit vectors in the order of the texts.

    Raises:
        TryAgain: The body does not have one vector per text, all of one length, finite and not all zero.
    """
    data = body.get("data")
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise _invalid(f"a reply without vectors: {str(dict(body))[:200]}")
    if len(data) != n_texts:
        raise _invalid(f"{len(data)} vectors for {n_texts} texts")
    rows = [_numbers(row.get("embedding")) for row in _in_order(data)]
    if len({len(row) for row in rows}) != 1:
        raise _invalid("vectors of several lengths in one reply")
    found = np.stack(rows)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise _invalid("a vector without a direction: its numbers are all zero, infinite or not numbers")
    return EmbeddingReply((found / lengths).astype(np.float32), _reported_tokens(body.get("usage")))


def _in_order(data: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows by their index; unchanged if the server gives none."""
    places = [row.get("index") for row in data]
    if all(place is None for place in places):
        return list(data)
    row_of = {place: row for place, row in zip(places, data, strict=True) if type(place) is int}
    if row_of.keys() != set(range(len(data))):
        raise _invalid(f"vectors whose indices are not those of the texts: {str(places)[:200]}")
    return [row_of[place] for place in range(len(data))]


def _numbers(vector: object) -> Floats:
    try:
        if isinstance(vector, str):
            return np.frombuffer(base64.b64decode(vector, validate=True), "<f4").astype(np.float64)
        numbers = np.asarray(vector, np.float64)
    except (binascii.Error, ValueError, TypeError) as error:
        raise _invalid(f"a vector that cannot be read: {error}") from error
    if numbers.ndim != 1 or not numbers.size:
        raise _invalid(f"a vector that is not a list of numbers: {str(vector)[:100]}")
    return numbers


def _reported_tokens(usage: object) -> int | None:
    """Return the tokens of the texts, None if the server does not report them."""
    if not isinstance(usage, dict):
        return None
    counts = (usage.get("prompt_tokens"), usage.get("total_tokens"))
    return next((count for count in counts if type(count) is int and count > 0), None)


def _invalid(reason: str) -> TryAgain:
    return TryAgain(reason, taken=True)
