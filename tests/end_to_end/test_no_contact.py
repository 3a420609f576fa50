"""Real programs contact nothing but this machine, and write nothing outside the folders that the docs name.

The environment has none of the switches: Conspectus itself must set them. `test_prefect.py` traces Prefect's programs.
"""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.command_line import PROGRAM
from tests.tracing import CANNOT_TRACE, contacts, tracer
from tests.waiting import LIMIT, free_port, wait_until

QUESTION = "Where was Marie Curie born?"
EXTRAS = """
import sys, boto3, conspectus, distributed, obstore.store
from conspectus.integrations import langchain, llama_index
from conspectus.query.sql import select
index = conspectus.open(sys.argv[1])
assert langchain.ConspectusRetriever(index=index).invoke(sys.argv[2])
assert llama_index.ConspectusRetriever(index).retrieve(sys.argv[2])
assert select(index.context, "SELECT count(*) FROM documents").rows == ((2,),)
"""
FLOW = "import conspectus.pipelines.prefect_flow"
CONTROL = "import socket; socket.socket(type=socket.SOCK_DGRAM).connect(('203.0.113.7', 9))"
"""Names a foreign address without sending anything to it."""


@dataclass(frozen=True)
class Ran:
    """Programs that ran, by name; each had a home of its own, and all of them one working folder."""

    folder: Path

    @contextmanager
    def meanwhile(
        self, name: str, *words: str | Path, terminal: int | None = None
    ) -> "Iterator[subprocess.Popen[str]]":
        """Run a program, and end it with the block if it has not ended."""
        home, trace, output = (self.folder / kind / name for kind in ("homes", "traces", "outputs"))
        home.mkdir()
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ}
        with output.open("w") as out:
            process = subprocess.Popen(
                [*tracer(trace), *words],
                env={**kept, "HOME": str(home)},
                cwd=self.folder / "cwd",
                stdin=subprocess.DEVNULL,
                stdout=terminal or out,
                stderr=terminal or out,
                text=True,
            )
        try:
            yield process
        finally:
            process.terminate()
            process.wait(LIMIT)

    def run(self, name: str, *words: str | Path, terminal: int | None = None) -> None:
        """Run a program to its end."""
        with self.meanwhile(name, *words, terminal=terminal) as process:
            assert process.wait(LIMIT) == 0, (self.folder / "outputs" / name).read_text()


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run every program once. The server lasts longest, because onnxruntime waits some seconds before it sends."""
    ran = Ran(tmp_path_factory.mktemp("ran"))
    for name in ("homes", "traces", "outputs", "cwd", "documents"):
        (ran.folder / name).mkdir()
    (ran.folder / "documents/curie.txt").write_text("Marie Curie was born in Warsaw. She discovered radium.", "utf-8")
    (ran.folder / "documents/warsaw.txt").write_text("Warsaw lies on the Vistula. Otto Brand is there.", "utf-8")
    index, port = str(ran.folder / "index"), str(free_port())
    ran.run("index", *PROGRAM, "index", ran.folder / "documents", "--index", index)
    with (
        ran.meanwhile("serve", *PROGRAM, "serve", f"notes={index}", "--port", port) as server,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=LIMIT, trust_env=False) as client,
    ):

        def is_ready() -> bool:
            assert server.poll() is None, (ran.folder / "outputs/serve").read_text()
            try:
                return client.get("/readyz").is_success
            except httpx.TransportError:
                return False

        ran.run("ask", *PROGRAM, "ask", QUESTION, "--index", index)
        wait_until(is_ready)
        client.post("/v1/indexes/notes/ask", json={"question": QUESTION}).raise_for_status()
        ran.run("doctor", *PROGRAM, "doctor", "--index", index)
        ran.run("extras", sys.executable, "-c", EXTRAS, index, QUESTION)
        ours, theirs = pty.openpty()  # Prefect reports from terminals only
        ran.run("flow", sys.executable, "-c", FLOW, terminal=theirs)
        os.close(theirs)
        os.close(ours)
        ran.run("control", sys.executable, "-c", CONTROL)
    return ran


@pytest.mark.skipif(bool(CANNOT_TRACE), reason=CANNOT_TRACE)
def test_nothing_but_this_machine_is_contacted(ran: Ran) -> None:
    found = {trace.name: contacts(trace) for trace in (ran.folder / "traces").iterdir()}
    assert found.pop("control") == {"203.0.113.7:9"}, "the tracer misses nothing"
    assert {name: addresses for name, addresses in found.items() if addresses} == {}


def test_nothing_is_written_outside_the_folders_that_are_named(ran: Ran) -> None:
    assert list((ran.folder / "cwd").iterdir()) == []
    written = {home.name: [each.name for each in home.iterdir()] for home in (ran.folder / "homes").iterdir()}
    assert {name: files for name, files in written.items() if files} == {"flow": [".prefect"]}
