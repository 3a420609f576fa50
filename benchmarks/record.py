"""Run a benchmark and keep its figures for docs/measurements.md.

    python -m benchmarks.record NAME COMMAND...

COMMAND is a benchmark or `conspectus evaluate`; it gets the option `--json FILE`. Its figures go to
benchmarks/results/NAME.json with the command, the date and the machine; then docs/measurements_page.py writes the page.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
NOT_KEPT = {"settings", "answers", "not_heard", "without_usable_content"}
"""What commands write besides figures; answers quote the documents of others."""


def record(target: Path, command: Sequence[str]) -> None:
    """Run a command, and write its figures to a file of results, whose `name` stays if it exists."""
    kept = json.loads(target.read_text("utf-8")) if target.exists() else {"name": target.stem}
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, "figures.json")
        if "figures" in kept:
            written.write_text(json.dumps(kept["figures"]), "utf-8")  # benchmarks.scale adds to its file
        subprocess.run([*command, "--json", str(written)], check=True)
        figures = json.loads(written.read_text("utf-8"), object_pairs_hook=_kept)
    shown = " ".join(Path(word).name if Path(word).exists() else word for word in command)
    threads = os.environ.get("OMP_NUM_THREADS")
    model = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"), re.M)
    measured = {
        "command": f"OMP_NUM_THREADS={threads} {shown}" if threads else shown,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": f"{os.cpu_count()} cores of {model[1] if model else 'an unknown processor'}",
        "figures": figures,
    }
    target.write_text(json.dumps({**kept, **measured}, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _kept(pairs: list[tuple[str, object]]) -> dict[str, object]:
    return {key: value for key, value in pairs if key not in NOT_KEPT}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="a file of benchmarks/results, without its suffix")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    record(RESULTS / f"{options.name}.json", options.command)
