"""The command line, called as a user calls it: in this process where that is the same, else in one of its own."""

import io
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from conspectus import progress
from conspectus.cli import main

PROGRAM = (sys.executable, "-m", "conspectus.cli")


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    status: int
    out: str
    err: str


def conspectus(*words: str | Path) -> Done:
    """Run a command in this process. No step of it counts as long, on whatever machine, and gets a line of its own."""
    out, err = io.StringIO(), io.StringIO()
    given, sys.argv = sys.argv, ["conspectus", *map(str, words)]
    try:
        with redirect_stdout(out), redirect_stderr(err), patch.object(progress, "_SECONDS_OF_A_RATE", 1e6):
            main()
    except SystemExit as ended:
        return Done(int(ended.code or 0), out.getvalue(), err.getvalue())
    finally:
        sys.argv = given
    return Done(0, out.getvalue(), err.getvalue())


def start(
    *words: str | Path | bytes, cwd: Path | None = None, program: tuple[str, ...] = PROGRAM, **variables: str
) -> "subprocess.Popen[bytes]":
    """Start a command in a process of its own; its output can be read from it."""
    return subprocess.Popen(
        [*program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env={**os.environ, **variables},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore Ctrl-C
    )


def conspectus_apart(*words: str | Path | bytes, cwd: Path | None = None, **variables: str) -> Done:
    """Run a command in a process of its own."""
    process = start(*words, cwd=cwd, **variables)
    out, err = process.communicate(timeout=300)
    return Done(process.returncode, out.decode(), err.decode())
