"""The fake server as a process of its own: for measuring without sharing an interpreter, and for killing it."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from conspectus.prompts.fake.recorded import Measures, Recorded


@dataclass(frozen=True, slots=True)
class FakeProcess:
    """A running server: its base URL and its process. What it tells is asked over HTTP."""

    url: str
    process: subprocess.Popen[str]

    def requests(self, start: int = 0) -> list[Recorded]:
        """Return the requests from the given number on."""
        return [Recorded(**row) for row in self._asked("GET", f"fake/requests?from={start}")["records"]]

    def measures(self) -> Measures:
        """Return what all requests so far come to."""
        told = self._asked("GET", f"fake/requests?from={sys.maxsize}")
        return Measures(**{each.name: told[each.name] for each in fields(Measures)})

    def change(self, **settings: object) -> None:
        """Change `latency`, `faults` or `limits`, given as JSON takes them; ValueError where that is not understood."""
        self._asked("POST", "fake/settings", settings)

    def kill(self) -> None:
        """End the process at once, as kill -9 does."""
        self.process.kill()
        self.process.wait()

    def _asked(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401 - JSON
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        try:
            connection.request(method, f"{parts.path}/{path}", None if body is None else json.dumps(body))
            reply = connection.getresponse()
            told = json.loads(reply.read())
        finally:
            connection.close()
        if reply.status != 200:
            raise ValueError(told["error"]["message"])
        return told


@contextmanager
def fake_process(*arguments: str) -> Iterator[FakeProcess]:
    """Run `python -m conspectus.prompts.fake` with these arguments until the block ends.

        with fake_process("--latency", "0.2", "--log", "requests.jsonl") as server:
            ...  # server.url

    ChildProcessError where it does not start: it has said why on stderr.
    """
    command = [sys.executable, "-m", "conspectus.prompts.fake", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own command
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise ChildProcessError(f"The fake server did not start; it ended with status {process.wait()}.")
        yield FakeProcess(url, process)
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
