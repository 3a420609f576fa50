"""The rows and names of an index that permitted documents support, without words that only hidden documents contain.

A row that a hidden document also supports is rebuilt from its permitted mentions: an entity takes the name that most of
them use, a relation takes the wording and the description of its own mentions. Numbers stay as they are.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa
from conspectus.query.filter.bitmaps import Bitmaps, at, is_in, restricted, with_column
from conspectus.storage.arrays import Bools, Ints, Rows
from conspectus.storage.index import StoredIndex
from conspectus.storage.mapped import TableRows
from conspectus.storage.name_tables import are_names, entity_table
from conspectus.storage.records import Chunk, Claim, DatedFact, Document, Entity, Mention, Name, Relation
from conspectus.storage.tables import arrow_of, codes_of, records_of, taken
from conspectus.storage.text.names import NameMatcher, Word, word_keys, words
from conspectus.storage.text.nlp import CONCEPT, NAME, TITLE
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.tokens import DESCRIPTION_TOKENS, count_each
from pyarrow import compute

Record = TypeVar("Record")


class PermittedRows:
    """The rows that permitted documents support, as records, in table order; each table is made when it is asked for.

    Args:
        index: the whole index.
        kept: the rows that remain.
    """

    def __init__(self, index: StoredIndex, kept: Bitmaps) -> None:
        self._index = index
        self.kept = kept

    @cached_property
    def chunks(self) -> TableRows[Chunk]:
        """The chunks."""
        return TableRows(self._index.arrow(Chunk).filter(self.kept.chunks), Chunk)

    @cached_property
    def entities(self) -> TableRows[Entity]:
        """The entities."""
        kept, changed = self.kept, ChangedEntities(self._index, self.kept)
        table = self._index.arrow(Entity).filter(kept.entities)
        return TableRows(replaced(table, changed.which[kept.entities], changed.table()), Entity)

    @cached_property
    def relations(self) -> TableRows[Relation]:
        """The relations; one that a hidden document states too is worded as permitted mentions support it."""
        kept, mentions = self.kept.relations, self.kept.mentions
        rows = mentions[at(self.kept.restated, self.kept.joined.relations[mentions])]
        of_relation: defaultdict[str | None, list[Mention]] = defaultdict(list)
        for mention in records_of(taken(self._index.arrow(Mention), rows), Mention):
            of_relation[mention.relation_id].append(mention)
        columns = self.entities.table.select(["id", "name"]).to_pydict() if of_relation else {"id": [], "name": []}
        name_of = dict(zip(columns["id"], columns["name"], strict=True))
        restated = [
            _restated(relation, of_relation[relation.id], name_of)
            for relation in self._records(Relation, self.kept.restated)
        ]
        changed = arrow_of(Relation, restated)
        table = replaced(self._index.arrow(Relation).filter(kept), self.kept.restated[kept], changed)
        if not self.kept.graph:  # documents state no qualifiers
            none = pa.array([[]] * len(table), table.schema.field("qualifiers").type)
            table = with_column(table, "qualifiers", none)
        return TableRows(table, Relation)

    @cached_property
    def claims(self) -> list[Claim]:
        """The claims about entities that remain."""
        if not self._index.manifest.rows["claims"]:
            return []
        chunks = self.chunks.table.column("id").to_pylist()
        within = is_in(self._index.arrow(Claim, "chunk_id").column("chunk_id"), chunks)
        known = {None, *self.entities.table.column("id").to_pylist()}
        claims = self._records(Claim, within)
        return [claim for claim in claims if claim.subject_id in known and claim.object_id in known]

    @cached_property
    def dated_facts(self) -> TableRows[DatedFact]:
        """The dates of relations and claims that remain, as permitted passages, or a permitted graph, state them."""
        table = self._index.arrow(DatedFact)
        kept = self._index.arrow(Relation, "id").column("id").filter(self.kept.relations).to_pylist()
        facts = is_in(table["relation_id"], kept) | is_in(table["claim_id"], (claim.id for claim in self.claims))
        within = is_in(table["chunk_id"], self.chunks.table.column("id").to_pylist())
        if self.kept.graph:
            within |= table["chunk_id"].is_null().to_numpy()
        return TableRows(table.filter(facts & within), DatedFact)

    def _records(self, record: type[Record], kept: Bools) -> list[Record]:
        return records_of(self._index.arrow(record).filter(kept), record) if kept.any() else []


def replaced(table: pa.Table, which: Bools, rows: pa.Table) -> pa.Table:
    """Return a table with others in the place of some of its rows."""
    if not len(rows):
        return table
    order = np.arange(len(table))
    order[which] = len(table) + np.arange(len(rows))
    return pa.concat_tables([table, rows]).take(order)


def _restated(relation: Relation, mentions: Sequence[Mention], name_of: Mapping[str, str]) -> Relation:
    """Return a relation as its permitted mentions support it: words and chunks come from them alone.

    The description is the model's in each mention, else the shortest sentence that states the relation, else its
    triple. The predicate is spelled as in these sentences, else folded: all mentions share one predicate except for
    its case. A model's predicate, which may come from any mention, remains if permitted mentions contain all its words.
    """
    relation = replace(relation, predicate=_predicate(relation.predicate, mentions))
    return replace(
        relation,
        description=_description(relation, mentions, name_of),
        chunk_ids=tuple(sorted({mention.chunk_id for mention in mentions})),
    )


def _predicate(predicate: str, mentions: Iterable[Mention]) -> str:
    written = re.compile(re.escape(predicate).replace(r"\ ", r"\s+"), re.IGNORECASE)
    found = {" ".join(form.split()) for mention in mentions for form in written.findall(mention.surface)}
    key = entity_key(predicate)
    told = [f"{mention.surface} {mention.description}" for mention in mentions if mention.description]
    if told and not set(key.split()) <= {word.key for text in told for word in words(text)}:
        return ""
    return min((form for form in found if entity_key(form) == key), default=key)


def _description(relation: Relation, mentions: Sequence[Mention], name_of: Mapping[str, str]) -> str:
    text = joined_texts(mention.description for mention in mentions)
    if text:
        return text
    sentences = {mention.surface for mention in mentions} - {""}
    if sentences:
        return " ".join(min(sentences, key=lambda sentence: (len(sentence), sentence)).split())
    return " ".join(f"{name_of[relation.source_id]} {relation.predicate} {name_of[relation.target_id]}".split())


class PermittedNames:
    """Finds the entities that remain by the words of their names; see `NameTable.in_words`.

    Args:
        index: the whole index, which is large.
        kept: the rows that remain.
        known: these rows.
    """

    def __init__(self, index: StoredIndex, kept: Bitmaps, known: PermittedRows) -> None:
        self._whole = entity_table(index)
        rows = np.flatnonzero(kept.entities)
        self._row_of: Rows = np.full(len(kept.entities), -1)
        self._row_of[rows] = np.arange(len(rows))
        # A name is in the table of the whole index as it is there, or not at all.
        changed = np.flatnonzero(~kept.intact[rows])
        before = taken(index.arrow(Entity, "name", "types"), rows[changed])
        after = taken(known.entities.table.select(["name", "types"]), changed)
        is_name = are_names(after["types"])
        renamed = compute.not_equal(before["name"], after["name"]).to_numpy() | (are_names(before["types"]) != is_name)
        self._row_of[rows[changed[renamed]]] = -1
        self._other: defaultdict[str, list[int]] = defaultdict(list)
        other = renamed & is_name
        for row, name in zip(changed[other].tolist(), after["name"].filter(other).to_pylist(), strict=True):
            for key in word_keys(name)[:1]:
                self._other[key].append(row)

    def in_words(self, found: Sequence[Word]) -> list[int]:
        """Return the rows of the entities whose names may consist of consecutive words of a text, ascending."""
        numbers = [number for number in self._whole.in_words(found) if number < len(self._row_of)]
        rows = {row for row in self._row_of[numbers].tolist() if row >= 0}
        return sorted(rows.union(*(self._other.get(word.key, ()) for word in found)))


def permitted_names(index: StoredIndex, known: PermittedRows) -> TableRows[Name]:
    """Return the names of permitted chunks; one that hidden chunks have too is written as permitted ones write it."""
    whole = index.arrow(Name)
    table = restricted(whole, "chunk_ids", known.chunks.table.column("id"))
    left, before = (compute.list_value_length(each["chunk_ids"]).to_numpy() for each in (table, whole))
    names = table["name"].to_pylist()
    row_of, title_of = index.ids(Chunk), index.by_id(Document, "title")
    for row in np.flatnonzero((left > 0) & (left < before)).tolist():
        matcher = NameMatcher({names[row]: None})
        chunks = (index.each(Chunk)[row_of[id_]] for id_ in table["chunk_ids"][row].as_py())
        texts = [title_of[chunk.document_id].strip() or chunk.text for chunk in chunks]
        found = (text[match.start : match.end] for text in texts for match in matcher.find(text)[:1])
        names[row] = min((" ".join(name.split()) for name in found), default=entity_key(names[row]))
    return TableRows(with_column(table, "name", pa.array(names, pa.string())).filter(left > 0), Name)


class ChangedEntities:
    """The c entities that remain and are not intact, and their m permitted mentions, both in table order.

    Args:
        index: the whole index.
        kept: the rows that remain.

    Attributes:
        which: the entities, (entities of the index,).
        mentions: the rows of the mentions, (m,).
        owners: the number of each mention's entity, 0 to c - 1, (m,).
    """

    def __init__(self, index: StoredIndex, kept: Bitmaps) -> None:
        self._index = index
        self._kept = kept
        self.which: Bools = kept.entities & ~kept.intact
        self._rows = np.flatnonzero(self.which)
        self.mentions: Rows = kept.mentions[at(self.which, kept.joined.entities[kept.mentions])]
        self.owners: Ints = (np.cumsum(self.which) - 1)[kept.joined.entities[self.mentions]]
        self._table = taken(index.arrow(Mention, "match", "surface", "description"), self.mentions)

    def table(self) -> pa.Table:
        """Return the entities as their permitted mentions support them.

        A name is the most frequent one. A mention does not record the type that it contributed, so only types that
        other entities have too remain.
        """
        before = taken(self._index.arrow(Entity), self._rows)
        owners, names = self._names()
        has_name = np.zeros(len(before), np.bool_)
        has_name[owners] = True
        kinds = pa.array(self._kinds(before), before["types"].type)
        columns = {
            "name": compute.replace_with_mask(before["name"], has_name, names),
            "type": compute.list_element(kinds, 0),
            "types": kinds,
            "description": pa.array(self._descriptions(), pa.string()),
        }
        for name, column in columns.items():
            before = with_column(before, name, column)
        return before

    def _descriptions(self) -> list[str]:
        """Return what a model, or a permitted graph, says of each entity in permitted chunks; "" if it says nothing."""
        told: defaultdict[int, list[str]] = defaultdict(list)
        if self._kept.graph and self._kept.details:
            ids = taken(self._index.arrow(Entity, "id"), self._rows)["id"].to_pylist()
            for owner, id_ in enumerate(ids):
                rows = self._kept.details.get(id_, ())
                told[owner] += [row["description"] for row in rows if "description" in row]
        own = self._table["description"]
        with_one = np.flatnonzero(compute.not_equal(own, "").to_numpy())
        for owner, text in zip(self.owners[with_one].tolist(), own.take(with_one).to_pylist(), strict=True):
            told[owner] += text.split("\n")  # a line for each description
        return [joined_texts(told[owner]) if owner in told else "" for owner in range(len(self._rows))]

    def _names(self) -> tuple[Ints, pa.Array]:
        """Return the number of each entity that has a mention, and its name."""
        codes, written = codes_of(self._table["surface"])
        surfaces = pa.array([" ".join(surface.split()) for surface in written], pa.string()).take(codes)
        # A merged name comes last: the canonical name may be one that hidden documents use.
        is_merged = compute.equal(self._table["match"], "alias")
        mentions = pa.table({"owner": self.owners, "merged": is_merged, "name": surfaces})
        counted = mentions.group_by(mentions.column_names).aggregate([([], "count_all")])
        orders = ("owner", "ascending"), ("merged", "ascending"), ("count_all", "descending"), ("name", "ascending")
        counted = counted.sort_by([*orders])
        owners, best = np.unique(counted["owner"].to_numpy(), return_index=True)
        return owners, counted["name"].take(best).combine_chunks()

    def _kinds(self, before: pa.Table) -> list[list[str]]:
        """Return the types of each entity."""
        known, details = _plain_types(self._index, self._kept.intact), self._kept.details
        found = []
        of_each = zip(before["id"].to_pylist(), before["types"].to_pylist(), self._kept.titled[self._rows], strict=True)
        for id_, own, is_title in of_each:
            types = _types(known, details[id_], self._kept.graph) if id_ in details else known
            found.append([kind for kind in own if (is_title if kind == TITLE else kind in types)] or [NAME])
        return found


def _plain_types(index: StoredIndex, intact: Bools) -> frozenset[str]:
    """Return the types that reveal nothing of hidden documents: the extractor's, and those of intact entities."""
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


def joined_texts(texts: Iterable[str]) -> str:
    """Return distinct texts, sorted, until the next would exceed `DESCRIPTION_TOKENS`; at least one of them."""
    known = sorted(set(texts) - {""})
    total = 0
    for place, length in enumerate(count_each(known)):
        total += length
        if place and total > DESCRIPTION_TOKENS:
            return " ".join(known[:place])
    return " ".join(known)
