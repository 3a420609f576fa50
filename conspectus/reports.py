"""The reports of an index by level, or one in full."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby

from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.dynamic import ReportHierarchy, hierarchy_of
from conspectus.render.answers import citation_lines
from conspectus.render.terminal import count
from conspectus.rows import ReportDetail, ReportRow
from conspectus.storage.errors import NotThere, UsageError
from conspectus.storage.level_names import level_name, level_number
from conspectus.storage.records import Community, Report


def report_rows(context: Context, level: str | None = None) -> list[ReportRow]:
    """Return the reports of one level ("c0" is the coarsest), or every report once, on its first level.

    The best rated come first on each level. Raises UsageError if the hierarchy has no such level.
    """
    communities = context.index.rows(Community)
    deepest = max((community.level for community in communities), default=0)
    wanted = None if level is None else _number(level, deepest)
    reports = {report.community_id: report for report in context.index.rows(Report)}
    hierarchy = hierarchy_of(context.index.arrow(Community, "id", "parent_id", "same_as"))
    found = [
        _row(community, reports, hierarchy)
        for community in communities
        if (community.same_as or community.id) in reports
        and (community.same_as is None if wanted is None else community.level == wanted)
    ]
    return sorted(found, key=lambda row: (row.level, -row.rating, row.title, row.report_id))


def report_detail(context: Context, id_: str) -> ReportDetail:
    """Return the report of a community, or with this id, and its citations. Raises NotThere if there is none."""
    again = {community.id: community.same_as for community in context.index.rows(Community) if community.same_as}
    wanted = again.get(id_, id_)
    for row in report_rows(context):
        if wanted in {row.community_id, row.report_id}:
            report = next(each for each in context.index.rows(Report) if each.id == row.report_id)
            citations = Citations(context)
            findings = []
            for finding in report.findings:
                numbers = filter(None, (citations.number(span) for span in finding.citations))
                said = ": ".join(filter(None, (finding.summary, finding.explanation)))
                findings.append(" ".join([said, "".join(f"[{number}]" for number in dict.fromkeys(numbers))]).strip())
            return ReportDetail(**asdict(row), findings=findings, citations=list(citations.made()))
    raise NotThere("there is no report on a community with that id; `reports` lists them")


def listed(found: Sequence[ReportRow]) -> str:
    """Return the reports of all levels as text."""
    lines = []
    for level, on_it in groupby(found, key=lambda row: row.level):
        rows = list(on_it)
        lines += ["", f"level c{level}: {count(len(rows), 'reports')}, {sum(row.size for row in rows)} entities"]
        for item in rows:
            parts = f", {count(len(item.children), 'parts')}" if item.children else ""
            facts = f"rating {item.rating:.1f}, {item.size} entities{parts}"
            lines.append(f"  {item.community_id}  {item.title} ({facts})")
    return "\n".join(lines[1:]) or "the index holds no report"


def full(report: ReportDetail) -> str:
    """Return one report as text, followed by its citations."""
    lines = [report.title, f"  level c{report.level}, rating {report.rating:.1f}, {report.size} entities"]
    if report.parent:
        lines.append(f"  part of {report.parent}")
    if report.children:
        lines.append(f"  parts: {', '.join(report.children)}")
    if all(report.summary not in finding for finding in report.findings):
        lines += ["", report.summary]
    lines += ["", *(f"- {finding}" for finding in report.findings)]
    return "\n".join([*lines, *citation_lines(report.citations)])


def _row(community: Community, reports: Mapping[str, Report], hierarchy: ReportHierarchy) -> ReportRow:
    id_ = community.same_as or community.id
    above = hierarchy.parent[id_]
    while above is not None and above not in reports:
        above = hierarchy.parent[above]
    children = sorted(item for item in hierarchy.children.get(id_, ()) if item in reports)
    report = reports[id_]
    return ReportRow(
        id_, report.id, community.level, report.title, report.summary, report.rating, community.size, above, children
    )


def _number(level: str, deepest: int) -> int:
    try:
        number = level_number(level)
    except ValueError:
        number = deepest + 1
    if number > deepest:
        raise UsageError(f"no level {level!r}; there are {level_name(0)} (the coarsest) to {level_name(deepest)}")
    return number
