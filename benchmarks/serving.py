"""Questions a second over HTTP, and how long the health check takes while others ask.

    python -m benchmarks.serving INDEX QUESTIONS.jsonl

The server is a process of its own (`conspectus serve`, its defaults); clients are threads of another one, each with a
connection that it keeps. Every client asks the questions in turn with `ppr`, without a model.
"""

import argparse
import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx

REQUESTS = 200
"""Questions for each number of clients."""


def main() -> None:
    """Measure an index."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path, help="JSON lines with a question each")
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 16, 64])
    parser.add_argument("--requests", type=int, default=REQUESTS)
    options = parser.parse_args()
    questions = [json.loads(line)["question"] for line in options.questions.read_text("utf-8").splitlines()]
    process = subprocess.Popen(
        [sys.executable, "-m", "conspectus.cli", "serve", f"it={options.index}", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found is not None
        threading.Thread(target=process.stderr.read, daemon=True).start()  # the log must not fill its pipe
        url = found[0]
        while httpx.get(f"{url}/readyz").status_code != 200:
            time.sleep(0.1)
        print("clients  questions/s   p50 ms   p99 ms  errors  livez p99 ms  memory MB")
        for clients in options.clients:
            print(measured(url, questions, clients, options.requests, process.pid))
    finally:
        process.terminate()
        process.wait(30)


def measured(url: str, questions: list[str], clients: int, requests: int, pid: int) -> str:
    """Return a line of the table."""
    seconds: list[float] = []
    errors: list[int] = []
    health: list[float] = []
    left = iter(range(requests))
    lock = threading.Lock()
    done = threading.Event()

    def asks() -> None:
        with httpx.Client(base_url=url, timeout=120) as client:
            while True:
                with lock:
                    number = next(left, None)
                if number is None:
                    return
                body = {"question": questions[number % len(questions)], "method": "ppr"}
                began = time.perf_counter()
                status = client.post("/v1/indexes/it/ask", json=body).status_code
                seconds.append(time.perf_counter() - began)
                if status != 200:
                    errors.append(status)

    def looks() -> None:
        with httpx.Client(base_url=url, timeout=120) as client:
            while not done.is_set():
                began = time.perf_counter()
                client.get("/livez")
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
    resident = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text("utf-8"))
    assert resident is not None
    return (
        f"{clients:>7} {requests / took:>12.1f} {1000 * at(seconds, 0.5):>8.0f} {1000 * at(seconds, 0.99):>8.0f} "
        f"{len(errors):>7} {1000 * at(health, 0.99):>13.0f} {int(resident[1]) / 1000:>10.0f}"
    )


def at(values: list[float], share: float) -> float:
    """Return the value that such a share of the values does not pass."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


if __name__ == "__main__":
    main()
