"""A reader that looks at an index over and over, as a process of its own, and notes whatever is not as it should be.

`python -m tests.end_to_end.watching INDEX QUESTION` prints what it saw when it is terminated.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import LIMIT

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Seen:
    """How often the reader looked, the versions that it saw, and what was wrong."""

    looks: int
    versions: list[str]
    wrong: list[str]


@dataclass
class Watching:
    """A reader at work; `seen` is there when it has ended."""

    process: "subprocess.Popen[str]"
    seen: Seen | None = None


@contextmanager
def watching(index: Path, question: str) -> Iterator[Watching]:
    """Have a reader look at an index until the block ends."""
    command = [sys.executable, "-m", "tests.end_to_end.watching", str(index), question]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    reader = Watching(process)
    assert process.stdout is not None
    process.stdout.readline()  # it has looked once
    try:
        yield reader
    finally:
        process.terminate()
        last, _ = process.communicate(timeout=LIMIT)
        reader.seen = Seen(**json.loads(last)) if last else Seen(0, [], [f"the reader died: {process.returncode}"])


def look(root: Path, question: str) -> tuple[str, str]:
    """Return the version in force and all that a reader sees of it; ValueError where that is not whole."""
    from conspectus.api import open_index
    from conspectus.storage.tables import TABLES

    index = open_index(root)
    opened = index.context.index
    rows = {name: opened.arrow(kind).num_rows for name, kind in TABLES.items()}
    if any(rows[name] != opened.manifest.rows[name] for name in rows):
        raise ValueError(f"{opened.manifest.version} has {rows}; its manifest counts {opened.manifest.rows}")
    nodes = opened.graph().n_nodes
    found = index.retrieve(question, "bm25").passages
    return opened.manifest.version, repr((rows, nodes, [(each.chunk_id, each.score, each.text) for each in found]))


def main() -> None:
    """Look until terminated."""
    root, question = Path(sys.argv[1]), sys.argv[2]
    ended = False

    def end(*_: object) -> None:
        nonlocal ended
        ended = True

    signal.signal(signal.SIGTERM, end)
    first: dict[str, str] = {}
    wrong: list[str] = []
    looks = 0
    while True:
        last = ended  # it looks once more after that
        try:
            version, saw = look(root, question)
            if first.setdefault(version, saw) != saw:
                wrong.append(f"{version} changed")
        except Exception as error:  # noqa: BLE001  (whatever it is, it is what is looked for)
            wrong.append(f"{type(error).__name__}: {error}")
        looks += 1
        if looks == 1:
            print("looked", flush=True)  # noqa: T201  (told to who waits)
        if last:
            break
        time.sleep(0.02)
    print(json.dumps({"looks": looks, "versions": list(first), "wrong": wrong[:20]}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
