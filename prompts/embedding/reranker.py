"""Reranking: a cross-encoder reads a question and a passage together and scores how well the passage answers it.

Nogueira and Cho 2019 (Passage Re-ranking with BERT). A pass contains one pair, so that a score depends on its own pair
only, and runs on a single thread; as many passes run in parallel as torch has threads. On two busy cores that took 2.4
s for 50 pairs and MiniLM-L6; `CrossEncoder.predict` took 6.9 s.
"""

import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from conspectus.prompts.client.event_loop import cached_per_process
from conspectus.prompts.embedding.rerank_server import RerankServer
from conspectus.prompts.embedding.torch_model import need_torch, offline, plain_tokenizer, single_threads
from conspectus.prompts.embedding.windows import cut_windows, without_surrogates
from conspectus.storage.arrays import Vectors
from conspectus.storage.errors import MissingPart, SettingsError
from conspectus.storage.settings import RerankSettings

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder
    from tokenizers import Tokenizer


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
    if not _scores_pairs(folder):
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


def _scores_pairs(folder: Path) -> bool:
    """Whether a model was trained to score pairs: any other would get a head of random weights."""
    try:
        if _read(folder / "config_sentence_transformers.json").get("model_type") == "CrossEncoder":
            return True
        architectures = _read(folder / "config.json").get("architectures")
    except (OSError, ValueError) as error:
        raise MissingPart(f"rerank.model: {folder}: not a model that can be loaded: {error}") from error
    return isinstance(architectures, list) and any(str(name).endswith(_SCORING) for name in architectures)


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
