"""The jobs of an index: estimates of what waits, builds of it, retries of what failed, and updates to a folder.

Each runs in a process of its own, one at a time for an index, so that questions stay quick and a build can be stopped
with all that it started. A job is a folder: its state is on disk, and a server that starts after another died finds
the job that ran then as interrupted. A build owns its changes while it runs. If it ends without a new version, they
wait again, and what the pipeline remembers is not done twice by the next build.
"""

import asyncio
import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

from conspectus.render.terminal import count
from conspectus.server.admin.changes import Changes, Removal, UploadLimits
from conspectus.server.admin.following import NO_FOLDER, Follower
from conspectus.server.request_checks import Log, Refused
from conspectus.server.tokens import ADMIN_VARIABLE, TOKEN_VARIABLE
from conspectus.storage.errors import IndexUnusable, UsageError
from conspectus.storage.manifest import current_version, read_manifest
from conspectus.storage.publishing import write_whole
from conspectus.storage.settings import Settings
from filelock import FileLock, Timeout
from pydantic import BaseModel

Kind = Literal["estimate", "build", "estimate_retry", "retry", "update"]
_OF_CHANGES = frozenset({"estimate", "build"})
_BUILDS = frozenset({"build", "retry", "update"})
State = Literal["running", "done", "failed", "stopped", "interrupted"]

_MOST_KEPT = 30
"""Jobs of an index that have ended and are still listed."""
_SECONDS_TO_STOP = 10.0
"""How long a process may take to end after it was interrupted, as by Ctrl-C; then it is killed."""
_LONGEST_LINE = 16 * 1024 * 1024
_ID = re.compile("[0-9a-f]{16}")


class JobStep(BaseModel):
    """The progress of a step. The total is 0 while a step runs whose items are not counted."""

    name: str
    done: int
    total: int


class JobError(BaseModel):
    """Why a job failed."""

    type: str
    message: str


class Job(BaseModel):
    """A job. `result` is what `conspectus add --json` prints, also with --estimate, and its text."""

    id: str
    kind: Kind
    state: State
    by: str
    created: float
    """Seconds since 1970."""
    ended: float | None = None
    changes: str = ""
    """The state of what waited when it began."""
    uploads: list[str] = []
    removals: list[Removal] = []
    steps: list[JobStep] = []
    result: dict[str, Any] | None = None
    notes: list[str] = []
    error: JobError | None = None

    def progress(self, name: str, done: int, total: int) -> None:
        """Take note of how far a step is."""
        step = next((each for each in self.steps if each.name == name), None)
        if step is None:
            self.steps.append(step := JobStep(name=name, done=done, total=total))
        step.done, step.total = done, total


