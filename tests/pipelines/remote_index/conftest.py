from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipelines.remote_index.stores import Server, on_machine, on_server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.process.kill()
    running.process.wait()


@pytest.fixture
def url(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty folder of a bucket, and a machine that has fetched nothing."""
    on_server(server.url, monkeypatch)
    on_machine("first", tmp_path, monkeypatch)
    bucket = f"bucket-{tmp_path.name.strip('_').replace('_', '-')[:40].lower()}"
    server.make_bucket(bucket)
    return f"s3://{bucket}/some/notes.index"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder that machines share, with nothing in it, and a machine that has fetched nothing."""
    on_machine("first", tmp_path, monkeypatch)
    return f"file://{tmp_path}/shared/notes.index"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "lamp.txt").write_text("The keeper Orla Finch repaired the lamp of Vey in 1911.", "utf-8")
    (folder / "ferry.txt").write_text("The ferry Petrel crosses the bay twice a day. Mara Quill steers it.", "utf-8")
    return folder
