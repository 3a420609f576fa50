"""Collect the data of the page from an index: names and relations in one part, texts in another, both as JSON.

Texts are truncated to the size of a panel, and all together to what a browser opens quickly. A truncated text ends in
"…", and notes on the page report what is missing. The drawn communities are a tree: each entity is in the deepest one
that contains it.

Entities are also linked by the documents' own structure, the links between passages. A link leads from the entity that
its words name, or else from the entities that distinguish its passage, to those that distinguish its target; few other
passages mention an entity that distinguishes a passage. The weight of a link is 1 in total, divided among the pairs
that it joins.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from conspectus.map.reports import Shelf, Teller, aliases_of, documents_of, line, rounded, shortened, told_reports
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Community, Document, Entity, Link, Mention, Relation, Report
from conspectus.storage.text.normalise import entity_key

ALONE = "alone"
"""Id of the region for entities without connections: a circle for each would clutter the map."""


@dataclass(frozen=True, slots=True)
class Region:
    """A community on the map. Regions are in depth-first order, and so are their entities.

    `parent` is the row of the enclosing region, -1 for none; its entities, and those of the regions in it, are the rows
    [first, last) of `Tree.entities`, of which [first, own) are in no inner region. `size` counts the community's
    entities, drawn or not.
    """

    id: str
    level: int
    parent: int
    first: int
    own: int
    last: int
    size: int


@dataclass(frozen=True, slots=True)
class Tree:
    """The regions and the entities in drawing order."""

    regions: tuple[Region, ...]
    entities: tuple[Entity, ...]


def tree_of(communities: Sequence[Community], drawn: Sequence[Entity], reported: Set[str], *, whole: bool) -> Tree:
    """Return the communities of the drawn entities, each on its first level.

    Unless the map is `whole`, a community inside another is left out if fewer than two of its entities are drawn. A
    community of one entity that has no parent, is not divided and has no report goes into the region ALONE, with the
    entities that are in no community.
    """
    held = {item.id for item in drawn}
    first = {community.id: community.same_as or community.id for community in communities}
    standing = sorted(
        (community for community in communities if community.same_as is None), key=lambda item: (item.level, item.id)
    )
    count = {item.id: sum(id_ in held for id_ in item.entity_ids) for item in standing}
    kept: dict[str, Community] = {}
    parent: dict[str, str | None] = {}  # the nearest retained ancestor, also of dropped communities
    for entry in standing:
        above = first.get(entry.parent_id) if entry.parent_id else None
        above = above if above is None or above in kept else parent.get(above)
        parent[entry.id] = above
        alone = entry.size == 1 and above is None and entry.id not in reported
        if not alone and count[entry.id] > (0 if whole or above is None else 1):
            kept[entry.id] = entry
    place: dict[str, str] = {}
    for element in kept.values():  # coarse before fine
        place.update((id_, element.id) for id_ in element.entity_ids)
    return _ordered(kept, parent, place, drawn)


def _ordered(
    kept: Mapping[str, Community],
    parent: Mapping[str, str | None],
    place: Mapping[str, str],
    drawn: Sequence[Entity],
) -> Tree:
    """Return the tree in depth-first order; siblings, and a region's entities, by decreasing weight."""
    inside: defaultdict[str, list[Entity]] = defaultdict(list)
    for entity in sorted(drawn, key=lambda entity: (-entity.degree, -entity.frequency, entity.name, entity.id)):
        inside[place.get(entity.id, ALONE)].append(entity)
    below: defaultdict[str | None, list[str]] = defaultdict(list)
    for id_ in sorted(kept, key=lambda id_: (-kept[id_].size, id_)):
        below[parent[id_]].append(id_)
    regions: list[Region] = []
    entities: list[Entity] = []
    waiting = [(ALONE, -1)] if inside[ALONE] else []
    waiting += [(id_, -1) for id_ in reversed(below[None])]
    while waiting:
        id_, above = waiting.pop()
        waiting += [(child, len(regions)) for child in reversed(below[id_])]
        start = len(entities)
        entities += inside[id_]
        level, size = (kept[id_].level, kept[id_].size) if id_ in kept else (0, len(inside[id_]))
        regions.append(Region(id_, level, above, start, len(entities), len(entities), size))
    for row in reversed(range(len(regions))):  # the content of a region comes after it
        each = regions[row]
        if each.parent >= 0:
            over = regions[each.parent]
            regions[each.parent] = replace(over, last=max(over.last, each.last))
    return Tree(tuple(regions), tuple(entities))


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


KINDS = ("hyperlink", "reference", "reply", "definition", "index")
"""Kinds of links on the map; sections contain sections, and passages follow each other, everywhere."""
_TELLING = 4
"""Maximum number of entities that distinguish a passage."""
_OF_AN_ENTITY, _OF_ALL = 8, 20_000
"""Maximum links of an entity, and of all, the heaviest first."""


@dataclass(frozen=True, slots=True)
class StructureLink:
    """Two entities that the documents link: their rows, the smaller first, the kind of most links, and the weight."""

    source: int
    target: int
    kind: int
    weight: float


def structure_links(index: StoredIndex, row_of: Mapping[str, int]) -> list[StructureLink]:
    """Return the links between entities of the map, the heaviest first.

    Args:
        index: The index.
        row_of: The row of each entity of the map, by its id.
    """
    links = [link for link in index.rows(Link) if link.kind in KINDS]
    if not links:
        return []
    known = {entity.id: entity for entity in index.rows(Entity) if entity.id in row_of}
    named = {entity_key(entity.name): entity.id for entity in known.values()}
    telling = _telling(index, known)
    weights: defaultdict[tuple[int, int], float] = defaultdict(float)
    kinds: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for link in links:
        own = named.get(entity_key(link.text))
        sources = [own] if own else telling.get(link.source_id, [])
        targets = telling.get(link.target_id, [])
        ends = [(row_of[one], row_of[other]) for one in sources for other in targets if one != other]
        pairs = {(min(pair), max(pair)) for pair in ends}
        for pair in pairs:
            weights[pair] += 1 / len(pairs)
            kinds[pair][KINDS.index(link.kind)] += 1
    kept: list[StructureLink] = []
    held: Counter[int] = Counter()
    for pair in sorted(weights, key=lambda pair: (-round(weights[pair], 6), pair)):
        if len(kept) < _OF_ALL and max(held[pair[0]], held[pair[1]]) < _OF_AN_ENTITY:
            held.update(pair)
            kind = min(kinds[pair], key=lambda kind: (-kinds[pair][kind], kind))
            kept.append(StructureLink(*pair, kind, round(weights[pair], 3)))
    return kept


def _telling(index: StoredIndex, known: Mapping[str, Entity]) -> dict[str, list[str]]:
    """Return for each chunk the ids of its distinguishing entities: mentioned elsewhere too, but seldom."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    mentions = index.arrow(Mention, "chunk_id", "entity_id")
    for chunk, entity in zip(
        mentions.column("chunk_id").to_pylist(), mentions.column("entity_id").to_pylist(), strict=True
    ):
        if entity in known:
            found[chunk].add(entity)

    def order(id_: str) -> tuple[bool, int, str]:
        return known[id_].frequency < 2, known[id_].frequency, id_

    return {chunk: sorted(ids, key=order)[:_TELLING] for chunk, ids in found.items()}
