"""What the routes and the tools for agents tell of documents, reports and failures: the rows, and how they are made."""

from typing import Any

from conspectus import reports as browse
from conspectus.api import Index
from conspectus.query.citations.numbered import documents_by_id
from conspectus.query.context import Context
from conspectus.query.types import Citation
from conspectus.server.neighbours import NotThere
from conspectus.storage.errors import UsageError
from conspectus.storage.locators import described, sections_at
from conspectus.storage.records import Failure
from pydantic import BaseModel

LONGEST_TEXT = 100_000
"""Maximum number of characters of a document that one request returns."""


class Status(BaseModel):
    """The contents of an index that the caller may see."""

    index: str
    version: str
    format: int
    rows: dict[str, int]
    models: dict[str, str]
    answers_with: str
    """The language model that writes answers; "" where there is none."""


class DocumentRow(BaseModel):
    """A document in a list."""

    id: str
    title: str
    uri: str
    n_chars: int
    metadata: dict[str, str]


class DocumentText(DocumentRow):
    """Characters [start, end) of a document; `place` describes its pages and headings."""

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
    """A report with its findings; marks in these are numbers of `citations`."""

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
    """A query method."""

    name: str
    about: str
    needs_model: bool
    retrieves: bool
    explains: bool


def status_of(name: str, view: Index) -> Status:
    """Return the status of a view of an index."""
    manifest = view.manifest
    return Status(
        index=name,
        version=manifest.version,
        format=manifest.format_version,
        rows=dict(manifest.rows),
        models=dict(manifest.models),
        answers_with=view.context.settings.llm.model or "",
    )


def document_text(context: Context, id_: str, start: int, end: int | None) -> DocumentText:
    """Return characters of a document, cut to its length. Raises NotThere if it does not exist."""
    found = documents_by_id(context).get(id_)
    if found is None:
        raise NotThere("there is no document with that id")
    end = min(found.n_chars if end is None else end, found.n_chars, start + LONGEST_TEXT)
    if start > end:
        raise UsageError(f"characters {start} to {end} do not exist; the document has {found.n_chars}")
    return DocumentText(
        **document_row(found),
        version=context.index.manifest.version,
        start=start,
        end=end,
        text=found.text[start:end],
        place=described(found.places, start, end) if end > start else "",
        headings=list(sections_at(found.places, start)),
    )


def report_row(entry: browse.ReportEntry) -> ReportRow:
    """Return a report as a row of a list."""
    return ReportRow(**_report(entry))


def report_detail(context: Context, community: str) -> ReportDetail:
    """Return a report in full. Raises NotThere if there is none."""
    try:
        opened = browse.opened(context, community)
    except UsageError as error:
        raise NotThere("there is no report on a community with that id") from error
    return ReportDetail(**_report(opened.entry), findings=list(opened.findings), citations=list(opened.citations))


def _report(entry: browse.ReportEntry) -> dict[str, Any]:
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


def document_row(found: Any) -> dict[str, Any]:  # noqa: ANN401  (a Document)
    """Return what a list says of a document."""
    row = {name: getattr(found, name) for name in ("id", "title", "uri", "n_chars")}
    return {**row, "metadata": dict(found.metadata)}


def failure_row(row: Failure) -> FailureRow:
    """Return a failure as a row of a list."""
    return FailureRow(stage=row.stage, item_id=row.item_id, reason=row.reason, detail=row.detail)
