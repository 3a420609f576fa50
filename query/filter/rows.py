"""The rows of an index that permitted documents support, without words that only hidden documents contain.

A row that a hidden document also supports is rebuilt from its permitted mentions: an entity takes the name that most of
them use, a relation takes the wording, the weight and the description of its own mentions.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from conspectus.storage.graph.edges import degrees_of
from conspectus.storage.hashing import entity_id, mention_id
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import GRAPH_FILE, Chunk, Claim, Document, Entity, Mention, Merge, Origin, Relation
from conspectus.storage.tables import records_of
from conspectus.storage.text.names import words
from conspectus.storage.text.nlp import CONCEPT, NAME, TITLE
from conspectus.storage.text.normalise import entity_key, title_names
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_each

if TYPE_CHECKING:
    import pyarrow as pa

Record = TypeVar("Record")
GraphDetails = Mapping[str, Sequence[Mapping[str, str]]]
"""Statements of the files of an imported graph about entities and relations, by id."""


@dataclass(frozen=True, slots=True)
class PermittedRows:
    """The rows that permitted documents support, in table order.

    `intact` are the ids of the entities that no hidden document mentions: their rows are unchanged except for the
    degree.
    The other entities have no description; `model_descriptions` are a model's descriptions of them in permitted chunks.
    """

    documents: list[Document]
    chunks: list[Chunk]
    mentions: list[Mention]
    entities: list[Entity]
    relations: list[Relation]
    claims: list[Claim]
    intact: frozenset[str]
    model_descriptions: Mapping[str, str]

    def described(self) -> list[Entity]:
        """Return the entities with descriptions.

        An entity that is not intact gets the model's descriptions from permitted chunks, else the first sentence of the
        permitted documents that mentions it.
        """
        chunk_of = {chunk.id: chunk for chunk in self.chunks}
        open_ids = {entity.id for entity in self.entities} - self.intact - self.model_descriptions.keys()
        first: dict[str, Mention] = {}
        for mention in self.mentions:
            owner, start = mention.entity_id, mention.start
            if owner in open_ids and start is not None:
                known = first.get(owner)
                if known is None or _place(mention, chunk_of) < _place(known, chunk_of):
                    first[owner] = mention
        quotes = {id_: _sentence(chunk_of[mention.chunk_id], mention) for id_, mention in first.items()}
        texts = {**self.model_descriptions, **quotes}
        return [
            entity if entity.id in self.intact else replace(entity, description=texts.get(entity.id, ""))
            for entity in self.entities
        ]


def permitted_rows(
    index: StoredIndex, document_ids: AbstractSet[str], *, graph: bool, most_tokens: int
) -> PermittedRows:
    """Return the rows that some documents support and, if `graph` is true, those of an imported graph.

    Mentions in chunks of these documents remain, and the entities and relations that they mention. A short form of a
    title ("Apollo" of "Apollo (band)") remains if the document of that title does. A phrase that is not a name, and
    that no statement and no second place uses any more, is left out, as in a build.

    Args:
        index: the whole index.
        document_ids: the permitted documents.
        graph: whether statements found only in an imported graph are permitted.
        most_tokens: the most tokens of model descriptions that are joined into one.
    """
    documents = _rows_where(index, Document, "id", document_ids)
    chunks = _rows_where(index, Chunk, "document_id", document_ids)
    chunk_of = {chunk.id: chunk for chunk in chunks}
    titled = frozenset(entity_id(entity_key(title_names(row.title)[0])) for row in documents if row.title.strip())

    details = _graph_details(index)
    mentions, touched = _mentions(index, chunk_of.keys(), titled)
    if not graph:
        touched |= details.keys()
    of_entity, of_relation = _by_owner(mentions)
    of_graph = _relations_of_graph(index) if graph else []
    ends_of_graph = {id_ for relation in of_graph for id_ in (relation.source_id, relation.target_id)}
    unmentioned = _unmentioned(index) if graph else frozenset()

    stated = [
        relation
        for relation in _rows_where(index, Relation, "id", of_relation.keys())
        if relation.source_id in of_entity and relation.target_id in of_entity
    ]
    joined_ids = ends_of_graph | unmentioned | {id_ for row in stated for id_ in (row.source_id, row.target_id)}
    base = {
        entity.id: entity
        for entity in _rows_where(index, Entity, "id", of_entity.keys() | joined_ids)
        if entity.id in joined_ids or _stands_alone(entity, of_entity[entity.id], chunk_of, titled)
    }
    intact = frozenset(id_ for id_ in base if id_ not in touched)
    types = _plain_types(index, [base[id_] for id_ in intact])
    entities = [
        entity
        if entity.id in intact
        else _rebuilt(
            entity, of_entity.get(entity.id, ()), chunk_of, titled, _types(types, details.get(entity.id, ()), graph)
        )
        for entity in base.values()
    ]
    name_of = {entity.id: entity.name for entity in entities}
    relations = [
        _restated(relation, of_relation[relation.id], chunk_of, name_of, most_tokens)
        if relation.id in touched
        else relation
        for relation in stated
    ]
    relations = sorted([*relations, *of_graph], key=lambda relation: relation.id)
    degrees = degrees_of(relations)
    owners = base.keys() | {relation.id for relation in relations}
    return PermittedRows(
        documents,
        chunks,
        [mention for mention in mentions if (mention.entity_id or mention.relation_id) in owners],
        [replace(entity, degree=degrees.get(entity.id, 0)) for entity in entities],
        relations,
        [claim for claim in _rows_where(index, Claim, "chunk_id", chunk_of.keys()) if _is_about(claim, base.keys())],
        intact,
        _model_descriptions(base.keys() - intact, of_entity, details if graph else {}, most_tokens),
    )


def _rows_where(index: StoredIndex, record: type[Record], column: str, values: Iterable[str]) -> list[Record]:
    """Return the rows of a table whose column has one of some values, without building the others."""
    table = index.arrow(record)
    return records_of(table.filter(_is_in(table.column(column), values)), record)


def _is_in(column: "pa.ChunkedArray", values: Iterable[str]) -> "pa.ChunkedArray":
    import pyarrow as pa
    from pyarrow import compute

    return compute.is_in(column, value_set=pa.array(sorted(values), pa.string()))


def _mentions(
    index: StoredIndex, chunk_ids: AbstractSet[str], titled: AbstractSet[str]
) -> tuple[list[Mention], frozenset[str]]:
    """Return the permitted mentions, and the ids of the entities and relations that lose some of theirs."""
    from pyarrow import compute

    table = index.arrow(Mention)
    within = _is_in(table.column("chunk_id"), chunk_ids)
    by_title = _is_in(table.column("entity_id"), titled)
    by_itself = compute.or_(
        compute.not_equal(table.column("match"), "alias"), _is_in(table.column("id"), _merged_mentions(index, table))
    )
    permitted = compute.and_(within, compute.or_(by_itself, by_title))
    lost = table.filter(compute.invert(permitted))
    touched = {*lost.column("entity_id").unique().to_pylist(), *lost.column("relation_id").unique().to_pylist()}
    return records_of(table.filter(permitted), Mention), frozenset(touched - {None})


def _merged_mentions(index: StoredIndex, mentions: "pa.Table") -> AbstractSet[str]:
    """Return the ids of the mentions by a name that resolution merged into another.

    They name the entity themselves, whatever hidden documents contain. A merged mention keeps the id that it had under
    the alias, which distinguishes it from the short form of a title.
    """
    from pyarrow import compute

    aliases: defaultdict[str, list[str]] = defaultdict(list)
    for merge in index.rows(Merge):
        if not merge.undone:
            aliases[merge.entity_id].append(merge.alias_id)
    if not aliases:
        return frozenset()
    named = mentions.filter(compute.equal(mentions.column("match"), "alias"))
    columns = (named.column(name).to_pylist() for name in ("id", "chunk_id", "entity_id", "start", "end"))
    return {
        id_
        for id_, chunk, owner, start, end in zip(*columns, strict=True)
        if any(id_ == mention_id(chunk, alias, start, end) for alias in aliases.get(owner or "", ()))
    }


def _by_owner(mentions: Iterable[Mention]) -> tuple[dict[str, list[Mention]], dict[str, list[Mention]]]:
    of_entity: defaultdict[str, list[Mention]] = defaultdict(list)
    of_relation: defaultdict[str, list[Mention]] = defaultdict(list)
    for mention in mentions:
        if mention.entity_id is not None:
            of_entity[mention.entity_id].append(mention)
        elif mention.relation_id is not None:
            of_relation[mention.relation_id].append(mention)
    return dict(of_entity), dict(of_relation)


def _graph_details(index: StoredIndex) -> dict[str, list[Mapping[str, str]]]:
    details: dict[str, list[Mapping[str, str]]] = {}
    for origin in index.rows(Origin):
        if GRAPH_FILE in origin.details:
            details.setdefault(origin.item_id, []).append(origin.details)
    return details


def _relations_of_graph(index: StoredIndex) -> list[Relation]:
    """Return the relations that no document states."""
    from pyarrow import compute

    table = index.arrow(Relation)
    return records_of(table.filter(compute.equal(compute.list_value_length(table.column("chunk_ids")), 0)), Relation)


def _unmentioned(index: StoredIndex) -> frozenset[str]:
    """Return the ids of the entities that no document mentions."""
    from pyarrow import compute

    table = index.arrow(Entity, "id", "frequency")
    return frozenset(table.filter(compute.equal(table.column("frequency"), 0)).column("id").to_pylist())


def _stands_alone(
    entity: Entity, mentions: Sequence[Mention], chunk_of: Mapping[str, Chunk], titled: AbstractSet[str]
) -> bool:
    """Return whether an entity without a statement belongs in the index: a name, or a phrase found in several places.

    A name known only as a title needs the document of that title.
    """
    if set(entity.types) == {TITLE}:
        return entity.id in titled
    if any(kind != CONCEPT for kind in entity.types):
        return True
    return len({(chunk_of[mention.chunk_id].document_id, mention.start) for mention in mentions}) > 1


def _plain_types(index: StoredIndex, intact: Iterable[Entity]) -> frozenset[str]:
    """Return the types that reveal nothing of hidden documents: the extractor's, and those of intact entities."""
    configured = index.manifest.settings["extraction"].get("entity_types") or ()
    return frozenset([CONCEPT, NAME, *map(entity_key, configured), *(kind for row in intact for kind in row.types)])


