"""Stores that indexes are in: a real S3 server in a process of its own, and what is in a store."""

import subprocess
import sys
from pathlib import Path

import fsspec  # type: ignore[import-untyped]
import httpx
import pytest

from tests.waiting import LIMIT, free_port, wait_until

SECRET = "hunter2"


class Server:
    """The S3 server of moto, in a process of its own."""

    def __init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", self.url.rpartition(":")[2]],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self._answers)

    def _answers(self) -> bool:
        assert self.process.poll() is None, "moto ended"
        try:
            return httpx.get(self.url, timeout=LIMIT).is_success
        except httpx.TransportError:
            return False


def on_server(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    for name, value in {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)


def on_machine(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go on with another cache, as on another machine."""
    monkeypatch.setenv("CONSPECTUS_CACHE", str(tmp_path / name))


def objects_of(url: str) -> dict[str, bytes]:
    system, root = fsspec.core.url_to_fs(url)
    system.invalidate_cache()
    return {name.removeprefix(root.rstrip("/") + "/"): system.cat_file(name) for name in system.find(root)}


def put(url: str, name: str, data: bytes) -> None:
    system, root = fsspec.core.url_to_fs(url)
    system.pipe_file(f"{root}/{name}", data)
