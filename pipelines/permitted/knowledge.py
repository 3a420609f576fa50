"""What permitted documents say: the tables of an index without every row, and every word, that only others support."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from conspectus.pipelines.exchange.kg.attributes import types_of
from conspectus.pipelines.permitted.merged import merged_mentions
from conspectus.pipelines.permitted.statements import joined, restated
from conspectus.pipelines.steps.extract.merge import TITLE, degrees_of, entity_id
from conspectus.pipelines.steps.join_graph import GRAPH_FILE
from conspectus.storage.index import Index
from conspectus.storage.records import Chunk, Claim, Document, Entity, Mention, Origin, Relation
from conspectus.storage.tables import records_of
from conspectus.storage.text.nlp import CONCEPT, NAME
from conspectus.storage.text.normalise import entity_key, title_names

if TYPE_CHECKING:
    import pyarrow as pa

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The tables of what permitted documents say, in table order.

    `entities` have no descriptions yet, but those of `whole`: the ids of the entities all of whose mentions may be
    read, whose rows stand as they stood (but for their degree). `told` is what a model said of the others, by id.
    """

    documents: list[Document]
    chunks: list[Chunk]
    mentions: list[Mention]
    entities: list[Entity]
    relations: list[Relation]
    claims: list[Claim]
    whole: frozenset[str]
    told: Mapping[str, str]


def narrowed(index: Index, document_ids: AbstractSet[str], *, graph: bool, most_tokens: int) -> Narrowed:
    """Return what some documents say, and, where `graph` is true, what a graph that was brought along says.

    Kept are mentions in chunks of these documents; entities and relations that they mention, and those that the graph
    alone states. A short form of a title ("Apollo" of "Apollo (band)") is kept where the document of that title is.
    A phrase that is no name, and that no statement and no second place uses any more, is left out, as in a build.
    Descriptions that a model gave of mentions are joined to at most `most_tokens`.
    """
    documents = _where(index, Document, "id", document_ids)
    chunks = _where(index, Chunk, "document_id", document_ids)
    chunk_of = {each.id: each for each in chunks}
    titled = frozenset(entity_id(entity_key(title_names(each.title)[0])) for each in documents if each.title.strip())

    of_files = _told_by_graph(index)
    mentions, touched = _mentions(index, chunk_of.keys(), titled)
    if not graph:
        touched |= of_files.keys()
    of_entity, of_relation = _by_owner(mentions)
    of_graph = _relations_of_graph(index) if graph else []
    ends_of_graph = {id_ for each in of_graph for id_ in (each.source_id, each.target_id)}
    alone = _alone(index) if graph else frozenset()

    stated = _where(index, Relation, "id", of_relation.keys())
    stated = [each for each in stated if each.source_id in of_entity and each.target_id in of_entity]
    used = {id_ for each in stated for id_ in (each.source_id, each.target_id)}
    joining = ends_of_graph | alone | used
    base = {
        each.id: each
        for each in _where(index, Entity, "id", of_entity.keys() | joining)
        if each.id in joining or _is_worth_a_node(each, of_entity[each.id], chunk_of, titled)
    }
    whole = frozenset(id_ for id_ in base if id_ not in touched)
    types = _plain_types(index, [base[id_] for id_ in whole])

    entities = [
        each
        if each.id in whole
        else _renewed(
            each,
            of_entity.get(each.id, ()),
            chunk_of,
            titled,
            _types(types, of_files, each.id, graph),
        )
        for each in base.values()
    ]
    name_of = {each.id: each.name for each in entities}
    relations = [
        restated(each, of_relation[each.id], chunk_of, name_of, most_tokens) if each.id in touched else each
        for each in stated
    ]
    relations = sorted([*relations, *of_graph], key=lambda each: each.id)
    degrees = degrees_of(relations)
    owners = base.keys() | {each.id for each in relations}
    return Narrowed(
        documents,
        chunks,
        [each for each in mentions if (each.entity_id or each.relation_id) in owners],
        [replace(each, degree=degrees.get(each.id, 0)) for each in entities],
        relations,
        [each for each in _where(index, Claim, "chunk_id", chunk_of.keys()) if _is_about(each, base.keys())],
        whole,
        {
            id_: told
            for id_ in base.keys() - whole
            if (told := joined([*_described(of_files, id_, graph), *_told(of_entity.get(id_, ()))], most_tokens))
        },
    )


def _where(index: Index, record: type[Record], column: str, values: Iterable[str]) -> list[Record]:
    """Return the rows of a table whose column has one of some values, without making the others."""
    table = index.arrow(record)
    return records_of(table.filter(_is_in(table.column(column), values)), record)


def _is_in(column: "pa.ChunkedArray", values: Iterable[str]) -> "pa.ChunkedArray":
    import pyarrow as pa
    from pyarrow import compute

    return compute.is_in(column, value_set=pa.array(sorted(values), pa.string()))


