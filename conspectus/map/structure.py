"""Entities linked by the documents' own structure: hyperlinks, references, replies, definitions between passages.

A link leads from the entity that its words name, or else from the entities that distinguish its passage, to those that
distinguish its target; few other passages mention an entity that distinguishes a passage. The weight of a link is 1 in
total, divided among the pairs that it joins.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Link, Mention
from conspectus.storage.text.normalise import entity_key

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
