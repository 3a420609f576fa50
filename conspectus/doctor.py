"""Check the configuration and every configured service; secrets are never shown."""

import asyncio
import importlib.metadata
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from conspectus.storage.errors import ConspectusError, IndexNotFound, ModelUnavailable
from conspectus.storage.settings import Settings
from conspectus.storage.text.language import unknown_to_encoder

State = Literal["ok", "off", "warning", "failed"]

_LITTLE_SPACE = 2_000_000_000
"""Bytes: an index of some thousand pages takes a tenth of this, a version beside it as much again."""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check. "off" means not configured and not required; `exit_status` is 0 if it did not fail."""

    name: str
    state: State
    detail: str
    exit_status: int = 0


def examine(settings: Settings, index: Path, *, calls: bool = True) -> Iterator[Check]:
    """Yield the checks as they are made. With `calls` false no server is asked anything."""
    yield Check("program", "ok", f"conspectus {importlib.metadata.version('conspectus')}")
    yield from _guarded("language model", lambda: _language_model(settings, calls))
    yield from _guarded("embedding", lambda: _embedding(settings, calls))
    yield from _guarded("rerank", lambda: _rerank(settings))
    yield from _guarded("extraction", lambda: _extraction(settings))
    yield from _guarded("prefect", lambda: _prefect(calls))
    yield from _guarded("disk", lambda: _disk(index))
    yield from _guarded("index", lambda: _index(index))


def _guarded(name: str, check: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    try:
        yield from check()
    except ConspectusError as error:
        yield Check(name, "failed", str(error), error.exit_status)


def _language_model(settings: Settings, calls: bool) -> Iterator[Check]:
    name, llm = "language model", settings.llm
    if not llm.model:
        yield Check(name, "off", "none is configured (llm.model), and none is needed")
        return
    from conspectus.prompts.client.client import ModelClient, llm_address

    ModelClient(llm)  # says what is missing
    where = f"{llm.model} at {llm_address(llm).shown}"
    key = f"key from {llm.api_key_variable}" if os.environ.get(llm.api_key_variable) else "no key"
    if not calls:
        yield Check(name, "ok", f"{where}, {key}; not asked")
        return
    from conspectus.prompts.client.probe import probe

    found = asyncio.run(probe(llm))
    if found.problem:
        listed = f". The server lists: {', '.join(found.listed[:10])}" if found.listed else ""
        yield Check(name, "failed", f"{where}, {key}: {found.problem}{listed}", ModelUnavailable.exit_status)
        return
    yield Check(
        name, "ok", f"{where}, {key}; answers in {found.seconds:.2f} s ({found.tokens} tokens for these checks)"
    )
    yield _structured(found.structured_output or "none")
    if found.streams is False:
        yield Check("streaming", "warning", "the server does not stream; answers come whole")
    if found.tells_usage is False:
        yield Check("usage", "warning", "the server tells no token counts; they are estimated")
    unpriced = sorted({llm.model, *llm.step_models.values()} - set(llm.prices))
    if unpriced:
        yield Check("prices", "off", f"costs are not known: llm.prices names no price of {', '.join(unpriced)}")


def _structured(how: str) -> Check:
    says: dict[str, tuple[State, str]] = {
        "json_schema": ("ok", "the server keeps to JSON schemas"),
        "json_object": ("ok", "the server knows JSON but no schemas; the schema is put in words"),
        "none": ("warning", "the server knows no JSON mode; replies are asked for in words, and mended"),
        "ignored": (
            "warning",
            "the server takes a JSON schema and does not keep to it; set llm.structured_output=none",
        ),
    }
    return Check("structured output", *says[how])


def _embedding(settings: Settings, calls: bool) -> Iterator[Check]:
    from conspectus.prompts.embedding.embedder import open_embedder

    if settings.embedding.provider == "endpoint" and not calls:
        yield Check("embedding", "ok", f"{settings.embedding.model} at an endpoint; not asked")
        return
    embedder = open_embedder(settings.embedding, settings.embedding_server)
    began = time.perf_counter()
    dimension = len(embedder.embed_query("Where is the library?"))
    seconds = time.perf_counter() - began
    yield Check("embedding", "ok", f"{embedder.name}, {dimension} dimensions; first vector after {seconds:.1f} s")


def _rerank(settings: Settings) -> Iterator[Check]:
    if not settings.rerank.model:
        yield Check("rerank", "off", "no cross-encoder is configured (rerank.model)")
        return
    from conspectus.prompts.embedding.reranker import open_reranker

    open_reranker(settings.rerank.model).scores("Where is it?", ["It is here."])
    yield Check("rerank", "ok", settings.rerank.model)


def _extraction(settings: Settings) -> Iterator[Check]:
    from conspectus.storage.text.nlp import open_annotator

    pipeline = settings.extraction.pipeline
    if pipeline == "regex":
        yield Check("extraction", "warning", "regex: capitalised names only; a spaCy pipeline finds more")
        return
    open_annotator(pipeline, settings.extraction.concepts)
    yield Check("extraction", "ok", f"spaCy pipeline {pipeline}")


def _prefect(calls: bool) -> Iterator[Check]:
    url = os.environ.get("PREFECT_API_URL", "")
    version = f"Prefect {importlib.metadata.version('prefect')}"
    if not url:
        yield Check("prefect", "off", f"{version}; no server is configured (PREFECT_API_URL), indexing runs without")
        return
    where = _without_user(url)
    if not calls:
        yield Check("prefect", "ok", f"{version}, server {where}; not asked")
        return
    import httpx

    try:
        answer = httpx.get(f"{url.rstrip('/')}/health", timeout=10)
        answer.raise_for_status()
    except httpx.HTTPStatusError as error:
        yield Check("prefect", "failed", f"{version}; the server {where} answers {error.response.status_code}", 1)
        return
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:  # their messages may hold the URL
        yield Check("prefect", "failed", f"{version}; {where} does not answer ({type(error).__name__})", 1)
        return
    yield Check("prefect", "ok", f"{version}, server {where} answers")


def _without_user(url: str) -> str:
    """Return a URL without a user's name and password, and without its query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _disk(index: Path) -> Iterator[Check]:
    folder = index.resolve()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    where = f"{free / 1e9:.1f} GB free for {index}"
    if not os.access(folder, os.W_OK):
        yield Check("disk", "failed", f"{folder} cannot be written to", 1)
    elif free < _LITTLE_SPACE:
        yield Check("disk", "warning", f"only {where}")
    else:
        yield Check("disk", "ok", where)


def _index(index: Path) -> Iterator[Check]:
    from conspectus.storage.index import Index

    try:
        opened = Index.open(index)
        manifest = opened.manifest
    except IndexNotFound:
        yield Check("index", "off", f"none at {index} yet: conspectus index INPUT")
        return
    documents, chunks = manifest.rows["documents"], manifest.rows["chunks"]
    yield Check("index", "ok", f"{index}, version {manifest.version}: {documents:,} documents, {chunks:,} chunks")
    languages = opened.lexical().analysis
    if languages.known:
        encoder = str(manifest.settings["embedding"]["model"])
        unknown = unknown_to_encoder(encoder, languages.languages or ())
        yield Check("languages", "warning" if unknown else "ok", unknown or ", ".join(languages.known))
