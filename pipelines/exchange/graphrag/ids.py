"""Our tables by id, and what their rows are called in GraphRAG's, for whoever makes the latter of the former."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from conspectus.pipelines.exchange.graphrag import coerce as cells
from conspectus.pipelines.exchange.graphrag.schema import CommunityRow
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.records import Chunk, Claim, Community, Document, Entity, Mention, Origin, Relation, Report

ROOT = -1
"""The parent of a community that has none."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The tables of an index that GraphRAG has tables for, sorted by id."""

    documents: Sequence[Document]
    chunks: Sequence[Chunk]
    entities: Sequence[Entity]
    mentions: Sequence[Mention]
    relations: Sequence[Relation]
    claims: Sequence[Claim]
    communities: Sequence[Community]
    reports: Sequence[Report]


class Held:
    """What rows are made of. Rows of ours without an origin have none there."""

    def __init__(self, contents: Contents, origins: Sequence[Origin]) -> None:
        self._contents = contents
        self.documents = {each.id: each for each in contents.documents}
        self.chunks = {each.id: each for each in contents.chunks}
        self.entities = {each.id: each for each in contents.entities}
        self.relations = {each.id: each for each in contents.relations}
        self.claims = {each.id: each for each in contents.claims}
        self.communities = {each.id: each for each in contents.communities}
        self.reports = {each.id: each for each in contents.reports}
        self.given: defaultdict[str, defaultdict[str, list[Origin]]] = defaultdict(lambda: defaultdict(list))
        """The origins of each row by table and id, in the order of the foreign table."""
        for each in sorted(origins, key=lambda each: (each.table, each.ordinal, each.id)):
            if each.item_id:
                self.given[each.table][each.item_id].append(each)

    def ids(self, table: str, item_ids: Iterable[str]) -> tuple[str, ...]:
        """Return what some rows of ours are called there, in the order of the foreign table."""
        given = {id_: self.given[table][id_] for id_ in item_ids if id_ in self.given[table]}
        found = sorted((each.ordinal, each.source_id) for several in given.values() for each in several)
        return tuple(dict.fromkeys(id_ for _, id_ in found))

    def units(self, chunk_ids: Iterable[str], *, once: bool = True) -> tuple[str, ...]:
        """Return the text units of some chunks, in their order."""
        given = self.given["chunks"]
        found = sorted((given[id_][0].ordinal, given[id_][0].source_id) for id_ in chunk_ids if id_ in given)
        return tuple(dict.fromkeys(id_ for _, id_ in found)) if once else tuple(id_ for _, id_ in found)

    @cached_property
    def chunks_of(self) -> dict[str, list[Chunk]]:
        """The chunks of each document."""
        found: defaultdict[str, list[Chunk]] = defaultdict(list)
        for each in self._contents.chunks:
            found[each.document_id].append(each)
        return found

    @cached_property
    def chunks_naming(self) -> dict[str, list[str]]:
        """The chunks of each entity and relation, once for each mention."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for each in self._contents.mentions:
            found[each.entity_id or each.relation_id or ""].append(each.chunk_id)
        return found

    @cached_property
    def in_chunk(self) -> dict[str, list[str]]:
        """The entities, relations and claims of each chunk."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for owner, chunk_ids in self.chunks_naming.items():
            for chunk_id in chunk_ids:
                found[chunk_id].append(owner)
        for claim in self._contents.claims:
            found[claim.chunk_id].append(claim.id)
        return found

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each community that there is a row of."""
        found = {}
        for id_, given in self.given["communities"].items():
            told = cell_of(given[0], CommunityRow, "community") if "community" in given[0].details else None
            found[id_] = given[0].ordinal if told is None else told
        return found

    @cached_property
    def parents(self) -> dict[str, int]:
        """The number of the community that each lies in, where that has one."""
        above = {each.id: each.same_as or each.id for each in self._contents.communities}
        return {
            each.id: self.numbers.get(above.get(each.parent_id or "", ""), ROOT) for each in self._contents.communities
        }

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """The numbers of the communities below each that has a number."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for id_, number in self.numbers.items():
            found[self.parents[id_]].append(number)
        return found


def cell_of(origin: Origin, record: type, column: str) -> Any:  # noqa: ANN401  (a cell of any column)
    """Return what an origin tells of a column; IndexCorrupt where that is no such cell."""
    try:
        return cells.converter(record, column)(json.loads(origin.details[column]))
    except (ValueError, RecursionError) as error:
        raise IndexCorrupt(f"origins {origin.id}: its {column} cannot be read") from error
