"""The process of one job: `python -m conspectus.server.admin.build_process`, started by the server.

The first line of standard input is the request, as JSON. What happens is written to standard output, an object a line:
{"step", "done", "total"}, {"published": report}, {"estimate": estimate}, {"notes": [...]}, {"error": {"type", ...}}.
Standard input stays open as long as the server lives. When it ends, this process and all that it started end at once.
"""

import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conspectus.storage.errors import (
    FAILURES_PAST_THRESHOLD,
    BadAnswer,
    BudgetReached,
    ConspectusError,
    IndexBusy,
    ModelError,
    ModelUnavailable,
)
from conspectus.storage.settings import Settings, load_settings

_SECONDS_BETWEEN = 0.2
"""Seconds between two reports of a step that goes on."""
_SECONDS_TO_PURGE = 60.0
"""How long a purge waits for the server to change to the new version."""
_MOST_NAMED = 50
_FOLDER = "admin/folder.json"
"""The names of the files that the followed folder had at its last update."""
_NICENESS = 5
"""So that questions to the server go first."""

_PATH = re.compile(r"(?<![\w:/.])/[^\s'\",;)]+")
"""An absolute path in a message."""

Tell = Callable[[dict[str, Any]], None]


def main() -> None:
    """Do what the request says, and tell it."""
    # A server that was started in the background hands down that interruptions are ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.nice(_NICENESS)
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_server, daemon=True).start()
    tell = _teller()
    try:
        settings = load_settings(None, request["settings"])
        work = _estimate if request["kind"].startswith("estimate") else _build
        work(request, Path(request["index"]), settings, tell)
    except ConspectusError as error:
        tell({"error": {"type": type(error).__name__, "message": told(error, request)}})
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.exit(error.exit_status)


def told(error: ConspectusError, request: dict[str, Any]) -> str:
    """Return what an administrator learns of an error: no path of the machine, no words of a document or a model."""
    if isinstance(error, IndexBusy):
        return "another program builds this index now"
    if isinstance(error, ModelUnavailable):
        return "the language model's server cannot be reached, or failed on every attempt"
    if isinstance(error, BadAnswer):
        return "the language model gave no usable answer"
    if isinstance(error, ModelError):
        return "the language model's server refuses: look at its key, its name and its address"
    if isinstance(error, BudgetReached):
        return "the budget for the language model is reached; what was paid for is kept"
    message = str(error)
    for path in (request["files"], request["index"]):
        message = message.replace(f"{path}/", "").replace(path, request["name"])
    return _PATH.sub("...", message)


def _estimate(request: dict[str, Any], index: Path, settings: Settings, tell: Tell) -> None:
    from conspectus.pipelines.estimation.estimate import estimate
    from conspectus.pipelines.estimation.totals import summary
    from conspectus.render.builds import estimate_text

    tell({"step": "estimate", "done": 0, "total": 0})
    inputs, names, _ = _changes(request, index)
    again = request["kind"] == "estimate_retry"
    made = summary(estimate(inputs, index, settings, names=names, retry_failed=again))
    made["index"] = request["name"]
    tell({"step": "estimate", "done": 1, "total": 1})
    tell({"estimate": {**made, "text": estimate_text(made)}})


def _build(request: dict[str, Any], index: Path, settings: Settings, tell: Tell) -> None:
    """Build as the command line does: as a Prefect flow where an API is configured, else in this process."""
    from conspectus.pipelines.build_report import failures_of, summary
    from conspectus.pipelines.incremental import change_documents
    from conspectus.pipelines.runner import interruptible
    from conspectus.render.builds import build_text
    from conspectus.storage.publishing import write_whole
    from conspectus.storage.records import SKIP

    inputs, names, files = _changes(request, index)
    retry = request["kind"] == "retry"
    with interruptible(_progress(tell)) as report:
        if os.environ.get("PREFECT_API_URL"):
            from conspectus.pipelines.prefect_flow import run_flow

            done = run_flow(inputs, index, settings, retry_failed=retry, keep=True, remove=names, progress=report)
        else:
            done = summary(change_documents(inputs, names, index, settings, None, report, retry_failed=retry))
        done["index"] = request["name"]
        lost = [each for each in failures_of(index) if not files.isdisjoint(_places(each.item_id))]
        if request["kind"] == "update":
            write_whole(index / _FOLDER, json.dumps(sorted(files)))
            lost = [each for each in lost if each.stage != SKIP]
        shown = ("stage", "item_id", "reason", "detail")
        unread = [{name: getattr(each, name) for name in shown} for each in lost[:_MOST_NAMED]]
        too_many = done["failed_share"] > settings.build.failure_threshold
        status = FAILURES_PAST_THRESHOLD if too_many else 0
        tell({"published": {**done, "text": build_text({**done, "failures": 0}), "unread": unread, "status": status}})
        if request["removals"]:
            _purge(index, settings, report, tell)


def _changes(request: dict[str, Any], index: Path) -> tuple[list[str], list[str], set[str]]:
    """Return the inputs to add, of the names to remove those that the index still has, and the names of added files.

    A build may have published before its server died. Its changes wait again then, and its documents are gone already.
    What is gone from a folder that is followed are the files that it had at its last update.
    """
    from conspectus.pipelines.readers.discover import find_files
    from conspectus.storage.index import StoredIndex
    from conspectus.storage.records import Document, Failure

    opened = StoredIndex.open(index)
    uris = {each.id: each.uri for each in opened.rows(Document)}
    uris |= {each.item_id: each.item_id for each in opened.rows(Failure)}
    if request["kind"] != "update":
        inputs = [request["files"]] if request["uploads"] else []
        return inputs, [name for name in request["removals"] if name in uris], set(request["uploads"])
    files, known = {each.uri for each in find_files([request["files"]])[0]}, index / _FOLDER
    gone = set(json.loads(known.read_text("utf-8")) if known.exists() else ()) - files
    return [request["files"]], [id_ for id_, uri in uris.items() if not gone.isdisjoint(_places(uri))], files


def _places(uri: str) -> set[str]:
    """Return the name of a document or a failure, and those of the files and folders that it is in."""
    return {uri[: end.start()] for end in re.finditer("[/#]|$", uri)}


def _purge(index: Path, settings: Settings, report: Callable[[str, int, int], None], tell: Tell) -> None:
    """Delete what older versions and the cache hold of removed documents, once the server has let them go."""
    from conspectus.pipelines.purge import purge

    report("purge", 0, 0)
    ends = time.monotonic() + _SECONDS_TO_PURGE
    while True:
        try:
            purge(index, settings)
        except IndexBusy:
            if time.monotonic() > ends:
                tell({"notes": ["older versions still hold the removed documents; run: conspectus prune --purge"]})
                return
            time.sleep(1)
        else:
            report("purge", 1, 1)
            return


def _progress(tell: Tell) -> Callable[[str, int, int], None]:
    last: dict[str, float] = {}

    def report(step: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done < total and done and now - last.get(step, 0.0) < _SECONDS_BETWEEN:
            return
        last[step] = now
        tell({"step": step, "done": done, "total": total})

    return report


def _teller() -> Tell:
    """Return what writes a line to standard output. Whatever else prints goes to standard error."""
    lines = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    lock = threading.Lock()  # steps that wait for a server run beside others

    def tell(row: dict[str, Any]) -> None:
        with lock:
            lines.write(json.dumps(row) + "\n")
            lines.flush()

    return tell


def _end_with_server() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