def _mentions(
    index: Index, chunk_ids: AbstractSet[str], titled: AbstractSet[str]
) -> tuple[list[Mention], frozenset[str]]:
    """Return the mentions that may be read, and the ids of the entities and relations that lose some of theirs."""
    from pyarrow import compute

    table = index.arrow(Mention)
    within = _is_in(table.column("chunk_id"), chunk_ids)
    by_title = _is_in(table.column("entity_id"), titled)
    by_itself = compute.or_(
        compute.not_equal(table.column("match"), "alias"), _is_in(table.column("id"), merged_mentions(index, table))
    )
    readable = compute.and_(within, compute.or_(by_itself, by_title))
    lost = table.filter(compute.invert(readable))
    touched = {*lost.column("entity_id").unique().to_pylist(), *lost.column("relation_id").unique().to_pylist()}
    return records_of(table.filter(readable), Mention), frozenset(touched - {None})


def _by_owner(mentions: Iterable[Mention]) -> tuple[dict[str, list[Mention]], dict[str, list[Mention]]]:
    of_entity: defaultdict[str, list[Mention]] = defaultdict(list)
    of_relation: defaultdict[str, list[Mention]] = defaultdict(list)
    for each in mentions:
        if each.entity_id is not None:
            of_entity[each.entity_id].append(each)
        elif each.relation_id is not None:
            of_relation[each.relation_id].append(each)
    return dict(of_entity), dict(of_relation)


def _told_by_graph(index: Index) -> dict[str, list[Mapping[str, str]]]:
    """Return what the files of a graph that was brought along say of entities and relations, by id."""
    told: dict[str, list[Mapping[str, str]]] = {}
    for each in index.rows(Origin):
        if GRAPH_FILE in each.details:
            told.setdefault(each.item_id, []).append(each.details)
    return told


def _described(of_files: Mapping[str, Sequence[Mapping[str, str]]], id_: str, graph: bool) -> Iterator[str]:
    """Yield the descriptions that a graph gives, where it may be read."""
    if graph:
        yield from (each["description"] for each in of_files.get(id_, ()) if "description" in each)


def _types(
    types: AbstractSet[str], of_files: Mapping[str, Sequence[Mapping[str, str]]], id_: str, graph: bool
) -> AbstractSet[str]:
    """Return the types that an entity may keep: those that a graph gives it where that may be read, and only there."""
    brought = {kind for each in of_files.get(id_, ()) for kind in types_of(each.get("types", ""))}
    return types | brought if graph else types - brought


def _relations_of_graph(index: Index) -> list[Relation]:
    """Return the relations that no document states."""
    from pyarrow import compute

    table = index.arrow(Relation)
    return records_of(table.filter(compute.equal(compute.list_value_length(table.column("chunk_ids")), 0)), Relation)


def _alone(index: Index) -> frozenset[str]:
    """Return the ids of the entities that no document mentions."""
    from pyarrow import compute

    table = index.arrow(Entity, "id", "frequency")
    return frozenset(table.filter(compute.equal(table.column("frequency"), 0)).column("id").to_pylist())


def _is_worth_a_node(
    entity: Entity, mentions: Sequence[Mention], chunk_of: Mapping[str, Chunk], titled: AbstractSet[str]
) -> bool:
    """Return whether an entity without a statement stands in the index: a name, or a phrase of several places.

    What is known as a title only is no name without the document of that title.
    """
    if set(entity.types) == {TITLE}:
        return entity.id in titled
    if any(kind != CONCEPT for kind in entity.types):
        return True
    return len({(chunk_of[each.chunk_id].document_id, each.start) for each in mentions}) > 1


def _plain_types(index: Index, whole: Iterable[Entity]) -> frozenset[str]:
    """Return the types that say nothing of a document that may not be read: those of the extractor, and of `whole`."""
    asked = index.manifest.settings["extraction"].get("entity_types") or ()
    return frozenset([CONCEPT, NAME, *map(entity_key, asked), *(kind for each in whole for kind in each.types)])


def _renewed(
    entity: Entity,
    mentions: Sequence[Mention],
    chunk_of: Mapping[str, Chunk],
    titled: AbstractSet[str],
    types: AbstractSet[str],
) -> Entity:
    """Return an entity as some of its mentions support it, without a description.

    Its name is the one that stands in most places, counted as in a build. A mention does not keep the type that it
    gave, so of the types those are left that others have too; what stands in no text is known as a title.
    """
    surfaces: Counter[str] = Counter()
    places: set[tuple[str, int | None, int | None]] = set()
    # Where only names stand that were merged into its own, that one is what other documents call it.
    for each in [each for each in mentions if each.match != "alias"] or mentions:
        place = (chunk_of[each.chunk_id].document_id, each.start, each.end)
        if place not in places:
            surfaces[" ".join(each.surface.split())] += 1
            places.add(place)
    if entity.id in titled and all(each.start is None for each in mentions if each.match != "alias"):
        kinds: tuple[str, ...] = (TITLE,)
    else:
        kinds = tuple(kind for kind in entity.types if kind in types - {TITLE}) or (NAME,)
    name = min(surfaces, key=lambda surface: (-surfaces[surface], surface)) if surfaces else entity.name
    frequency = len({each.chunk_id for each in mentions})
    return Entity(entity.id, name, kinds[0], kinds, "", frequency, 0)


def _told(mentions: Iterable[Mention]) -> Iterator[str]:
    """Yield what a model said of an entity in some chunks; a mention has it a line each."""
    for each in mentions:
        yield from each.description.split("\n")


def _is_about(claim: Claim, entity_ids: AbstractSet[str]) -> bool:
    return claim.subject_id in entity_ids and (claim.object_id is None or claim.object_id in entity_ids)
