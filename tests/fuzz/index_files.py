"""What is fuzzed of an index: every file, under a manifest that vouches for it, so that its reader sees it."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from conspectus.storage.errors import ConspectusError
from conspectus.storage.hashing import file_digest
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import MANIFEST
from conspectus.storage.tables import TABLES
from conspectus.storage.vectors.windowed import WindowedIndex
from conspectus.storage.verify import verify

from tests.fuzz.target import Target


def targets(root: Path, folder: Path) -> Iterator[Target]:
    """Yield a target for every file of the index at `root`, of which a copy is made in `folder`."""
    copy = folder / "index"
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns("cache", ".lock"))
    version = StoredIndex.open(copy).folder
    names = sorted(path.relative_to(version).as_posix() for path in version.rglob("*") if path.is_file())
    for name in names:
        yield Target(f"index {name}", ((version / name).read_bytes(),), _file(copy, version, name))
    yield Target("index CURRENT", ((copy / "CURRENT").read_bytes(),), _pointer(copy))


def _file(root: Path, version: Path, name: str) -> Callable[[bytes], None]:
    whole = (version / name).read_bytes()
    manifest = (version / MANIFEST).read_bytes()

    def run(content: bytes) -> None:
        (version / name).unlink()  # what is mapped stays what it was
        (version / name).write_bytes(content)
        try:
            if name != MANIFEST:
                told = json.loads(manifest)
                told["files"][name] = {"sha256": file_digest(version / name), "bytes": len(content)}
                (version / MANIFEST).write_text(json.dumps(told), "utf-8")
            use(root, name)
        except ConspectusError:
            return
        finally:
            (version / name).unlink()
            (version / name).write_bytes(whole)
            (version / MANIFEST).write_bytes(manifest)

    return run


def _pointer(root: Path) -> Callable[[bytes], None]:
    whole = (root / "CURRENT").read_bytes()

    def run(content: bytes) -> None:
        (root / "CURRENT").write_bytes(content)
        try:
            StoredIndex.open(root)
        except ConspectusError:
            return
        finally:
            (root / "CURRENT").write_bytes(whole)

    return run


def use(root: Path, name: str) -> None:
    """Read and use the file as a question would; all of it where it is the manifest."""
    index = StoredIndex.open(root)
    if name == MANIFEST:
        verify(index)
    elif name.endswith(".parquet"):
        index.rows(TABLES[name.removesuffix(".parquet")])
    elif name.startswith("vectors/"):
        _search(index.vectors(Path(name).name.partition(".")[0]))
    elif name.startswith("graph/"):
        graph = index.graph()
        graph.check_edges()
        graph.edges_of(np.arange(min(graph.n_nodes, 50)))
    else:
        assert name.startswith("bm25/")
        index.lexical().scores("The novelist of Oxford who won an award")


def _search(vectors: WindowedIndex) -> None:
    query = np.full((1, vectors.dimension), vectors.dimension**-0.5, dtype=np.float32)
    vectors.search(query, 5)
    vectors.scores(query, np.arange(min(vectors.n_rows, 5)))
