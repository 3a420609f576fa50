"""Child processes with a memory limit, for libraries that a hostile input can keep busy, or crash."""

import os
import selectors
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Mapping
from pathlib import Path

from conspectus.storage.turns import away

_LIMITS = Path(__file__).with_name("child_limits.py")
_BLOCK = 1 << 16
_SECONDS_TO_END = 5.0


class ChildProcess:
    """A process that runs a script, started on first use and again after it ended. It ends with this object.

    Args:
        command: The path of the script, and its arguments.
        memory: The bytes of address space that the process may have.
        environment: Variables that the process has besides those of this process.
    """

    def __init__(self, command: list[str], memory: int, environment: Mapping[str, str] | None = None) -> None:
        self._command = [sys.executable, "-P", str(_LIMITS), str(memory), *command]
        self._environment = environment or {}
        self._holder: list[subprocess.Popen[bytes]] = []
        weakref.finalize(self, _end, self._holder)

    def send(self, message: bytes) -> bool:
        """Write to the input of the process; return whether it was started for this.

        Raises:
            BrokenPipeError: The process has ended.
        """
        started = not self._holder
        if started:
            self._holder.append(
                subprocess.Popen(  # noqa: S603 - our own command
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                    env={**os.environ, **self._environment},
                )
            )
        stream = self._holder[0].stdin
        assert stream
        left = memoryview(message)
        while left:
            left = left[os.write(stream.fileno(), left) :]
        return started

    def receive(self, seconds: float) -> bytes | None:
        """Return what the process writes next; b"" if it has ended, None if it writes nothing for so long."""
        output = self._holder[0].stdout
        assert output
        with selectors.DefaultSelector() as selector, away():
            selector.register(output, selectors.EVENT_READ)
            if not selector.select(max(0.0, seconds)):
                return None
        return os.read(output.fileno(), _BLOCK)

    def line(self, seconds: float) -> bytes | None:
        """Return the next line that the process writes, as `receive` does."""
        found, until = bytearray(), time.monotonic() + seconds
        while not found.endswith(b"\n"):
            block = self.receive(until - time.monotonic())
            if not block:
                return block
            found += block
        return bytes(found)

    def ended_by(self) -> str:
        """Return the signal that ended the process, such as SIGSEGV, "" for none, after `receive` returned b""."""
        try:
            status = self._holder[0].wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            status = 0
        self.stop()
        return signal.Signals(-status).name if status < 0 else ""

    def stop(self) -> None:
        """End the process."""
        _end(self._holder)


def _end(holder: "list[subprocess.Popen[bytes]]") -> None:
    if holder:
        process = holder.pop()
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                stream.close()
