"""GraphRAG's community reports as reports whose findings cite the documents.

Its references, "[Data: Entities (5, 7); Relationships (23, +more)]", are numbers of rows: here they become the places
in the documents where these rows are stated, and are taken out of the texts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from conspectus.pipelines.build_report import IMPORT
from conspectus.pipelines.exchange.graphrag.align import Text
from conspectus.pipelines.exchange.graphrag.schema import ReportRow
from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.steps.reports.cite import places_of
from conspectus.pipelines.steps.reports.prompt import Cited
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Chunk, Community, Failure, Finding, Report, Span
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.tokens import count_tokens

_REFERENCES = re.compile(r"\s*\[\s*Data\s*:([^\[\]]{0,2000})\]")
_OF_A_KIND = re.compile(r"([A-Za-z]+)\s*\(([^()]*)\)")
_NUMBER = re.compile(r"\d{1,15}")
_MOST_SHOWN = 200

Kind = tuple[str, int]
"""What a reference names: entities, relationships, claims or sources, and the number of a row."""
KINDS = ("entities", "relationships", "claims", "sources")


@dataclass(frozen=True, slots=True)
class Reported:
    """Reports sorted by id, the report of each row ("" for one that could not be taken), and what was not.

    `unresolved` counts references of numbers that no row has.
    """

    reports: list[Report]
    row_ids: list[str]
    failures: list[Failure]
    unresolved: int


def reports_of(
    rows: Sequence[ReportRow],
    communities: Mapping[int, Community],
    places: Mapping[Kind, Cited],
    chunks: Mapping[str, Chunk],
) -> Reported:
    """Return the reports on communities (by their foreign numbers), citing what their references name.

    `places` has what each kind and number stands for. Of each up to three places are cited, as in a report that a model
    wrote for us. A finding that says what stands in a source word by word cites these words.
    """
    reports: dict[str, Report] = {}
    row_ids: list[str] = []
    failures: list[Failure] = []
    unresolved = 0
    for row in rows:
        community = communities.get(row.community if row.community is not None else -1)
        item = f"community_report {row.community}"
        if community is None:
            failures.append(Failure(IMPORT, item, "a report on a community that is not there"))
        elif short_id("report", community.id) in reports:
            failures.append(Failure(IMPORT, item, "a second report on its community", clean(row.title or "")[:200]))
        else:
            report, unknown = _report(row, community, places, chunks)
            reports[report.id] = report
            unresolved += len(unknown)
            if unknown:
                named = ", ".join(f"{kind} {number}" for kind, number in unknown)[:_MOST_SHOWN]
                failures.append(Failure(IMPORT, item, "references to what is not there", named))
            row_ids.append(report.id)
            continue
        row_ids.append("")
    return Reported(sorted_by_id(reports.values()), row_ids, failures, unresolved)


def _report(
    row: ReportRow, community: Community, places: Mapping[Kind, Cited], chunks: Mapping[str, Chunk]
) -> tuple[Report, list[Kind]]:
    findings: list[Finding] = []
    unknown: list[Kind] = []
    for each in row.findings or ():
        told = clean(f"{each.summary} {each.explanation}")
        named = references(told)
        unknown += [kind for kind in named if kind not in places]
        summary, explanation = without_references(clean(each.summary)), without_references(clean(each.explanation))
        cited = [kind for kind in named if kind in places]
        spans = _quoted(explanation, cited, places, chunks) or places_of([places[kind] for kind in cited], chunks)
        if explanation or summary:
            findings.append(Finding(summary, explanation or summary, spans))
    title, summary = (without_references(clean(each or "")) for each in (row.title, row.summary))
    parts = (f"# {title}", summary, *(each.explanation for each in findings))
    full_text = without_references(clean(row.full_content or "")) or "\n\n".join(filter(None, parts))
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


def references(text: str) -> list[Kind]:
    """Return what a text refers to, each once.

    >>> references("He left [Data: Entities (5, 7); Reports (2); Sources (1, +more)].")
    [('entities', 5), ('entities', 7), ('sources', 1)]
    """
    found = [
        (kind.lower(), int(number))
        for group in _REFERENCES.findall(text)
        for kind, numbers in _OF_A_KIND.findall(group)
        for number in _NUMBER.findall(numbers)
    ]
    return [each for each in dict.fromkeys(found) if each[0] in KINDS]


def without_references(text: str) -> str:
    """Return a text without its references.

    >>> without_references("He left [Data: Entities (5, 7)]. She stayed.")
    'He left. She stayed.'
    """
    return _REFERENCES.sub("", text).strip()


def _quoted(
    explanation: str, named: Iterable[Kind], places: Mapping[Kind, Cited], chunks: Mapping[str, Chunk]
) -> tuple[Span, ...]:
    """Return the words of a source that a finding consists of; nothing where it says something of its own."""
    for kind in named:
        for span in places[kind].spans if kind[0] == "sources" else ():
            chunk = chunks[span.chunk_id]
            found = _text(chunk.text).align([explanation])[0]
            if found and not found.prepended:
                return (Span(chunk.document_id, chunk.id, chunk.start + found.start, chunk.start + found.end),)
    return ()


@lru_cache(maxsize=64)
def _text(text: str) -> Text:
    """Return a source's text, which the findings of a report cite one after the other."""
    return Text(text)
