"""Which entities the documents' own structure links: hyperlinks, references, replies, definitions between passages.

A link leads from the entity that its words name, else from those that tell the passage apart, to those that tell apart
the passage that it leads to; an entity tells a passage apart that few other passages mention. A link counts once in
all, divided among the pairs that it joins.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from conspectus.storage.index import Index
from conspectus.storage.records import Entity, Link, Mention
from conspectus.storage.text.normalise import entity_key

KINDS = ("hyperlink", "reference", "reply", "definition", "index")
"""Kinds of links that are told; sections lie in sections, and passages follow each other, everywhere."""
_TELLING = 4
"""Entities that tell a passage apart."""
_OF_AN_ENTITY, _OF_ALL = 8, 20_000
"""Most links of an entity, and of all, the heaviest first."""


@dataclass(frozen=True, slots=True)
class StructureLink:
    """Two entities that the documents link: their rows, the smaller first, the kind of most links, and the weight."""

    source: int
    target: int
    kind: int
    weight: float


def structure_links(index: Index, row_of: Mapping[str, int]) -> list[StructureLink]:
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


def _telling(index: Index, known: Mapping[str, Entity]) -> dict[str, list[str]]:
    """Return for each chunk the ids of the entities that tell it apart: mentioned elsewhere too, but seldom."""
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
