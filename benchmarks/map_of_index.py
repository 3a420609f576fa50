"""Time to build a map, and its speed in a browser.

    python -m benchmarks.map_of_index [--entities 10000] [--size 1440x900]
    python -m benchmarks.map_of_index --index DIR

Without --index, an index is generated: four levels of communities with a report each, and mostly short relations. The
output shows the size of the page, the time from opening it to the first picture, and the time between two drawn frames
while the wheel zooms in to one entity and out again, and while the map is dragged. The browser is headless Chromium
without a graphics card; with a card it is faster.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from conspectus.map.page import write_html
from conspectus.storage.index import StoredIndex

from tests.conspectus.map.chromium import PROGRAM, Page, chromium
from tests.conspectus.map.samples import large_index

_WATCH = """(() => {
    const pen = document.getElementById("map").getContext("2d");
    window.frames_ = [];
    let last = null, drawn = false;
    if (!window.clear_) window.clear_ = pen.fillRect.bind(pen);
    pen.fillRect = (x, y, w, h) => {
        if (w > 300) drawn = true;  // the ground, with which a picture begins
        window.clear_(x, y, w, h);
    };
    window.watch_ = (now) => {
        if (last !== null && drawn) window.frames_.push(now - last);
        last = now;
        drawn = false;
        window.next_ = requestAnimationFrame(window.watch_);
    };
    window.next_ = requestAnimationFrame(window.watch_);
})()"""
_TOLD = "(() => { cancelAnimationFrame(window.next_); return window.frames_; })()"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--entities", type=int, default=10_000)
    parser.add_argument("--size", default="1440x900")
    given = parser.parse_args()
    wide, high = map(int, given.size.split("x"))
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder, "map.html")
        index = StoredIndex.open(given.index) if given.index else large_index(given.entities)
        began, before = time.perf_counter(), time.process_time()
        done = write_html(index, to)
        print(f"made in {time.perf_counter() - began:.1f} s ({time.process_time() - before:.1f} s of CPU)")
        print(", ".join(f"{count:,} {kind}" for kind, count in done.rows.items()))
        print(f"page: {to.stat().st_size / 1e6:.1f} MB")
        if PROGRAM is None:
            print("there is no Chromium: nothing is told of the page in a browser")
            return
        with chromium() as page:
            page.open(to, wide, high)
            drawn = page.run("performance.getEntriesByName('first drawn')[0].startTime")
            loaded = page.run("performance.getEntriesByType('navigation')[0].responseEnd")
            print(f"first picture after {drawn:.0f} ms, of which {loaded:.0f} ms to read the file")
            x, y = wide * 0.35, high / 2
            for name, by in (("zooming in", -120.0), ("zooming out", 120.0)):
                page.run(_WATCH)
                for _ in range(40):
                    page.wheel(x, y, by)
                _tell(name, page)
            page.run(_WATCH)
            page.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
            for step in range(60):
                page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + 2 * step, y=y + step, button="left")
                page.settled()
            page.call("Input.dispatchMouseEvent", type="mouseReleased", x=x + 120, y=y + 60, button="left")
            _tell("dragging", page)
            for error in page.errors:
                print(f"error: {error}")


def _tell(name: str, page: Page) -> None:
    frames = sorted(page.run(_TOLD))
    late = frames[int(len(frames) * 0.95)]
    print(f"{name}: {len(frames)} frames, median {statistics.median(frames):.1f} ms, 95 % within {late:.1f} ms")


if __name__ == "__main__":
    main()
