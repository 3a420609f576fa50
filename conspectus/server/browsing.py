"""Routes that read tables: documents, entities, reports, what was lost, and what is served.

Each has two addresses. `/v1/indexes/NAME/...` is of the version in force, and to be asked again each time (an ETag
saves the transfer). `/v1/indexes/NAME/versions/VERSION/...` never changes, and may be kept for a year. Lists come in
pages; `next` leads to the next page of the same version.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version as version_of
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel

from conspectus import reports as browse
from conspectus.api import Index
from conspectus.query.citations.numbered import documents_by_id
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.types import Citation
from conspectus.server.asking import IndexName, leaves, service_of
from conspectus.server.guard import Refused
from conspectus.server.neighbours import (
    Direction,
    EntityDetail,
    EntityRow,
    Neighbour,
    NotThere,
    entity_detail,
    entity_rows,
    find_entity,
    neighbours,
)
from conspectus.storage.errors import UsageError
from conspectus.storage.hashing import digest
from conspectus.storage.locators import described, sections_at
from conspectus.storage.records import Failure

API_VERSION = "1.1.0"
"""The version of this interface. It goes up with every change of docs/openapi.json: the last number for additions that
no client notices, the middle one for new routes and fields, the first one for everything else."""
LONGEST_TEXT = 100_000
"""Characters of a document that one request returns."""

Row = TypeVar("Row")
Value = TypeVar("Value")
Offset = Annotated[int, Query(ge=0, description="rows to leave out at the beginning")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="most rows of a page")]

router = APIRouter(tags=["browsing"])
about = APIRouter(tags=["server"])


class NotModified(Exception):
    """The client has what it asks for."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__("not modified")
        self.headers = dict(headers)


class Page(BaseModel, Generic[Row]):
    """A page of a list. `next` is the address of the next one, null after the last."""

    version: str
    total: int
    rows: list[Row]
    next: str | None


class Status(BaseModel):
    """What an index holds, as the caller may see it."""

    index: str
    version: str
    format: int
    rows: dict[str, int]
    models: dict[str, str]


class DocumentRow(BaseModel):
    """A document in a list."""

    id: str
    title: str
    uri: str
    n_chars: int
    metadata: dict[str, str]


class DocumentText(DocumentRow):
    """Characters [start, end) of a document; `place` are its pages and headings in words."""

    version: str
    start: int
    end: int
    text: str
    place: str
    headings: list[str]


class FailureRow(BaseModel):
    """Something that was lost when the index was made."""

    stage: str
    item_id: str
    reason: str
    detail: str


class ReportRow(BaseModel):
    """A report in a list. `parent` and `children` are ids of communities that have reports."""

    community_id: str
    report_id: str
    level: int
    title: str
    summary: str
    rating: float
    size: int
    parent: str | None
    children: list[str]


class ReportDetail(ReportRow):
    """A report with its findings; the marks in them are numbers of `citations`."""

    findings: list[str]
    citations: list[Citation]


class IndexRow(BaseModel):
    """An index that the caller may ask."""

    name: str
    version: str
    ready: bool


class Versions(BaseModel):
    """The versions of the interface, of the program, and of each index."""

    api: str
    conspectus: str
    indexes: dict[str, str]


class MethodRow(BaseModel):
    """A way to ask."""

    name: str
    about: str
    needs_model: bool
    retrieves: bool


class Look:
    """One look into the tables, on behalf of the caller of a request."""

    def __init__(self, request: Request, response: Response, index: IndexName) -> None:
        self.index = index
        self._request = request
        self._response = response
        self._fixed: str | None = request.path_params.get("version")

    async def at(self, read: Callable[[Index], Value]) -> Value:
        """Return what `read` finds in the view of the caller, and set the headers of caching.

        Raises NotModified where the client has it already.
        """
        caller = self._request.state.caller
        given = self._request.headers.get("if-none-match", "")

        async def work(view: Index) -> tuple[Value | None, dict[str, str]]:
            headers = self._headers(view)
            known = headers["etag"] in [tag.strip().removeprefix("W/") for tag in given.split(",")]
            return (None, headers) if known else (read(view), headers)

        (found, headers), _ = await service_of(self._request).run(
            caller, self.index, work, gone=leaves(self._request), version=self._fixed, counts=False
        )
        if found is None:
            raise NotModified(headers)
        self._response.headers.update(headers)
        return found

    async def page(self, read: Callable[[Index], Sequence[Any]], offset: int, limit: int) -> dict[str, Any]:
        """Return a page of what `read` finds."""

        def paged(view: Index) -> dict[str, Any]:
            rows = read(view)
            version = view.manifest.version
            end = offset + limit
            return {
                "version": version,
                "total": len(rows),
                "rows": rows[offset:end],
                "next": self._next(version, end, limit) if end < len(rows) else None,
            }

        return await self.at(paged)

    def whole_only(self) -> None:
        """Refuse a caller that sees a part of the documents only."""
        if self._request.state.caller.access is not None:
            raise Refused(403, "not_permitted", "it names files of all documents, and the token is for some of them")

    def _headers(self, view: Index) -> dict[str, str]:
        version, caller = view.manifest.version, self._request.state.caller
        seen = (version, repr(caller.access), repr(view.context.settings.access), API_VERSION, _program())
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
    """What the index holds: its version, its rows and its models."""

    return await look.at(lambda view: status_of(look.index, view))


