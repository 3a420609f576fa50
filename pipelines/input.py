"""The documents that a build begins with."""

from collections.abc import Sequence
from pathlib import Path

from conspectus.pipelines.exchange.openie.hipporag import GRAPHML, read_passages
from conspectus.pipelines.steps.documents import read_documents
from conspectus.storage.errors import InputError, UsageError
from conspectus.storage.records import Document, Failure
from conspectus.storage.settings import Settings


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
