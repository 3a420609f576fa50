"""Time and memory of indexing and asking, for a generated corpus of any size.

    python -m benchmarks.scale --passages 10000 [--json OUT] [--folder FOLDER] [--questions-only]
    python -m benchmarks.scale --passages 10000 --model [--latency .02]      build with a model, instead of without

Measures everything except the tagger and the encoder, which the generated corpus does not need
(benchmarks/generated_corpus.py). Building, asking and filtered asking run in a process each. A step's memory is the
largest that no file backs while it runs (`RssAnon`, looked at every .01 s); the system takes back the pages of mapped
files when it needs them, so the largest resident size (`VmHWM`) is that of the build on a machine with room for them.
`--folder` keeps corpus and index, and `--questions-only` asks a kept index again. With `--json` the figures are added
to a file, under the number of passages.

The model is a scripted server in a process of its own (benchmarks/fake_server) that answers after `--latency` seconds:
records of the passage, for half of the passages gleaned in two replies, descriptions, reports and votes. `LOSSES` are
the shares of calls that fail or have a spoilt reply. Of such a build all processor time of its process counts, except
that of the vectors and of measuring; `calls_ms_per_passage` is the part that connects, sends requests and reads streams
(`ModelServer._read`). A step's processor time and memory include what runs beside it.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from asyncio import BaseEventLoop
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import coroutine
from typing import Any, NamedTuple
from unittest.mock import patch

from conspectus.storage.arrays import Vectors

from benchmarks.fake_server import fake_process
from benchmarks.generated_corpus import GeneratedAnnotator, GeneratedCorpus, HashedEmbedder
from benchmarks.indexing_steps import Clock

RETRIEVED = ("dense", "bm25", "ppr")
ANSWERED = ("global", "tog2")
FILTER = 'region = "r3"'
NOT_COUNTED = ("extract", "embed")
"""First words of the steps that are annotation and embedding."""
LOSSES = {"429": 0.006, "500": 0.002, "cut": 0.002, "truncated": 0.004, "empty": 0.004, "refusal": 0.002}
"""Shares of calls with a model: two in a hundred are lost."""


class CallClock:
    """Adds up the CPU seconds of an asynchronous function, without those of its waits."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, work: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
        """Return the function, timed."""

        @coroutine
        def run(*arguments: object, **named: object) -> Generator[Any, Any, Any]:
            running = work(*arguments, **named)
            resume: Callable[[], Any] = partial(running.send, None)
            while True:
                began = time.thread_time()
                try:
                    waited_for = resume()
                except StopIteration as ended:
                    return ended.value
                finally:
                    self.seconds += time.thread_time() - began
                try:
                    yield waited_for
                    resume = partial(running.send, None)
                except BaseException as error:  # noqa: BLE001 - it is passed on
                    resume = partial(running.throw, error)

        return run


