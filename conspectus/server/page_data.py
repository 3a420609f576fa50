"""Additional routes for the page: passages by id, filter keys, and the map."""

from collections import Counter, defaultdict
from typing import Annotated, Any

from conspectus.api import Index
from conspectus.map.data import MapLimits, content_of
from conspectus.query.citations.numbered import documents_by_id
from conspectus.query.context import Context
from conspectus.query.filter.expressions import values_of
from conspectus.server.browse_routes import Looking, fixed_version
from conspectus.storage.index import per_index
from conspectus.storage.locators import described
from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel

_MOST_KEYS, _MOST_VALUES = 50, 12
_LONGEST_VALUE = 80
"""Maximum length of a value that is offered for a filter."""

router = APIRouter(tags=["browsing"])


class PassageRow(BaseModel):
    """A passage (a chunk): characters [start, end) of its document."""

    chunk_id: str
    document_id: str
    title: str
    start: int
    end: int
    text: str
    place: str


class KeyRow(BaseModel):
    """A key of the documents' metadata: how many documents have it, and its most frequent values."""

    key: str
    documents: int
    values: list[str]


class MapContent(BaseModel):
    """The data of the map, as in the page of `conspectus export html`."""

    map: dict[str, Any]
    texts: dict[str, Any]


@router.get("/passages")
async def passages(
    look: Looking,
    chunk: Annotated[list[str], Query(min_length=1, max_length=50, description="ids of chunks")],
) -> list[PassageRow]:
    """The passages with these ids, in this order; unknown ids are skipped."""
    return await look.at(lambda view: passages_of(view.context, chunk))


@router.get("/metadata")
async def metadata(look: Looking) -> list[KeyRow]:
    """The keys that `where` can use, most frequent first, with values."""
    return await look.at(lambda view: _keys(view.context))


@router.get("/map")
async def map_content(look: Looking) -> MapContent:
    """The communities, entities and relations with their positions on the map."""

    def read(view: Index) -> MapContent:
        return _map(view.context).model_copy(update={"map": {**_map(view.context).map, "title": look.index}})

    return await look.at(read)


def passages_of(context: Context, ids: list[str]) -> list[PassageRow]:
    """Return the chunks with these ids; unknown ids are skipped."""
    found = []
    for id_ in ids:
        row = context.chunk_rows.get(id_)
        if row is None:
            continue
        chunk = context.chunks[row]
        document = documents_by_id(context)[chunk.document_id]
        found.append(
            PassageRow(
                chunk_id=id_,
                document_id=document.id,
                title=document.title,
                start=chunk.start,
                end=chunk.end,
                text=chunk.text,
                place=described(document.places, chunk.start, chunk.end),
            )
        )
    return found


@per_index
def _keys(context: Context) -> list[KeyRow]:
    values: defaultdict[str, Counter[str]] = defaultdict(Counter)
    documents: Counter[str] = Counter()
    for document in documents_by_id(context).values():
        for key, text in document.metadata.items():
            documents[key] += 1
            values[key].update(value for value in values_of(text) if 0 < len(value) <= _LONGEST_VALUE)
    best = sorted(documents, key=lambda key: (-documents[key], key))[:_MOST_KEYS]
    return [
        KeyRow(key=key, documents=documents[key], values=[value for value, _ in values[key].most_common(_MOST_VALUES)])
        for key in best
    ]


@per_index
def _map(context: Context) -> MapContent:
    content = content_of(context.index, "", MapLimits())
    return MapContent(map=content.map, texts=content.texts)


def add_routes(to: APIRouter) -> None:
    """Add every route at both of its URLs."""
    to.include_router(router, prefix="/v1/indexes/{index}")
    to.include_router(router, prefix="/v1/indexes/{index}/versions/{version}", dependencies=[Depends(fixed_version)])
