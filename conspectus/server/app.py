"""The application: all routes behind one guard, health checks, metrics, and reloading of new versions."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from conspectus.rows import json_text
from conspectus.server import ask_routes, browse_routes, openai_chat, page_files
from conspectus.server.admin import admin_routes
from conspectus.server.mcp_tools import caller_of_request, mcp_server
from conspectus.server.metrics import CONTENT_TYPE
from conspectus.server.open_indexes import Served
from conspectus.server.request_checks import Bounds, Guard, Log, Refused, error_body, log_line
from conspectus.server.request_threads import ClientGone
from conspectus.server.service import Service
from conspectus.server.tokens import Callers
from conspectus.storage.errors import ConspectusError
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.security import HTTPBearer
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

RELOAD_SECONDS = 1.0
"""Interval at which the published version of each index is checked."""

health = APIRouter(tags=["server"])


class Escaped(JSONResponse):
    """JSON without characters that change the direction of text or control a terminal."""

    def render(self, content: object) -> bytes:
        """Return the body."""
        return json_text(content).encode()


class Problem(BaseModel):
    """What was wrong: the kind, and the reason in words."""

    type: str
    code: str
    message: str
    param: None
    request_id: str


class Failed(BaseModel):
    """The body of every error."""

    error: Problem


def create_app(
    service: Service, callers: Callers, hosts: Collection[str], bounds: Bounds | None = None, log: Log = log_line
) -> ASGIApp:
    """Return the complete server application.

    Args:
        service: The indexes to serve, and their threads.
        callers: The permitted callers.
        hosts: The permitted Host headers, without the port.
        bounds: Limits on a request's body.
        log: Called with each line of the log.
    """
    service.metrics.count_in_flight(lambda: service.questions.inside)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(tools.session_manager.run())  # a mounted application has no lifespan
            watcher = asyncio.create_task(watch(service, log))
            stack.callback(service.stop)
            for one in service.indexes.values():
                stack.callback(one.close)
            stack.callback(watcher.cancel)
            for jobs in (service.admin or {}).values():
                stack.push_async_callback(jobs.close)
                if jobs.follower is not None:
                    jobs.follower.begin()
            yield

    app = application(lifespan)
    app.state.service = service
    tools = mcp_server(service, caller_of_request)
    # The guard checks Host and Origin strictly for every route; agents with the older protocol need no session here.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app.router.routes.extend(tools.streamable_http_app(stateless_http=True, transport_security=unchecked).routes)
    return Guard(app, hosts, callers, bounds or Bounds(), service.metrics, log)


def application(lifespan: Any = None) -> FastAPI:  # noqa: ANN401  (FastAPI's)
    """Return the routes without the guard, as described by docs/openapi.json."""
    app = FastAPI(
        title="Conspectus",
        version=browse_routes.API_VERSION,
        description="Ask indexes of documents, read their contents, and, as an administrator, change them.",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},  # they tell URLs
        lifespan=lifespan,
        license_info={"name": "MIT"},
        default_response_class=Escaped,
        dependencies=[Depends(HTTPBearer(auto_error=False, description="not needed where there are no tokens"))],
        responses={"default": {"model": Failed}, 422: {"model": Failed}},
        generate_unique_id_function=lambda route: route.name + ("_of_version" if "/versions/" in route.path else ""),
    )
    app.include_router(health)
    app.include_router(ask_routes.router)
    app.include_router(openai_chat.router)
    browse_routes.add_routes(app)
    app.include_router(admin_routes.router)
    app.include_router(page_files.router)
    for kind in (Refused, browse_routes.NotModified, RequestValidationError, HTTPException, ClientGone, Exception):
        app.add_exception_handler(kind, _refused)
    return app


@health.get("/livez", response_class=PlainTextResponse)
async def livez() -> str:
    """Whether the process answers."""
    return "ok\n"


@health.get("/readyz", response_class=PlainTextResponse)
async def readyz(request: Request) -> PlainTextResponse:
    """Whether every index is loaded, so that questions are answered without delay."""
    ready = all(one.ready for one in ask_routes.service_of(request).indexes.values())
    return PlainTextResponse("ok\n" if ready else "loading\n", 200 if ready else 503)


@health.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus. Not for tokens that are restricted to some documents or indexes."""
    if not request.state.caller.unrestricted:
        raise Refused(403, "not_permitted", "metrics cover all indexes, and the token permits only some")
    service = ask_routes.service_of(request)
    text = service.metrics.text((one.name, one.version) for one in service.indexes.values())
    return Response(text, media_type=CONTENT_TYPE)


async def watch(service: Service, log: Log) -> None:
    """Load every index, then switch to each new version that is published."""
    failed: dict[str, str] = {}
    while True:
        for one in service.indexes.values():
            await _tried(one, service, log, failed)
        await asyncio.sleep(RELOAD_SECONDS)


async def _tried(one: Served, service: Service, log: Log, failed: dict[str, str]) -> None:
    try:
        if not one.ready:
            await asyncio.to_thread(one.warm)
            log({"event": "loaded", "index": one.name, "version": one.version})
        elif await asyncio.to_thread(one.renew):
            service.metrics.reload(one.name, worked=True)
            log({"event": "new version", "index": one.name, "version": one.version})
        failed.pop(one.name, None)
    except (ConspectusError, OSError) as error:
        if failed.get(one.name) != str(error):  # logged once, retried every second
            failed[one.name] = str(error)
            service.metrics.reload(one.name, worked=False)
            log({"event": "not loaded", "index": one.name, "version": one.version, "why": str(error)})


async def _refused(request: Request, error: Exception) -> Response:
    """Return the response to an error. One that is not expected is told without details: the guard logs it."""
    status, kind, headers = 500, "internal_error", dict[str, str]()
    message = "something went wrong in the server; its log has the request's id"
    match error:
        case browse_routes.NotModified():
            return Response(status_code=304, headers=error.headers)
        case Refused():
            status, kind, message, headers = error.status, error.kind, error.message, error.headers
            if error.__cause__ is not None:
                request.state.log["cause"] = type(error.__cause__).__name__
        case RequestValidationError():
            status, kind, message = 422, "bad_request", _invalid(error)
        case HTTPException():
            status, headers = error.status_code, dict(error.headers or {})
            kind, message = _HTTP.get(status, ("bad_request", "the request cannot be read"))
        case ClientGone():
            status, kind, message = 499, "client_gone", "the client went away"
    request.state.log["refused"] = kind
    return Escaped(error_body(kind, message, request.state.log["request"]), status, headers)


_HTTP = {404: ("not_found", "there is no such URL"), 405: ("not_allowed", "the URL does not support this method")}


def _invalid(wrong: RequestValidationError) -> str:
    first = wrong.errors()[0]
    if first["type"] == "json_invalid":
        return f"the body is not JSON: {first['ctx']['error']} (character {first['loc'][-1]})"
    if tuple(first["loc"]) == ("body",):
        return "the body is not a JSON object, or its content-type is not application/json"
    return "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}".lstrip(": ") for one in wrong.errors()[:5])
