"""Speed of the server's page with many entities, in a headless browser.

    python -m benchmarks.page [--entities 10000] [--index FOLDER]

It generates a graph with this many entities and 1.2 relations each, serves it, and opens the page like a user. FOLDER
stores the index for the next run.
"""

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

from conspectus.pipelines.build_index import build_index
from conspectus.storage.settings import load_settings

from benchmarks.serving import server
from tests.conspectus.map.chromium import Page, chromium

READY = "performance.getEntriesByName('ready').length > 0"
SEARCHES = 20


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=10_000)
    parser.add_argument("--index", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = options.index or Path(folder) / "index"
        if not index.exists():
            began = time.perf_counter()
            make(options.entities, Path(folder) / "graph.tsv", index)
            print(f"made in {time.perf_counter() - began:.0f} s")
        with server(index) as (url, _), chromium() as page:
            for name, value in measured(page, url, options.entities):
                print(f"{name:42} {value:8.0f} ms")


def make(entities: int, graph: Path, index: Path) -> None:
    """Index a graph with this many entities; few have many relations, most have few."""
    draw = random.Random(0)
    with graph.open("w", encoding="utf-8") as file:
        for number in range(int(entities * 1.2)):
            one, other = number % entities, int(entities * draw.random() ** 2)
            file.write(f"Thing {one:05}\tis joined in way {number % 40} to\tThing {other:05}\n")
    build_index([], index, load_settings(overrides={"kg": {"files": [str(graph)]}}))


def measured(page: Page, url: str, entities: int) -> list[tuple[str, float]]:
    """Return names with milliseconds."""
    rows = []

    def timed(name: str, until: str) -> None:
        began = time.perf_counter()
        page.until(until, 120)
        rows.append((name, 1000 * (time.perf_counter() - began)))

    page.open(url, ready=READY)
    page.open(url, ready=READY)  # from the second time on, the browser has the files cached
    ready = page.run("performance.getEntriesByName('ready')[0].startTime")
    rows.append(("the page can be used after", ready))
    page.run("location.hash = '#/it/entities'")
    timed("entities listed, first time", "document.querySelectorAll('.rows a').length > 0")
    page.run("document.getElementById('entity-name').focus()")
    draw = random.Random(1)
    for _ in range(SEARCHES):
        listed = page.run("performance.getEntriesByName('entities listed').length")
        page.run("document.getElementById('entity-name').value = ''")
        page.type(f"thing {draw.randrange(entities):05}"[: draw.randrange(9, 12)])
        page.until(f"performance.getEntriesByName('entities listed').length > {listed}")
    took = page.run(f"performance.getEntriesByName('entities listed').slice(-{SEARCHES}).map(e => e.duration)")
    rows.append((f"a search, median of {SEARCHES}", statistics.median(took)))
    rows.append((f"a search, longest of {SEARCHES}", max(took)))
    page.run("document.querySelector('.rows a').click()")
    timed("an entity with its drawing, first time", "document.querySelector('.detail .drawing') !== null")
    name = page.text(".detail h2")
    page.run("document.querySelector('.detail .drawing a').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    timed("a neighbour of it", f"![undefined, '{name}'].includes(document.querySelector('.detail h2')?.innerText)")
    page.run("location.hash = '#/it/map'")
    drawn = "document.querySelector('#map-frame')?.contentDocument?.querySelector('#told h1') != null"
    timed("the map, first time", drawn)
    return rows


if __name__ == "__main__":
    main()
