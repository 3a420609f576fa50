"""Reranking: a cross-encoder reads a question and a passage together and scores how well the passage answers it.

Nogueira and Cho 2019 (Passage Re-ranking with BERT). A pass contains one pair, so that a score depends on its own pair
only, and runs on a single thread; as many passes run in parallel as torch has threads. On two busy cores that took 2.4
s for 50 pairs and MiniLM-L6; `CrossEncoder.predict` took 6.9 s. A server gets POST /rerank, in the form that Cohere,
Jina, vLLM and others share, or in that of TEI.
"""

import json
import math
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from conspectus.prompts.client.event_loop import cached_per_process, wait_for
from conspectus.prompts.client.retry import BadRequest
from conspectus.prompts.client.server import Address, Call, Parsed, open_server
from conspectus.prompts.client.usage_and_cost import Spending, no_budget, record
from conspectus.prompts.embedding.torch_model import need_torch, offline, plain_tokenizer, single_threads
from conspectus.prompts.embedding.windows import cut_windows, without_surrogates
from conspectus.storage.arrays import Vectors
from conspectus.storage.errors import MissingPart, ModelRefused, SettingsError
from conspectus.storage.settings import RerankSettings

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder
    from tokenizers import Tokenizer


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


_LONGEST = 8_192
_SCORING = "ForSequenceClassification"


class Reranker:
    """A cross-encoder on the CPU. Thread-safe; nothing is downloaded.

    Args:
        model: The folder of a cross-encoder, or the name of one in the Hugging Face cache. It is loaded on first use.

    Raises:
        MissingPart: There is no such model, or on first use it cannot be loaded, or PyTorch is missing.
        SettingsError: It is not a cross-encoder that gives one score per pair.

    Example:
        scores = Reranker("/models/ms-marco-MiniLM-L6-v2").scores("Who wrote it?", ["Ada wrote it.", "A mill."])
    """

    def __init__(self, model: str) -> None:
        self._folder = find_reranker(model)

    def scores(self, question: str, texts: Sequence[str]) -> Vectors:
        """Score passages for a question.

        Args:
            question: The question. It may fill half of the model's input; the rest is ignored.
            texts: n passages. A passage that does not fit next to the question is read in windows that overlap by up to
                32 tokens, and its best window counts.

        Returns:
            The model's logits, float32 (n,); larger is better.
        """
        return load(self._folder).scores(without_surrogates(question), [without_surrogates(text) for text in texts])


@dataclass(frozen=True, slots=True)
class _LoadedReranker:
    """A model in memory, its tokenizer without truncation and padding, and the threads that run it.

    `one_by_one` guards the model's own tokenizer, which is not thread-safe.
    """

    model: "CrossEncoder"
    tokenizer: "Tokenizer"
    threads: ThreadPoolExecutor
    one_by_one: threading.Lock
    max_tokens: int

    def scores(self, question: str, texts: Sequence[str]) -> Vectors:
        question = self._start_of(question)
        pieces = [self.windows(question, text) for text in texts]
        pairs = [(question, piece) for of_text in pieces for piece in of_text]
        if not pairs:
            return np.zeros(0, np.float32)
        found = np.fromiter(self.threads.map(self._pass, pairs), np.float32, len(pairs))
        if not np.isfinite(found).all():
            raise SettingsError("rerank.model: the model gives scores that are not numbers")
        starts = np.cumsum([0, *(len(of_text) for of_text in pieces)])[:-1]
        best: Vectors = np.maximum.reduceat(found, starts)
        return best

    def _pass(self, pair: tuple[str, str]) -> float:
        """Return the logit of one pair."""
        import torch

        prompt = self.model.prompts.get(self.model.default_prompt_name or "")
        with self.one_by_one:
            features = self.model.preprocess([pair], prompt=prompt)
        with torch.inference_mode():
            return float(self.model(features)["scores"])

    def windows(self, question: str, text: str) -> list[str]:
        """Return the windows of a text that fit next to the question."""
        if self._length(question, text) <= self.max_tokens:
            return [text]
        room = self.max_tokens - self._length(question, "")
        tokens = self.tokenizer.encode(text, add_special_tokens=False)
        return cut_windows(
            text,
            [start for start, _ in tokens.offsets],
            tokens.word_ids,
            room=room,
            fits=lambda piece: self._length(question, piece) <= self.max_tokens,
        )

    def _start_of(self, question: str) -> str:
        """Return the longest beginning of a question that fills at most half of the model's input."""
        offsets = self.tokenizer.encode(question, add_special_tokens=False).offsets
        most = self.max_tokens // 2
        return question if len(offsets) <= most else question[: offsets[most - 1][1]]

    def _length(self, question: str, text: str) -> int:
        return len(self.tokenizer.encode(question, text))


def find_reranker(model: str) -> Path:
    """Return the folder of a cross-encoder; MissingPart says what to do if there is none."""
    folder = Path(model).expanduser()
    if not (folder / "config.json").is_file():
        folder = _in_the_cache(model)
    try:
        is_trained = _read(folder / "config_sentence_transformers.json").get("model_type") == "CrossEncoder"
        names = _read(folder / "config.json").get("architectures")
    except (OSError, ValueError) as error:
        raise MissingPart(f"rerank.model: {folder}: not a model that can be loaded: {error}") from error
    # Any other model would get a head of random weights.
    if not is_trained and not (isinstance(names, list) and any(str(name).endswith(_SCORING) for name in names)):
        raise SettingsError(f"rerank.model: {model} is not a cross-encoder (a model that scores pairs of texts)")
    return folder


def _in_the_cache(model: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(model, local_files_only=True))
    except (OSError, ValueError) as error:
        raise MissingPart(
            f"rerank.model is {model!r}, which is neither the folder of a cross-encoder nor a model in the Hugging "
            f"Face cache; nothing is downloaded at run time: save the model in a folder and name that"
        ) from error


def _read(path: Path) -> dict[str, object]:
    found = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


@cached_per_process
def load(folder: Path) -> _LoadedReranker:
    """Load a cross-encoder: once per process, since it takes seconds."""
    need_torch(f"rerank.model {folder}")
    try:
        with offline():
            from sentence_transformers import CrossEncoder

            model = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise MissingPart(f"rerank.model: {folder}: not a cross-encoder that can be loaded: {error}") from error
    if model.num_labels != 1:
        raise SettingsError(f"rerank.model: {folder} gives {model.num_labels} scores per pair, but one is needed")
    if not getattr(model.tokenizer, "is_fast", False):
        raise SettingsError(f"rerank.model: {folder} has no fast tokenizer, which is needed to cut long passages")
    model.float().eval()
    return _LoadedReranker(
        model,
        plain_tokenizer(model.tokenizer),
        single_threads("reranker"),
        threading.Lock(),
        min(model.max_seq_length or _LONGEST, _LONGEST),
    )


def open_reranker(settings: RerankSettings) -> Reranker | RerankServer:
    """Return the reranker of the settings: a server, or a cross-encoder here. See `RerankServer` and `Reranker`."""
    return RerankServer(settings) if settings.base_url else Reranker(settings.model)
