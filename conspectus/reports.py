"""List the reports of an index by level, or show one in full."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.dynamic import ReportHierarchy, hierarchy_of
from conspectus.query.types import Citation
from conspectus.render.answers import citation_lines
from conspectus.storage.errors import UsageError
from conspectus.storage.level_names import level_name, level_number
from conspectus.storage.records import Community, Report


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """A report in the list of a level: its community's entities, and its parent and children.

    `parent` and `children` are the ids of communities that have reports.
    """

    level: int
    report: Report
    size: int
    parent: str | None
    children: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """One report in full; the marks in `findings` are the numbers of `citations`."""

    entry: ReportEntry
    findings: tuple[str, ...]
    citations: tuple[Citation, ...]


def entries(context: Context, level: str | None = None) -> list[ReportEntry]:
    """Return the reports of one level ("c0" is the coarsest), or every report once, on its first level.

    The best rated come first on each level. Raises UsageError if the hierarchy has no such level.
    """
    communities = context.index.rows(Community)
    deepest = max((community.level for community in communities), default=0)
    wanted = None if level is None else _number(level, deepest)
    reports = {report.community_id: report for report in context.index.rows(Report)}
    hierarchy = hierarchy_of(context.index.arrow(Community, "id", "parent_id", "same_as"))
    found = [
        _entry(community, reports, hierarchy)
        for community in communities
        if (community.same_as or community.id) in reports
        and (community.same_as is None if wanted is None else community.level == wanted)
    ]
    return sorted(
        found, key=lambda result: (result.level, -result.report.rating, result.report.title, result.report.id)
    )


def opened(context: Context, id_: str) -> Opened:
    """Return the report of a community, or with this id, and its citations. Raises UsageError if there is none."""
    again = {community.id: community.same_as for community in context.index.rows(Community) if community.same_as}
    wanted = again.get(id_, id_)
    for entry in entries(context):
        if wanted in {entry.report.community_id, entry.report.id}:
            citations = Citations(context)
            findings = []
            for finding in entry.report.findings:
                numbers = filter(None, (citations.number(span) for span in finding.citations))
                said = ": ".join(filter(None, (finding.summary, finding.explanation)))
                findings.append(" ".join([said, "".join(f"[{number}]" for number in dict.fromkeys(numbers))]).strip())
            return Opened(entry, tuple(findings), citations.made())
    raise UsageError(f"no report on a community {id_!r}; list them with: conspectus reports")


def listed(found: Sequence[ReportEntry]) -> str:
    """Return the reports of all levels as text."""
    lines = []
    for level, on_it in groupby(found, key=lambda result: result.level):
        rows = list(on_it)
        lines += ["", f"level c{level}: {_count(len(rows), 'report')}, {sum(row.size for row in rows)} entities"]
        for item in rows:
            parts = f", {_count(len(item.children), 'part')}" if item.children else ""
            facts = f"rating {item.report.rating:.1f}, {item.size} entities{parts}"
            lines.append(f"  {item.report.community_id}  {item.report.title} ({facts})")
    return "\n".join(lines[1:]) or "the index holds no report"


def listed_json(found: Sequence[ReportEntry]) -> dict[str, Any]:
    """Return the reports of all levels in the form of `conspectus reports --json`."""
    levels = groupby(found, key=lambda result: result.level)
    return {
        "levels": [{"level": level_name(level), "reports": [_row(item) for item in on_it]} for level, on_it in levels]
    }


def full(report: Opened) -> str:
    """Return one report as text, followed by its citations."""
    entry = report.entry
    facts = [f"level c{entry.level}", f"rating {entry.report.rating:.1f}", f"{entry.size} entities"]
    lines = [entry.report.title, f"  {', '.join(facts)}"]
    if entry.parent:
        lines.append(f"  part of {entry.parent}")
    if entry.children:
        lines.append(f"  parts: {', '.join(entry.children)}")
    if all(entry.report.summary != finding.explanation for finding in entry.report.findings):
        lines += ["", entry.report.summary]
    lines += ["", *(f"- {finding}" for finding in report.findings)]
    return "\n".join([*lines, *citation_lines(report.citations)])


def full_json(report: Opened) -> dict[str, Any]:
    """Return one report in the form of `conspectus reports --community ID --json`."""
    return {
        **_row(report.entry),
        "level": level_name(report.entry.level),
        "findings": list(report.findings),
        "citations": [asdict(citation) for citation in report.citations],
    }


def _entry(community: Community, reports: Mapping[str, Report], hierarchy: ReportHierarchy) -> ReportEntry:
    id_ = community.same_as or community.id
    above = hierarchy.parent[id_]
    while above is not None and above not in reports:
        above = hierarchy.parent[above]
    children = tuple(sorted(item for item in hierarchy.children.get(id_, ()) if item in reports))
    return ReportEntry(community.level, reports[id_], community.size, above, children)


def _row(entry: ReportEntry) -> dict[str, Any]:
    report = entry.report
    return {
        "community_id": report.community_id,
        "report_id": report.id,
        "title": report.title,
        "summary": report.summary,
        "rating": report.rating,
        "size": entry.size,
        "n_tokens": report.n_tokens,
        "parent": entry.parent,
        "children": list(entry.children),
    }


def _number(level: str, deepest: int) -> int:
    try:
        number = level_number(level)
    except ValueError:
        number = deepest + 1
    if number > deepest:
        raise UsageError(f"no level {level!r}; there are {level_name(0)} (the coarsest) to {level_name(deepest)}")
    return number


def _count(number: int, singular: str) -> str:
    return f"{number} {singular}" if number == 1 else f"{number} {singular}s"
