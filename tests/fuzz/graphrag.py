"""What is fuzzed of GraphRAG's tables: each of them among the others, down to the rows of an index."""

from collections.abc import Callable, Iterator
from pathlib import Path

from conspectus.pipelines.exchange.graphrag.importer import read_graphrag
from conspectus.pipelines.exchange.graphrag.schema import TABLES
from conspectus.storage.errors import ConspectusError

from tests.fuzz.target import Target
from tests.pipelines.exchange.graphrag_tables import imported, small, write


def targets(folder: Path) -> Iterator[Target]:
    """Yield a target for each table; `folder` is for the files."""
    write(small(), folder / "graphrag")
    for name in TABLES:
        path = folder / "graphrag" / f"{name}.parquet"
        yield Target(f"graphrag {name}", (path.read_bytes(),), _table(path))


def _table(path: Path) -> Callable[[bytes], None]:
    whole = path.read_bytes()

    def run(content: bytes) -> None:
        path.write_bytes(content)
        try:
            read = read_graphrag(path.parent)
        except ConspectusError:
            return
        finally:
            path.write_bytes(whole)
        imported(read.tables)

    return run
