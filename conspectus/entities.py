"""List what an index is about: its best connected entities and its largest communities."""

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any

from conspectus.render.terminal import one_line
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Community, Entity, Mention, Report


@dataclass(frozen=True, slots=True)
class Connected:
    """An entity, and the number of other entities that share a passage with it."""

    name: str
    type: str
    passages: int
    neighbours: int


@dataclass(frozen=True, slots=True)
class Largest:
    """A community that has a report: its title, level and number of entities."""

    title: str
    level: int
    entities: int


def most_connected(index: StoredIndex, count: int) -> list[Connected]:
    """Return the entities that share passages with the most other entities, best connected first, ties by name."""
    in_chunk: defaultdict[str, set[str]] = defaultdict(set)
    for mention in index.rows(Mention):
        if mention.entity_id is not None:
            in_chunk[mention.chunk_id].add(mention.entity_id)
    near: defaultdict[str, set[str]] = defaultdict(set)
    for ids in in_chunk.values():
        for id_ in ids:
            near[id_] |= ids
    found = [
        Connected(entity.name, entity.type, entity.frequency, max(0, len(near[entity.id]) - 1))
        for entity in index.rows(Entity)
    ]
    return sorted(found, key=lambda each: (-each.neighbours, -each.passages, each.name))[:count]


def largest_communities(index: StoredIndex, count: int) -> list[Largest]:
    """Return the largest distinct communities that have a report, largest first, ties by title."""
    titles = {report.community_id: report.title for report in index.rows(Report)}
    found = [Largest(titles[each.id], each.level, each.size) for each in index.rows(Community) if each.id in titles]
    return sorted(found, key=lambda each: (-each.entities, each.level, each.title))[:count]


def as_json(entities: list[Connected], communities: list[Largest]) -> dict[str, Any]:
    """Return both lists as plain values, for JSON."""
    return {"entities": [asdict(each) for each in entities], "communities": [asdict(each) for each in communities]}


def as_text(entities: list[Connected], communities: list[Largest]) -> str:
    """Return both lists as lines of text."""
    lines = [f"the {len(entities)} best connected entities (entities that share a passage, passages, type, name)"]
    lines += [f"{each.neighbours:>7,} {each.passages:>6,}  {each.type.lower():12} {each.name}" for each in entities]
    lines += ["", f"the {len(communities)} largest communities (entities, level, title)"]
    lines += [f"{each.entities:>7,}  c{each.level}  {each.title}" for each in communities]
    return "\n".join(one_line(line) if line else "" for line in lines)
