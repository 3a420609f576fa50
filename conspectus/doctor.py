"""Check the configuration and every configured service; secrets are never shown."""

import asyncio
import importlib.metadata
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from conspectus.pipelines.readers.remote import is_url
from conspectus.pipelines.remote_index.local_copy import cache_folder, located
from conspectus.storage.errors import ConspectusError, IndexNotFound, ModelUnavailable, PluginFailed
from conspectus.storage.index import StoredIndex
from conspectus.storage.plugins import KINDS, plugins
from conspectus.storage.settings import Settings
from conspectus.storage.text.language import unknown_to_encoder

if TYPE_CHECKING:
    from conspectus.prompts.client.probe import ModelProbe

State = Literal["ok", "off", "warning", "failed"]

_USUAL_REPLY = 300
"""Tokens of a reply when a passage is extracted from."""
_LITTLE_SPACE = 2_000_000_000
"""Free bytes below which to warn: an index of a few thousand pages takes a tenth of this, as does a second version."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of one check. "off" means not configured and not required; `exit_status` is 0 if it did not fail."""

    name: str
    state: State
    detail: str
    exit_status: int = 0


def examine(settings: Settings, index: str | Path, *, calls: bool = True) -> Iterator[Diagnosis]:
    """Yield the checks one by one. If `calls` is false, no server is called."""
    yield Diagnosis("program", "ok", f"conspectus {importlib.metadata.version('conspectus')}")
    yield from _guarded("language model", lambda: _language_model(settings, calls))
    yield from _guarded("embedding", lambda: _embedding(settings, calls))
    yield from _guarded("rerank", lambda: _rerank(settings, calls))
    yield from _guarded("extraction", lambda: _extraction(settings))
    yield from _guarded("prefect", lambda: _prefect(calls))
    yield from _plugins()
    yield from _guarded("disk", lambda: _disk(index))
    yield from _guarded("index", lambda: _index(index))


def _guarded(name: str, check: Callable[[], Iterator[Diagnosis]]) -> Iterator[Diagnosis]:
    try:
        yield from check()
    except ConspectusError as error:
        yield Diagnosis(name, "failed", str(error), error.exit_status)


def _language_model(settings: Settings, calls: bool) -> Iterator[Diagnosis]:
    name, llm = "language model", settings.llm
    if not llm.model:
        yield Diagnosis(name, "off", "none is configured (llm.model), and none is needed")
        return
    from conspectus.prompts.client.client import ModelClient, llm_address

    ModelClient(llm)  # raises an error that names what is missing
    where = f"{llm.model} at {llm_address(llm).shown}"
    key = f"key from {llm.api_key_variable}" if os.environ.get(llm.api_key_variable) else "no key"
    if not calls:
        yield Diagnosis(name, "ok", f"{where}, {key}; not asked")
        return
    from conspectus.prompts.client.probe import probe

    found = asyncio.run(probe(llm))
    if found.problem:
        listed = f". The server lists: {', '.join(found.listed[:10])}" if found.listed else ""
        yield Diagnosis(name, "failed", f"{where}, {key}: {found.problem}{listed}", ModelUnavailable.exit_status)
        return
    yield Diagnosis(
        name, "ok", f"{where}, {key}; answers in {found.seconds:.2f} s ({found.tokens} tokens for these checks)"
    )
    yield _structured(found.structured_output or "none")
    yield _read(found)
    if not found.streams:
        yield Diagnosis("streaming", "warning", "the server does not stream; answers come whole")
    if found.tells_usage is False:
        yield Diagnosis("usage", "warning", "the server tells no token counts; they are estimated")
    unpriced = sorted({llm.model, *llm.step_models.values()} - set(llm.prices))
    if unpriced:
        yield Diagnosis("prices", "off", f"costs are not known: llm.prices names no price of {', '.join(unpriced)}")


def _read(found: "ModelProbe") -> Diagnosis:
    """Return what a prompt of real size showed: the window, the speed, and what was read of it."""
    window = f"a context of {found.window.tokens:,} tokens" if found.window.tokens else "a context it does not tell"
    speed = f"{found.prompts:,.0f} tokens of prompt and {found.replies:,.0f} of reply a second"
    one = found.long_prompt / found.prompts + _USUAL_REPLY / found.replies
    at_once = " --set llm.concurrency=1" if found.window.slots else ""
    told = f"{window}, {speed} (for index --estimate: --latency {one:.1f}{at_once}); of a prompt of "
    told += f"{found.long_prompt:,} tokens "
    if not found.missing:
        return Diagnosis("reading", "ok", f"{told}start, middle and end were read")
    why = "the model is too small for it, or its server cuts prompts (raise its context; Ollama: num_ctx)"
    return Diagnosis("reading", "warning", f"{told}the word at {', '.join(found.missing)} did not come back: {why}")


