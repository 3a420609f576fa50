"""Routes that read tables: documents, entities, reports, failures, and the served indexes.

Each route has two URLs. `/v1/indexes/NAME/...` returns the current version and must be revalidated (an ETag saves the
transfer). `/v1/indexes/NAME/versions/VERSION/...` never changes and may be cached for a year. Lists are paged; `next`
is the URL of the next page of the same version.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version as version_of
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import urlencode

from conspectus import reports as browse
from conspectus.api import Index
from conspectus.query.explain.explain import EXPLAINED
from conspectus.server.ask_routes import IndexName, leaves, service_of
from conspectus.server.browse_rows import (
    DocumentRow,
    DocumentText,
    FailureRow,
    IndexRow,
    MethodRow,
    ReportDetail,
    ReportRow,
    Status,
    Versions,
    document_row,
    document_text,
    failure_row,
    report_detail,
    report_row,
    status_of,
)
from conspectus.server.neighbours import (
    Direction,
    EntityDetail,
    EntityRow,
    Neighbour,
    entity_detail,
    entity_rows,
    find_entity,
    neighbours,
)
from conspectus.server.request_checks import Refused
from conspectus.storage.hashing import digest
from conspectus.storage.records import Document
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel

API_VERSION = "1.5.0"
"""The version of this interface. It increases with every change of docs/openapi.json: the last number for changes that
no client notices, the middle one for new routes and fields, the first one for everything else."""

Row = TypeVar("Row")
Value = TypeVar("Value")
Offset = Annotated[int, Query(ge=0, description="rows to leave out at the beginning")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="most rows of a page")]

router = APIRouter(tags=["browsing"])
about = APIRouter(tags=["server"])


class NotModified(Exception):
    """The client's cached copy is current."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__("not modified")
        self.headers = dict(headers)


class Page(BaseModel, Generic[Row]):
    """A page of a list. `next` is the URL of the next page, null on the last page."""

    version: str
    total: int
    rows: list[Row]
    next: str | None


class Look:
    """One look into the tables, on behalf of the caller of a request."""

    def __init__(self, request: Request, response: Response, index: IndexName) -> None:
        self.index = index
        self._request = request
        self._response = response
        self._fixed: str | None = request.path_params.get("version")

    async def at(self, read: Callable[[Index], Value]) -> Value:
        """Return the result of `read` over the caller's view, and set the caching headers.

        Raises NotModified if the client has a current copy.
        """
        caller = self._request.state.caller
        given = self._request.headers.get("if-none-match", "")

        async def work(view: Index) -> tuple[Value | None, dict[str, str]]:
            headers = self._headers(view)
            known = headers["etag"] in [tag.strip().removeprefix("W/") for tag in given.split(",")]
            return (None, headers) if known else (read(view), headers)

        (found, headers), _ = await service_of(self._request).run(
            caller, self.index, work, gone=leaves(self._request), version=self._fixed, reads=True
        )
        if found is None:
            raise NotModified(headers)
        self._response.headers.update(headers)
        return found

    async def page(
        self, read: Callable[[Index], Sequence[Any]], offset: int, limit: int, made: Callable[..., Any] = lambda it: it
    ) -> dict[str, Any]:
        """Return a page of what `read` returns; `made` makes the rows that are shown."""

        def paged(view: Index) -> dict[str, Any]:
            rows = read(view)
            version = view.manifest.version
            end = offset + limit
            return {
                "version": version,
                "total": len(rows),
                "rows": [made(row) for row in rows[offset:end]],
                "next": self._next(version, end, limit) if end < len(rows) else None,
            }

        return await self.at(paged)

    def whole_only(self) -> None:
        """Refuse a caller that sees only some of the documents."""
        if self._request.state.caller.access is not None:
            raise Refused(403, "not_permitted", "failures name files of all documents, and the token permits only some")

    def _headers(self, view: Index) -> dict[str, str]:
        version, caller, settings = view.manifest.version, self._request.state.caller, view.context.settings
        seen = (version, repr((caller.access, settings.access)), settings.llm.model, API_VERSION, _program())
        shared = "private" if service_of(self._request).tokens else "public"
        kept = f"{shared}, max-age=31536000, immutable" if self._fixed else f"{shared}, no-cache"
        etag = f'"{digest(*seen)[:20]}"'
        return {"etag": etag, "cache-control": kept, "conspectus-version": version, "vary": "authorization"}

    def _next(self, version: str, offset: int, limit: int) -> str:
        path: str = self._request.scope["path"]
        start = f"/v1/indexes/{self.index}/"
        rest = path.removeprefix(start).removeprefix(f"versions/{version}/")
        others = [(key, value) for key, value in self._request.query_params.multi_items() if key not in _PAGING]
        query = urlencode([*others, ("offset", offset), ("limit", limit)])
        return f"{start}versions/{version}/{rest}?{query}"


_PAGING = frozenset({"offset", "limit"})
Looking = Annotated[Look, Depends()]