def _types(types: AbstractSet[str], details: Iterable[Mapping[str, str]], graph: bool) -> AbstractSet[str]:
    """Return the types that an entity may keep: those of an imported graph only if the graph is permitted."""
    imported = {kind for row in details for kind in _listed_types(row.get("types", ""))}
    return types | imported if graph else types - imported


def _listed_types(text: str) -> tuple[str, ...]:
    """Return the types of a JSON list; a graph's own attribute of that name may be any text."""
    try:
        values = json.loads(text) if text.startswith("[") else []
    except (ValueError, RecursionError):
        return ()
    return tuple(value for value in values if isinstance(value, str))


def _rebuilt(
    entity: Entity,
    mentions: Sequence[Mention],
    chunk_of: Mapping[str, Chunk],
    titled: AbstractSet[str],
    types: AbstractSet[str],
) -> Entity:
    """Return an entity as its permitted mentions support it, without a description.

    Its name is the most frequent one, counted by places as in a build. A mention does not record the type that it
    contributed, so only types that other entities have too remain; an entity that no text names is a title.
    """
    surfaces: Counter[str] = Counter()
    places: set[tuple[str, int | None, int | None]] = set()
    # If only merged names remain, the canonical name is the one that hidden documents use.
    for mention in [row for row in mentions if row.match != "alias"] or mentions:
        place = (chunk_of[mention.chunk_id].document_id, mention.start, mention.end)
        if place not in places:
            surfaces[" ".join(mention.surface.split())] += 1
            places.add(place)
    if entity.id in titled and all(row.start is None for row in mentions if row.match != "alias"):
        kinds: tuple[str, ...] = (TITLE,)
    else:
        kinds = tuple(kind for kind in entity.types if kind in types - {TITLE}) or (NAME,)
    name = min(surfaces, key=lambda surface: (-surfaces[surface], surface)) if surfaces else entity.name
    frequency = len({mention.chunk_id for mention in mentions})
    return Entity(entity.id, name, kinds[0], kinds, "", frequency, 0)


