"""Models of sentence-transformers through PyTorch, the extra `torch`: every embedding model but the packaged one."""

import importlib.util
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.prompts.embedding.passes import LoadedModel
from conspectus.storage.arrays import Vectors
from conspectus.storage.errors import MissingPart, SettingsError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

_LONGEST = 8_192
_PROBE = "Ada Lovelace wrote the first program, in 1843."
_KNOWN_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}


def need_torch(purpose: str) -> None:
    """Raise MissingPart, naming the extra, if PyTorch or sentence-transformers is not installed.

    Args:
        purpose: What needs them: "the cross-encoder /models/ms-marco".
    """
    if not all(importlib.util.find_spec(name) for name in ("torch", "transformers", "sentence_transformers")):
        raise MissingPart(f"{purpose} needs PyTorch and sentence-transformers: pip install 'conspectus[torch]'")


def load_sentence_transformer(folder: Path) -> LoadedModel:
    """Load a model of sentence-transformers.

    Raises:
        MissingPart: The folder contains no model, or PyTorch is not installed.
        SettingsError: The model does not read plain text.
    """
    need_torch(f"embedding.model {folder}")
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
    return LoadedModel(
        tokenizer=plain_tokenizer(model.tokenizer),
        run=_running(model, "token_type_ids" in inputs, dimension),
        threads=single_threads("embedder"),
        dimension=dimension,
        max_tokens=min(model.max_seq_length or _LONGEST, _LONGEST),
        document_prompt=(documents and model.prompts[documents]) or "",
        query_prompt=(queries and model.prompts[queries]) or "",
        fill=True,
    )


def _running(model: "SentenceTransformer", with_types: bool, dimension: int) -> Callable[[list[list[int]]], Vectors]:
    """Return the function from the token ids of n texts of equal length to their unit vectors (n, dimension)."""
    import torch

    def run(ids: list[list[int]]) -> Vectors:
        with torch.inference_mode():
            tokens = torch.tensor(ids)
            features = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
            if with_types:
                features["token_type_ids"] = torch.zeros_like(tokens)
            found = model(features)["sentence_embedding"][:, :dimension]
            unit: Vectors = torch.nn.functional.normalize(found, dim=1).numpy()
        return unit

    return run


def _inputs(folder: Path, model: "SentenceTransformer") -> set[str]:
    """Return the names of the model's inputs, after checking that it accepts tokens as `_running` passes them."""
    refusal = SettingsError(f"embedding.model: {folder} is not a plain text model (it needs more than a text's tokens)")
    if "text" not in model.modalities or not getattr(model.tokenizer, "is_fast", False):
        raise refusal
    if any(getattr(module, "include_prompt", True) is False for module in model) and any(model.prompts.values()):
        raise refusal
    features = model.preprocess([_PROBE])
    inputs = set(features) - {"modality"}
    if not {"input_ids", "attention_mask"} <= inputs <= _KNOWN_INPUTS:
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
    """Return a pool of as many threads as torch uses, each with single-threaded torch.

    Results then do not depend on the number of threads. Outside the pool torch uses as many as before.
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
