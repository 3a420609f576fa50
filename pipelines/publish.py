"""The files of a version while it is written: tables, vectors, the lexical index and the graph, each in its place."""

from collections.abc import Sequence
from pathlib import Path

from conspectus.pipelines.steps.vectors import Windows
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.index import SPARSE_VECTORS
from conspectus.storage.settings import Settings
from conspectus.storage.tables import TABLES, write_table
from conspectus.storage.text.bm25 import write_bm25
from conspectus.storage.vectors.windowed import write_windowed


class Shelf:
    """Writes the parts of one version into its folder. Safe to use from several threads, each with its own parts."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings
        self.rows: dict[str, int] = {}
        """How many rows each table has that is written by now."""

    def put(self, name: str, rows: Sequence[object]) -> None:
        """Write a table."""
        write_table(self._folder / f"{name}.parquet", TABLES[name], rows)
        self.rows[name] = len(rows)

    def put_vectors(self, name: str, windows: Windows) -> None:
        """Write the vectors of a table's rows; those of no table are counted like one."""
        if name not in TABLES:
            self.rows[name] = int(windows.rows[-1]) + 1 if len(windows.rows) else 0
        (self._folder / "vectors").mkdir(exist_ok=True)
        write_windowed(
            self._folder / "vectors" / f"{name}.faiss",
            windows.vectors,
            windows.rows,
            exact_rows=self._settings.vectors.exact_rows,
            seed=self._settings.communities.seed,
            every_row=name not in SPARSE_VECTORS,
        )

    def put_lexical(self, texts: Sequence[str]) -> None:
        """Write the lexical index of the chunks' texts."""
        write_bm25(self._folder / "bm25", texts, self._settings.bm25.k1, self._settings.bm25.b)

    def put_graph(self, graph: Adjacency) -> None:
        """Write the graph that PageRank walks."""
        graph.save(self._folder / "graph")
