"""A server of Bolt and Cypher for tests: ArcadeDB's, whose package brings its own Java."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import free_port, wait_until

PASSWORD = "tell-nobody-17"
_SERVE = """
import sys
import arcadedb_embedded as arcade
folder, bolt, http, *databases = sys.argv[1:]
plugin = "Bolt:com.arcadedb.bolt.BoltProtocolPlugin"
server = arcade.create_server(folder, sys.stdin.readline().strip(), {
    "http_port": int(http), "server_plugins": plugin, "bolt_port": int(bolt)})
server.start()
for name in databases:
    server.create_database(name)
print("serving", flush=True)
sys.stdin.readline()
server.stop()
"""


@contextmanager
def bolt_server(folder: Path, *databases: str) -> Iterator[str]:
    """Start the server with empty databases; yield its address. Its user is `root`."""
    port, told = free_port(), folder / "told.txt"
    with told.open("wb") as stream:
        server = subprocess.Popen(
            [sys.executable, "-c", _SERVE, str(folder), str(port), str(free_port()), *databases],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=os.environ | {"ARCADEDB_JVM_ARGS": "-Xmx256m"},
        )
        assert server.stdin
        server.stdin.write(f"{PASSWORD}\n".encode())
        server.stdin.flush()

        def serves() -> bool:
            assert server.poll() is None, told.read_text("utf-8", "replace")
            return b"serving" in told.read_bytes()

        try:
            wait_until(serves)
            yield f"bolt://127.0.0.1:{port}"
        finally:
            server.kill()
            server.wait()
