"""Migrate an index from an earlier format without the original files."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from conspectus.pipelines.build_index import build_from
from conspectus.pipelines.build_plan import BuildSource
from conspectus.pipelines.readers.discover import STAGE
from conspectus.pipelines.remote_index.sharing import open_memo
from conspectus.pipelines.runner import Progress, RunHere, no_progress
from conspectus.pipelines.steps.chunks import languages_of_chunks
from conspectus.pipelines.steps.vectors import Embedding, texts_of_chunks
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.walk_graph import with_links
from conspectus.storage.manifest import (
    FORMAT_VERSION,
    MEMO,
    WITH_LINKS,
    Manifest,
    current_version,
    damaged_files,
    read_manifest,
)
from conspectus.storage.publishing import build_lock, publish, staging
from conspectus.storage.records import SKIP, Chunk, Document, Failure, Link, Relation
from conspectus.storage.settings import EmbeddingSettings, LinkSettings, Settings
from conspectus.storage.settings.root import INDEX_SECTIONS
from conspectus.storage.structure.links import find_links
from conspectus.storage.tables import TABLES, read_older_table, read_table, write_table
from conspectus.storage.text.bm25 import write_bm25
from conspectus.storage.text.embedded import predicate_texts
from conspectus.storage.vectors.faiss_index import EXACT_ROWS
from conspectus.storage.vectors.windowed import write_windowed

_OLDEST = 1
_WITH_ALL_TABLES = 2
"""The first format whose tables equal the current ones or only lack columns that have a default; from it on they are
copied."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """The result of a migration.

    Attributes:
        before: Name of the version before.
        before_format: Format of that version.
        after: Name of the current version.
        how: Nothing to do, files copied, or index rebuilt from its documents.
    """

    before: str
    before_format: int
    after: str
    how: Literal["nothing", "files", "documents"]


def migrate(root: Path, settings: Settings, progress: Progress = no_progress) -> Migrated:
    """Migrate an index to the current format. The old version remains until it is pruned.

    From format 2 on the files are copied and the missing parts added: empty tables of merges and origins, the links
    that follow from the texts (hyperlinks were not stored), and the vectors of predicates, by the embedding model of
    the index. An older index is rebuilt from the documents that it contains, with these settings and the cached
    results.

    Args:
        root: The folder of the index.
        settings: Settings of a build, if one is needed.
        progress: Called as work advances.

    Raises:
        IndexNotFound: There is no index.
        IndexCorrupt: Files are missing or damaged.
        IndexTooNew: A newer program made the index.
    """
    version = current_version(root)
    found = read_manifest(root, version, _OLDEST)
    if found.format_version == FORMAT_VERSION:
        return Migrated(version, found.format_version, version, "nothing")
    damaged = damaged_files(root, found)
    if damaged:
        raise IndexCorrupt(
            f"{root}: {damaged[0]} is missing or damaged; build the index again with: conspectus index INPUT"
        )
    if found.format_version < _WITH_ALL_TABLES:
        return Migrated(version, found.format_version, _built(root, found, settings, progress), "documents")
    with build_lock(root), staging(root) as folder:
        made = _taken_over(root, folder, found, settings, progress)
    return Migrated(version, found.format_version, made.version, "files")


def _taken_over(root: Path, folder: Path, found: Manifest, settings: Settings, progress: Progress) -> Manifest:
    old = root / "versions" / found.version
    for name in found.files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(old / name, folder / name)
    new = [name for name in TABLES if not (folder / f"{name}.parquet").exists()]
    for name in new:
        write_table(folder / f"{name}.parquet", TABLES[name], [])
    made_with = _completed(found.settings)
    _count_words(folder, made_with)
    rows = {**found.rows, **dict.fromkeys(new, 0)}
    if found.format_version < WITH_LINKS:
        rows["links"] = _links(folder, made_with)
    if "predicates" not in rows:
        rows["predicates"] = _predicates(root, folder, made_with, settings, progress)
    return publish(
        root,
        folder,
        settings=made_with,
        fingerprint=found.fingerprint,
        rows=rows,
        models=found.models,
        tools=found.tools,
    )


def _links(folder: Path, made_with: Mapping[str, Any]) -> int:
    """Write the links between the texts, add them to the graph, and return their number."""
    documents = read_older_table(folder / "documents.parquet", Document)
    chunks = read_table(folder / "chunks.parquet", Chunk)
    links = find_links(documents, chunks)
    write_table(folder / "links.parquet", Link, links)
    graph = Adjacency.load(folder / "graph")
    linked = with_links(graph, chunks, links, LinkSettings.of_manifest(made_with["links"]))
    if linked is not graph:
        linked.save(folder / "graph")
    return len(links)


def _count_words(folder: Path, made_with: Mapping[str, Any]) -> None:
    """Rewrite the lexical index, because the terms that it counts have changed."""
    documents, chunks = (
        read_older_table(folder / "documents.parquet", Document),
        read_table(folder / "chunks.parquet", Chunk),
    )
    shutil.rmtree(folder / "bm25", ignore_errors=True)
    settings = made_with["bm25"]
    texts, languages = texts_of_chunks(documents, chunks), languages_of_chunks(documents, chunks)
    write_bm25(folder / "bm25", texts, languages, float(settings["k1"]), float(settings["b"]))


def _predicates(root: Path, folder: Path, made_with: Mapping[str, Any], settings: Settings, progress: Progress) -> int:
    """Write the vectors of the distinct predicates and return their number."""
    embedding = Embedding(
        EmbeddingSettings.of_manifest(made_with["embedding"]),
        settings.embedding_server,
        open_memo(root / MEMO, shares=settings.build.share_results),
        RunHere(progress),
    )
    predicates = embedding.windows(
        predicate_texts(read_table(folder / "relations.parquet", Relation)), "embed predicates"
    )
    write_windowed(
        folder / "vectors" / "predicates.faiss",
        predicates.vectors,
        predicates.rows,
        exact_rows=EXACT_ROWS,
    )
    return int(predicates.rows[-1]) + 1 if len(predicates.rows) else 0


def _completed(made_with: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which missing ones have the defaults that reproduce the old behaviour."""
    complete = {}
    for name in INDEX_SECTIONS:
        if name == "resolution" and name not in made_with:
            continue  # its names were not resolved; the next change resolves them
        section = Settings.model_fields[name].default.model_dump(mode="json")
        complete[name] = {**section, **made_with.get(name, {})}
    return {**made_with, **complete}


def _built(root: Path, found: Manifest, settings: Settings, progress: Progress) -> str:
    """Build the index from the documents that it contains, and return the new version."""
    folder = root / "versions" / found.version
    documents = read_older_table(folder / "documents.parquet", Document)
    failures = [item for item in read_older_table(folder / "failures.parquet", Failure) if item.stage in (STAGE, SKIP)]

    def read(_current: Manifest | None) -> tuple[list[Document], list[Failure]]:
        return documents, sorted(failures, key=lambda failure: (failure.item_id, failure.reason))

    return build_from(BuildSource(read), root, settings, RunHere(progress), progress).version