def _restated(
    relation: Relation,
    mentions: Sequence[Mention],
    chunk_of: Mapping[str, Chunk],
    name_of: Mapping[str, str],
    most_tokens: int,
) -> Relation:
    """Return a relation as its permitted mentions support it: chunks, weight and description come from them alone.

    The description is the model's in each mention, else the shortest sentence that states the relation, else its
    triple. The predicate is spelled as in these sentences, else folded: all mentions share one predicate except for
    its case. A model's predicate, which may come from any mention, remains if permitted mentions contain all its words.
    `strength` is unknown, because a mention does not record the strength that a model gave it.
    """
    relation = replace(relation, predicate=_predicate(relation.predicate, mentions))
    return replace(
        relation,
        description=_description(relation, mentions, name_of, most_tokens),
        weight=float(_weight(mentions, chunk_of)),
        chunk_ids=tuple(sorted({mention.chunk_id for mention in mentions})),
        strength=None,
    )


def _predicate(predicate: str, mentions: Iterable[Mention]) -> str:
    written = re.compile(re.escape(predicate).replace(r"\ ", r"\s+"), re.IGNORECASE)
    found = {" ".join(form.split()) for mention in mentions for form in written.findall(mention.surface)}
    key = entity_key(predicate)
    told = [f"{mention.surface} {mention.description}" for mention in mentions if mention.description]
    if told and not set(key.split()) <= {word.key for text in told for word in words(text)}:
        return ""
    return min((form for form in found if entity_key(form) == key), default=key)


