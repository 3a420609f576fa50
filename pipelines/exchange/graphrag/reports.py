"""Map GraphRAG's community reports to reports whose findings cite the documents.

GraphRAG's references, such as "[Data: Entities (5, 7); Relationships (23, +more)]", are row numbers. They become the
places in the documents that state these rows, and are removed from the texts.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from conspectus.pipelines.build_report import IMPORT
from conspectus.pipelines.exchange.graphrag.align import AlignedText
from conspectus.pipelines.exchange.graphrag.schema import GraphRagReport
from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.steps.reports.cite import places_of
from conspectus.pipelines.steps.reports.prompt import CitedRecord
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Chunk, Community, Failure, Finding, Report, Span
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.tokens import count_tokens

_REFERENCES = re.compile(r"\s*\[\s*Data\s*:([^\[\]]{0,2000})\]")
_OF_A_KIND = re.compile(r"([A-Za-z]+)\s*\(([^()]*)\)")
_NUMBER = re.compile(r"\d{1,15}")
_LONGEST_DETAIL = 200

Reference = tuple[str, int]
"""The target of a reference: entities, relationships, claims or sources, and a row number."""
_KINDS = ("entities", "relationships", "claims", "sources")


def imported_reports(
    rows: Sequence[GraphRagReport],
    communities: Mapping[int, Community],
    places: Mapping[Reference, CitedRecord],
    chunks: Mapping[str, Chunk],
) -> tuple[list[Report], list[Failure], int]:
    """Return the reports sorted by id, the rows that were left out, and the number of references to missing rows.

    Up to three places are cited for each reference, as in reports that our model writes. A finding that quotes a source
    word by word cites the quoted words. `communities` are by GraphRAG's numbers, `chunks` by id.
    """
    reports: dict[str, Report] = {}
    failures: list[Failure] = []
    n_unknown = 0
    for row in rows:
        item = f"community_report {row.community}"
        community = None if row.community is None else communities.get(row.community)
        if community is None:
            failures.append(Failure(IMPORT, item, "a report on a community that does not exist"))
            continue
        report, unknown = _report(row, community, places, chunks)
        if report.id in reports:
            title = clean(row.title or "")[:_LONGEST_DETAIL]
            failures.append(Failure(IMPORT, item, "a second report on its community", title))
            continue
        reports[report.id] = report
        n_unknown += len(unknown)
        if unknown:
            detail = ", ".join(f"{kind} {number}" for kind, number in unknown)[:_LONGEST_DETAIL]
            failures.append(Failure(IMPORT, item, "references to rows that do not exist", detail))
    return sorted_by_id(reports.values()), failures, n_unknown


def _report(
    row: GraphRagReport, community: Community, places: Mapping[Reference, CitedRecord], chunks: Mapping[str, Chunk]
) -> tuple[Report, list[Reference]]:
    """Return the report of a row, and its references that point to nothing."""
    findings: list[Finding] = []
    unknown: list[Reference] = []
    for finding in row.findings or ():
        named = references(clean(f"{finding.summary} {finding.explanation}"))
        unknown += [reference for reference in named if reference not in places]
        known = [reference for reference in named if reference in places]
        summary = without_references(clean(finding.summary))
        explanation = without_references(clean(finding.explanation)) or summary
        sources = [places[reference] for reference in known if reference[0] == "sources"]
        spans = _quoted(explanation, sources, chunks) or places_of([places[reference] for reference in known], chunks)
        if explanation:
            findings.append(Finding(summary, explanation, spans))
    title, summary = (without_references(clean(cell or "")) for cell in (row.title, row.summary))
    paragraphs = (f"# {title}", summary, *(finding.explanation for finding in findings))
    full_text = without_references(clean(row.full_content or "")) or "\n\n".join(filter(None, paragraphs))
    report = Report(
        id=short_id("report", community.id),
        community_id=community.id,
        level=community.level,
        title=title,
        summary=summary,
        findings=tuple(findings),
        rating=round(min(10.0, max(0.0, row.rank or 0.0)), 2),
        full_text=full_text,
        n_tokens=count_tokens(full_text),
    )
    return report, unknown


def references(text: str) -> list[Reference]:
    """Return the distinct references of a text.

    >>> references("He left [Data: Entities (5, 7); Reports (2); Sources (1, +more)].")
    [('entities', 5), ('entities', 7), ('sources', 1)]
    """
    named = [
        (kind.lower(), int(number))
        for reference in _REFERENCES.findall(text)
        for kind, numbers in _OF_A_KIND.findall(reference)
        for number in _NUMBER.findall(numbers)
    ]
    return [(kind, number) for kind, number in dict.fromkeys(named) if kind in _KINDS]


def without_references(text: str) -> str:
    """Return a text without its references.

    >>> without_references("He left [Data: Entities (5, 7)]. She stayed.")
    'He left. She stayed.'
    """
    return _REFERENCES.sub("", text).strip()


def _quoted(explanation: str, sources: Sequence[CitedRecord], chunks: Mapping[str, Chunk]) -> tuple[Span, ...]:
    """Return the source words that a finding quotes, nothing if it is worded differently."""
    for chunk in (chunks[span.chunk_id] for source in sources for span in source.spans):
        quote = _searchable(chunk.text).align([explanation])[0]
        if quote and not quote.prepended:
            return (Span(chunk.document_id, chunk.id, chunk.start + quote.start, chunk.start + quote.end),)
    return ()


@lru_cache(maxsize=64)
def _searchable(text: str) -> AlignedText:
    """Return the text of a source; cached, because the findings of a report cite the same sources repeatedly."""
    return AlignedText(text)
