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

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from conspectus.storage.appended_array import append_each
from conspectus.storage.arrays import parts_of, ranks
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.hashing import short_id
from conspectus.storage.joins import Groups, chunks_by_entity
from conspectus.storage.name_tables import are_names
from conspectus.storage.numbering import numbering
from conspectus.storage.records import Chunk, Document, Entity, Link, Mention, Name
from conspectus.storage.spilled import array_of, documents_of_chunks, text_column, values_of
from conspectus.storage.structure.links import link_edges
from conspectus.storage.tables import arrow_of
from conspectus.storage.text.names import NameMatcher, is_capitalised, is_other_word, is_worth_looking_for
from conspectus.storage.text.nlp import Annotation, lead
from conspectus.storage.text.normalise import entity_key, title_names

MOST_OWNERS = 10
"""Most chunks with a title that still refers to them; one that more share, such as "Introduction", tells too little."""

_OCCURRENCE = 0.1  # weight of a name in a text beside a title's 1: a name in passing says little


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


def walk(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    annotations: Sequence[Annotation],
    entities: Sequence[Entity],
    mentions: Sequence[Mention],
    links: Sequence[Link],
) -> Walk:
    """Return the names that refer to chunks, and the graph over chunks and entities."""
    names = name_chunks(documents, chunks, annotations)
    graph = walk_graph(chunks, entities, mentions, names)
    return Walk(names.names, with_links(graph, chunks, links))


def name_chunks(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    annotations: Sequence[Annotation],
) -> NamedChunks:
    """Return the names that refer to chunks, and the chunks whose text contains them."""
    titles, of_chunk = text_column(documents, "title"), documents_of_chunks(documents, chunks)
    numbers = numbering()
    surfaces: list[tuple[str, ...]] = []
    owning, owners, holding, holders = array("i"), array("i"), array("i"), array("i")
    for row, (document, annotation) in enumerate(zip(of_chunk.tolist(), annotations, strict=True)):
        for surface in titles_of(titles[document], annotation):
            number = numbers[entity_key(surface)]
            if number == len(surfaces):
                surfaces.append((surface,))
            elif surface not in surfaces[number]:
                surfaces[number] += (surface,)
            owning.append(number)
            owners.append(row)
    proper = list(map(is_capitalised, surfaces))
    matcher = NameMatcher({min(written): number for number, written in enumerate(surfaces)})
    for row, text in enumerate(text_column(chunks, "text")):
        for match in matcher.find(text):
            if not is_other_word(text[match.start : match.end], proper[match.value]):
                holding.append(match.value)
                holders.append(row)
    ids = [short_id("name", key) for key in numbers]
    places = ranks(ids)
    owned, held = (
        Groups.of(places[np.array(names, np.int32)], np.array(rows, np.int32), len(ids))
        for names, rows in ((owning, owners), (holding, holders))
    )
    counts, chunk_ids = np.diff(held.starts).tolist(), values_of(chunks, "id")
    names = [
        Name(ids[number], min(surfaces[number]), tuple(sorted(chunk_ids[row] for row in owned[place].tolist())), count)
        for place, (number, count) in enumerate(zip(np.argsort(places).tolist(), counts, strict=True))
    ]
    return NamedChunks(names, owned, held)


def titles_of(title: str, annotation: Annotation) -> list[str]:
    """Return the names by which passages may refer to a chunk: its document's title, or the name it begins with."""
    first = lead(annotation.phrases)
    own = title_names(title) or ((first.text,) if first else ())
    return [" ".join(surface.split()) for surface in own if is_worth_looking_for(surface)]


def walk_graph(
    chunks: Sequence[Chunk],
    entities: Sequence[Entity],
    mentions: Sequence[Mention],
    names: NamedChunks,
) -> Adjacency:
    """Return the graph over `len(chunks) + len(entities)` nodes."""
    of_entities, chunk_ids = arrow_of(Entity, entities, ["id", "types"]), arrow_of(Chunk, chunks, ["id"])["id"]
    holding = chunks_by_entity(of_entities["id"], chunk_ids, mentions)
    named, n_chunks = are_names(of_entities["types"]), len(chunks)
    owners, holders = names.owners, names.holders
    precise = np.repeat(np.diff(owners.starts) <= MOST_OWNERS, np.diff(holders.starts))
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
        occurrences = _OCCURRENCE / np.sqrt(np.repeat(sizes, sizes)[kept])
        own = holding.members[holding.starts[first] : holding.starts[last]][kept]
        append_each(columns, (own, nodes, occurrences))
    return Adjacency.from_edges(n_chunks + len(named), *(column.array() for column in columns))


def with_links(graph: Adjacency, chunks: Sequence[Chunk], links: Sequence[Link]) -> Adjacency:
    """Return a graph over chunks and entities extended by the links between chunks."""
    sources, targets, weights = link_edges(links, {id_: row for row, id_ in enumerate(text_column(chunks, "id"))})
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
