"""Fuzz all parsers of external data: documents, graphs, model replies, index files.

    python -m benchmarks.fuzzing                            10,000 cases per target, some hours
    python -m benchmarks.fuzzing --cases 500 --only read    only targets whose names begin with "read"

Each target runs in a separate process, so that a crash of the process is reported too. The exit status is 1 if any
case raised a foreign error, took more than 5 s or 1 GB, or ended its process. Such cases are written to --keep.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.fuzz import documents, graphrag, index_files, replies
from tests.fuzz.mutations import cases
from tests.fuzz.target import Target, fuzz

LONGEST = 14_400.0
"""Seconds for all cases of one target."""


def every(index: Path, folder: Path) -> Iterator[Target]:
    """Yield all fuzz targets."""
    yield from replies.targets()
    yield from documents.targets(folder)
    yield from graphrag.targets(folder)
    yield from index_files.targets(index, folder)


def small_index(folder: Path) -> Path:
    """Build an index with rows in every table that needs no model."""
    from conspectus.pipelines.build_index import build_index
    from conspectus.storage.settings import load_settings

    from tests.samples import PASSAGES

    rows = [json.dumps({"title": title, "text": text}) for title, text in PASSAGES.items()]
    (folder / "samples.jsonl").write_text("\n".join(rows), "utf-8")
    settings = load_settings(overrides={"synonyms": {"threshold": 0.6}})
    build_index([folder / "samples.jsonl"], folder / "built", settings)
    return folder / "built"


def run_one(name: str, count: int, seed: int, index: Path, keep: Path | None) -> None:
    """Fuzz one target, and report on stdout: the number of each hundredth case, and the findings."""
    with tempfile.TemporaryDirectory() as folder:
        target = next(item for item in every(index, Path(folder)) if item.name == name)

        def begun(number: int) -> None:
            (Path(folder).parent / f"fuzzing {hashlib.sha256(name.encode()).hexdigest()[:8]}").write_text(str(number))

        for found in fuzz(target, cases(target.seeds, count, seed), begun):
            print(json.dumps({"number": found.number, "what": found.what[:300]}), flush=True)
            if keep:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{name.replace('/', '_')} {found.number}").write_bytes(found.case)


def main(arguments: Sequence[str] | None = None) -> None:
    """Fuzz and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--index", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.one:
        run_one(given.one, given.cases, given.seed, given.index, given.keep)
        return
    bad = 0
    with tempfile.TemporaryDirectory() as made:
        index = small_index(Path(made))
        (Path(made) / "files").mkdir()
        names = [item.name for item in every(index, Path(made) / "files") if item.name.startswith(given.only)]
        for name in names:
            command = [sys.executable, "-m", "benchmarks.fuzzing", "--one", name, "--index", str(index)]
            command += ["--cases", str(given.cases), "--seed", str(given.seed)]
            command += ["--keep", str(given.keep)] if given.keep else []
            began = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
            found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            kinds = Counter(result["what"].partition("\n")[0][:110] for result in found)
            ended = "" if done.returncode == 0 else f" ENDED with {done.returncode}: {done.stderr[-300:]}"
            print(
                f"{name:42} {given.cases} cases {time.perf_counter() - began:6.0f} s  {len(found)} bad{ended}",
                flush=True,
            )
            for what, number in kinds.most_common(6):
                print(f"    {number:5} x {what}", flush=True)
            bad += len(found) + bool(done.returncode)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
