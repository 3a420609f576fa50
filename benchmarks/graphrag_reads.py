"""Whether Microsoft GraphRAG itself loads and queries the output of `conspectus export graphrag`.

    python -m benchmarks.graphrag_reads INDEX... --python /tmp/graphrag-venv/bin/python

Exports each index, then runs that Python, from an environment with `pip install graphrag` (3.x), to read the folder
with GraphRAG's own readers and run its own global, local and basic search on it, over a vector store filled from our
embeddings and with a mocked model. Prints how many rows each table has, how many objects GraphRAG makes of them (at
community level 2, so entities in no community of the first three levels are not among them), and how many records each
search puts into its context. The exit status is 1 if anything is rejected.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conspectus.pipelines.exchange.graphrag.exporter import write_graphrag
from conspectus.storage.index import StoredIndex

_LONGEST = 600.0
"""Seconds for one export."""


def read_by_graphrag(python: Path, folder: Path) -> dict[str, Any]:
    """Return what GraphRAG reads from a folder of tables; SystemExit with its message if it rejects them."""
    inside = Path(__file__).with_name("graphrag_inside.py")
    done = subprocess.run(
        [str(python), str(inside), str(folder)], capture_output=True, text=True, timeout=_LONGEST, check=False
    )
    if done.returncode:
        sys.exit(f"GraphRAG refuses {folder}:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Export, let GraphRAG read the result, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indexes", nargs="+", type=Path)
    parser.add_argument("--python", type=Path, required=True)
    given = parser.parse_args(arguments)
    for root in given.indexes:
        with tempfile.TemporaryDirectory() as folder:
            write_graphrag(StoredIndex.open(root), Path(folder) / "tables")
            found = read_by_graphrag(given.python, Path(folder) / "tables")
        print(f"{root}\n  {'table':20} {'rows':>7} {'read':>7}")
        for name, count in found["rows"].items():
            print(f"  {name:20} {count:7,} {found['read'].get(name, count):7,}")
        for name, context in found["searches"].items():
            print(f"  {name} search: " + ", ".join(f"{count} {kind}" for kind, count in context.items()))


if __name__ == "__main__":
    main()
