"""Server utilisation of indexing with a model, and its cost on the client machine.

    python -m benchmarks.speed ../shared/data/hotpotqa/corpus.jsonl --passages 300 994
    python -m benchmarks.speed CORPUS --passages 300 --nano /path/to/venv/bin/python

A server in a separate process (benchmarks/speed_model.py) answers every call, embeddings too, after 200 ms; 32 may be
in flight. The index process extracts with one gleaning, summarises descriptions, writes reports and embeds. Ideal is
calls x latency / 32. CPU and memory are those of the index process, from the first read to the published version.
With --nano the same passages are indexed by nano-graphrag 0.0.8.x, installed for that Python, against the same
server (its networkx and nano-vectordb storages, 32 concurrent calls, one gleaning).
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.fake_server import FakeProcess, Measures
from benchmarks.rows import Row, Rows

HERE = Path(__file__).parent
IN_FLIGHT = 32


@contextmanager
def model_server(latency: float) -> Iterator[FakeProcess]:
    """Run the model of this benchmark until the block ends."""
    command = [sys.executable, "-m", "benchmarks.speed_model", str(latency)]
    process = subprocess.Popen(command, cwd=HERE.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield FakeProcess(process.stdout.readline().strip(), process)
    finally:
        process.communicate()


def index_here(url: str, corpus: Path, index: Path) -> dict[str, float]:
    """Index a corpus in this process and return time and memory."""
    from conspectus.pipelines.build_index import build_index
    from conspectus.storage.settings import load_settings

    settings = load_settings(
        overrides={
            "llm": {"model": "m", "base_url": url, "concurrency": IN_FLIGHT},
            "embedding": {"provider": "endpoint", "model": "e"},
            "embedding_server": {"base_url": url, "concurrency": IN_FLIGHT},
        }
    )
    began, cpu = time.perf_counter(), time.process_time()
    report = build_index([corpus], index, settings)
    return {
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
        "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "chunks": report.rows["chunks"],
        "entities": report.rows["entities"],
        "relations": report.rows["relations"],
        "reports": report.rows["reports"],
        "failures": len(report.failures),
    }


def measured(command: list[str], latency: float) -> tuple[dict[str, float], Measures]:
    """Run an indexing command against a fresh server, passing its URL; return the measures of both."""
    with model_server(latency) as server:
        done = subprocess.run(
            [item.replace("URL", server.url) for item in command], check=True, stdout=subprocess.PIPE, text=True
        )
        return json.loads(done.stdout.splitlines()[-1]), server.measures()


def row(name: str, passages: int, took: dict[str, float], asked: Measures, latency: float) -> Row:
    """Return a row of the table."""
    ideal = asked.requests * latency / IN_FLIGHT
    return {
        "who": name,
        "passages": passages,
        "entities": round(took["entities"]),
        "reports": round(took["reports"]),
        "calls": asked.requests,
        "in flight": round(asked.in_flight_mean, 1),
        "seconds": round(took["seconds"], 1),
        "ideal": round(ideal, 1),
        "ratio": round(took["seconds"] / ideal, 2),
        "CPU, ms a chunk": round(1000 * took["cpu"] / took["chunks"], 1),
        "memory, MB": round(took["rss"]),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--passages", type=int, nargs="+", default=[300, 994])
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--nano", type=Path, help="the Python of an environment with nano-graphrag")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--child", nargs=2, metavar=("URL", "INDEX"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        url, index = options.child
        print(json.dumps(index_here(url, options.corpus, Path(index))))
        return
    rows = Rows(options.json)
    lines = options.corpus.read_text("utf-8").splitlines(keepends=True)
    for passages in options.passages:
        with tempfile.TemporaryDirectory() as folder:
            corpus = Path(folder) / "corpus.jsonl"
            corpus.write_text("".join(lines[:passages]), "utf-8")
            index = str(Path(folder) / "index")
            ours = [sys.executable, "-m", "benchmarks.speed", str(corpus), "--child", "URL", index]
            rows.add(row("conspectus", passages, *measured(ours, options.latency), options.latency))
            if options.nano:
                nano = [str(options.nano), str(HERE / "speed_nano.py"), "URL", str(corpus), str(Path(folder) / "nano")]
                rows.add(row("nano-graphrag", passages, *measured(nano, options.latency), options.latency))


if __name__ == "__main__":
    main()
