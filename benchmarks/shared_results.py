"""What a further writer of an index in an object store pays, with and without the results of the first one.

    python -m benchmarks.shared_results --passages 300 [--json OUT]

A real S3 server (moto) runs beside it, behind a proxy that counts bytes. Writers have a cache each, as if they were on
different machines; the second one adds a document. Passages are generated (benchmarks/generated_corpus.py), and
annotated and embedded by the packaged models. The seconds of processor are those of the writer.
"""

import argparse
import json
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from benchmarks.generated_corpus import GeneratedCorpus

_REQUEST = re.compile(r'"(?:\x1b\[\d+m)*[A-Z]+ (\S+)')
_EXTRA = "The keeper Orla Finch repaired the lamp of Vey in 1911."


class Counted:
    """A proxy of a port of this machine, and the bytes that went through it."""

    def __init__(self, port: int) -> None:
        self.sent = self.received = 0
        self._behind = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._server.accept()
            server = socket.create_connection(("127.0.0.1", self._behind))
            for one, other, up in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._pass_on, args=(one, other, up), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket, up: bool) -> None:
        try:
            while data := one.recv(1 << 16):
                other.sendall(data)
                if up:
                    self.sent += len(data)
                else:
                    self.received += len(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            other.close()


@contextmanager
def object_store(log: Path) -> Iterator[tuple[Counted, dict[str, str]]]:
    """Start an S3 server with a bucket; yield the proxy before it, and the environment of its clients."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with log.open("w") as lines:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        server = subprocess.Popen(command, stdout=lines, stderr=lines)
    try:
        proxy = None
        while proxy is None:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                proxy = Counted(port)
            except OSError:
                time.sleep(0.1)
        keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
        environment = {**os.environ, **keys, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.port}"}
        httpx.put(f"http://127.0.0.1:{port}/bucket").raise_for_status()
        yield proxy, environment
    finally:
        server.kill()
        server.wait()


def spent_by_children() -> float:
    """Return the seconds of processor of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Write with several caches, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=300)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    figures: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary, object_store(Path(temporary, "log")) as (proxy, environment):
        folder, log = Path(temporary), Path(temporary, "log")
        GeneratedCorpus(options.passages).write(folder / "corpus.jsonl")
        (folder / "extra.txt").write_text(_EXTRA, "utf-8")

        def write(who: str, cache: str, *, shared: bool, more: bool = False) -> None:
            before = spent_by_children(), proxy.sent, proxy.received, log.stat().st_size
            inputs = [folder / "corpus.jsonl", *([folder / "extra.txt"] if more else [])]
            index = f"s3://bucket/{'shared' if shared else 'apart'}.index"
            setting = f"build.share_results={str(shared).lower()}"
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "conspectus.cli",
                    "index",
                    *map(str, inputs),
                    "--index",
                    index,
                    "--set",
                    setting,
                ],
                env={**environment, "CONSPECTUS_CACHE": str(folder / cache)},
                check=True,
                capture_output=True,
            )
            paths = _REQUEST.findall(log.read_text("utf-8", "replace")[before[3] :])
            figures.append(
                {
                    "writer": who,
                    "cpu_seconds": spent_by_children() - before[0],
                    "sent_bytes": proxy.sent - before[1],
                    "received_bytes": proxy.received - before[2],
                    "requests": len(paths),
                    "requests_for_results": sum("memo" in path for path in paths),
                }
            )

        write("first, not shared", "a", shared=False)
        write("first, shared", "b", shared=True)
        write("the same, unchanged, shared", "b", shared=True)
        write("second, one more document, not shared", "c", shared=False, more=True)
        write("second, one more document, shared", "d", shared=True, more=True)
    print(f"{'CPU s':>8} {'sent MB':>8} {'got MB':>8} {'requests':>9} {'for results':>12}")
    for each in figures:
        print(
            f"{each['cpu_seconds']:8.1f} {each['sent_bytes'] / 1e6:8.1f} {each['received_bytes'] / 1e6:8.1f} "
            f"{each['requests']:9} {each['requests_for_results']:12}  {each['writer']}"
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
