"""A real server on a free port, in a thread of this process, for tests."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from conspectus.pipelines.build_index import build_index
from conspectus.server.admin.changes import UploadLimits
from conspectus.server.admin.jobs import Jobs
from conspectus.server.app import create_app
from conspectus.server.listen import LOOPBACK_NAMES, StoppingServer, configuration, listening
from conspectus.server.metrics import Metrics
from conspectus.server.open_indexes import Served
from conspectus.server.request_checks import Bounds
from conspectus.server.request_threads import RequestThreads
from conspectus.server.service import Service
from conspectus.server.tokens import Callers
from conspectus.storage.settings import Settings, load_settings

from tests.conftest import write_rows
from tests.waiting import LIMIT, wait_until

ROWS = [
    {"id": "a", "title": "Anna", "text": "Anna Berg met Otto Brand in Port Alma.", "year": 2020, "access": "team-a"},
    {"id": "b", "title": "Otto", "text": "Otto Brand left Port Alma for North Bay.", "year": 2021, "access": "team-b"},
    {"id": "c", "title": "Mary", "text": "Mary Quill lives in North Bay. She keeps the harbour log.", "year": 2022},
    {
        "id": "secret/plan.md",
        "title": "Zebra plan",
        "text": "The Zebra Plan moves Otto Brand to Quartz Cove. Viola Krantz signed the Zebra Plan.",
        "year": 2023,
        "access": "board",
        "codeword": "xylophone",
    },
]
FORBIDDEN = ("zebra", "quartz", "viola", "krantz", "xylophone", "codeword", "secret/plan")
"""Words that only the document with the tag `board` has, in its text, its name or its metadata."""
QUESTION = "Who met Otto Brand in Port Alma?"


def build(folder: Path, rows: Sequence[dict[str, object]] = ROWS) -> Path:
    """Build a small index without spaCy."""
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(folder / "rows.jsonl", rows)
    build_index(
        [folder / "rows.jsonl"], folder / "index", load_settings(overrides={"extraction": {"pipeline": "regex"}})
    )
    return folder / "index"


@dataclass
class Running:
    """A server that runs: its address, its log, and what it serves."""

    url: str
    log: list[dict[str, Any]]
    indexes: list[Served]
    client: httpx.Client = field(repr=False)

    @property
    def port(self) -> int:
        """The port it listens at."""
        return int(self.url.rpartition(":")[2])

    def ask(self, index: str = "notes", **body: object) -> httpx.Response:
        """Ask a question."""
        return self.client.post(f"/v1/indexes/{index}/ask", json={"question": QUESTION, **body})


@contextmanager
def running(
    *indexes: tuple[str, Path],
    settings: Settings | None = None,
    callers: Callers | None = None,
    questions: RequestThreads | None = None,
    bounds: Bounds | None = None,
    token: str = "",
    limits: UploadLimits | None = None,
    documents: str = "",
) -> Iterator[Running]:
    """Serve indexes until the block ends. They can be administered if one of the callers is the administrator."""
    log: list[dict[str, Any]] = []
    served = [Served(name, path, settings or load_settings()) for name, path in indexes]
    callers, admin = callers or Callers({}), None
    if callers.administered:
        chosen = settings or load_settings()
        allowed = limits or UploadLimits()
        admin = {one.name: Jobs(one.name, one.root, chosen, allowed, log.append, documents) for one in served}
    threads = questions or RequestThreads(20, LIMIT)
    by_name = {one.name: one for one in served}
    service = Service(by_name, threads, Metrics(), callers.needed, admin, shares=callers.several)
    app = create_app(service, callers, LOOPBACK_NAMES, bounds, log.append)
    with listening("127.0.0.1", 0) as opened:
        server = StoppingServer(configuration(app), service)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{opened.getsockname()[1]}"
        headers = {"authorization": f"Bearer {token}"} if token else {}
        with httpx.Client(base_url=url, headers=headers, timeout=LIMIT) as client:
            wait_until(lambda: server.started and all(one.ready for one in served))
            try:
                yield Running(url, log, served, client)
            finally:
                server.should_exit = True
                thread.join(LIMIT)
                assert not thread.is_alive(), "the server did not stop"
