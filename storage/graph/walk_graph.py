"""The PageRank graph over passages and names.

Nodes are the chunks, then the entities, both in table order. Three kinds of edges:

- *name edges* join a chunk that mentions a document's name with the chunks of that document: weight
  1 / sqrt(1 + m) if m chunks mention the name. They are precise and few, and carry a
  question from one hop to the next.
  - *occurrence edges* join a chunk with each name in it: weight lambda / sqrt(f) if f chunks contain the name.
  They are many and vague, and reach passages that no title names.
  - *links* follow the documents' own structure from chunk to chunk (structure/links.py), weighted by their kind.

Noun phrases that are not names are excluded: they join unrelated passages.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from conspectus.storage.appended_array import append_each
from conspectus.storage.arrays import Bools, parts_of
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.hashing import short_id
from conspectus.storage.joins import Groups, chunks_by_entity
from conspectus.storage.name_tables import are_names
from conspectus.storage.records import Chunk, Document, Entity, Link, Mention, Name
from conspectus.storage.settings import LinkSettings, NameSettings, Settings, WalkGraphSettings
from conspectus.storage.spilled import array_of, text_column
from conspectus.storage.structure.links import link_edges
from conspectus.storage.tables import arrow_of, sorted_by_id
from conspectus.storage.text.names import NameMatcher, is_capitalised, is_other_word, is_worth_looking_for
from conspectus.storage.text.nlp import Annotation, lead
from conspectus.storage.text.normalise import entity_key, title_names


@dataclass(frozen=True, slots=True)
class Walk:
    """The names that refer to chunks, and the graph of the walk."""

    names: Sequence[Name]
    graph: Adjacency


class NamedChunks(NamedTuple):
    """The names that refer to chunks, sorted by id, and the rows of chunks by name.

    `owners` are the chunks that a name refers to, `holders` those whose text contains it.
    """

    names: Sequence[Name]
    owners: Groups
    holders: Groups

    @classmethod
    def of(
        cls, names: Sequence[Name], held_by: Mapping[str, AbstractSet[str]], chunk_ids: Sequence[str]
    ) -> "NamedChunks":
        """Return names with the chunks, given by id, that contain each."""
        row_of = {id_: row for row, id_ in enumerate(chunk_ids)}
        owners = ((number, row_of[id_]) for number, name in enumerate(names) for id_ in name.chunk_ids)
        holders = ((number, row_of[id_]) for number, name in enumerate(names) for id_ in held_by.get(name.id, ()))
        pairs = (np.array([*each], np.int64).reshape(-1, 2) for each in (owners, holders))
        return cls(names, *(Groups.of(each[:, 0], each[:, 1], len(names)) for each in pairs))


def walk(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    annotations: Sequence[Annotation],
    entities: Sequence[Entity],
    mentions: Sequence[Mention],
    links: Sequence[Link],
    settings: Settings,
) -> Walk:
    """Return the names that refer to chunks, and the graph over chunks and entities."""
    names, held_by = name_chunks(documents, chunks, annotations, settings.names)
    graph = walk_graph(chunks, entities, mentions, names, held_by, settings.walk_graph)
    return Walk(names, with_links(graph, chunks, links, settings.links))


def name_chunks(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    annotations: Sequence[Annotation],
    settings: NameSettings,
) -> tuple[list[Name], dict[str, set[str]]]:
    """Return the names that refer to chunks, sorted by id, and by name id the chunks whose text contains each."""
    title_of = dict(zip(text_column(documents, "id"), text_column(documents, "title"), strict=True))
    owners: defaultdict[str, set[str]] = defaultdict(set)
    surfaces: defaultdict[str, set[str]] = defaultdict(set)
    for chunk, annotation in zip(chunks, annotations, strict=True):
        for surface in titles_of(title_of[chunk.document_id], annotation, settings.min_characters):
            owners[entity_key(surface)].add(chunk.id)
            surfaces[entity_key(surface)].add(surface)
    matcher = NameMatcher({min(surfaces[key]): key for key in owners})
    held_by: defaultdict[str, set[str]] = defaultdict(set)
    for chunk in chunks:
        for match in matcher.find(chunk.text):
            surface = chunk.text[match.start : match.end]
            if not is_other_word(surface, is_capitalised(surfaces[match.value])):
                held_by[match.value].add(chunk.id)
    names = [
        Name(short_id("name", key), min(surfaces[key]), tuple(sorted(owners[key])), len(held_by[key])) for key in owners
    ]
    return sorted_by_id(names), {short_id("name", key): found for key, found in held_by.items()}


def titles_of(title: str, annotation: Annotation, min_characters: int) -> list[str]:
    """Return the names by which passages may refer to a chunk: its document's title, or the name it begins with."""
    first = lead(annotation.phrases)
    own = title_names(title) or ((first.text,) if first else ())
    return [" ".join(surface.split()) for surface in own if is_worth_looking_for(surface, min_characters)]