def _description(relation: Relation, mentions: Sequence[Mention], name_of: Mapping[str, str], most_tokens: int) -> str:
    text = _joined((mention.description for mention in mentions), most_tokens)
    if text:
        return text
    sentences = {mention.surface for mention in mentions} - {""}
    if sentences:
        return " ".join(min(sentences, key=lambda sentence: (len(sentence), sentence)).split())
    return " ".join(f"{name_of[relation.source_id]} {relation.predicate} {name_of[relation.target_id]}".split())


def _weight(mentions: Sequence[Mention], chunk_of: Mapping[str, Chunk]) -> int:
    """Return the number of mentions, counting a place that several chunks cover once per statement."""
    of_place: defaultdict[tuple[str, int | None, int | None], defaultdict[str, set[str]]]
    of_place = defaultdict(lambda: defaultdict(set))
    for mention in mentions:
        document = chunk_of[mention.chunk_id].document_id if mention.start is not None else mention.chunk_id
        of_place[document, mention.start, mention.end][mention.chunk_id].add(mention.description)
    return sum(max(map(len, of_chunk.values())) for of_chunk in of_place.values())


def _model_descriptions(
    ids: Iterable[str], of_entity: Mapping[str, Sequence[Mention]], details: GraphDetails, most_tokens: int
) -> dict[str, str]:
    """Return the descriptions of entities from a permitted graph and a model; a mention has one line for each."""

    def texts(id_: str) -> Iterator[str]:
        yield from (row["description"] for row in details.get(id_, ()) if "description" in row)
        for mention in of_entity.get(id_, ()):
            yield from mention.description.split("\n")

    return {id_: text for id_ in ids if (text := _joined(texts(id_), most_tokens))}


def _joined(texts: Iterable[str], most_tokens: int) -> str:
    """Return distinct texts, sorted, until the next would exceed `most_tokens`; at least one of them."""
    distinct = sorted(set(texts) - {""})
    total = 0
    for place, length in enumerate(count_each(distinct)):
        total += length
        if place and total > most_tokens:
            return " ".join(distinct[:place])
    return " ".join(distinct)


def _place(mention: Mention, chunk_of: Mapping[str, Chunk]) -> tuple[str, int]:
    return chunk_of[mention.chunk_id].document_id, mention.start or 0


def _sentence(chunk: Chunk, mention: Mention) -> str:
    """Return the sentence of a chunk in which a mention begins."""
    at = (mention.start or 0) - chunk.start
    for start, end in _sentences(chunk.text):
        if start <= at < end:
            return " ".join(chunk.text[start:end].split())
    return " ".join(mention.surface.split())


@lru_cache(maxsize=4096)
def _sentences(text: str) -> list[tuple[int, int]]:
    return sentence_spans(text)


def _is_about(claim: Claim, entity_ids: AbstractSet[str]) -> bool:
    return claim.subject_id in entity_ids and (claim.object_id is None or claim.object_id in entity_ids)
