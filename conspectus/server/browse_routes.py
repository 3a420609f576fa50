"""Routes that read tables: documents, entities, reports, failures, and the served indexes.

Each route has two URLs. `/v1/indexes/NAME/...` returns the current version and must be revalidated (an ETag saves the
transfer). `/v1/indexes/NAME/versions/VERSION/...` never changes and may be cached for a year. Lists are paged; `next`
is the URL of the next page of the same version.
"""

from collections.abc import Mapping
from importlib.metadata import version as version_of
from inspect import Parameter, Signature
from typing import Annotated, Any, Generic, TypeVar, get_args
from urllib.parse import urlencode

from conspectus.api import Index
from conspectus.map.data import MapLimits, content_of
from conspectus.operation_table import OPERATIONS, Operation
from conspectus.query.context import Context
from conspectus.render.drawings import entity_svg
from conspectus.render.node_link import elements
from conspectus.rows import MethodRow
from conspectus.server.ask_routes import IndexName, leaves, service_of
from conspectus.server.bodies import AsOf, Between, Width
from conspectus.server.request_checks import Refused
from conspectus.storage.hashing import digest
from conspectus.storage.index import per_index
from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response
from pydantic import BaseModel

API_VERSION = "4.0.0"
"""The version of this interface. It increases with every change of docs/openapi.json: the last number for changes that
no client notices, the middle one for new routes and fields, the first one for everything else."""

_PROGRAM = version_of("conspectus")
Row = TypeVar("Row")
Offset = Annotated[int, Query(ge=0, description="rows to leave out at the beginning")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="most rows of a page")]

router = APIRouter(tags=["browsing"])
about = APIRouter(tags=["server"])


class NotModified(Exception):
    """The client's cached copy is current."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__("not modified")
        self.headers = dict(headers)


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


class MapContent(BaseModel):
    """The data of the map, as in the page of `conspectus export html`."""

    map: dict[str, Any]
    texts: dict[str, Any]


class Page(BaseModel, Generic[Row]):
    """A page of a list. `next` is the URL of the next page, null on the last page."""

    version: str
    total: int
    rows: list[Row]
    next: str | None


class Look:
    """One look into the tables, on behalf of the caller of a request."""

    def __init__(
        self,
        request: Request,
        response: Response,
        index: IndexName,
        as_of: Annotated[AsOf, Query()] = None,
        between: Annotated[Between, Query()] = None,
    ) -> None:
        self.index = index
        self._window = {key: date for key, date in (("as_of", as_of), ("between", between)) if date is not None}
        self._request = request
        self._response = response
        self._fixed: str | None = request.path_params.get("version")

    async def at(self, operation: Operation, given: Mapping[str, Any]) -> Any:  # noqa: ANN401  (its result)
        """Return the result of an operation over the caller's view, and set the caching headers.

        Raises NotModified if the client has a current copy.
        """
        caller = self._request.state.caller
        if operation.whole and caller.access is not None:
            raise Refused(403, "not_permitted", "failures name files of all documents, and the token permits only some")
        given_tags = self._request.headers.get("if-none-match", "")

        async def work(view: Index) -> tuple[Any, dict[str, str]]:
            headers = self._headers(view)
            known = headers["etag"] in [tag.strip().removeprefix("W/") for tag in given_tags.split(",")]
            return (None, headers) if known else (operation.read(view.context, given), headers)

        (found, headers), _ = await service_of(self._request).run(
            caller,
            self.index,
            work,
            gone=leaves(self._request),
            narrowing=self._window,
            version=self._fixed,
            reads=True,
        )
        if found is None:
            raise NotModified(headers)
        self._response.headers.update(headers)
        if not operation.paged:
            return found
        end = given["offset"] + given["limit"]
        return {**found, "next": self._next(found["version"], end, given["limit"]) if end < found["total"] else None}

    def _headers(self, view: Index) -> dict[str, str]:
        version, caller, settings = view.manifest.version, self._request.state.caller, view.context.settings
        seen = (version, repr((caller.access, settings.access)), settings.llm.model, API_VERSION, _PROGRAM)
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


def _add(operation: Operation) -> None:
    async def endpoint(look: Looking, **given: Any) -> Any:  # noqa: ANN401  (as the operation)
        return await look.at(operation, given)

    helps, keyword = operation.helps(), Parameter.KEYWORD_ONLY
    parameters = [Parameter("look", keyword, annotation=Looking)]
    for name, each in operation.parameters().items():
        place = Path if f"{{{name}" in operation.path else Query
        parameters.append(
            each.replace(kind=keyword, annotation=Annotated[each.annotation, place(description=helps[name])])
        )
    if operation.paged:
        parameters.append(Parameter("offset", keyword, default=0, annotation=Offset))
        parameters.append(Parameter("limit", keyword, default=100, annotation=Limit))
    endpoint.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    row = get_args(operation.result)[0] if operation.paged else None
    router.add_api_route(
        f"/{operation.path}",
        endpoint,
        name=operation.name,
        description=operation.about,
        response_model=Page[row] if row else operation.result,  # type: ignore[valid-type]
    )


@per_index
def _map(context: Context) -> MapContent:
    content = content_of(context.index, "", MapLimits())
    return MapContent(map=content.map, texts=content.texts)


@router.get("/map")
async def map_content(look: Looking) -> MapContent:
    """The communities, entities and relations with their positions on the map."""
    found: MapContent = await look.at(Operation(_map, "map"), {})
    return found.model_copy(update={"map": {**found.map, "title": look.index}})


def _drawing(context: Context, entity: str, width: int) -> list[Any]:
    return elements(entity_svg(OPERATIONS["entity"].run(context, entity, 100), width))


@router.get("/entities/{entity:path}/drawing")
async def entity_drawing(look: Looking, entity: str, width: Width = 800) -> list[Any]:
    """An entity with what is around it, drawn: lists of a tag, its attributes, and what is inside."""
    drawn: list[Any] = await look.at(Operation(_drawing, "drawing"), {"entity": entity, "width": width})
    return drawn


for _operation in OPERATIONS.values():
    if _operation.path and not _operation.asks:
        _add(_operation)


@about.get("/v1/indexes")
async def indexes(request: Request) -> list[IndexRow]:
    """The indexes that the caller may ask, each with its current version."""
    served = service_of(request).visible(request.state.caller)
    return [IndexRow(name=one.name, version=one.version, ready=one.ready) for one in served]


@about.get("/v1/methods")
async def methods(request: Request) -> list[MethodRow]:
    """The methods that can run on this server. Others get 501, whose message says what the server lacks."""
    return service_of(request).methods()


@about.get("/v1/versions")
async def versions(request: Request) -> Versions:
    """The versions of the interface, of the program, and of each index."""
    served = service_of(request).visible(request.state.caller)
    return Versions(api=API_VERSION, conspectus=_PROGRAM, indexes={one.name: one.version for one in served})


def fixed_version(version: Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="a version of the index")]) -> str:
    """Declare the version in the URL."""
    return version


def add_routes(to: FastAPI) -> None:
    """Add every route; routes of an index get both of their URLs."""
    to.include_router(about)
    to.include_router(router, prefix="/v1/indexes/{index}")
    to.include_router(router, prefix="/v1/indexes/{index}/versions/{version}", dependencies=[Depends(fixed_version)])
