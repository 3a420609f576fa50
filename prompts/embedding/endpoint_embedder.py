"""Vectors from a server that speaks OpenAI's protocol.

A server's tokenizer is not at hand, so texts are measured with our own and a margin is left: a text has at most
`_MARGIN` times `embedding.max_input_tokens` of our tokens. What the server finds too long all the same goes in
halves, and so does a request of more texts than it takes.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from conspectus.prompts.client.budget import Reserve
from conspectus.prompts.client.endpoint import Address
from conspectus.prompts.client.event_loop import wait_for
from conspectus.prompts.client.retry import BadRequest
from conspectus.prompts.client.server import Call, ModelServer, Outcome, open_server
from conspectus.prompts.client.usage import Meter, Spending, record
from conspectus.prompts.embedding.response import EmbeddingReply, read_vectors
from conspectus.prompts.embedding.token_estimate import foreign_spans
from conspectus.prompts.embedding.vector_cache import KeptVectors
from conspectus.prompts.embedding.windows import cut, storable
from conspectus.storage.arrays import Vectors
from conspectus.storage.errors import ModelRefused, ModelUnavailable, SettingsError
from conspectus.storage.settings import EmbeddingServerSettings, EmbeddingSettings

PATH = "/embeddings"
STEP = "embed"
"""What usage is shown by."""

_MARGIN = 0.8
"""A tokenizer of another vocabulary makes up to a quarter more of a text than ours (XLM-RoBERTa's of English does)."""
_OVERLAP_TOKENS = 32
_BYTES_A_TOKEN = 4
_BLANK = "-"
"""Stands for a text without a visible character: many servers refuse to embed nothing."""
_TOO_MUCH = re.compile(r"batch|many|array|token|length|long|large|limit|maximum|exceed|size|context", re.IGNORECASE)
_TOO_LARGE = 413
_CODING = re.compile(r"encoding|base64", re.IGNORECASE)


@dataclass(slots=True)
class _Job:
    """One call of the embedder: what is put before its texts, and what it has taken so far."""

    prefix: str
    spent: list[Spending] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Vectors, and whether a text among them was too long for the server."""

    vectors: Vectors
    too_long: bool = False


class EndpointEmbedder:
    """A model of the server that `embedding_server` names. Safe to share between threads; not for the loop of calls.

    `dimension` is the length that vectors must have (None: as the first reply has it). Whatever text comes, its
    vector is asked for again: who needs one twice remembers it. Only the last questions are kept. ModelRefused
    and ModelUnavailable say what the server said; SettingsError on first use where it needs a key and there is none.
    """

    def __init__(
        self, embedding: EmbeddingSettings, server: EmbeddingServerSettings, dimension: int | None = None
    ) -> None:
        self._embedding = embedding
        self._settings = server
        self._dimension = dimension or embedding.dimensions
        self._most_texts = server.batch_size
        self._base64 = True
        self._questions = KeptVectors(self._embed_questions)
        self.meter = Meter()
        """What this embedder has spent."""
        longest = max(embedding.document_prefix, embedding.query_prefix, key=len)
        if len(foreign_spans(longest)) > self.max_tokens // 2:
            raise SettingsError(
                f"embedding.max_input_tokens is {embedding.max_input_tokens}, which leaves too little room "
                f"behind the prefix {longest!r}"
            )

    @property
    def name(self) -> str:
        """`endpoint:` and all that shapes the vector of a text: model, dimensions, prefix. Not where the server is."""
        wanted = self._embedding
        dimensions = f"@{wanted.dimensions}" if wanted.dimensions else ""
        prefix = f" {wanted.document_prefix!r}" if wanted.document_prefix else ""
        return f"endpoint:{wanted.model}{dimensions}{prefix}"

    @property
    def dimension(self) -> int:
        """The length of a vector; where nothing tells it yet, the server is asked for one."""
        if self._dimension is None:
            self._vectors([""], _Job(self._embedding.document_prefix))
        assert self._dimension is not None
        return self._dimension

    @property
    def max_tokens(self) -> int:
        """Most tokens of a text with its prefix, by our own cautious count (see `token_estimate`)."""
        return int(self._embedding.max_input_tokens * _MARGIN)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, dimension), unit rows, from as many requests at once as the settings allow.

        ValueError where a text has more than `max_tokens` tokens. A text without a visible character is embedded as
        "-"; one that the server finds too long, as the normalised sum of its parts.
        """
        job = _Job(self._embedding.document_prefix)
        for row, text in enumerate(texts):
            if not self._fits(job.prefix, text):
                raise ValueError(
                    f"text {row} ({text[:60]!r}...) has more than {self.max_tokens} tokens: embed its windows instead"
                )
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return self._vectors(texts, job)

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector (dimension,) of a question, read-only; a long one gets the sum of its windows'."""
        return self._questions.of(text)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return (n, dimension) the vectors of several questions, made together: those that each has alone."""
        return self._questions.of_all(texts)

    def windows(self, text: str) -> list[str]:
        """Return pieces of at most `max_tokens` tokens that cover the text, overlapping by up to 32 tokens."""
        return self._windows(self._embedding.document_prefix, text)

    def _embed_questions(self, texts: Sequence[str]) -> list[Vectors]:
        prefix = self._embedding.query_prefix
        pieces = [self._windows(prefix, text) for text in texts]
        vectors = self._vectors([piece for of_text in pieces for piece in of_text], _Job(prefix))
        ends = np.cumsum([len(each) for each in pieces])
        return [_one(each).copy() for each in np.split(vectors, ends[:-1])]

    def _windows(self, prefix: str, text: str) -> list[str]:
        if self._fits(prefix, text):
            return [text]
        spans = foreign_spans(text)
        room = self.max_tokens - len(foreign_spans(prefix))
        return cut(
            text,
            [start for start, _ in spans],
            _words(spans),
            room=room,
            overlap=min(_OVERLAP_TOKENS, room // 4),
            fits=partial(self._fits, prefix),
        )

    def _fits(self, prefix: str, text: str) -> bool:
        shown = prefix + text
        return len(shown.encode("utf-8", "replace")) <= self.max_tokens or len(foreign_spans(shown)) <= self.max_tokens

    def _vectors(self, texts: Sequence[str], job: _Job) -> Vectors:
        try:
            return wait_for(self._all(texts, job))
        except ModelUnavailable as error:
            raise ModelUnavailable(self._explained(error)) from error
        except ModelRefused as error:
            raise ModelRefused(self._explained(error)) from error
        except SettingsError as error:
            raise SettingsError(self._explained(error)) from error
        finally:
            for each in job.spent:
                record(each)

    def _explained(self, error: Exception) -> str:
        """Say whose error it is."""
        return f"embedding with {self.name}: {error}"

    async def _all(self, texts: Sequence[str], job: _Job) -> Vectors:
        server = open_server(_address(self._settings))
        # Texts of like length together: a server that pads them has less to pad.
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        size = self._settings.batch_size
        batches = [order[start : start + size] for start in range(0, len(order), size)]
        tasks = [asyncio.create_task(self._batch([texts[i] for i in rows], job, server)) for rows in batches]
        try:
            found = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for rows, each in zip(batches, found, strict=True):
            vectors[rows] = each.vectors
        return vectors

    async def _batch(self, texts: Sequence[str], job: _Job, server: ModelServer) -> _Rows:
        """Return the vectors of texts; those of a request that is too much for the server from two smaller ones."""
        refused = False
        if len(texts) <= self._most_texts:
            try:
                return _Rows(await self._post(texts, job, server))
            except ModelRefused as error:
                if not _is_too_much(error):
                    raise
                if len(texts) == 1:
                    halves = _halves(texts[0])
                    if not halves:
                        raise
                    return _Rows(_one((await self._batch(halves, job, server)).vectors)[np.newaxis], too_long=True)
                refused = True
        half = -(-len(texts) // 2)
        first = await self._batch(texts[:half], job, server)
        second = await self._batch(texts[half:], job, server)
        too_long = first.too_long or second.too_long
        if refused and not too_long:  # then it was their number
            self._most_texts = min(self._most_texts, half)
        return _Rows(np.concatenate([first.vectors, second.vectors]), too_long)

    async def _post(self, texts: Sequence[str], job: _Job, server: ModelServer) -> Vectors:
        shown = [_visible(job.prefix + text) for text in texts]
        n_bytes = sum(len(each.encode()) for each in shown)
        while True:
            in_base64 = self._base64
            call = Call(
                PATH,
                body=self._body(shown, in_base64),
                expected=n_bytes / _BYTES_A_TOKEN,
                reserve=_unbounded,
                read=partial(self._read, n_texts=len(shown), n_bytes=n_bytes),
            )
            found = None
            try:
                found = await server.post(call)
            except BadRequest as error:
                if not (in_base64 and _CODING.search(error.refusal)):
                    raise
                self._base64 = False
                continue
            finally:
                spent = self._spending(call, found, n_bytes)
                self.meter.add(spent)
                job.spent.append(spent)
            return found.rows

    def _body(self, shown: Sequence[str], in_base64: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._embedding.model, "input": list(shown)}
        if self._embedding.dimensions:
            body["dimensions"] = self._embedding.dimensions
        # The openai package would ask for base64 too; floats are what a server gives that is not asked.
        return body | ({"encoding_format": "base64"} if in_base64 else {})

    def _read(self, body: Mapping[str, Any], n_texts: int, n_bytes: int) -> Outcome[EmbeddingReply]:
        found = read_vectors(body, n_texts)
        dimension = found.rows.shape[1]
        if self._dimension is None:
            self._dimension = dimension
        if dimension != self._dimension:
            raise ModelRefused(
                f"the vectors have {dimension} numbers where {self._dimension} are needed: the server cannot shorten "
                f"them (embedding.dimensions), or has another model under this name now (then rebuild the index)"
            )
        tokens = n_bytes // _BYTES_A_TOKEN if found.tokens is None else found.tokens
        return Outcome(found, tokens, self._cost(tokens))

    def _cost(self, tokens: int) -> float | None:
        return None if self._settings.price is None else tokens * self._settings.price / 1_000_000

    def _spending(self, call: Call[EmbeddingReply], found: EmbeddingReply | None, n_bytes: int) -> Spending:
        unconfirmed = call.unconfirmed * n_bytes
        if found is None:
            return Spending(STEP, self._embedding.model, attempts=call.attempts, unconfirmed_tokens=unconfirmed)
        tokens = n_bytes // _BYTES_A_TOKEN if found.tokens is None else found.tokens
        return Spending(
            STEP,
            self._embedding.model,
            calls=1,
            attempts=call.attempts,
            prompt_tokens=tokens,
            unconfirmed_tokens=unconfirmed,
            cost=self._cost(tokens),
            estimated=found.tokens is None,
        )


def _is_too_much(error: ModelRefused) -> bool:
    """Whether a smaller request may be taken where this one was not."""
    if isinstance(error, BadRequest):
        return _TOO_MUCH.search(error.refusal) is not None
    return getattr(error.__cause__, "status_code", None) == _TOO_LARGE


def _halves(text: str) -> list[str]:
    """Return a text in two parts, cut before a word where there is one; nothing where it is too short to cut.

    >>> _halves("one two three")
    ['one ', 'two three']
    """
    if len(text) < 2:
        return []
    middle = text.rfind(" ", 0, len(text) // 2) + 1 or len(text) // 2
    return [text[:middle], text[middle:]]


def _words(spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each span the number of its word: spans that touch are of one word."""
    words = [0] * len(spans)
    for i in range(1, len(spans)):
        words[i] = words[i - 1] + (spans[i][0] > spans[i - 1][1])
    return words


def _visible(text: str) -> str:
    return storable(text) if text.strip() else _BLANK


def _one(vectors: Vectors) -> Vectors:
    """Return the normalised sum of unit vectors."""
    total = vectors.sum(axis=0)
    unit: Vectors = vectors[0] if len(vectors) == 1 else total / np.linalg.norm(total)
    return unit


@asynccontextmanager
async def _unbounded() -> AsyncIterator[Reserve]:
    """Set nothing aside: the budgets of the settings are those of language models."""
    yield Reserve(0, 0.0)


def _address(server: EmbeddingServerSettings) -> Address:
    return Address(
        server.base_url,
        server.api_version,
        server.api_key_variable,
        server.timeout,
        server.attempts,
        server.concurrency,
        server.requests_per_minute,
        server.tokens_per_minute,
        section="embedding_server",
        model_key="embedding.model",
    )
