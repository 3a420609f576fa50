"""Collect the data of the page from an index: names and relations in one part, texts in another, both as JSON.

Texts are truncated to the size of a panel, and all together to what a browser opens quickly. A truncated text ends in
"…", and notes on the page report what is missing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conspectus.map.reports import Shelf, aliases_of, documents_of, told_reports
from conspectus.map.structure import KINDS, structure_links
from conspectus.map.text_limits import Teller, line, rounded, shortened
from conspectus.map.tree import ALONE, Tree, tree_of
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Community, Document, Entity, Relation, Report

_NAME, _DESCRIPTION, _SENTENCE = 120, 500, 300
"""Maximum characters of a name, of an entity's description, and of the sentence that states a relation."""
_REPORTS = 0.65
"""Share of the text that reports may take before descriptions and sentences."""


@dataclass(frozen=True, slots=True)
class MapLimits:
    """Limits of a page: entities (highest degree first), relations (highest weight first), and bytes of text."""

    entities: int = 20_000
    relations: int = 60_000
    text: int = 9_000_000


@dataclass(frozen=True, slots=True)
class Content:
    """The two parts of a page's data, the number of rows of each kind, and notes about missing content."""

    map: dict[str, Any]
    texts: dict[str, Any]
    rows: dict[str, int]
    notes: tuple[str, ...]


def content_of(index: StoredIndex, title: str, limits: MapLimits) -> Content:
    """Return the content of the page of an index. The same index and title give the same content."""
    entities, relations, communities = index.rows(Entity), index.rows(Relation), index.rows(Community)
    report_of = {report.community_id: report for report in index.rows(Report)}
    drawn = sorted(entities, key=lambda entity: (-entity.degree, -entity.frequency, entity.name, entity.id))[
        : limits.entities
    ]
    tree = tree_of(communities, drawn, report_of.keys(), whole=len(drawn) == len(entities))
    row_of = {entity.id: row for row, entity in enumerate(tree.entities)}
    inside = (relation for relation in relations if relation.source_id in row_of and relation.target_id in row_of)
    shown = sorted(inside, key=lambda item: (-rounded(item.weight, 3), item.id))[: limits.relations]
    linked = structure_links(index, row_of)
    reporting = Teller(int(limits.text * _REPORTS))
    shelf = Shelf({document.id: document for document in index.rows(Document)})
    reports = told_reports([report_of.get(region.id) for region in tree.regions], shelf, reporting)
    teller = Teller(limits.text - int(limits.text * _REPORTS) + reporting.left)
    texts = {
        "reports": reports,
        "descriptions": _descriptions(tree, teller),
        "sentences": [teller.told(item.description, _SENTENCE) for item in shown],
        "documentsOf": documents_of(index, row_of, shelf),
        "documents": shelf.told(),
    }
    counts = {
        "documents": len(shelf.by_id),
        "entities": len(entities),
        "relations": len(relations),
        "communities": sum(community.same_as is None for community in communities),
        "reports": len(report_of),
    }
    rows = {
        "entities": len(tree.entities),
        "relations": len(shown),
        "communities": sum(region.id != ALONE for region in tree.regions),
        "reports": sum(report is not None for report in reports),
    }
    notes, cuts = _missing(counts, rows), _cuts(reporting, teller)
    types = Counter(entity.type for entity in tree.entities).most_common()
    type_of = {kind: place for place, (kind, _) in enumerate(types)}
    predicates = {entry: place for place, entry in enumerate(sorted({item.predicate for item in shown}))}
    drawing = {
        "title": line(title),
        "version": index.manifest.version,
        "counts": counts,
        "notes": notes,
        "cuts": cuts,
        "types": [line(item) for item in type_of],
        "predicates": [line(predicate) for predicate in predicates],
        "regions": {
            **_columns(tree.regions, "id", "level", "parent", "first", "own", "last", "size"),
            "title": _titles(tree, report_of),
        },
        "entities": {
            **_columns(tree.entities, "id", "degree", "frequency"),
            "name": [shortened(line(entity.name), _NAME) for entity in tree.entities],
            "type": [type_of[entity.type] for entity in tree.entities],
            "also": aliases_of(index, row_of),
        },
        "relations": {
            "source": [row_of[item.source_id] for item in shown],
            "target": [row_of[item.target_id] for item in shown],
            "predicate": [predicates[item.predicate] for item in shown],
            "weight": [rounded(item.weight, 3) for item in shown],
        },
        "linkKinds": list(KINDS),
        "links": _columns(linked, "source", "target", "kind", "weight"),
    }
    return Content(drawing, texts, rows, (*notes, *cuts))


def _columns(rows: Sequence[object], *names: str) -> dict[str, list[Any]]:
    return {name: [getattr(row, name) for row in rows] for name in names}


def _descriptions(tree: Tree, teller: Teller) -> list[str]:
    """Return the entities' descriptions; if there is no room for all, those of the entities with most relations."""
    found = [""] * len(tree.entities)
    for row in sorted(range(len(found)), key=lambda row: (-tree.entities[row].degree, row)):
        found[row] = teller.told(tree.entities[row].description, _DESCRIPTION)
    return found


def _titles(tree: Tree, reports: Mapping[str, Report]) -> list[str]:
    """Return the titles of the regions' reports; without a report, the names of the region's main entities."""
    found = []
    for region in tree.regions:
        report = reports.get(region.id)
        if region.id == ALONE:
            title = "Outside the communities"
        elif report is not None and report.title.strip():
            title = line(report.title)
        else:
            inside = sorted(tree.entities[region.first : region.last], key=lambda entity: -entity.degree)
            title = ", ".join(line(entity.name) for entity in inside[:3])
        found.append(shortened(title, _NAME))
    return found


def _missing(counts: Mapping[str, int], rows: Mapping[str, int]) -> tuple[str, ...]:
    """Return notes about rows of the index that are not on the map."""
    kept = {
        "entities": "those with most neighbours",
        "relations": "those of most weight between entities that are on it",
        "communities": "those with at least two entities that are on it",
    }
    return tuple(
        f"{rows[kind]:,} of {counts[kind]:,} {kind} are on the map: {which}"
        for kind, which in kept.items()
        if rows[kind] < counts[kind]
    )


def _cuts(*tellers: Teller) -> tuple[str, ...]:
    """Return notes about the number of texts that are missing or truncated."""
    cut, dropped = sum(teller.cut for teller in tellers), sum(teller.dropped for teller in tellers)
    notes = []
    if cut:
        notes.append(f"{cut:,} long texts are cut (they end in “…”): the index has them whole")
    if dropped:
        notes.append(f"{dropped:,} texts are left out to keep the page small: the index has them")
    return tuple(notes)
