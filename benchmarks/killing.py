"""Kill builds with kill -9 at random moments: which results are lost, and which calls are paid for twice.

    python -m benchmarks.killing                   30 moments offline, and 30 with a model at 50 ms a reply
    python -m benchmarks.killing --moments 3 --mode model

A third of the moments are drawn by time, a third by openings of the memo, a third by the other files that Python
touches. After each kill the current version is verified and read, and the next build is compared with an uninterrupted
one: the checksums must be equal, and no cached result may be computed again. Another process reads the index
throughout. The exit status is 1 if any check fails.
"again, in flight" counts requests sent twice because their reply had not arrived when the build died.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.fake_server import FakeServer
from tests.end_to_end.killing import OFFLINE, QUESTION, Life, Round, live, with_model
from tests.end_to_end.nursery import nursery
from tests.end_to_end.watching import Seen, watching
from tests.graph_model import reply

HEAD = f"{'killed at':>16} {'in force':>8} {'needed':>6} {'kept':>5} {'made':>5} {'again, in flight':>16}  problems"


def row(found: Round) -> str:
    """Return a line of the table."""
    when = f"{found.moment.share:.0%} of {found.moment.by}" if found.killed else "had ended"
    force = "new" if found.new_in_force else "old"
    numbers = f"{found.needed:6} {found.kept:5} {found.made:5} {found.in_flight:16}"
    return f"{when:>16} {force:>8} {numbers}  {'; '.join(found.problems) or 'none'}"


def offline(number: int, seed: int) -> tuple[list[Round], Seen]:
    """Kill builds that use no model."""
    with tempfile.TemporaryDirectory() as folder, nursery(warm=True) as place:
        life = Life(Path(folder), place, OFFLINE)
        with watching(life.index, QUESTION) as reader:
            rounds = live(life, number, seed, lambda item: print(row(item), flush=True))
        assert reader.seen
        return rounds, reader.seen


def model(number: int, seed: int) -> tuple[list[Round], Seen]:
    """Kill builds that ask a server with 50 ms per reply."""
    with (
        tempfile.TemporaryDirectory() as folder,
        FakeServer(reply, latency=0.05) as server,
        nursery(warm=False) as place,
    ):
        life = Life(Path(folder), place, with_model(server.url), server)
        with watching(life.index, QUESTION) as reader:
            rounds = live(life, number, seed, lambda item: print(row(item), flush=True))
        assert reader.seen
        return rounds, reader.seen


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each mode."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=30)
    parser.add_argument("--mode", choices=("offline", "model", "both"), default="both")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(arguments)
    bad = 0
    for name, run in (("offline", offline), ("model", model)):
        if given.mode not in (name, "both"):
            continue
        print(f"{name}\n{HEAD}")
        began = time.perf_counter()
        rounds, seen = run(given.moments, given.seed)
        repeated = sum(max(0, item.kept + item.made - item.needed) for item in rounds)
        print(
            f"{len(rounds)} moments, {sum(item.killed for item in rounds)} killed, "
            f"{sum(item.new_in_force for item in rounds)} after publishing; {repeated} results made twice; "
            f"{sum(item.in_flight for item in rounds)} asked again that were in flight; "
            f"{time.perf_counter() - began:.0f} s\nreader: {seen.looks} looks, {len(seen.versions)} versions, "
            f"{len(seen.wrong)} wrong {seen.wrong[:3]}\n"
        )
        bad += sum(bool(item.problems) for item in rounds) + bool(seen.wrong) + bool(repeated)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
