"""How well passages answer a question, by a cross-encoder that reads both together.

Nogueira & Cho 2019 (Passage Re-ranking with BERT). A pass holds one pair: a score then depends on its own pair
only, and on a CPU that is faster than padded batches (MiniLM-L6, 50 pairs: 1.6 s, in batches of 32 2.8 s).
"""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from prompts.local_embedder import plain_tokenizer
from prompts.offline import offline
from prompts.windows import cut, storable
from storage.errors import MissingPart, SettingsError

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder
    from tokenizers import Tokenizer

Floats = npt.NDArray[np.float32]

_OVERLAP_TOKENS = 32
_LONGEST = 8_192
_SCORING = "ForSequenceClassification"


class Reranker:
    """A cross-encoder on the CPU, loaded when it is first needed; nothing is downloaded.

    `model` is the folder of a cross-encoder, or the name of one in the Hugging Face cache. MissingPart where there
    is none, and on first use where it cannot be loaded; SettingsError where it does not give one score a pair. Safe
    to share between threads, which take turns.
    """

    def __init__(self, model: str) -> None:
        self._folder = find_reranker(model)
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    def scores(self, question: str, texts: Sequence[str]) -> Floats:
        """Return float32 (n,): the model's logit for each text, larger is better.

        A text that does not fit beside the question is read in windows that overlap by up to 32 tokens, and scores
        as its best one. A question fills at most half of what the model reads: the rest of it is left out.
        """
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder)
            return self._loaded.scores(storable(question), [storable(text) for text in texts])


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model in memory, and its tokenizer without truncation or padding."""

    model: "CrossEncoder"
    tokenizer: "Tokenizer"
    max_tokens: int

    def scores(self, question: str, texts: Sequence[str]) -> Floats:
        import torch

        question = self._start_of(question)
        pieces = [self.windows(question, text) for text in texts]
        pairs = [(question, piece) for each in pieces for piece in each]
        if not pairs:
            return np.zeros(0, np.float32)
        found = self.model.predict(pairs, batch_size=1, show_progress_bar=False, activation_fn=torch.nn.Identity())
        if not np.isfinite(found).all():
            raise SettingsError("rerank.model: the model gives scores that are no numbers")
        starts = np.cumsum([0, *(len(each) for each in pieces)])[:-1]
        best: Floats = np.maximum.reduceat(found.astype(np.float32), starts)
        return best

    def windows(self, question: str, text: str) -> list[str]:
        """Return the pieces of a text that fit beside the question."""
        if self._length(question, text) <= self.max_tokens:
            return [text]
        room = self.max_tokens - self._length(question, "")
        tokens = self.tokenizer.encode(text, add_special_tokens=False)
        return cut(
            text,
            [start for start, _ in tokens.offsets],
            tokens.word_ids,
            room=room,
            overlap=min(_OVERLAP_TOKENS, room // 4),
            fits=lambda piece: self._length(question, piece) <= self.max_tokens,
        )

    def _start_of(self, question: str) -> str:
        """Return as much of a question as fills half of what the model reads."""
        offsets = self.tokenizer.encode(question, add_special_tokens=False).offsets
        most = self.max_tokens // 2
        return question if len(offsets) <= most else question[: offsets[most - 1][1]]

    def _length(self, question: str, text: str) -> int:
        return len(self.tokenizer.encode(question, text))


def find_reranker(model: str) -> Path:
    """Return the folder of a cross-encoder; MissingPart says what to do where there is none."""
    folder = Path(model).expanduser()
    if not (folder / "config.json").is_file():
        folder = _in_the_cache(model)
    if not _scores_pairs(folder):
        raise SettingsError(f"rerank.model: {model} is no cross-encoder (a model that scores pairs of texts)")
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
    """Whether a folder says that its model was trained to score: any other would get a head of random weights."""
    try:
        if _read(folder / "config_sentence_transformers.json").get("model_type") == "CrossEncoder":
            return True
        architectures = _read(folder / "config.json").get("architectures")
    except (OSError, ValueError) as error:
        raise MissingPart(f"rerank.model: {folder}: not a model that can be loaded: {error}") from error
    return isinstance(architectures, list) and any(str(each).endswith(_SCORING) for each in architectures)


def _read(path: Path) -> dict[str, object]:
    found = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


def _load(folder: Path) -> _Loaded:
    try:
        with offline():
            from sentence_transformers import CrossEncoder

            model = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise MissingPart(f"rerank.model: {folder}: not a cross-encoder that can be loaded: {error}") from error
    if model.num_labels != 1:
        raise SettingsError(f"rerank.model: {folder} gives {model.num_labels} scores a pair, and one is needed")
    if not getattr(model.tokenizer, "is_fast", False):
        raise SettingsError(f"rerank.model: {folder} has no fast tokenizer, which is needed to cut long passages")
    model.float().eval()
    return _Loaded(model, plain_tokenizer(model.tokenizer), min(model.max_seq_length or _LONGEST, _LONGEST))


@cache
def open_reranker(model: str) -> Reranker:
    """Return the cross-encoder that `rerank.model` names, one a process: loading it takes seconds."""
    return Reranker(model)