def _structured(how: str) -> Diagnosis:
    says: dict[str, tuple[State, str]] = {
        "json_schema": ("ok", "the server keeps to JSON schemas"),
        "json_object": ("ok", "the server knows JSON but no schemas; the schema is put in words"),
        "none": ("warning", "the server knows no JSON mode; replies are asked for in words, and mended"),
        "ignored": (
            "warning",
            "the server takes a JSON schema and does not keep to it; set llm.structured_output=none",
        ),
    }
    return Diagnosis("structured output", *says[how])


def _embedding(settings: Settings, calls: bool) -> Iterator[Diagnosis]:
    from conspectus.prompts.embedding.embedder import open_embedder

    if settings.embedding.provider == "endpoint" and not calls:
        yield Diagnosis("embedding", "ok", f"{settings.embedding.model} at an endpoint; not asked")
        return
    embedder = open_embedder(settings.embedding, settings.embedding_server)
    began = time.perf_counter()
    dimension = len(embedder.embed_query("Where is the library?"))
    seconds = time.perf_counter() - began
    yield Diagnosis("embedding", "ok", f"{embedder.name}, {dimension} dimensions; first vector after {seconds:.1f} s")


def _rerank(settings: Settings, calls: bool) -> Iterator[Diagnosis]:
    if not settings.rerank.is_set:
        yield Diagnosis("rerank", "off", "no cross-encoder is configured (rerank.model)")
        return
    from conspectus.prompts.embedding.reranker import open_reranker

    if calls or not settings.rerank.base_url:
        open_reranker(settings.rerank).scores("Where is it?", ["It is here."])
    yield Diagnosis("rerank", "ok", " at ".join(filter(None, (settings.rerank.model, settings.rerank.base_url))))


def _extraction(settings: Settings) -> Iterator[Diagnosis]:
    from conspectus.storage.text.nlp import open_annotator

    pipeline = settings.extraction.pipeline
    if pipeline == "regex":
        yield Diagnosis("extraction", "warning", "regex: capitalised names only; a spaCy pipeline finds more")
        return
    open_annotator(pipeline)
    yield Diagnosis("extraction", "ok", f"spaCy pipeline {pipeline}")


def _plugins() -> Iterator[Diagnosis]:
    for plugin in (each for kind in KINDS for each in plugins(kind).values()):
        try:
            plugin.load()
        except PluginFailed as error:
            yield Diagnosis("plug-in", "warning", str(error))
        else:
            yield Diagnosis("plug-in", "ok", f"{plugin.name} ({plugin.kind}) of {plugin.package}")


def _prefect(calls: bool) -> Iterator[Diagnosis]:
    url = os.environ.get("PREFECT_API_URL", "")
    version = f"Prefect {importlib.metadata.version('prefect')}"
    if not url:
        yield Diagnosis(
            "prefect", "off", f"{version}; no server is configured (PREFECT_API_URL), indexing runs without"
        )
        return
    where = _without_user(url)
    if not calls:
        yield Diagnosis("prefect", "ok", f"{version}, server {where}; not asked")
        return
    import httpx

    try:
        answer = httpx.get(f"{url.rstrip('/')}/health", timeout=10)
        answer.raise_for_status()
    except httpx.HTTPStatusError as error:
        yield Diagnosis("prefect", "failed", f"{version}; the server {where} answers {error.response.status_code}", 1)
        return
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:  # their messages may contain the URL
        yield Diagnosis("prefect", "failed", f"{version}; {where} does not answer ({type(error).__name__})", 1)
        return
    yield Diagnosis("prefect", "ok", f"{version}, server {where} answers")


def _without_user(url: str) -> str:
    """Return a URL without user name, password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _disk(index: str | Path) -> Iterator[Diagnosis]:
    folder = cache_folder() if is_url(str(index)) else Path(index).resolve()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    where = f"{free / 1e9:.1f} GB free for {index}"
    if not os.access(folder, os.W_OK):
        yield Diagnosis("disk", "failed", f"{folder} cannot be written to", 1)
    elif free < _LITTLE_SPACE:
        yield Diagnosis("disk", "warning", f"only {where}")
    else:
        yield Diagnosis("disk", "ok", where)


def _index(index: str | Path) -> Iterator[Diagnosis]:
    try:
        opened = StoredIndex.open(located(index))
        manifest = opened.manifest
    except IndexNotFound:
        yield Diagnosis("index", "off", f"none at {index} yet: conspectus index INPUT")
        return
    documents, chunks = manifest.rows["documents"], manifest.rows["chunks"]
    yield Diagnosis("index", "ok", f"{index}, version {manifest.version}: {documents:,} documents, {chunks:,} chunks")
    languages = opened.lexical().analysis
    if languages.known:
        encoder = str(manifest.settings["embedding"]["model"])
        unknown = unknown_to_encoder(encoder, languages.languages or ())
        known = f"{', '.join(languages.known)}; the encoder is {encoder}"
        yield Diagnosis("languages", "warning" if unknown else "ok", unknown or known)
