"""Build one index with 1, 2 and 4 Dask workers, and while workers are killed: the checksums must be equal.

    python -m benchmarks.dask_workers INPUT... [--kills 10] [--json OUT]

Scheduler and workers are processes of this machine, so seconds say little beyond two workers on two cores. Printed are
the seconds, how many workers were killed, the driver's largest message to the scheduler, and whether all checksums are
those of a build without Dask; the exit status is 1 if any differs.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from conspectus.pipelines.build_index import build_index
from conspectus.storage.settings import load_settings
from distributed.comm.tcp import TCP

from tests.end_to_end.dask_cluster import checksums, cluster, killing

HEAD = f"{'workers':>8} {'killed':>7} {'seconds':>8} {'largest message':>16}  checksums"


class Messages:
    """Measures the messages that this process sends over TCP."""

    def __init__(self) -> None:
        self.largest = 0
        write = TCP.write

        async def measured(comm: TCP, *args: Any, **kwargs: Any) -> int:  # noqa: ANN401
            sent = await write(comm, *args, **kwargs)
            self.largest = max(self.largest, sent)
            return sent

        TCP.write = measured


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    messages, rows = Messages(), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.perf_counter()
        build_index(options.inputs, folder / "alone", load_settings())
        rows.append({"workers": 0, "killed": 0, "seconds": time.perf_counter() - began, "bytes": 0, "equal": True})
        expected = checksums(folder / "alone")
        for n_workers, kills in ((1, 0), (2, 0), (4, 0), (2, options.kills)):
            place = folder / f"{n_workers}-{kills}"
            place.mkdir()
            messages.largest = 0
            with cluster(place, n_workers) as dask, killing(dask, kills, Random(3)) as killed:
                began = time.perf_counter()
                build_index(options.inputs, place / "index", load_settings(None, {"build": {"runner": dask.runner}}))
                seconds = time.perf_counter() - began
            equal = checksums(place / "index") == expected
            row = {"workers": n_workers, "killed": len(killed), "seconds": seconds}
            rows.append({**row, "bytes": messages.largest, "equal": equal})
    print(HEAD)
    for row in rows:
        said = "equal" if row["equal"] else "DIFFERENT"
        print(f"{row['workers']:8} {row['killed']:7} {row['seconds']:8.1f} {row['bytes']:16,}  {said}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")
    sys.exit(not all(row["equal"] for row in rows))


if __name__ == "__main__":
    main()
