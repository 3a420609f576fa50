"""What is fuzzed of GraphRAG's tables: each of them among the others, down to the rows that an export gives back."""

from collections.abc import Callable, Iterator
from pathlib import Path

from conspectus.pipelines.exchange.graphrag.schema import TABLES
from conspectus.pipelines.exchange.graphrag.tables import read_graphrag
from conspectus.storage.errors import ConspectusError

from tests.fuzz.target import Target
from tests.pipelines.exchange.graphrag_tables import given_back, small, write


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
        assert given_back(read.tables) == read.tables

    return run
