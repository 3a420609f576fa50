"""Questions per second over HTTP, and the latency of the health check under load.

    python -m benchmarks.serving INDEX QUESTIONS.jsonl
    python -m benchmarks.serving INDEX QUESTIONS.jsonl --model 0.2     # with a model that takes 200 ms
    python -m benchmarks.serving INDEX QUESTIONS.jsonl --model 0.2 --lightrag VENV/bin/python
    python -m benchmarks.serving INDEX QUESTIONS.jsonl --flat 10000    # the memory of the server over so many requests
    python -m benchmarks.serving INDEX QUESTIONS.jsonl --publish 60    # 16 ask while versions are published

The server is a separate process (`conspectus serve`, its defaults); clients are threads of another process, each with
a persistent connection. They ask the questions in turn with `ppr`, no question twice, because replies of models are
remembered. Models are those of the fake server, in a process of its own.

LightRAG's server (`pip install 'lightrag-hku[api]'` in an environment of its own) gets the same documents, and models
and vectors from the same fake server. That does not know LightRAG's prompts, so its graph is empty; it is asked with
`mode=naive`: the nearest passages and one call to a model, which is what `ppr` with a model makes after its walk.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import httpx
from conspectus.api import open_index

from benchmarks.fake_server.records import fake_process
from benchmarks.rows import Row, Rows
from tests.waiting import free_port

REQUESTS = 200
"""Number of questions for each number of clients."""


def main() -> None:
    """Measure an index."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path, help="JSON lines with a question each")
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 16, 64])
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--model", type=float, help="seconds that a model takes; without it there is none")
    parser.add_argument("--lightrag", type=Path, help="a Python that has lightrag-hku[api], to be measured beside")
    parser.add_argument("--flat", type=int, help="requests over which the memory is measured, instead of the table")
    parser.add_argument("--publish", type=float, help="seconds in which versions are published, instead of the table")
    parser.add_argument("--json", type=Path, help="also write the figures of the table to this file")
    options = parser.parse_args()
    rows = Rows(options.json)
    questions = [json.loads(line)["question"] for line in options.questions.read_text("utf-8").splitlines()]
    if options.publish:
        publish(options.publish)
        return
    fake = nullcontext() if options.model is None else fake_process("--latency", str(options.model))
    with fake as model:
        more = () if model is None else ("llm.model=m", f"llm.base_url={model.url}", "llm.concurrency=256")
        with server(options.index, more) as (url, pid):
            if options.flat:
                flat(url, questions, options.flat, pid)
                return
            name = f"ppr, {'no model' if model is None else f'a model of {1000 * options.model:g} ms'}"
            ours = Target(name, url, "/v1/indexes/it/ask", lambda asked: asked | {"method": "ppr"}, "/livez", pid)
            for clients in options.clients:
                rows.add(measured(ours, questions, clients, options.requests))
    if options.lightrag is None or not options.lightrag.is_file():
        print(f"LightRAG is not measured: {options.lightrag or 'no --lightrag'} is not a Python that has it")
        return
    with (
        fake_process("--latency", str(options.model or 0.0), "--dimensions", "384") as model,
        lightrag(options.lightrag, options.index, model.url) as theirs,
    ):
        for clients in options.clients:
            rows.add(measured(theirs, questions, clients, options.requests))


@dataclass(frozen=True, slots=True)
class Target:
    """A server that is asked: its name, its address, where and how to ask it, and its process."""

    name: str
    url: str
    path: str
    body: Callable[[dict[str, str]], dict[str, str]]
    health: str
    pid: int