class Jobs:
    """The jobs of one index and the changes that wait for one."""

    def __init__(
        self, name: str, root: Path, settings: Settings, limits: UploadLimits, log: Log, documents: str = ""
    ) -> None:
        """Open them, and mark those as interrupted that ran when a server ended; `documents` is the folder of `update`.

        Raises:
            UsageError: Another server administers the index, nothing can be written to it, or there is no such folder.
        """
        self.name = name
        self._root = root.absolute()
        self._log = log
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._leaving = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        folder = self._root / "admin"
        self._jobs = folder / "jobs"
        self._lock = FileLock(folder / "lock", thread_local=False)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            self._lock.acquire(timeout=0)
            self._jobs.mkdir(mode=0o700, exist_ok=True)
            self.changes = Changes(folder, limits)
        except Timeout:
            raise UsageError(f"another server administers {root}; only one can") from None
        except OSError as error:
            raise UsageError(f"{root} cannot be administered: {error.strerror}") from error
        self._known = {job.id: job for job in self._read()}
        self._settings, self.problem = _own(settings, self._root)
        self.follower = Follower(self, self._root, documents) if documents else None

    def _read(self) -> list[Job]:
        """Return the jobs on disk, and finish what a server began that was killed."""
        found = []
        for file in self._jobs.glob("*/job.json"):
            try:
                job = Job.model_validate_json(file.read_text("utf-8"))
            except ValueError as error:
                raise IndexUnusable(f"{file} is damaged; delete its folder") from error
            if job.state == "running":
                job.state, job.ended = "interrupted", file.stat().st_mtime
                self._save(job)
                self._told(job, "job interrupted", job.by)
            self._let_go(job)
            found.append(job)
        return found

    @property
    def running(self) -> Job | None:
        """The job that runs now."""
        return next((job for job in self._known.values() if job.state == "running"), None)

    def listed(self) -> list[Job]:
        """Return the jobs, the newest first."""
        return sorted(self._known.values(), key=lambda job: -job.created)

    def find(self, id_: str) -> Job:
        """Return a job; Refused where there is none of that id."""
        if not _ID.fullmatch(id_) or id_ not in self._known:
            raise Refused(404, "not_found", "there is no job of that id")
        return self._known[id_]

    def start(self, kind: Kind, changes: str | None, by: str) -> Job:
        """Start a job on what waits.

        Args:
            kind: What to do. A retry leaves what waits alone.
            changes: The state of what waits that is meant, see `Waiting`; None for any.
            by: The name of the caller.

        Raises:
            Refused: A job runs, nothing waits, something else waits than the caller has seen, or there is no folder.
        """
        if self.running is not None:
            raise Refused(409, "busy", "a job of this index runs; wait for its end, or stop it")
        if kind == "update":
            self.followed()
        waiting = self.changes.waiting()
        if kind in _OF_CHANGES:
            if not waiting.uploads and not waiting.removals:
                raise Refused(409, "nothing_waits", "no document waits to be added or removed")
            if changes is not None and changes != waiting.changes:
                raise Refused(409, "changed", "other changes wait now than those that were estimated; look again")
        job = Job(id=secrets.token_hex(8), kind=kind, state="running", by=by, created=time.time())
        if kind in _OF_CHANGES:
            job.changes, job.removals = waiting.changes, waiting.removals
            job.uploads = [each.name for each in waiting.uploads]
        self._folder(job).mkdir(mode=0o700)
        self._save(job)
        if kind == "build":
            self.changes.hand_over(self._folder(job) / "files", job.uploads, job.removals)
        self._stopping = False
        self._known[job.id] = job
        self._told(job, "job started", by)
        self._task = asyncio.create_task(self._run(job))
        self._forget_old(kind)
        return job

    async def stop(self, id_: str, by: str) -> Job:
        """Stop a job and all that it started. What is published stays in force."""
        job = self.find(id_)
        if job.state == "running":
            self._told(job, "job to be stopped", by)
            await self._end_process()
            if self._task is not None:
                await asyncio.wait({self._task})
        return job

    async def news(self, job: Job) -> AsyncIterator[Job]:
        """Yield a job now, when it has changed, and last when it has ended."""
        self._loop = asyncio.get_running_loop()
        while True:
            news, is_over = self._news, job.state != "running"
            yield job
            if is_over or self._leaving:
                return
            await news.wait()

    def leave(self) -> None:
        """End what watches a job, because the server ends. Any thread may call it."""
        self._leaving = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._tell_news)

    def told(self, event: str, by: str, **about: object) -> None:
        """Write a line of the log on what an administrator did."""
        self._log({"time": round(time.time(), 3), "event": event, "index": self.name, "caller": by, **about})

    async def close(self) -> None:
        """End the process that runs, so that its job is interrupted."""
        if self.follower is not None:
            await self.follower.end()
        if self._task is not None:
            task, self._task = self._task, None
            task.cancel()
            await self._end_process()
            await asyncio.gather(task, return_exceptions=True)
        self._lock.release()

    def followed(self) -> Follower:
        """Return what follows the folder of the index; Refused if it has none."""
        if self.follower is None:
            raise Refused(409, "no_folder", NO_FOLDER)
        return self.follower

    async def _run(self, job: Job) -> None:
        try:
            status = await self._process_of(job)
        except (OSError, ValueError) as error:
            self.told("job not run", job.by, job=job.id, error=type(error).__name__)
            await self._end_process()
            status = 1
        self._ended(job, status)

    async def _process_of(self, job: Job) -> int:
        """Run a job in a process of its own; return its exit status."""
        folder = self._folder(job)
        files = self.changes.uploads if job.kind == "estimate" else folder / "files"
        if job.kind == "update":
            files = self.followed().documents
        request = {
            "kind": job.kind,
            "name": self.name,
            "index": str(self._root),
            "files": str(files),
            "uploads": job.uploads,
            "removals": [each.id for each in job.removals],
            "settings": self._settings.model_dump(mode="json"),
        }
        secret = {TOKEN_VARIABLE, ADMIN_VARIABLE}
        with (folder / "output.txt").open("wb") as output:
            self._process = process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "conspectus.server.admin.build_process",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=output,
                env={key: value for key, value in os.environ.items() if key not in secret},
                start_new_session=True,
                limit=_LONGEST_LINE,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        if self._stopping:  # before the process was there
            _kill_group(process.pid)
        process.stdin.write(json.dumps(request).encode() + b"\n")  # and stays open: its end ends the process
        async for line in process.stdout:
            self._take(job, json.loads(line))
        status = await process.wait()
        _kill_group(process.pid)  # whatever it left behind
        return status

    def _take(self, job: Job, row: dict[str, Any]) -> None:
        """Take note of a line that the process wrote."""
        if "step" in row:
            job.progress(row["step"], row["done"], row["total"])
        elif "error" in row:
            job.error = JobError.model_validate(row["error"])
        elif "notes" in row:
            job.notes += row["notes"]
        else:
            job.result = row.get("published") or row.get("estimate")
        if "step" not in row or row["done"] == row["total"] or not row["done"]:
            self._save(job)
        self._tell_news()

    def _ended(self, job: Job, status: int) -> None:
        if job.result is not None:
            job.state = "done"
            if status:
                job.notes.append("older versions may still hold the removed documents; run: conspectus prune --purge")
        elif self._stopping:
            job.state, job.error = "stopped", None
        else:
            job.state = "failed"
            unexpected = "the process ended unexpectedly; output.txt of the job says more"
            job.error = job.error or JobError(type="Crashed", message=f"{unexpected} (status {status})")
        job.ended = time.time()
        self._save(job)
        self._let_go(job)
        self._told(job, f"job {job.state}", job.by, seconds=round(job.ended - job.created, 1))
        self._process = self._task = None
        self._tell_news()

    async def _end_process(self) -> None:
        """Interrupt the process, and kill it with all that it started where that does not end it."""
        self._stopping = True
        process = self._process
        if process is None:
            return
        try:
            process.send_signal(signal.SIGINT)
            async with asyncio.timeout(_SECONDS_TO_STOP):
                await process.wait()
        except (TimeoutError, ProcessLookupError):
            pass
        _kill_group(process.pid)

    def _let_go(self, job: Job) -> None:
        """Delete what a job has added, as the index holds its text; if it is not done, let its changes wait again."""
        files = self._folder(job) / "files"
        if files.exists():
            if job.state != "done":
                self.changes.take_over(files, job.removals)
            shutil.rmtree(files)

    def _folder(self, job: Job) -> Path:
        return self._jobs / job.id

    def _save(self, job: Job) -> None:
        write_whole(self._folder(job) / "job.json", job.model_dump_json())

    def _told(self, job: Job, event: str, by: str, **about: object) -> None:
        about |= {"add": job.uploads, "remove": [each.uri for each in job.removals]}
        self.told(event, by, job=job.id, kind=job.kind, **about)

    def _tell_news(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _forget_old(self, begun: Kind) -> None:
        """Forget estimates that say nothing any more, and of the builds the oldest."""
        ended = [job for job in self.listed() if job.state != "running"]
        stale = [job for job in ended if (job.kind == begun if begun not in _BUILDS else job.kind not in _BUILDS)]
        for job in [*stale, *[job for job in ended if job.kind in _BUILDS][_MOST_KEPT:]]:
            shutil.rmtree(self._folder(job), ignore_errors=True)
            self._known.pop(job.id)


def _own(settings: Settings, root: Path) -> tuple[Settings, str]:
    """Return the settings with those graphs that an index was made with, and what keeps it from being changed."""
    made = read_manifest(root, current_version(root)).settings.get("kg", {}).get("files", [])
    hashes = {file: _with_graphs(settings, file).of_the_index()["kg"]["files"][0] for file in settings.kg.files}
    own = _with_graphs(settings, *(file for file, found in hashes.items() if found in made))
    missing = len(set(made) - set(hashes.values()))
    return own, f"the server was not given {count(missing, 'files')} of its graph; serve it with --kg" * bool(missing)


def _with_graphs(settings: Settings, *files: str) -> Settings:
    return settings.model_copy(update={"kg": settings.kg.model_copy(update={"files": files})})


def _kill_group(process: int) -> None:
    """Kill a process and all that it started; nothing happens where they have ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)