@router.get("/status")
async def status(look: Looking) -> Status:
    """The version, row counts and models of the index."""
    return await look.at(lambda view: status_of(look.index, view))


@router.get("/failures", response_model=Page[FailureRow])
async def failures(look: Looking, offset: Offset = 0, limit: Limit = 100) -> dict[str, Any]:
    """What could not be read, extracted or reported. Not for tokens with access tags, because it names files."""
    look.whole_only()
    return await look.page(Index.failures, offset, limit, failure_row)


@router.get("/documents", response_model=Page[DocumentRow])
async def documents(
    look: Looking,
    title: Annotated[str, Query(max_length=500, description="part of the title or the id")] = "",
    offset: Offset = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """The documents, by id."""

    def read(view: Index) -> list[tuple[Sequence[Document], int]]:
        index, wanted = view.context.index, title.casefold()
        told = zip(*index.arrow(Document, "title", "id").to_pydict().values(), strict=True)
        documents = index.each(Document)
        return [(documents, row) for row, each in enumerate(told) if wanted in "\n".join(each).casefold()]

    return await look.page(read, offset, limit, lambda found: document_row(found[0][found[1]]))


@router.get("/documents/{document:path}")
async def document(
    look: Looking,
    document: Annotated[str, Path(max_length=10_000, description="the id of a document")],
    start: Annotated[int, Query(ge=0, description="the first character")] = 0,
    end: Annotated[int | None, Query(ge=0, description="the end (exclusive)")] = None,
) -> DocumentText:
    """Characters of a document: at most 100,000, beginning at `start`."""
    return await look.at(lambda view: document_text(view.context, document, start, end))


@router.get("/entities", response_model=Page[EntityRow])
async def entities(
    look: Looking,
    name: Annotated[str, Query(max_length=500, description="part of the name")] = "",
    offset: Offset = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """The entities, most frequent first."""
    return await look.page(lambda view: entity_rows(view.context, name), offset, limit)


@router.get("/entities/{entity}")
async def entity(
    look: Looking, entity: Annotated[str, Path(max_length=2_000, description="its id or name")], limit: Limit = 50
) -> EntityDetail:
    """An entity, the passages that mention it, its relations, and the entities that share passages with it."""
    return await look.at(lambda view: entity_detail(view.context, entity, limit))


@router.get("/entities/{entity}/neighbours", response_model=Page[Neighbour])
async def neighbours_of(
    look: Looking,
    entity: Annotated[str, Path(max_length=2_000, description="its id or name")],
    direction: Direction = "both",
    predicate: Annotated[str | None, Query(max_length=500)] = None,
    offset: Offset = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """The relations of an entity and the entities at their other ends."""

    def read(view: Index) -> list[Neighbour]:
        found = find_entity(view.context, entity)
        return neighbours(view.context, found, direction, predicate, 100_000)

    return await look.page(read, offset, limit)


@router.get("/reports", response_model=Page[ReportRow])
async def reports(
    look: Looking,
    level: Annotated[str | None, Query(pattern="^c[0-9]{1,2}$", description="c0 is the coarsest")] = None,
    offset: Offset = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """The reports on communities, best rated first on each level."""
    return await look.page(lambda view: browse.entries(view.context, level), offset, limit, report_row)


@router.get("/reports/{community}")
async def report(
    look: Looking, community: Annotated[str, Path(max_length=200, description="the id of a community")]
) -> ReportDetail:
    """One report with its findings and their citations."""
    return await look.at(lambda view: report_detail(view.context, community))


@about.get("/v1/indexes")
async def indexes(request: Request) -> list[IndexRow]:
    """The indexes that the caller may ask, each with its current version."""
    served = service_of(request).visible(request.state.caller)
    return [IndexRow(name=one.name, version=one.version, ready=one.ready) for one in served]


@about.get("/v1/methods")
async def methods(request: Request) -> list[MethodRow]:
    """The methods that can run on this server. Others get 501, whose message says what the server lacks."""
    return [
        MethodRow(
            name=each.name,
            about=each.about,
            needs_model=each.needs_model,
            retrieves=each.retrieves,
            explains=each.name in EXPLAINED,
        )
        for each in service_of(request).methods()
    ]


@about.get("/v1/versions")
async def versions(request: Request) -> Versions:
    """The versions of the interface, of the program, and of each index."""
    served = service_of(request).visible(request.state.caller)
    return Versions(api=API_VERSION, conspectus=_program(), indexes={one.name: one.version for one in served})


def _program() -> str:
    return version_of("conspectus")


def fixed_version(version: Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="a version of the index")]) -> str:
    """Declare the version in the URL."""
    return version


def add_routes(to: APIRouter) -> None:
    """Add every route; routes of an index get both of their URLs."""
    to.include_router(about)
    to.include_router(router, prefix="/v1/indexes/{index}")
    to.include_router(router, prefix="/v1/indexes/{index}/versions/{version}", dependencies=[Depends(fixed_version)])