class TimedEmbedder(HashedEmbedder):
    """Adds up the CPU seconds of its vectors."""

    seconds = 0.0

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, float32 (n, 384)."""
        began = time.thread_time()
        vectors = super().embed(texts)
        self.seconds += time.thread_time() - began
        return vectors


class StepMeter(Clock):
    """Charges CPU seconds and the largest anonymous memory to the innermost running step."""

    def __init__(self) -> None:
        super().__init__()
        self.peaks: defaultdict[str, int] = defaultdict(int)
        self.spans: dict[str, tuple[float, float]] = {}
        self.own = 0.0
        """CPU seconds of looking."""
        threading.Thread(target=self._look, daemon=True).start()

    def __call__(self, step: str, done: int, total: int) -> None:
        """Take a progress report."""
        now = time.perf_counter()
        self.spans[step] = self.spans.get(step, (now, now))[0], now
        self._note()
        super().__call__(step, done, total)

    def _note(self) -> None:
        running = self.running
        self.peaks[running] = max(self.peaks[running], memory("RssAnon"))

    def _look(self) -> None:
        while True:
            self._note()
            self.own = time.thread_time()
            time.sleep(0.01)


def memory(key: str) -> int:
    """Return a size of this process in bytes: VmHWM (peak), VmRSS, RssAnon (beside mapped files), ..."""
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise KeyError(key)


def build(folder: Path, embedder: TimedEmbedder, calls: CallClock, url: str = "") -> dict[str, Any]:
    """Build the index of a generated corpus, and what questions to its graph need, as `conspectus index` does.

    With a URL, the model there extracts, and all processor time but that of the vectors counts.
    """
    import conspectus
    from conspectus.building import prepare
    from conspectus.pipelines.build_index import build_index
    from conspectus.pipelines.runner import RunHere, announced
    from conspectus.storage.settings import load_settings

    settings = load_settings(overrides={"llm": {"model": "m", "base_url": url}} if url else {})
    meter = StepMeter()
    began, cpu = time.perf_counter(), time.process_time()
    report = build_index([folder / "corpus.jsonl"], folder / "index", settings, RunHere(meter), meter)
    announced(meter, "prepare the graph", prepare)(conspectus.open(folder / "index"))
    meter("end", 1, 1)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    model = sum(spent for step, spent in meter.seconds.items() if step.split()[0] in NOT_COUNTED and not url)
    model += embedder.seconds + meter.own if url else 0.0
    files = [path for path in (folder / "index").rglob("*") if path.is_file()]
    return {
        "rows": dict(report.rows),
        "failures": Counter(f"{each.stage}: {each.reason}" for each in report.failures),
        "calls": {each.step: each.calls for each in report.spending},
        "attempts": {each.step: each.attempts for each in report.spending},
        "seconds": seconds,
        "cpu_seconds": cpu,
        "cpu_ms_per_passage": 1000 * (cpu - model) / report.rows["chunks"],
        "calls_ms_per_passage": 1000 * calls.seconds / report.rows["chunks"],
        "peak_bytes": max(meter.peaks.values()),
        "resident_peak_bytes": memory("VmHWM"),
        "version_bytes": sum(path.stat().st_size for path in files if "versions" in path.parts),
        "cache_bytes": sum(path.stat().st_size for path in files if "cache" in path.parts),
        "steps": {step: {"cpu_seconds": spent, "peak_bytes": meter.peaks[step],
                         "seconds": -float.__sub__(*meter.spans.get(step, (0.0, 0.0)))}
                  for step, spent in sorted(meter.seconds.items(), key=lambda item: -item[1])},
    }  # fmt: skip


def ask(folder: Path) -> dict[str, Any]:
    """Open the index and ask; the first question is one of `ppr`."""
    import conspectus

    questions = json.loads((folder / "questions.json").read_text("utf-8"))
    empty = memory("RssAnon")
    opened, opening = timed(lambda: conspectus.open(folder / "index"))
    found, first = timed(lambda: opened.retrieve(questions[0]))
    assert found.passages
    after_first = memory("RssAnon") - empty
    methods: dict[str, dict[str, float]] = {}
    for method in (*RETRIEVED, *ANSWERED):
        asked = partial(opened.retrieve if method in RETRIEVED else opened.ask, method=method)
        _, once = timed(lambda asked=asked: asked(questions[0]))
        methods[f"{method}, its first"] = {"ms": 1000 * once.seconds, "cpu_ms": 1000 * once.cpu}
        methods[method] = medians(asked, questions)
    return {
        "open_seconds": opening.seconds,
        "first_question_seconds": first.seconds,
        "first_question_cpu_seconds": first.cpu,
        "reader_bytes_after_first": after_first,
        "reader_bytes": memory("RssAnon") - empty,
        "reader_peak_bytes": memory("VmHWM"),
        "questions": methods,
    }


def ask_filtered(folder: Path) -> dict[str, Any]:
    """Ask the view of one region in sixteen."""
    import conspectus

    questions = json.loads((folder / "questions.json").read_text("utf-8"))
    empty = memory("RssAnon")
    opened = conspectus.open(folder / "index")
    _, first = timed(lambda: opened.filter(FILTER).retrieve(questions[0]))
    after = medians(lambda question: opened.filter(FILTER).retrieve(question), questions)
    return {
        "filtered_first_seconds": first.seconds,
        "filtered_first_cpu_seconds": first.cpu,
        "filtered_ms": after["ms"],
        "filtered_cpu_ms": after["cpu_ms"],
        "filtered_reader_bytes": memory("RssAnon") - empty,
        "filtered_peak_bytes": memory("VmHWM"),
    }


class Spent(NamedTuple):
    """The seconds of some work, and those of processor."""

    seconds: float
    cpu: float


def timed(work: Callable[[], Any]) -> tuple[Any, Spent]:
    """Return the result of some work and what it took."""
    began, cpu = time.perf_counter(), time.process_time()
    return work(), Spent(time.perf_counter() - began, time.process_time() - cpu)


def medians(work: Callable[[str], object], questions: list[str]) -> dict[str, float]:
    """Return the median milliseconds of a question, and those of processor."""
    spent = [timed(lambda question=question: work(question))[1] for question in questions]
    return {
        "ms": 1000 * statistics.median(each.seconds for each in spent),
        "cpu_ms": 1000 * statistics.median(each.cpu for each in spent),
    }


def always(value: object) -> Callable[..., object]:
    """Return a function that returns this; a mock would keep the arguments of every call, kilobytes a passage."""
    return lambda *_, **__: value


PARTS = {"build": build, "ask": ask, "filter": ask_filtered}


def measured(part: str, folder: Path, url: str = "") -> dict[str, Any]:
    """Run a part in a process of its own and return its figures."""
    command = [sys.executable, "-m", "benchmarks.scale", "--part", part, "--folder", str(folder), "--url", url]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Generate, build, ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--json", type=Path, help="add the figures to this file, under the number of passages")
    parser.add_argument("--folder", type=Path, help="keep corpus and index here")
    parser.add_argument("--questions-only", action="store_true", help="ask the index kept in --folder")
    parser.add_argument("--model", action="store_true", help="build with a scripted model")
    parser.add_argument("--latency", default="0.02", help="seconds of the model's replies (default %(default)s)")
    parser.add_argument("--url", default="", help=argparse.SUPPRESS)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        from conspectus.prompts.client.server import ModelServer

        embedder, calls = TimedEmbedder(), CallClock()
        of_build = (embedder, calls, options.url) if options.part == "build" else ()
        with (
            patch.object(ModelServer, "_read", calls.timed(ModelServer._read)),
            patch.object(BaseEventLoop, "create_connection", calls.timed(BaseEventLoop.create_connection)),
            patch("conspectus.prompts.embedding.embedder._local", always(embedder)),
            patch("conspectus.pipelines.steps.extract.nlp._annotator", always(GeneratedAnnotator())),
        ):
            print(json.dumps(PARTS[options.part](options.folder, *of_build)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        figures: dict[str, Any] = {}
        if not options.questions_only:
            questions = GeneratedCorpus(options.passages).write(folder / "corpus.jsonl")
            (folder / "questions.json").write_text(json.dumps(questions), "utf-8")
            figures |= built_with_model(folder, options.latency) if options.model else measured("build", folder)
            print_build(figures, options.passages)
        if not options.model:
            figures |= measured("ask", folder) | measured("filter", folder)
            print_questions(figures)
    if options.json:
        held = json.loads(options.json.read_text("utf-8")) if options.json.exists() else {}
        name = f"{options.passages} with a model" if options.model else str(options.passages)
        held[name] = {**held.get(name, {}), **figures}
        options.json.write_text(json.dumps(held, indent=2) + "\n", "utf-8")


def built_with_model(folder: Path, latency: str) -> dict[str, Any]:
    """Build with a scripted model and return the figures of the build and of the server."""
    losses = [argument for kind, share in LOSSES.items() for argument in ("--fault", f"{kind}={share}")]
    manner = ("--latency", latency, "--gleaned", "0.5", "--retry-after", "0.05", "--forgets")
    with fake_process(*manner, *losses) as server:
        figures = measured("build", folder, server.url)
        return figures | {"server": asdict(server.measures()), "latency": float(latency)}


def print_build(figures: dict[str, Any], passages: int) -> None:
    """Print the table of a build."""
    rows = ", ".join(f"{count:,} {name}" for name, count in figures["rows"].items() if count)
    print(f"{passages:,} passages: {rows}\n{'CPU s':>9} {'peak MB':>9}")
    for step, spent in figures["steps"].items():
        if spent["cpu_seconds"] >= 0.005 * figures["cpu_seconds"]:
            print(f"{spent['cpu_seconds']:9.1f} {spent['peak_bytes'] / 1e6:9,.0f}  {step}")
    print(f"{figures['cpu_seconds']:9.1f} {figures['peak_bytes'] / 1e6:9,.0f}  all ({figures['seconds']:.1f} s)")
    print(f"{figures['resident_peak_bytes'] / 1e6:19,.0f}  resident, with the pages of mapped files")
    print(f"{figures['cpu_ms_per_passage']:9.2f} ms of processor a passage, beside annotation and embedding")
    if "server" in figures:
        print(f"{figures['calls_ms_per_passage']:9.2f} ms of it connects, sends requests and reads streams")
        for name in ("calls", "attempts", "failures", "server"):
            print(f"{name}: {figures[name]}")
    print(f"{figures['version_bytes'] / 1e6:9,.1f} MB of index, {figures['cache_bytes'] / 1e6:,.1f} MB of cache")


def print_questions(figures: dict[str, Any]) -> None:
    """Print the table of questions."""
    first, filtered = figures["first_question_seconds"], figures["filtered_first_seconds"]
    rows = [("opening", 1000 * figures["open_seconds"], float("nan"))]
    rows += [("first question of all (ppr)", 1000 * first, 1000 * figures["first_question_cpu_seconds"])]
    rows += [(method, spent["ms"], spent["cpu_ms"]) for method, spent in figures["questions"].items()]
    rows += [("filtered (ppr), its first", 1000 * filtered, 1000 * figures["filtered_first_cpu_seconds"])]
    rows += [("filtered (ppr)", figures["filtered_ms"], figures["filtered_cpu_ms"])]
    print(f"{'ms':>9} {'CPU ms':>9}")
    for name, wall, cpu in rows:
        print(f"{wall:9.1f} {cpu:9.1f}  {name}")
    for name in ("reader_bytes_after_first", "reader_bytes", "filtered_reader_bytes"):
        print(f"{figures[name] / 1e6:9,.1f} MB  {name.replace('_', ' ')}, beside mapped files")


if __name__ == "__main__":
    main()
