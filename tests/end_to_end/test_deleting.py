"""What was removed is gone: from the version in force, and after a purge from every byte of the index folder."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from conspectus.api import open_index
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.incremental import change_documents
from conspectus.pipelines.purge import INDEXING, purge
from conspectus.storage.errors import IndexCorrupt, IndexUnusable
from conspectus.storage.hashing import digest
from conspectus.storage.index import StoredIndex
from conspectus.storage.memo import Memo
from conspectus.storage.publishing import build_lock, prune
from conspectus.storage.records import Chunk, Claim, Entity, Relation, Report
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.tables import TABLES
from conspectus.storage.verify import verify

from benchmarks.fake_server import FakeRequest, FakeServer
from tests.command_line import conspectus
from tests.graph_model import reply

CANARIES = ("Zorblatt", "Quuxley", "vexiline")
SECRET = (
    "Mary Quill taught Otto Brand. Zorblatt Quuxley met Mary Quill in Port Alma. "
    "Zorblatt Quuxley painted a vexiline house. Zorblatt Quuxley lived in Old Ferry."
)
KEPT = {
    "quill.txt": "Mary Quill lived in Port Alma. Mary Quill painted Lena Storm.",
    "brand.txt": "Otto Brand lived in Old Ferry. Otto Brand met Lena Storm. Lena Storm met Paul Reed.",
}


def telling(request: FakeRequest) -> str:
    """Reply as the model of other tests does, with claims, and with what of the canaries the prompt holds."""
    heard = [each for each in CANARIES if each in request.prompt]
    if '("claim"' in request.prompt:
        if heard:
            return (
                '("claim"<|>"Zorblatt Quuxley"<|>"NONE"<|>"DEED"<|>"TRUE"<|>"NONE"<|>"NONE"<|>'
                '"Zorblatt Quuxley painted a vexiline house"<|>"painted a vexiline house")##<|COMPLETE|>'
            )
        return "<|COMPLETE|>"
    said = reply(request)
    return said.replace("one sentence.", " ".join(["one sentence", *heard])).replace(
        "A group of names.", " ".join(["A group of names", *heard])
    )


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(telling) as running:
        yield running


def chosen(server: FakeServer, *, model: bool) -> Settings:
    sections: dict[str, dict[str, object]] = {
        "extraction": {"claims": True},
        "embedding": {"provider": "endpoint", "model": "e"},
        "embedding_server": {"base_url": server.url},
        "communities": {"max_cluster_size": 3},
        "reports": {"min_size": 2},
    }
    if model:
        sections["llm"] = {"model": "m", "base_url": server.url}
    return load_settings(overrides=sections)


def built(folder: Path, settings: Settings) -> Path:
    for name, text in {**KEPT, "secret.txt": SECRET}.items():
        (folder / "docs").mkdir(exist_ok=True)
        (folder / "docs" / name).write_text(text, "utf-8")
    build_index([folder / "docs"], folder / "index", settings)
    return folder / "index"


def told(index: StoredIndex) -> str:
    """Return all that the tables of a version say, and all bytes of its files, as one text."""
    rows = [json.dumps([asdict(row) for row in index.rows(record)], ensure_ascii=False) for record in TABLES.values()]
    files = [each.read_bytes().decode("latin-1") for each in index.folder.rglob("*") if each.is_file()]
    return "\n".join([*rows, *files])


def bytes_of(folder: Path) -> str:
    """Return all bytes of all files, compressed tables read too."""
    found = [each.read_bytes().decode("latin-1") for each in folder.rglob("*") if each.is_file()]
    for manifest in folder.glob("versions/*/manifest.json"):
        found += (
            [told(StoredIndex.open(folder))]
            if manifest.parent.name == StoredIndex.open(folder).manifest.version
            else ["OLD"]
        )
    return "\n".join(found)


def traces(text: str) -> list[str]:
    return [each for each in (*CANARIES, digest(SECRET)) if each.casefold() in text.casefold()]


def related(index: StoredIndex) -> set[frozenset[str]]:
    name_of = {each.id: each.name for each in index.rows(Entity)}
    return {frozenset((name_of[each.source_id], name_of[each.target_id])) for each in index.rows(Relation)}


@pytest.mark.parametrize("model", [False, True], ids=["offline", "with a model"])
def test_what_was_removed_is_in_no_file_of_the_version_and_after_a_purge_in_none_at_all(
    model: bool, tmp_path: Path, server: FakeServer
) -> None:
    settings = chosen(server, model=model)
    index = built(tmp_path, settings)
    before = StoredIndex.open(index)
    assert set(CANARIES) <= set(traces(told(before)))
    assert frozenset(("Mary Quill", "Otto Brand")) in related(before)
    if model:
        assert any("vexiline" in each.description for each in before.rows(Claim))
        assert any("Zorblatt" in each.full_text for each in before.rows(Report))
    open_index(index, settings).ask("Who is Zorblatt Quuxley?", "local" if model else "hybrid")

    change_documents((), ["secret.txt"], index, settings)
    now = StoredIndex.open(index)
    assert verify(now) == []
    assert traces(told(now)) == []
    assert frozenset(("Mary Quill", "Otto Brand")) not in related(now), "a fact that only it supported"
    assert "OLD" in bytes_of(index)
    memo = index / "cache" / "memo.sqlite"
    assert "Zorblatt" in memo_text(memo)

    forgotten = purge(index, settings).forgotten
    assert forgotten["embed endpoint:e"] > 0
    assert forgotten["reply" if model else "extract"] > 0
    assert traces(bytes_of(index)) == []
    assert traces(memo_text(memo)) == []
    assert "OLD" not in bytes_of(index)
    assert verify(StoredIndex.open(index)) == []

    # What is left is enough to build the same again without a call.
    (index / "CURRENT").unlink()
    asked = len(server.requests)
    again = build_index([tmp_path / "docs" / name for name in KEPT], index, settings)
    assert again.version == now.manifest.version
    assert len(server.requests) == asked


def memo_text(memo: Path) -> str:
    connection = sqlite3.connect(memo)
    try:
        rows = connection.execute("SELECT kind, key, value FROM results").fetchall()
        rows += connection.execute("SELECT source, kind, key FROM sources").fetchall()
    finally:
        connection.close()
    return "\n".join(str(each) for row in rows for each in row) + memo.read_bytes().decode("latin-1")


@pytest.mark.parametrize("model", [False, True], ids=["offline", "with a model"])
def test_every_kind_of_result_tells_what_it_was_made_from(model: bool, tmp_path: Path, server: FakeServer) -> None:
    """A new kind must be listed here, and `conspectus.pipelines.purge` must know how to forget it."""
    index = built(tmp_path, chosen(server, model=model))
    memo = Memo(index / "cache" / "memo.sqlite")
    assert memo.kinds() == (["embed endpoint:e", "reply"] if model else ["embed endpoint:e", "extract"])
    chunks = {digest(each.text) for each in StoredIndex.open(index).rows(Chunk)}
    connection = sqlite3.connect(memo.path)
    results = connection.execute("SELECT kind, key FROM results WHERE kind NOT LIKE 'embed %'").fetchall()
    sources = connection.execute("SELECT kind, key, source FROM sources").fetchall()
    connection.close()
    for kind, key in results:
        own = {source for each, of, source in sources if (each, of) == (kind, key)}
        assert own & chunks
        marks = {each for each in own if each.startswith("step ")}
        assert own - marks <= chunks
        assert marks <= {f"step {each}" for each in INDEXING}
        assert bool(marks) == (kind == "reply")


def test_a_kind_that_is_not_known_is_not_passed_over(tmp_path: Path, server: FakeServer) -> None:
    settings = chosen(server, model=False)
    index = built(tmp_path, settings)
    Memo(index / "cache" / "memo.sqlite").put_many("other", {"a": b"Zorblatt"})
    with pytest.raises(IndexUnusable, match="'other', which is unknown to this program"):
        purge(index, settings)


def test_prune_keeps_the_version_in_force_and_those_published_last(tmp_path: Path, server: FakeServer) -> None:
    settings = chosen(server, model=False)
    index = built(tmp_path, settings)
    reader, late_reader = StoredIndex.open(index), StoredIndex.open(index)
    assert reader.rows(Chunk)
    versions = [reader.manifest.version]
    for name in ("secret.txt", "quill.txt"):
        change_documents((), [name], index, settings)
        versions.append(StoredIndex.open(index).manifest.version)
    (index / "versions" / ".staging-1").mkdir()
    with build_lock(index):
        assert prune(index, 2).versions == (versions[0],)
    assert {each.name for each in (index / "versions").iterdir()} == set(versions[1:])
    done = conspectus("prune", "--index", index, "--json")
    assert json.loads(done.out)["versions"] == [versions[1]]
    assert json.loads(done.out)["bytes"] > 1000
    assert verify(StoredIndex.open(index)) == []
    assert reader.rows(Chunk), "what is read stays"
    with pytest.raises(IndexCorrupt, match="open the index again"):
        late_reader.rows(Chunk)
    assert conspectus("prune", "--index", index, "--keep", "2", "--purge").status == 2
    assert conspectus("prune", "--index", tmp_path / "none").status == 4
    assert not (tmp_path / "none").exists()
