"""Reranking by a server: POST /rerank, in the form that Cohere, Jina, vLLM and others share, or in that of TEI."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from conspectus.prompts.client.event_loop import wait_for
from conspectus.prompts.client.retry import BadRequest
from conspectus.prompts.client.server import Address, Call, Parsed, open_server
from conspectus.prompts.client.usage_and_cost import Spending, no_budget, record
from conspectus.prompts.embedding.windows import without_surrogates
from conspectus.storage.arrays import Vectors
from conspectus.storage.errors import ModelRefused
from conspectus.storage.settings import RerankSettings

PATH = "/rerank"
_SECONDS, _ATTEMPTS, _AT_ONCE, _BYTES_PER_TOKEN = 120.0, 4, 16, 4
_SURE = 1e-6
"""How near to 0 and 1 a relevance may be: beyond, its logit would be infinite."""


class RerankServer:
    """The reranker of `rerank.base_url`. Thread-safe, but must not be used on the call loop.

    Args:
        settings: Section `rerank`.

    Example:
        scores = RerankServer(RerankSettings(base_url="https://api.jina.ai/v1", model="jina-reranker-v2")).scores(
            "Who wrote it?", ["Ada wrote it.", "A mill."]
        )
    """

    def __init__(self, settings: RerankSettings) -> None:
        self._settings = settings
        self._of_tei = False
        """Whether the server takes `texts` instead of `documents`."""

    def scores(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return the scores of n passages for a question, float32 (n,); larger is better.

        Relevances from 0 to 1 are given as logits, the scores of a local cross-encoder.

        Raises:
            ModelRefused: The server refuses the request, or its reply has no score for each passage.
            ModelUnavailable: The server does not answer.
            SettingsError: The key is invalid.
        """
        found = np.asarray(wait_for(self._ask(question, texts)) if texts else [], np.float64)
        if found.size and found.min() >= 0 and found.max() <= 1:
            chances = np.clip(found, _SURE, 1 - _SURE)
            found = np.log(chances / (1 - chances))
        scores: Vectors = found.astype(np.float32)
        return scores

    async def _ask(self, question: str, texts: Sequence[str]) -> list[float]:
        settings, passages = self._settings, [without_surrogates(text) for text in texts]
        address = Address(
            settings.base_url, "", settings.api_key_variable, _SECONDS, _ATTEMPTS, _AT_ONCE,
            section="rerank", model_key="rerank.model",
        )  # fmt: skip
        refusals: list[BadRequest] = []
        for of_tei in (True,) if self._of_tei else (False, True):
            body: dict[str, Any] = {"query": without_surrogates(question)}
            if of_tei:
                body |= {"texts": passages, "truncate": True}
            else:
                body |= {"model": settings.model, "documents": passages, "top_n": len(passages)}
            parse = partial(_parsed, n_texts=len(passages))
            call = Call(PATH, body, sum(map(len, passages)) / _BYTES_PER_TOKEN, no_budget, parse)
            try:
                scores = await open_server(address).send(call)
                self._of_tei = of_tei
                return scores
            except BadRequest as error:
                refusals.append(error)
                if " says 422" not in str(error):  # no member is unknown, or missing
                    break
            finally:
                record(Spending("rerank", settings.model, calls=1, attempts=call.attempts))
        raise refusals[0]  # that of the usual form


def _parsed(body: Mapping[str, Any], n_texts: int) -> Parsed[list[float]]:
    """Return the score of each text in their order; a wrong or missing one is an error."""
    rows = body.get("results")
    known = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    scores = {row.get("index"): row.get("relevance_score", row.get("score")) for row in known}
    found = [scores.get(place) for place in range(n_texts)]
    numbers = [float(score) for score in found if isinstance(score, int | float) and math.isfinite(score)]
    if len(numbers) != n_texts or len(known) != n_texts:
        raise ModelRefused(f"no reranker answers at rerank.base_url: {len(numbers)} scores for {n_texts} passages in "
                           f"{str(dict(body))[:200]}")  # fmt: skip
    return Parsed(numbers, 0, None)
