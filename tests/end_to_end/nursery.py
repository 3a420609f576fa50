"""A process that has loaded what a build needs, and builds in children that can be killed: a start costs nothing.

`python -m tests.end_to_end.nursery warm|cold` reads one `Job` a line as JSON and answers each with a line of JSON:
{"killed", "seconds"} and, of a build that ended, {"touches", "given", "version"} or {"error"}. A *touch* is a file of
the index that Python opens, renames, makes or removes: a job says at which of those of the memo, at which of the other
ones, or after how many seconds, kill -9 comes. How often the memo is opened depends on when replies come; the other
touches of a build are always the same.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parent.parent.parent
TOUCHES = frozenset({"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "sqlite3.connect", "shutil.rmtree"})
NEEDED = (
    "faiss", "graspologic_native", "openai.resources.chat.completions", "openai.resources.embeddings",
    "pyarrow.parquet", "scipy.sparse", "tokenizers", "conspectus.pipelines.build_index",
    "conspectus.pipelines.backends.llm",
)  # fmt: skip
"""What a build imports when it comes to it."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Job:
    """One build, and when it is killed: after some seconds, at a touch of a kind ("memo", "files"), or never."""

    source: str
    index: str
    settings: Mapping[str, Mapping[str, object]]
    after: float | None = None
    kind: str = ""
    touch: int = 0


@dataclass(frozen=True)
class Built:
    """What became of a build; `given` is how many items each step was given to work on."""

    killed: bool
    seconds: float
    touches: Mapping[str, int] = field(default_factory=dict)
    given: Mapping[str, int] = field(default_factory=dict)
    version: str = ""
    error: str = ""


@dataclass(frozen=True)
class Nursery:
    """Where builds are begun."""

    process: "subprocess.Popen[str]"

    def build(self, job: Job) -> Built:
        """Return what became of a build; ChildProcessError where the nursery itself is gone."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(asdict(job)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise ChildProcessError(f"the nursery ended with status {self.process.wait()}")
        return Built(**json.loads(line))


@contextmanager
def nursery(*, warm: bool) -> Iterator[Nursery]:
    """Start a nursery: a `warm` one has loaded what the local embedding model takes (not the model: its
    threads would not survive a fork)."""
    command = [sys.executable, "-m", "tests.end_to_end.nursery", "warm" if warm else "cold"]
    surroundings = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    surroundings.pop("PREFECT_API_URL", None)
    process = subprocess.Popen(
        command, cwd=ROOT, env=surroundings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Nursery(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


class Counting:
    """Runs shards here, and counts what each step was given to do."""

    def __init__(self) -> None:
        self.given: Counter[str] = Counter()

    def __call__(
        self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
    ) -> list[Result]:
        self.given[step] += sum(map(len, parts))
        return [work(part) for part in parts]


def _child(job: Job, pipe: int) -> None:
    from conspectus.pipelines.build_index import build_index
    from conspectus.storage.errors import ConspectusError
    from conspectus.storage.settings import load_settings

    touches: Counter[str] = Counter()
    memo = str(Path(job.index, "cache"))

    def touch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in TOUCHES and arguments and (path := str(arguments[0])).startswith(job.index):
            kind = "memo" if path.startswith(memo) else "files"
            touches[kind] += 1
            if kind == job.kind and touches[kind] == job.touch:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(touch)
    watched = Counting()
    try:
        sections = {name: dict(values) for name, values in job.settings.items()}
        report = build_index([job.source], Path(job.index), load_settings(overrides=sections), watched)
        told: dict[str, object] = {"touches": touches, "given": watched.given, "version": report.version}
    except ConspectusError as error:
        told = {"error": f"{type(error).__name__}: {error}"}
    os.write(pipe, json.dumps(told).encode())


def _run(job: Job) -> dict[str, object]:
    out, into = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(out)
        try:
            _child(job, into)
        finally:
            os._exit(0)  # no handlers of the parent
    os.close(into)
    ended, status = 0, 0
    while not ended:
        ended, status = os.waitpid(child, os.WNOHANG)
        if not ended and job.after is not None and time.monotonic() - began > job.after:
            os.kill(child, signal.SIGKILL)
            ended, status = os.waitpid(child, 0)
        elif not ended:
            time.sleep(0.002)
    seconds = time.monotonic() - began
    with os.fdopen(out, "rb") as stream:
        told = stream.read()
    killed = os.WIFSIGNALED(status)
    return {"killed": killed, "seconds": seconds, **(json.loads(told) if told and not killed else {})}


def main() -> None:
    """Load, and answer jobs until there are no more."""
    for each in (*NEEDED, *(("onnxruntime",) if sys.argv[1] == "warm" else ())):
        importlib.import_module(each)
    for line in sys.stdin:
        print(json.dumps(_run(Job(**json.loads(line)))), flush=True)  # noqa: T201  (the answer)


if __name__ == "__main__":
    main()
