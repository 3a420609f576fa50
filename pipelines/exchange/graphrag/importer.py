"""What Microsoft GraphRAG has indexed as an index of ours: its documents, its graph, its communities and reports.

Tables of 3.x, 2.x and 1.x are read. Vectors, synonyms and the graph that PageRank walks are made here, so that every
method works on it; nothing that takes a language model is done again.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from conspectus.pipelines.build_report import DANGLING, IMPORT, BuildReport, summary
from conspectus.pipelines.exchange.graphrag.backend import GraphragJudgement
from conspectus.pipelines.exchange.graphrag.documents import texts_of
from conspectus.pipelines.exchange.graphrag.schema import MAKER
from conspectus.pipelines.exchange.graphrag.tables import read_graphrag
from conspectus.pipelines.index import build_from
from conspectus.pipelines.plan import Brought
from conspectus.pipelines.runner import Progress, Runner, no_progress
from conspectus.storage.errors import UsageError
from conspectus.storage.manifest import Manifest
from conspectus.storage.records import Document, Failure
from conspectus.storage.settings import ExtractionSettings, Settings


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: the build, the rows that were read by table, and how many ends no row describes.

    `listed` counts the failures of the import by their reasons.
    """

    build: BuildReport
    read: Mapping[str, int]
    dangling_ends: int
    listed: Mapping[str, int]


def import_graphrag(
    folder: Path, index: Path, settings: Settings, run: Runner | None = None, progress: Progress = no_progress
) -> Imported:
    """Make the index at `index` equal to a GraphRAG output folder (or project) and return what was done.

    Of the settings those of names, embedding, vectors, bm25, synonyms and walk_graph count. InputError where the tables
    cannot be read, UsageError where the index was built from documents or a graph is to be brought along too; the rest
    is as for `build_index`.
    """
    if settings.kg.files:
        raise UsageError("kg.files: no further graph is brought along with an import; leave it empty")
    read = read_graphrag(folder)
    texts = texts_of(read.tables)
    failures = [*read.failures, *texts.failures]

    def documents(current: Manifest | None) -> tuple[list[Document], list[Failure]]:
        return texts.documents, list(failures)

    chosen = settings.model_copy(update={"extraction": ExtractionSettings(method="nlp")})
    brought = Brought(MAKER, read.digest, texts.chunks, GraphragJudgement(read.tables, texts), read.notes)
    build = build_from(documents, index, chosen, run, progress, brought=brought)
    counts = {field.name: len(getattr(read.tables, field.name)) for field in fields(read.tables)}
    listed = Counter(each.reason for each in build.failures if each.stage == IMPORT)
    ends = sum(each.reason == DANGLING and each.item_id.startswith("relationship ") for each in build.failures)
    return Imported(build, counts, ends, dict(sorted(listed.items())))


def imported_summary(done: Imported) -> dict[str, Any]:
    """Return what an import did as plain values."""
    rest = {name: value for name, value in asdict(done).items() if name != "build"}
    return {**summary(done.build), **rest}
