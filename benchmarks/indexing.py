"""Time and memory of indexing: with an empty cache, unchanged, and opening the index.

    python benchmarks/indexing.py INPUT [INPUT ...]

The build runs in a separate process, so that its peak memory can be measured.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def build(inputs: list[str], index: Path) -> tuple[dict[str, object], float]:
    """Run `conspectus index`; return its report and its wall-clock seconds."""
    command = [sys.executable, "-m", "conspectus.cli", "index", *inputs, "--index", str(index), "--json", "--quiet"]
    began = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout), time.perf_counter() - began


def main() -> None:
    """Build twice in an empty folder, open, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        first, cold = build(options.inputs, index)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        _, warm = build(options.inputs, index)
        size = sum(path.stat().st_size for path in (index / "versions").rglob("*") if path.is_file()) / 1e6

        from conspectus import open_index

        began = time.perf_counter()
        opened = open_index(index)
        opening = time.perf_counter() - began
        question = "Who was the first to do it, and where?"
        opened.retrieve(question)
        began = time.perf_counter()
        for _ in range(20):
            opened.retrieve(question)
        asking = (time.perf_counter() - began) / 20
    print(f"rows                      {first['rows']}")
    print(f"build, empty memo         {cold:8.1f} s")
    print(f"peak memory               {peak:8.0f} MiB")
    print(f"build, nothing changed    {warm:8.1f} s")
    print(f"opening                   {opening * 1000:8.1f} ms")
    print(f"retrieve, ppr             {asking * 1000:8.1f} ms a question")
    print(f"index on disk             {size:8.1f} MB")


if __name__ == "__main__":
    main()
