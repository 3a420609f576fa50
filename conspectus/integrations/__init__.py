"""Retrievers for other frameworks, each an extra: `conspectus[langchain]`, `conspectus[llama-index]`."""

from dataclasses import asdict
from typing import Any

from conspectus.query.types import Passage


def metadata_of(passage: Passage, uris: dict[str, str]) -> dict[str, Any]:
    """Return what frameworks keep beside a text: where it stands, and its score."""
    return {key: value for key, value in asdict(passage).items() if key != "text"} | {
        "source": uris.get(passage.document_id, passage.document_id)
    }
