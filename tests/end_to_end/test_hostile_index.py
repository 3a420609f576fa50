"""An index that is damaged, or that somebody made to harm: every file is checked before it is believed.

What any bytes at all do under a manifest that vouches for them is the business of `tests/fuzz`.
"""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.hashing import file_digest
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import MANIFEST

from tests.command_line import conspectus
from tests.fuzz.index_files import use

QUESTION = "Who wrote The Oak House?"

Edit = Callable[[dict[str, Any]], object]


@pytest.fixture
def index(sample_root: Path, tmp_path: Path) -> Path:
    root = tmp_path / "index"
    shutil.copytree(sample_root, root, ignore=shutil.ignore_patterns("cache", ".lock"))
    return root


def version(root: Path) -> Path:
    return root / "versions" / (root / "CURRENT").read_text("utf-8").strip()


def manifest(root: Path, edit: Edit) -> None:
    path = version(root) / MANIFEST
    told = json.loads(path.read_text("utf-8"))
    edit(told)
    path.write_text(json.dumps(told), "utf-8")


def vouched_for(root: Path, name: str) -> None:
    """Write into the manifest what a file is now, as who made the whole index would."""
    path = version(root) / name
    facts = {"sha256": file_digest(path), "bytes": path.stat().st_size}
    manifest(root, lambda told: told["files"].update({name: facts}))


def test_no_file_with_one_bit_changed_is_used(index: Path) -> None:
    names = list(StoredIndex.open(index).manifest.files)
    assert len(names) > 20
    for name in names:
        path = version(index) / name
        whole = path.read_bytes()
        use(index, name)
        for content in (whole[:-1] + bytes([whole[-1] ^ 1]), whole[:-1], whole + b"\0"):
            path.unlink()
            path.write_bytes(content)
            with pytest.raises(IndexCorrupt, match=Path(name).name):
                use(index, name)
        path.unlink()
        with pytest.raises(IndexCorrupt, match="is missing"):
            use(index, name)
        path.write_bytes(whole)


@pytest.mark.parametrize("method", ["bm25", "dense", "ppr"])
def test_a_question_to_a_damaged_index_is_one_line(method: str, index: Path) -> None:
    name = {"bm25": "bm25/data.csc.index.npy", "dense": "vectors/chunks.faiss", "ppr": "graph/weights.npy"}[method]
    path = version(index) / name
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    done = conspectus("retrieve", QUESTION, "--method", method, "--index", index)
    assert (done.status, done.out) == (4, "")
    assert (
        done.err
        == f"conspectus: {path} does not match its checksum; see: conspectus verify, and build the index again\n"
    )


@pytest.mark.parametrize(
    "name", ["../../CURRENT", "/etc/passwd", "vectors/../../x", ".hidden", "a//b", "a\\b", "a\nb", ""]
)
def test_no_place_outside_the_version_is_named(name: str, index: Path) -> None:
    manifest(index, lambda told: told["files"].update({name: {"sha256": "0" * 64, "bytes": 1}}))
    for words in (["verify"], ["status"], ["retrieve", QUESTION]):
        done = conspectus(*words, "--index", index)
        assert (done.status, done.out) == (4, "")
        assert "is not a path inside a version" in done.err
        assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "edit",
    [
        lambda told: told.update(rows={"chunks": -1}),
        lambda told: told.update(rows={"chunks": 10**30, "documents": "6"}),
        lambda told: told.update(files=[]),
        lambda told: told.update(settings=None),
        lambda told: told.update(models={"dimension": 384}),
        lambda told: told.update(format_version="3"),
        lambda told: told.update(format_version=True),
        lambda told: told["files"].update({"chunks.parquet": {"sha256": "x", "bytes": 1}}),
        lambda told: told["files"].update({"chunks.parquet": {"bytes": 1}}),
        lambda told: told.update(more=1),
        lambda told: told.pop("rows"),
    ],
)
def test_a_manifest_of_another_shape_is_refused(edit: Edit, index: Path) -> None:
    manifest(index, edit)
    with pytest.raises(IndexCorrupt, match="is not a manifest"):
        StoredIndex.open(index)


def test_a_manifest_beyond_reason_is_not_read(index: Path) -> None:
    with (version(index) / MANIFEST).open("r+b") as stream:
        stream.truncate(10**11)  # takes no space on the disk
    with pytest.raises(IndexCorrupt, match="more than 64,000,000 bytes"):
        StoredIndex.open(index)


@pytest.mark.parametrize("name", ["chunks.parquet", "vectors/chunks.faiss", "graph/weights.npy", "vectors", "graph"])
def test_links_are_not_followed(name: str, index: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (version(index) / name).rename(outside)
    (version(index) / name).symlink_to(outside)
    used = {"vectors": "vectors/chunks.faiss", "graph": "graph/weights.npy"}.get(name, name)
    with pytest.raises(IndexCorrupt, match="is a link"):
        use(index, used)


class Payload:
    """Makes a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._path,)


@pytest.mark.parametrize(
    "name", ["graph/weights.npy", "vectors/chunks.rows.npy", "vectors/entities.rows.npy", "bm25/data.csc.index.npy"]
)
def test_nothing_is_unpickled(name: str, index: Path, tmp_path: Path) -> None:
    harm = tmp_path / "harm"
    pickle.loads(pickle.dumps(Payload(harm)))  # noqa: S301  (it would)
    assert harm.exists()
    harm.unlink()
    path = version(index) / name
    path.unlink()
    np.save(path, np.array([Payload(harm)], dtype=object), allow_pickle=True)
    vouched_for(index, name)
    with pytest.raises(IndexCorrupt):
        use(index, name)
    assert not harm.exists()


def test_sizes_that_cannot_be_are_refused_before_memory_is_taken(index: Path) -> None:
    many = 10**13
    for name in (
        "vectors/chunks.rows.npy",
        "vectors/relations.rows.npy",
        "graph/indices.npy",
        "bm25/indices.csc.index.npy",
    ):
        path = version(index) / name
        whole = path.read_bytes()
        head = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({many},), }}".ljust(117).encode() + b"\n"
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + b"\0" * 80)
        vouched_for(index, name)
        with pytest.raises(IndexCorrupt):
            use(index, name)
        path.write_bytes(whole)
        vouched_for(index, name)
    path = version(index) / "vectors" / "chunks.faiss"
    whole = bytearray(path.read_bytes())
    whole[8:16] = many.to_bytes(8, "little")
    path.unlink()
    path.write_bytes(whole)
    vouched_for(index, "vectors/chunks.faiss")
    with pytest.raises(IndexCorrupt, match="not 6 vectors of dimension 384"):
        use(index, "vectors/chunks.faiss")
