"""Map GraphRAG's communities to a hierarchy, and its reports to reports whose findings cite the documents.

GraphRAG omits from a level the communities that it did not divide further, and communities without an inner edge. Here
a community that is not divided is repeated on the next level, so that each level contains every entity exactly once. An
entity that is in no part of a divided community, or in no community at all, becomes a separate community.

References such as "[Data: Entities (5, 7); Relationships (23, +more)]" are row numbers. They become the places in the
documents that state these rows, and are removed from the texts.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from conspectus.pipelines.build_report import IMPORT
from conspectus.pipelines.exchange.graphrag.documents import AlignedText
from conspectus.pipelines.exchange.graphrag.schema import GraphRagCommunity, GraphRagReport
from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.steps.communities import communities_of
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.pipelines.steps.reports.cite import places_of
from conspectus.pipelines.steps.reports.prompt import CitedRecord
from conspectus.storage.arrays import SmallInts
from conspectus.storage.graph.leiden import Hierarchy
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Chunk, Community, Failure, Finding, Report, Span
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.tokens import count_tokens


@dataclass(frozen=True, slots=True)
class ImportedCommunities:
    """Communities sorted by id, the community of each number that a row uses, and the failures."""

    communities: Sequence[Community]
    of_number: Mapping[int, Community]
    failures: list[Failure]


def imported_communities(
    rows: Sequence[GraphRagCommunity], entity_of: Mapping[str, str], knowledge: Knowledge
) -> ImportedCommunities:
    """Return the communities of all entities, with the relations between their members and the chunks that name them.

    `entity_of` is our entity id for each of GraphRAG. A member that is not in the parent community, or that is already
    in another community of the level, is left out and listed as a failure.
    """
    builder = _HierarchyBuilder(rows, entity_of, [entity.id for entity in knowledge.entities])
    for level, foreign_level in enumerate(sorted({row.level for row in rows if row.level is not None}) or [0]):
        builder.add_level(level, [place for place, row in enumerate(rows) if row.level == foreign_level])
    hierarchy = builder.hierarchy()
    communities = communities_of(hierarchy, knowledge.entities, knowledge.relations, knowledge.mentions)
    return ImportedCommunities(communities, dict(builder.of_number(communities)), builder.failures)


class _HierarchyBuilder:
    """Divides the entities level by level. A community has a number, a row of the tables its position."""

    def __init__(
        self, rows: Sequence[GraphRagCommunity], entity_of: Mapping[str, str], entity_ids: Sequence[str]
    ) -> None:
        self.failures: list[Failure] = []
        self._rows = rows
        self._entity_of = entity_of
        self._entity_ids = entity_ids
        self._row_of = {id_: row for row, id_ in enumerate(entity_ids)}
        self._levels: list[SmallInts] = []
        self._first: list[int] = []
        self._parents: list[int] = []
        self._place_of_number: dict[int | None, int] = {}
        for place, row in enumerate(rows):
            self._place_of_number.setdefault(row.community, place)
        self._of_place: list[int | None] = [None] * len(rows)

    def hierarchy(self) -> Hierarchy:
        """Return the levels that were added."""
        first, parents = np.array(self._first, np.int32), np.array(self._parents, np.int32)
        return Hierarchy(tuple(self._levels), first, parents, np.zeros(len(first), np.bool_))

    def of_number(self, communities: Sequence[Community]) -> Iterator[tuple[int, Community]]:
        """Yield GraphRAG's number of each community; if several rows share one, that of the first imported is last."""
        made = {
            int(self._levels[each.level][self._row_of[each.entity_ids[0]]]): each
            for each in communities
            if each.same_as is None
        }
        for row, number in reversed(list(zip(self._rows, self._of_place, strict=True))):
            if number is not None and row.community is not None:
                yield row.community, made[number]

    def add_level(self, level: int, places: Sequence[int]) -> None:
        """Make the communities of a level from its rows."""
        above = self._levels[-1] if self._levels else np.full(len(self._entity_ids), -1, np.int32)
        current = np.full(len(self._entity_ids), -1, np.int32)
        for place in places:
            if members := self._members(place, current, above):
                self._of_place[place] = current[members] = self._new(level, above[members[0]])
            else:
                self._fail(place, "a community without a member", "")
        sizes, left = Counter(above.tolist()), defaultdict(list)
        for row in np.flatnonzero(current < 0).tolist():
            left[int(above[row])].append(row)
        for number, members in left.items():
            if number >= 0 and len(members) == sizes[number]:
                current[members] = number
            else:
                current[members] = [self._new(level, number) for _ in members]
        self._levels.append(current)

    def _new(self, level: int, parent: int) -> int:
        self._first.append(level)
        self._parents.append(int(parent))
        return len(self._first) - 1

    def _members(self, place: int, current: SmallInts, above: SmallInts) -> list[int]:
        row = self._rows[place]
        members: dict[int, None] = {}
        for foreign_id in row.entity_ids or ():
            entity = self._row_of.get(self._entity_of.get(foreign_id, ""))
            if entity is None:
                self._fail(place, "a member that is not an entity", foreign_id)
            elif current[entity] >= 0:
                self._fail(place, "a member of another community of its level", foreign_id)
            else:
                members[entity] = None
        around = [int(above[entity]) for entity in members]
        parent = self._parent(row, around) if around else -1
        for entity in [entity for entity, outer in zip(members, around, strict=True) if outer != parent]:
            self._fail(place, "a member that is not in the parent", self._entity_ids[entity])
            del members[entity]
        return list(members)

    def _parent(self, row: GraphRagCommunity, above: Sequence[int]) -> int:
        """Return the parent: the community that the row names or, failing that, the one that contains most members."""
        place = self._place_of_number.get(row.parent)
        named = None if place is None else self._of_place[place]
        counts = Counter(above)
        if named is not None and named in counts:
            return named
        return min(counts, key=lambda number: (-counts[number], number))

    def _fail(self, place: int, reason: str, detail: str) -> None:
        self.failures.append(Failure(IMPORT, f"community {self._rows[place].community}", reason, detail))


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
