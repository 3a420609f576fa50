"""The rows of an index that permitted documents support, without words that only hidden documents contain.

A row that a hidden document also supports is rebuilt from its permitted mentions: an entity takes the name that most of
them use, a relation takes the wording, the weight and the description of its own mentions.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from conspectus.query.filter.bitmaps import Bitmaps, GraphDetails, at, is_in
from conspectus.storage.arrays import Bools
from conspectus.storage.index import StoredIndex
from conspectus.storage.mapped import TableRows
from conspectus.storage.records import Chunk, Claim, Document, Entity, Mention, Relation
from conspectus.storage.tables import arrow_of, records_of
from conspectus.storage.text.names import words
from conspectus.storage.text.nlp import CONCEPT, NAME, TITLE
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_each

if TYPE_CHECKING:
    import pyarrow as pa

Record = TypeVar("Record")


class PermittedRows:
    """The rows that permitted documents support, as records, in table order; each table is made when it is asked for.

    Args:
        index: the whole index.
        kept: the rows that remain.
        most_tokens: the most tokens of model descriptions that are joined into one.
    """

    def __init__(self, index: StoredIndex, kept: Bitmaps, most_tokens: int) -> None:
        self._index = index
        self.kept = kept
        self._most_tokens = most_tokens

    @cached_property
    def documents(self) -> TableRows[Document]:
        """The documents."""
        return self._rows(Document, self.kept.documents)

    @cached_property
    def chunks(self) -> TableRows[Chunk]:
        """The chunks."""
        return self._rows(Chunk, self.kept.chunks)

    @cached_property
    def mentions(self) -> TableRows[Mention]:
        """The mentions of the entities and relations that remain."""
        return self._rows(Mention, self.kept.mentions)

    @cached_property
    def intact(self) -> frozenset[str]:
        """The ids of the entities that no hidden document mentions: unchanged except for the degree."""
        return frozenset(self._index.arrow(Entity, "id").column("id").filter(self.kept.intact).to_pylist())

    @cached_property
    def entities(self) -> TableRows[Entity]:
        """The entities; those that are not intact are without descriptions."""
        kept = self.kept
        types, details = _plain_types(self._index, kept.intact), kept.details
        changed = []
        for entity in self._records(Entity, self._changed):
            own = _types(types, details.get(entity.id, ()), kept.graph)
            mentions = self._of_changed.get(entity.id, ())
            changed.append(_rebuilt(entity, mentions, self._document_of, kept.titled, own))
        table = _replaced(self._index.arrow(Entity).filter(kept.entities), ~kept.intact[kept.entities], changed)
        place = table.schema.get_field_index("degree")
        table = table.set_column(place, table.schema.field(place), [kept.degrees[kept.entities]])
        return TableRows(table, Entity)

    @cached_property
    def relations(self) -> TableRows[Relation]:
        """The relations; one that a hidden document states too is worded as permitted mentions support it."""
        of_restated = self.kept.supported & at(self.kept.restated, self.kept.joined.relations)
        of_relation = _by_owner(self._records(Mention, of_restated))[1]
        columns = self.entities.table.select(["id", "name"]).to_pydict() if of_relation else {"id": [], "name": []}
        name_of = dict(zip(columns["id"], columns["name"], strict=True))
        changed = [
            _restated(relation, of_relation[relation.id], self._document_of, name_of, self._most_tokens)
            for relation in self._records(Relation, self.kept.restated)
        ]
        kept = self.kept.relations
        table = _replaced(self._index.arrow(Relation).filter(kept), self.kept.restated[kept], changed)
        return TableRows(table, Relation)

    @cached_property
    def claims(self) -> list[Claim]:
        """The claims about entities that remain."""
        if not self._index.manifest.rows["claims"]:
            return []
        within = is_in(self._index.arrow(Claim, "chunk_id").column("chunk_id"), self._document_of)
        known = frozenset(self.entities.table.column("id").to_pylist())
        return [claim for claim in self._records(Claim, within) if _is_about(claim, known)]

    @cached_property
    def described(self) -> TableRows[Entity]:
        """The entities with descriptions.

        An entity that is not intact gets the model's descriptions from permitted chunks, else the first sentence of the
        permitted documents that mentions it.
        """
        is_changed = ~self.kept.intact[self.kept.entities]
        changed = records_of(self.entities.table.filter(is_changed), Entity)
        details = self.kept.details if self.kept.graph else {}
        ids = [entity.id for entity in changed]
        texts = _model_descriptions(ids, self._of_changed, details, self._most_tokens)
        chunk_of = {chunk.id: chunk for chunk in self.chunks}
        for id_ in ids:
            placed = [mention for mention in self._of_changed.get(id_, ()) if mention.start is not None]
            if id_ not in texts and placed:
                first = min(placed, key=lambda mention: _place(mention, self._document_of))
                texts[id_] = _sentence(chunk_of[first.chunk_id], first)
        changed = [replace(entity, description=texts.get(entity.id, "")) for entity in changed]
        return TableRows(_replaced(self.entities.table, is_changed, changed), Entity)

    @cached_property
    def _document_of(self) -> Mapping[str, str]:
        """The document of each chunk, by their ids."""
        columns = self.chunks.table.select(["id", "document_id"]).to_pydict()
        return dict(zip(columns["id"], columns["document_id"], strict=True))

    @cached_property
    def _changed(self) -> Bools:
        """The entities that remain and are not intact, (entities,)."""
        found: Bools = self.kept.entities & ~self.kept.intact
        return found

    @cached_property
    def _of_changed(self) -> Mapping[str, Sequence[Mention]]:
        """The permitted mentions of each entity that is not intact, by its id."""
        return _by_owner(self._records(Mention, self.kept.supported & at(self._changed, self.kept.joined.entities)))[0]

    def _rows(self, record: type[Record], kept: Bools) -> TableRows[Record]:
        return TableRows(self._index.arrow(record).filter(kept), record)

    def _records(self, record: type[Record], kept: Bools) -> list[Record]:
        return records_of(self._index.arrow(record).filter(kept), record) if kept.any() else []


def _replaced(table: "pa.Table", which: Bools, records: Sequence[Entity] | Sequence[Relation]) -> "pa.Table":
    """Return a table with records in the place of some of its rows."""
    import pyarrow as pa

    if not records:
        return table
    order = np.arange(len(table))
    order[which] = len(table) + np.arange(len(records))
    return pa.concat_tables([table, arrow_of(type(records[0]), records)]).take(order)


def _by_owner(mentions: Iterable[Mention]) -> tuple[dict[str, list[Mention]], dict[str, list[Mention]]]:
    of_entity: defaultdict[str, list[Mention]] = defaultdict(list)
    of_relation: defaultdict[str, list[Mention]] = defaultdict(list)
    for mention in mentions:
        if mention.entity_id is not None:
            of_entity[mention.entity_id].append(mention)
        elif mention.relation_id is not None:
            of_relation[mention.relation_id].append(mention)
    return dict(of_entity), dict(of_relation)


def _plain_types(index: StoredIndex, intact: Bools) -> frozenset[str]:
    """Return the types that reveal nothing of hidden documents: the extractor's, and those of intact entities."""
    from pyarrow import compute

    configured = index.manifest.settings["extraction"].get("entity_types") or ()
    own = compute.list_flatten(index.arrow(Entity, "types").column("types").filter(intact)).unique().to_pylist()
    return frozenset([CONCEPT, NAME, *map(entity_key, configured), *own])


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
    document_of: Mapping[str, str],
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
        place = (document_of[mention.chunk_id], mention.start, mention.end)
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
    document_of: Mapping[str, str],
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
        weight=float(_weight(mentions, document_of)),
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


def _weight(mentions: Sequence[Mention], document_of: Mapping[str, str]) -> int:
    """Return the number of mentions, counting a place that several chunks cover once per statement."""
    of_place: defaultdict[tuple[str, int | None, int | None], defaultdict[str, set[str]]]
    of_place = defaultdict(lambda: defaultdict(set))
    for mention in mentions:
        document = document_of[mention.chunk_id] if mention.start is not None else mention.chunk_id
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


def _place(mention: Mention, document_of: Mapping[str, str]) -> tuple[str, int]:
    return document_of[mention.chunk_id], mention.start or 0


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