@router.get("/failures", response_model=Page[FailureRow])
async def failures(look: Looking, offset: Offset = 0, limit: Limit = 100) -> dict[str, Any]:
    """What could not be read, extracted or reported. Not for tokens with access tags: it names files."""
    look.whole_only()

    def read(view: Index) -> list[FailureRow]:
        return [_failure(row) for row in view.failures()]

    return await look.page(read, offset, limit)


@router.get("/documents", response_model=Page[DocumentRow])
async def documents(look: Looking, offset: Offset = 0, limit: Limit = 100) -> dict[str, Any]:
    """The documents, by id."""

    def read(view: Index) -> list[dict[str, Any]]:
        return [_document(each) for each in documents_by_id(view.context).values()]

    return await look.page(read, offset, limit)


@router.get("/documents/{document:path}")
async def document(
    look: Looking,
    document: Annotated[str, Path(max_length=10_000, description="the id of a document")],
    start: Annotated[int, Query(ge=0, description="the first character")] = 0,
    end: Annotated[int | None, Query(ge=0, description="the character behind the last one")] = None,
) -> DocumentText:
    """Characters of a document: at most 100,000, from `start` on."""
    return await look.at(lambda view: document_text(view.context, document, start, end))


@router.get("/entities", response_model=Page[EntityRow])
async def entities(
    look: Looking,
    name: Annotated[str, Query(max_length=500, description="letters of the name")] = "",
    offset: Offset = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """The entities, the most frequent first."""
    return await look.page(lambda view: entity_rows(view.context, name), offset, limit)


@router.get("/entities/{entity}")
async def entity(
    look: Looking, entity: Annotated[str, Path(max_length=2_000, description="its id or name")], limit: Limit = 50
) -> EntityDetail:
    """An entity, the passages that name it, its relations, and the entities beside it in passages."""
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
    """The reports on communities, the best rated first on each level."""
    return await look.page(
        lambda view: [report_row(each) for each in browse.entries(view.context, level)], offset, limit
    )


@router.get("/reports/{community}")
async def report(
    look: Looking, community: Annotated[str, Path(max_length=200, description="the id of a community")]
) -> ReportDetail:
    """One report with its findings and what they cite."""
    return await look.at(lambda view: report_detail(view.context, community))


@about.get("/v1/indexes")
async def indexes(request: Request) -> list[IndexRow]:
    """The indexes that the caller may ask, with the version in force of each."""
    served = service_of(request).visible(request.state.caller)
    return [IndexRow(name=one.name, version=one.version, ready=one.ready) for one in served]


@about.get("/v1/methods")
async def methods() -> list[MethodRow]:
    """All methods by name."""
    return [
        MethodRow(name=each.name, about=each.about, needs_model=each.needs_model, retrieves=each.retrieves)
        for each in METHODS.values()
    ]


@about.get("/v1/versions")
async def versions(request: Request) -> Versions:
    """The versions of the interface, of the program, and of each index."""
    served = service_of(request).visible(request.state.caller)
    return Versions(api=API_VERSION, conspectus=_program(), indexes={one.name: one.version for one in served})


def status_of(name: str, view: Index) -> Status:
    """Return what a view of an index holds."""
    manifest = view.manifest
    return Status(
        index=name,
        version=manifest.version,
        format=manifest.format_version,
        rows=dict(manifest.rows),
        models=dict(manifest.models),
    )


def document_text(context: Context, id_: str, start: int, end: int | None) -> DocumentText:
    """Return characters of a document, cut to its length. NotThere where it does not exist."""
    found = documents_by_id(context).get(id_)
    if found is None:
        raise NotThere("there is no document of that id")
    end = min(found.n_chars if end is None else end, found.n_chars, start + LONGEST_TEXT)
    if start > end:
        raise UsageError(f"characters {start} to {end} are none; the document has {found.n_chars}")
    return DocumentText(
        **_document(found),
        version=context.index.manifest.version,
        start=start,
        end=end,
        text=found.text[start:end],
        place=described(found.places, start, end) if end > start else "",
        headings=list(sections_at(found.places, start)),
    )


def report_row(entry: browse.Entry) -> ReportRow:
    """Return a report as a row of a list."""
    return ReportRow(**_report(entry))


def report_detail(context: Context, community: str) -> ReportDetail:
    """Return a report in full. NotThere where there is none."""
    try:
        opened = browse.opened(context, community)
    except UsageError as error:
        raise NotThere("no report is on a community of that id") from error
    return ReportDetail(**_report(opened.entry), findings=list(opened.findings), citations=list(opened.citations))


def _report(entry: browse.Entry) -> dict[str, Any]:
    report = entry.report
    return {
        "community_id": report.community_id,
        "report_id": report.id,
        "level": entry.level,
        "title": report.title,
        "summary": report.summary,
        "rating": report.rating,
        "size": entry.size,
        "parent": entry.parent,
        "children": list(entry.children),
    }


def _document(found: Any) -> dict[str, Any]:  # noqa: ANN401  (a Document)
    names = ("id", "title", "uri", "n_chars")
    return {**{name: getattr(found, name) for name in names}, "metadata": dict(found.metadata)}


def _failure(row: Failure) -> FailureRow:
    return FailureRow(stage=row.stage, item_id=row.item_id, reason=row.reason, detail=row.detail)


def _program() -> str:
    return version_of("conspectus")


def fixed_version(version: Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="a version of the index")]) -> str:
    """Declare the version in the address."""
    return version


def add_routes(to: APIRouter) -> None:
    """Add every route, those of an index at both their addresses."""
    to.include_router(about)
    to.include_router(router, prefix="/v1/indexes/{index}")
    to.include_router(router, prefix="/v1/indexes/{index}/versions/{version}", dependencies=[Depends(fixed_version)])
