"""What the page tells, collected from an index: names and places in one part, texts in another, both as plain JSON.

Texts are cut to what a panel can show, and all together to what a browser opens at once. What is cut ends in "…", and
notes on the page say what is not there.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conspectus.map.layout import laid_out
from conspectus.map.packing import Circle
from conspectus.map.reports import Shelf, aliases_of, documents_of, told_reports
from conspectus.map.text_limits import Teller, line, rounded, shortened
from conspectus.map.tree import ALONE, Tree, tree_of
from conspectus.storage.index import Index
from conspectus.storage.records import Community, Document, Entity, Relation, Report

_NAME, _DESCRIPTION, _SENTENCE = 120, 500, 300
"""Most characters of a name, of an entity's description, and of the sentence that states a relation."""
_REPORTS = 0.65
"""Share of the text that reports may take before descriptions and sentences."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a page holds at most: entities (those of most neighbours), relations (of most weight), bytes of text."""

    entities: int = 20_000
    relations: int = 60_000
    text: int = 9_000_000


@dataclass(frozen=True, slots=True)
class Content:
    """The two parts of a page's data, how much of each kind is on it, and in words what is not."""

    map: dict[str, Any]
    texts: dict[str, Any]
    rows: dict[str, int]
    notes: tuple[str, ...]


def content_of(index: Index, title: str, limits: Limits) -> Content:
    """Return what the page of an index tells. The same index and title give the same content."""
    entities, relations, communities = index.rows(Entity), index.rows(Relation), index.rows(Community)
    report_of = {each.community_id: each for each in index.rows(Report)}
    drawn = sorted(entities, key=lambda each: (-each.degree, -each.frequency, each.name, each.id))[: limits.entities]
    tree = tree_of(communities, drawn, report_of.keys(), whole=len(drawn) == len(entities))
    row_of = {each.id: row for row, each in enumerate(tree.entities)}
    inside = [each for each in relations if each.source_id in row_of and each.target_id in row_of]
    shown = sorted(inside, key=lambda each: (-rounded(each.weight, 3), each.id))[: limits.relations]
    reporting = Teller(int(limits.text * _REPORTS))
    shelf = Shelf({each.id: each for each in index.rows(Document)})
    reports = told_reports([report_of.get(each.id) for each in tree.regions], shelf, reporting)
    teller = Teller(limits.text - int(limits.text * _REPORTS) + reporting.left)
    texts = {
        "reports": reports,
        "descriptions": _descriptions(tree, teller),
        "sentences": [teller.told(each.description, _SENTENCE) for each in shown],
        "documentsOf": documents_of(index, row_of, shelf),
        "documents": shelf.told(),
    }
    counts = {
        "documents": len(shelf.by_id),
        "entities": len(entities),
        "relations": len(relations),
        "communities": sum(each.same_as is None for each in communities),
        "reports": len(report_of),
    }
    rows = {
        "entities": len(tree.entities),
        "relations": len(shown),
        "communities": sum(each.id != ALONE for each in tree.regions),
        "reports": sum(each is not None for each in reports),
    }
    notes, cuts = _missing(counts, rows, tree), _cuts(reporting, teller)
    layout = laid_out(tree, ((row_of[each.source_id], row_of[each.target_id]) for each in inside))
    types = Counter(each.type for each in tree.entities).most_common()
    type_of = {kind: place for place, (kind, _) in enumerate(types)}
    predicates = {each: place for place, each in enumerate(sorted({each.predicate for each in shown}))}
    drawing = {
        "title": line(title),
        "version": index.manifest.version,
        "counts": counts,
        "notes": notes,
        "cuts": cuts,
        "radius": round(layout.around.r, 2),
        "types": [line(each) for each in type_of],
        "predicates": [line(each) for each in predicates],
        "regions": {
            "id": [each.id for each in tree.regions],
            "title": _titles(tree, report_of),
            "level": [each.level for each in tree.regions],
            "parent": [each.parent for each in tree.regions],
            "first": [each.first for each in tree.regions],
            "own": [each.own for each in tree.regions],
            "last": [each.last for each in tree.regions],
            "size": [each.size for each in tree.regions],
            **_places(layout.regions),
        },
        "entities": {
            "id": [each.id for each in tree.entities],
            "name": [shortened(line(each.name), _NAME) for each in tree.entities],
            "type": [type_of[each.type] for each in tree.entities],
            "degree": [each.degree for each in tree.entities],
            "frequency": [each.frequency for each in tree.entities],
            "also": aliases_of(index, row_of),
            **_places(layout.entities),
        },
        "relations": {
            "source": [row_of[each.source_id] for each in shown],
            "target": [row_of[each.target_id] for each in shown],
            "predicate": [predicates[each.predicate] for each in shown],
            "weight": [rounded(each.weight, 3) for each in shown],
        },
    }
    return Content(drawing, texts, rows, (*notes, *cuts))


def _descriptions(tree: Tree, teller: Teller) -> list[str]:
    """Return the entities' descriptions; where not all have room, those of the entities with most relations."""
    found = [""] * len(tree.entities)
    for row in sorted(range(len(found)), key=lambda row: (-tree.entities[row].degree, row)):
        found[row] = teller.told(tree.entities[row].description, _DESCRIPTION)
    return found


def _titles(tree: Tree, reports: Mapping[str, Report]) -> list[str]:
    """Return the titles of the regions' reports; where there is none, the names of its chief entities."""
    found = []
    for each in tree.regions:
        report = reports.get(each.id)
        if each.id == ALONE:
            title = "Outside the communities"
        elif report is not None and report.title.strip():
            title = line(report.title)
        else:
            inside = sorted(tree.entities[each.first : each.last], key=lambda entity: -entity.degree)
            title = ", ".join(line(entity.name) for entity in inside[:3])
        found.append(shortened(title, _NAME))
    return found


def _places(circles: Sequence[Circle]) -> dict[str, list[float]]:
    return {axis: [round(getattr(each, axis), 2) for each in circles] for axis in ("x", "y", "r")}


def _missing(counts: Mapping[str, int], rows: Mapping[str, int], tree: Tree) -> tuple[str, ...]:
    """Say what of the index is not on the map."""
    notes = []
    if rows["entities"] < counts["entities"]:
        notes.append(
            f"{rows['entities']:,} of {counts['entities']:,} entities are on the map: those with most neighbours"
        )
    if rows["relations"] < counts["relations"]:
        notes.append(
            f"{rows['relations']:,} of {counts['relations']:,} relations are on the map: those of most weight between "
            "entities that are on it"
        )
    if tree.left_out:
        notes.append(f"{tree.left_out:,} communities are left out: fewer than two of their entities are on the map")
    return tuple(notes)


def _cuts(*tellers: Teller) -> tuple[str, ...]:
    """Say how many texts are not on the page, or not whole."""
    cut, dropped = sum(each.cut for each in tellers), sum(each.dropped for each in tellers)
    notes = []
    if cut:
        notes.append(f"{cut:,} long texts are cut (they end in “…”): the index has them whole")
    if dropped:
        notes.append(f"{dropped:,} texts are left out to keep the page small: the index has them")
    return tuple(notes)
