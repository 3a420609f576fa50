"""Routes of administration: what waits to be added or removed, the folder that is followed, and the jobs that do it.

They need the administrator's token. A server without one has none of them: they answer as an address that is not there.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from conspectus.api import Index
from conspectus.pipelines.readers.formats import known_formats
from conspectus.query.citations.numbered import documents_by_id
from conspectus.server.admin.changes import Removal, Upload, Waiting
from conspectus.server.admin.following import Following
from conspectus.server.admin.jobs import Job, Jobs, Kind
from conspectus.server.ask_routes import IndexName, service_of, stream_response
from conspectus.server.request_checks import Refused
from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

_SECONDS_BETWEEN = 0.2
"""Seconds between two events of a job, so that a page that is read slowly is not flooded."""

router = APIRouter(tags=["administration"])


class Administration(BaseModel):
    """Whether this server can be administered, and whether the caller's token is the administrator's."""

    on: bool
    administrator: bool


class Limits(BaseModel):
    """Limits of uploads, and the endings of names that are read."""

    file_bytes: int
    all_bytes: int
    files: int
    formats: list[str]


class WaitingChanges(Waiting):
    """What the next build would change, what may be uploaded, and in `problem` why nothing can be changed, if so.

    `following` is about the folder of documents of the index, null if it has none.
    """

    limits: Limits
    problem: str
    following: Following | None


class StartJob(BaseModel):
    """What to do. With `changes` only if still the same waits, as /changes names it."""

    model_config = ConfigDict(extra="forbid")

    kind: Kind
    changes: Annotated[str | None, Field(max_length=40)] = None


def administered(request: Request, index: IndexName) -> Jobs:
    """Return the jobs of an index for an administrator. Raises Refused for everybody else."""
    service = service_of(request)
    if service.admin is None:
        raise Refused(404, "not_found", "there is no such address")
    if not request.state.caller.administers:
        raise Refused(403, "not_permitted", "this needs the administrator's token")
    return service.admin[service.find(request.state.caller, index).name]


Administered = Annotated[Jobs, Depends(administered)]
FileName = Annotated[str, Path(max_length=1_000, description="the name of a file, without folders")]
DocumentName = Annotated[str, Path(max_length=10_000, description="the id or uri of a document, or a file's")]
JobId = Annotated[str, Path(max_length=40, description="the id of a job")]


@router.get("/v1/administration")
async def administration(request: Request) -> Administration:
    """Whether documents can be added and removed through this server, and whether the caller may."""
    is_on = service_of(request).admin is not None
    return Administration(on=is_on, administrator=request.state.caller.administers)


@router.get("/v1/indexes/{index}/changes")
async def changes(jobs: Administered) -> WaitingChanges:
    """What waits to be added and removed, and what may be uploaded."""
    limits = jobs.changes.limits
    formats = known_formats().split()
    allowed = Limits(file_bytes=limits.file_bytes, all_bytes=limits.all_bytes, files=limits.files, formats=formats)
    following = jobs.follower.state() if jobs.follower else None
    waiting = jobs.changes.waiting().model_dump()
    return WaitingChanges(**waiting, limits=allowed, problem=jobs.problem, following=following)


_RAW = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"format": "binary"}}}}}


@router.put("/v1/indexes/{index}/uploads/{name:path}", status_code=201, openapi_extra=_RAW)
async def upload(request: Request, jobs: Administered, name: FileName) -> Upload:
    """Upload a file, which then waits to be added; the body is its content as it is. It replaces one of its name."""
    declared = int(request.headers.get("content-length", 0))
    stored = await jobs.changes.store(name, request.stream(), declared)
    jobs.told("uploaded", request.state.caller.name, name=stored.name, bytes=stored.bytes)
    return stored


@router.delete("/v1/indexes/{index}/uploads/{name:path}", status_code=204)
async def take_back(request: Request, jobs: Administered, name: FileName) -> None:
    """Delete an uploaded file that waits."""
    jobs.changes.take_back(name)
    jobs.told("upload taken back", request.state.caller.name, name=name)


@router.put("/v1/indexes/{index}/removals/{document:path}", status_code=204)
async def remove(request: Request, jobs: Administered, document: DocumentName) -> None:
    """Let a document wait to be removed, with all that only it supported, or the row of an unreadable file."""
    version = service_of(request).indexes[jobs.name].hold()
    try:
        found = await asyncio.to_thread(_named, version.index, document)
    finally:
        version.let_go()
    if not found:
        raise Refused(404, "not_found", "there is no document of that id")
    jobs.changes.remove(found)
    jobs.told("to be removed", request.state.caller.name, name=document)


def _named(index: Index, name: str) -> list[Removal]:
    """Return the documents of an id or uri, or the file of that name that could not be read."""
    documents = documents_by_id(index.context).values()
    found = [Removal(id=each.id, title=each.title, uri=each.uri) for each in documents if name in (each.id, each.uri)]
    if not found and any(name == each.item_id for each in index.failures()):
        found = [Removal(id=name, title=name, uri=name)]
    return found


@router.delete("/v1/indexes/{index}/removals/{document:path}", status_code=204)
async def keep(request: Request, jobs: Administered, document: DocumentName) -> None:
    """Let a document stay that waits to be removed."""
    ids = {each.id for each in jobs.changes.removals() if document in (each.id, each.uri)}
    if not ids:
        raise Refused(404, "not_found", "no document of that id waits to be removed")
    jobs.changes.keep(ids)
    jobs.told("to stay", request.state.caller.name, name=document)


@router.put("/v1/indexes/{index}/following")
async def follow(request: Request, jobs: Administered) -> Following:
    """Follow the folder of documents of the index: an `update` now, and whenever its files have changed."""
    follower = jobs.followed()
    follower.switch_on(request.state.caller.name)
    jobs.told("folder followed", request.state.caller.name)
    return follower.state()


@router.delete("/v1/indexes/{index}/following")
async def follow_no_longer(request: Request, jobs: Administered) -> Following:
    """Follow the folder no longer. Its documents stay."""
    follower = jobs.followed()
    await follower.switch_off()
    jobs.told("folder no longer followed", request.state.caller.name)
    return follower.state()


@router.get("/v1/indexes/{index}/jobs")
async def list_jobs(jobs: Administered) -> list[Job]:
    """The jobs of an index, the newest first."""
    return jobs.listed()


@router.post("/v1/indexes/{index}/jobs", status_code=202)
async def start_job(request: Request, jobs: Administered, start: StartJob) -> Job:
    """Start a job: `estimate` what waits, `build` it, `estimate_retry`, `retry` what failed, or `update` to the folder.

    One runs at a time. An update adds the files of the folder of documents, and removes those that are gone from it.
    """
    return jobs.start(start.kind, start.changes, request.state.caller.name)


@router.get("/v1/indexes/{index}/jobs/{job}")
async def show_job(jobs: Administered, job: JobId) -> Job:
    """A job, with its progress and its result."""
    return jobs.find(job)


@router.get(
    "/v1/indexes/{index}/jobs/{job}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def job_events(jobs: Administered, job: JobId) -> Any:  # noqa: ANN401  (a stream passes as it is)
    """A job as server-sent events: `job` now, after each change, and last when it has ended."""
    found = jobs.find(job)

    async def events() -> AsyncGenerator[str, None]:
        async for now in jobs.news(found):
            yield f"event: job\ndata: {now.model_dump_json()}\n\n"
            if now.state == "running":
                await asyncio.sleep(_SECONDS_BETWEEN)

    return stream_response(events())


@router.post("/v1/indexes/{index}/jobs/{job}/stop")
async def stop_job(request: Request, jobs: Administered, job: JobId) -> Job:
    """Stop a job with all that it started. The version in force stays, and what it was to change waits again."""
    return await jobs.stop(job, request.state.caller.name)