def walk_graph(
    chunks: Sequence[Chunk],
    entities: Sequence[Entity],
    mentions: Sequence[Mention],
    names: Sequence[Name],
    held_by: Mapping[str, AbstractSet[str]],
    settings: WalkGraphSettings,
) -> Adjacency:
    """Return the graph over `len(chunks) + len(entities)` nodes."""
    of_entities, chunk_ids = arrow_of(Entity, entities, ["id", "types"]), arrow_of(Chunk, chunks, ["id"])["id"]
    holding = chunks_by_entity(of_entities["id"], chunk_ids, mentions)
    named_chunks = NamedChunks.of(names, held_by, chunk_ids.to_pylist())
    return graph_of(len(chunks), are_names(of_entities["types"]), holding, named_chunks, settings)


def graph_of(
    n_chunks: int, named: Bools, holding: Groups, names: NamedChunks, settings: WalkGraphSettings
) -> Adjacency:
    """Return the graph over chunks and entities.

    Args:
        n_chunks: the number of chunks.
        named: (entities,) which entities are more than noun phrases.
        holding: the rows of the chunks that mention each entity.
        names: the names that refer to chunks.
        settings: the weights.
    """
    owners, holders = names.owners, names.holders
    precise = np.repeat(np.diff(owners.starts) <= settings.most_owners, np.diff(holders.starts))
    held = np.repeat(np.arange(len(holders)), np.diff(holders.starts))[precise]
    places, targets = owners.of_each(held)
    weights = 1 / np.sqrt(1 + np.diff(holders.starts)[held[places]])

    n_edges = len(places) + len(holding.members)
    columns = array_of(n_edges, np.int32), array_of(n_edges, np.int32), array_of(n_edges, np.float64)
    append_each(columns, (holders.members[precise][places], targets, weights))
    for first, last in parts_of(holding.starts):
        sizes = np.diff(holding.starts[first : last + 1])
        kept = np.repeat(named[first:last] & (sizes > 1), sizes)
        nodes = np.repeat(np.arange(first, last), sizes)[kept] + n_chunks
        occurrences = settings.occurrence_weight / np.sqrt(np.repeat(sizes, sizes)[kept])
        own = holding.members[holding.starts[first] : holding.starts[last]][kept]
        append_each(columns, (own, nodes, occurrences))
    return Adjacency.from_edges(n_chunks + len(named), *(column.array() for column in columns))


def with_links(graph: Adjacency, chunks: Sequence[Chunk], links: Sequence[Link], settings: LinkSettings) -> Adjacency:
    """Return a graph over chunks and entities extended by the links between chunks."""
    sources, targets, weights = link_edges(
        links, {id_: row for row, id_ in enumerate(text_column(chunks, "id"))}, settings
    )
    if not weights.any():
        return graph
    held = np.repeat(np.arange(graph.n_nodes, dtype=np.int32), np.diff(graph.indptr))
    once = held < graph.indices  # every edge is stored twice
    return Adjacency.from_edges(
        graph.n_nodes,
        np.concatenate([held[once], sources]),
        np.concatenate([graph.indices[once], targets]),
        np.concatenate([graph.weights[once], weights]),
    )
