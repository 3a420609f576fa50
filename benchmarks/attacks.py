"""The latency of the health check, and of opening documents, while clients try to stop the server.

    python -m benchmarks.attacks INDEX [--json FILE]

Each attack runs for some seconds against `conspectus serve` with its defaults, in a process of its own. Clients open a
new connection for each health check, as a load balancer does. The model is the fake server, which takes 6 s a reply.
"""

import argparse
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from benchmarks.serving import at, fake_process, server

SECONDS = 8.0
HALF = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
LIKE = 'title like "' + 12 * "%_" + '%\N{SECTION SIGN}"'


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long each attack lasts")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    rows: dict[str, dict[str, float]] = {}
    with fake_process("--latency", "6") as model:
        more = ("llm.model=m", f"llm.base_url={model.url}", "llm.concurrency=256")
        with server(options.index, more) as (url, pid):
            for name, attack in ATTACKS.items():
                rows[name] = under(attack, url, options.seconds)
                figures = "  ".join(f"{key} {value:>7.1f}" for key, value in rows[name].items())
                print(f"{name:<42} {figures}", flush=True)
            rows["stop with two long questions under way"] = stopped(url, pid)
            print(rows["stop with two long questions under way"], flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")


def ask(url: str, **asked: object) -> None:
    """Ask a question, whatever comes of it."""
    try:
        sent(url, "/v1/indexes/it/ask", json.dumps(asked))
    except (OSError, HTTPException):
        return


def sent(url: str, path: str, body: str | None = None) -> int:
    """Return the status of a request over a connection of its own. A client of httpx takes 100 ms to be made."""
    with closing(HTTPConnection(url.removeprefix("http://"), timeout=120)) as wire:
        wire.request("GET" if body is None else "POST", path, body, {"content-type": "application/json"})
        reply = wire.getresponse()
        reply.read()
        return reply.status


def repeated(clients: int, **asked: object) -> Callable[[str, threading.Event], None]:
    """Return an attack by clients that ask the same question again and again."""

    def attack(url: str, end: threading.Event) -> None:
        def client(number: int) -> None:
            count = 0
            while not end.is_set():
                ask(url, **{"question": f"Who is number {number}.{count}?", **asked})
                count += 1

        for number in range(clients):
            threading.Thread(target=client, args=(number,), daemon=True).start()
        end.wait()

    return attack


def half_requests(url: str, end: threading.Event) -> None:
    """Begin 1,100 requests, end none, and begin again those that were closed."""
    port = int(url.rpartition(":")[2])
    with ExitStack() as stack:
        while not end.is_set():
            for _ in range(1_100):
                wire = stack.enter_context(socket.create_connection(("127.0.0.1", port), 60))
                wire.sendall(HALF)
            end.wait(2)
            stack.pop_all().close()


ATTACKS: dict[str, Callable[[str, threading.Event], None]] = {
    "no attack": repeated(0),
    "filter with twelve %_": repeated(2, method="bm25", where=LIKE),
    "question 1,1,1,... of 8,000 characters": repeated(2, method="tog2", question="1," * 4_000),
    "question of 8,000 Chinese letters": repeated(2, method="plan", question="\u4e2d" * 8_000),
    "80 questions that wait for a model": repeated(80, method="io"),
    "16 clients ask without a model": repeated(16, method="bm25"),
    "1,100 half requests": half_requests,
}


def under(attack: Callable[[str, threading.Event], None], url: str, seconds: float) -> dict[str, float]:
    """Return the milliseconds of `/livez` and of `GET /documents` during an attack."""
    end = threading.Event()
    attacker = threading.Thread(target=attack, args=(url, end))
    attacker.start()
    time.sleep(1)
    found: dict[str, list[float]] = {"livez": [], "documents": []}
    until, number = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        number += 1
        for name, path in (("livez", "/livez"), ("documents", f"/v1/indexes/it/documents?limit=20&offset={number}")):
            began = time.perf_counter()
            assert sent(url, path) == 200
            found[name].append(1000 * (time.perf_counter() - began))
        time.sleep(0.02)
    end.set()
    attacker.join()
    return {
        f"{name} {what} ms": round(at(values, share), 1)
        for name, values in found.items()
        for what, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
    }


def stopped(url: str, pid: int) -> dict[str, float]:
    """Return the seconds from SIGTERM to the end of the process."""
    asked = {"question": "1," * 4_000, "method": "tog2"}
    threads = [threading.Thread(target=ask, args=(url,), kwargs=asked, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    began = time.perf_counter()
    os.kill(pid, signal.SIGTERM)
    for thread in threads:
        thread.join()
    while Path(f"/proc/{pid}/cmdline").read_bytes():  # empty once it has ended, until its parent looks
        time.sleep(0.01)
    return {"seconds": round(time.perf_counter() - began, 2)}


if __name__ == "__main__":
    main()
