"""Write the files of a version into a staging folder and publish them together."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from conspectus.pipelines.build_plan import BuildPlan, installed_version, tool_versions
from conspectus.pipelines.steps.vectors import Windows
from conspectus.storage.graph.walk_graph import Walk
from conspectus.storage.index import SPARSE_VECTORS
from conspectus.storage.manifest import Manifest
from conspectus.storage.publishing import publish
from conspectus.storage.settings import Settings
from conspectus.storage.tables import TABLES, write_table
from conspectus.storage.text.bm25 import write_bm25
from conspectus.storage.vectors.faiss_index import EXACT_ROWS
from conspectus.storage.vectors.windowed import write_windowed


class VersionWriter:
    """Writes the parts of a version into a staging folder, from several threads, each part once."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings
        self._rows: dict[str, int] = {}

    def table(self, name: str, rows: Sequence[object]) -> None:
        """Write a table as Parquet."""
        write_table(self._folder / f"{name}.parquet", TABLES[name], rows)
        self._rows[name] = len(rows)

    def vectors(self, name: str, windows: Windows) -> None:
        """Write the vectors of a table's rows; vectors of no table (predicates, descriptions) count in the same way."""
        if name not in TABLES:
            self._rows[name] = int(windows.rows[-1]) + 1 if len(windows.rows) else 0
        (self._folder / "vectors").mkdir(exist_ok=True)
        write_windowed(
            self._folder / "vectors" / f"{name}.faiss",
            windows.vectors,
            windows.rows,
            exact_rows=EXACT_ROWS,
            every_row=name not in SPARSE_VECTORS,
        )

    def lexical(self, texts: Sequence[str], languages: Sequence[str]) -> None:
        """Write the BM25 index."""
        write_bm25(self._folder / "bm25", texts, languages)

    def walk(self, walk: Walk) -> None:
        """Write the table of names and the graph."""
        self.table("names", walk.names)
        walk.graph.save(self._folder / "graph")

    def publish(self, plan: BuildPlan, models: Mapping[str, str]) -> Manifest:
        """Make the written files a version, which is not yet current, and return its manifest."""
        return publish(
            plan.index,
            self._folder,
            settings=plan.index_settings,
            fingerprint=plan.fingerprint,
            rows=self._rows,
            models=models,
            tools={"conspectus": installed_version("conspectus"), **tool_versions(plan.index_settings)},
            is_current=False,
        )
