"""The command line, called as a user calls it: in this process where that is the same, else in one of its own."""

import io
import os
import signal
import socket
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from conspectus.cli import main

PROGRAM = (sys.executable, "-m", "conspectus.cli")


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    status: int
    out: str
    err: str


def conspectus(*words: str | Path) -> Done:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    given, sys.argv = sys.argv, ["conspectus", *map(str, words)]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as ended:
        return Done(int(ended.code or 0), out.getvalue(), err.getvalue())
    finally:
        sys.argv = given
    return Done(0, out.getvalue(), err.getvalue())


def start(*words: str | Path | bytes, cwd: Path | None = None, **variables: str) -> "subprocess.Popen[bytes]":
    """Start a command in a process of its own; its output can be read from it."""
    return subprocess.Popen(
        [*PROGRAM, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env={**os.environ, **variables},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore Ctrl-C
    )


def conspectus_apart(*words: str | Path | bytes, cwd: Path | None = None, **variables: str) -> Done:
    """Run a command in a process of its own."""
    process = start(*words, cwd=cwd, **variables)
    out, err = process.communicate(timeout=180)
    return Done(process.returncode, out.decode(), err.decode())


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
