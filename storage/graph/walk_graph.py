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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.hashing import short_id
from conspectus.storage.joins import chunks_by_entity
from conspectus.storage.records import Chunk, Document, Entity, Link, Mention, Name
from conspectus.storage.settings import LinkSettings, NameSettings, Settings, WalkGraphSettings
from conspectus.storage.structure.links import link_edges
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.names import NameMatcher, is_capitalised, is_other_word, is_worth_looking_for
from conspectus.storage.text.nlp import CONCEPT, Annotation, lead
from conspectus.storage.text.normalise import entity_key, title_names


@dataclass(frozen=True, slots=True)
class Walk:
    """The names that refer to chunks, and the graph of the walk."""

    names: list[Name]
    graph: Adjacency


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
    title_of = {document.id: document.title.strip() for document in documents}
    owners: defaultdict[str, set[str]] = defaultdict(set)
    surfaces: defaultdict[str, set[str]] = defaultdict(set)
    for chunk, annotation in zip(chunks, annotations, strict=True):
        first = lead(annotation)
        own = title_names(title_of[chunk.document_id]) if title_of[chunk.document_id] else ()
        for surface in own or ((first.text,) if first else ()):
            if is_worth_looking_for(surface, settings.min_characters):
                owners[entity_key(surface)].add(chunk.id)
                surfaces[entity_key(surface)].add(" ".join(surface.split()))
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


def walk_graph(
    chunks: Sequence[Chunk],
    entities: Sequence[Entity],
    mentions: Sequence[Mention],
    names: Sequence[Name],
    held_by: dict[str, set[str]],
    settings: WalkGraphSettings,
) -> Adjacency:
    """Return the graph over `len(chunks) + len(entities)` nodes."""
    row_of = {chunk.id: row for row, chunk in enumerate(chunks)}
    edges: list[tuple[int, int, float]] = []
    for name in names:
        if len(name.chunk_ids) <= settings.most_owners:
            weight = 1 / np.sqrt(1 + name.mentioned_in)
            for holder in sorted(held_by.get(name.id, ())):
                edges += [(row_of[holder], row_of[owner], weight) for owner in name.chunk_ids]

    sources, targets, weights = (np.array(column) for column in zip(*edges, strict=True)) if edges else _NO_EDGES
    named = np.array([any(kind != CONCEPT for kind in entity.types) for entity in entities], np.bool_)
    holding = chunks_by_entity([entity.id for entity in entities], [chunk.id for chunk in chunks], mentions)
    sizes = np.diff(holding.starts)
    joins = named & (sizes > 1)
    kept = np.repeat(joins, sizes)
    nodes = np.repeat(np.arange(len(entities)), sizes)[kept] + len(chunks)
    occurrences = settings.occurrence_weight / np.sqrt(np.repeat(sizes, sizes)[kept])
    return Adjacency.from_edges(
        len(chunks) + len(entities),
        np.concatenate([sources, holding.members[kept]]),
        np.concatenate([targets, nodes]),
        np.concatenate([weights, occurrences]),
    )


_NO_EDGES = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


def with_links(graph: Adjacency, chunks: Sequence[Chunk], links: Sequence[Link], settings: LinkSettings) -> Adjacency:
    """Return a graph over chunks and entities extended by the links between chunks."""
    sources, targets, weights = link_edges(links, {chunk.id: row for row, chunk in enumerate(chunks)}, settings)
    if not weights.any():
        return graph
    held = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    once = held < graph.indices  # every edge is stored twice
    return Adjacency.from_edges(
        graph.n_nodes,
        np.concatenate([held[once], sources]),
        np.concatenate([graph.indices[once], targets]),
        np.concatenate([graph.weights[once], weights]),
    )