@contextmanager
def server(index: Path, settings: tuple[str, ...] = ()) -> Iterator[tuple[str, int]]:
    """Serve an index, named `it`, in a separate process; return the address and the process id once it is ready."""
    given = [word for each in settings for word in ("--set", each)]
    process = subprocess.Popen(
        [sys.executable, "-m", "conspectus.cli", "serve", f"it={index}", "--port", "0", *given],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found is not None
        threading.Thread(target=process.stderr.read, daemon=True).start()  # the log must not fill its pipe
        while httpx.get(f"{found[0]}/readyz").status_code != 200:
            time.sleep(0.1)
        yield found[0], process.pid
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def lightrag(python: Path, index: Path, model: str) -> Iterator[Target]:
    """Start LightRAG's server with the documents of an index, and yield it once it has read them all."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = [python, Path(__file__).with_name("serving_lightrag.py"), model, folder, str(port)]
        with (
            (output := Path(folder) / "log").open("wb") as log,
            subprocess.Popen(command, stdout=log, stderr=log, cwd=folder) as process,
        ):
            try:
                with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300) as client:
                    _wait(lambda: client.get("/health").status_code == 200, process, output)
                    rows = open_index(index).tables()["documents"].to_pylist()
                    texts = [row["text"] for row in rows if row["text"].strip()]
                    sources = [f"{row['id']}.txt" for row in rows if row["text"].strip()]
                    client.post("/documents/texts", json={"texts": texts, "file_sources": sources}).raise_for_status()
                    began = time.perf_counter()

                    def read() -> bool:
                        counts = client.get("/documents/status_counts").json()["status_counts"]
                        return counts.get("processed", 0) + counts.get("failed", 0) >= len(texts)

                    _wait(read, process, output)
                    counts = client.get("/documents/status_counts").json()["status_counts"]
                    print(f"LightRAG read {counts} in {time.perf_counter() - began:.0f} s", flush=True)
                yield Target(
                    "lightrag naive",
                    f"http://127.0.0.1:{port}",
                    "/query",
                    lambda asked: {"query": asked["question"], "mode": "naive"},
                    "/health",
                    process.pid,
                )
            finally:
                process.terminate()
                process.wait(30)


def _wait(true: Callable[[], bool], process: "subprocess.Popen[bytes]", log: Path, seconds: float = 400.0) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            if true():
                return
        except (httpx.TransportError, KeyError):
            pass
        if process.poll() is not None or time.monotonic() > end:
            raise SystemExit(f"LightRAG's server did not get ready: {log.read_text('utf-8')[-2000:]}")
        time.sleep(0.5)


def measured(target: Target, questions: list[str], clients: int, requests: int) -> Row:
    """Return a row of the table."""
    seconds: list[float] = []
    errors: list[int] = []
    health: list[float] = []
    left = iter(range(requests))
    lock = threading.Lock()
    done = threading.Event()

    def asks() -> None:
        with httpx.Client(base_url=target.url, timeout=240) as client:
            while True:
                with lock:
                    number = next(left, None)
                if number is None:
                    return
                asked = {"question": f"{questions[number % len(questions)]} ({clients}.{number})"}
                began = time.perf_counter()
                status = client.post(target.path, json=target.body(asked)).status_code
                seconds.append(time.perf_counter() - began)
                if status != 200:
                    errors.append(status)

    def looks() -> None:
        with httpx.Client(base_url=target.url, timeout=120) as client:
            while not done.is_set():
                began = time.perf_counter()
                client.get(target.health)
                health.append(time.perf_counter() - began)
                time.sleep(0.02)

    threads = [threading.Thread(target=asks) for _ in range(clients)]
    looker = threading.Thread(target=looks)
    began = time.perf_counter()
    for thread in (*threads, looker):
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    done.set()
    looker.join()
    return {
        "server": target.name,
        "clients": clients,
        "questions/s": round(requests / took, 1),
        "p50, ms": round(1000 * at(seconds, 0.5)),
        "p99, ms": round(1000 * at(seconds, 0.99)),
        "failed": len(errors),
        "health p99, ms": round(1000 * at(health, 0.99)),
        "memory, MB": round(resident(target.pid)),
    }


def publish(seconds: float, clients: int = 16) -> None:
    """Print what clients got while new versions were published every few seconds, and what was pruned meanwhile.

    Every sentence of a version has a name that no other version has.
    """
    with tempfile.TemporaryDirectory() as folder:
        documents, index = Path(folder) / "documents.jsonl", Path(folder) / "index"

        def build(number: int) -> None:
            town = f"Town{chr(97 + number % 26)}{chr(97 + number // 26)}"
            rows = [
                {"id": f"{i}", "title": f"{town} {i}", "text": f"Otto Brand went to {town} in spring."}
                for i in range(5)
            ]
            documents.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
            _conspectus("index", str(documents), "--index", str(index), "--set", "extraction.pipeline=regex", "-q")

        build(0)
        said: list[tuple[int, str, str]] = []
        end = threading.Event()
        with server(index) as (url, _):

            def asks() -> None:
                with httpx.Client(base_url=url, timeout=120) as client:
                    while not end.is_set():
                        got = client.post(
                            "/v1/indexes/it/ask", json={"question": "Where did Otto Brand go?", "method": "ppr"}
                        )
                        said.append((got.status_code, got.headers.get("conspectus-version", ""), got.text))

            threads = [threading.Thread(target=asks) for _ in range(clients)]
            for thread in threads:
                thread.start()
            until, number = time.monotonic() + seconds, 0
            while time.monotonic() < until:
                number += 1
                build(number)
                time.sleep(2)
                _conspectus("prune", "--index", str(index))
            end.set()
            for thread in threads:
                thread.join()
        failed = [status for status, _, _ in said if status != 200]
        towns: dict[str, set[str]] = {}
        for _, version, text in said:
            towns.setdefault(version, set()).update(re.findall(r"Town[a-z]{2}", text))
        mixed = [version for version, names in towns.items() if len(names) != 1]
        print(
            f"{len(said)} answers to {clients} clients in {seconds:.0f} s, {number + 1} versions published, "
            f"{len(towns)} seen, {len(failed)} failed, {len(mixed)} versions mixed"
        )


def _conspectus(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "conspectus.cli", *words], check=True, capture_output=True)


def flat(url: str, questions: list[str], requests: int, pid: int) -> None:
    """Print the server's memory after each tenth of the requests: four clients.

    In turn: passages twice, a document, a list, an answer, an error.
    """
    left = iter(range(requests))
    lock = threading.Lock()
    failed: list[int] = []

    def asks() -> None:
        with httpx.Client(base_url=url, timeout=120) as client:
            ids = [row["id"] for row in client.get("/v1/indexes/it/documents?limit=50").json()["rows"]]
            while True:
                with lock:
                    number = next(left, None)
                    if number is not None and number % max(1, requests // 10) == 0:
                        print(f"{number:>7} requests {resident(pid):>8.0f} MB", flush=True)
                if number is None:
                    return
                kind, text = number % 6, f"{questions[number % len(questions)]} {number}"
                if kind < 2:
                    body = {"question": text, "method": ("bm25", "hybrid")[kind]}
                    status = client.post("/v1/indexes/it/retrieve", json=body).status_code
                elif kind == 2:
                    status = client.get(f"/v1/indexes/it/documents/{ids[number % len(ids)]}").status_code
                elif kind == 3:
                    status = client.get(f"/v1/indexes/it/entities?offset={number % 50}&limit=20").status_code
                elif kind == 4:
                    body = {"question": text, "method": "ppr"}
                    status = client.post("/v1/indexes/it/ask", json=body).status_code
                else:
                    status = 200 if client.get(f"/v1/indexes/none-{number}/status").status_code == 404 else 0
                if status != 200:
                    failed.append(status)

    threads = [threading.Thread(target=asks) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{requests:>7} requests {resident(pid):>8.0f} MB, {len(failed)} failed")


def resident(pid: int) -> float:
    """Return the resident memory of a process, in MB."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text("utf-8"))
    assert found is not None
    return int(found[1]) / 1000


def at(values: list[float], share: float) -> float:
    """Return the quantile of the values at `share` (0 to 1)."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


if __name__ == "__main__":
    main()
