"""Locate imported entities and relations in the chunks that GraphRAG lists for them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from conspectus.pipelines.exchange.graphrag.graph import EntityDraft
from conspectus.pipelines.steps.extract.find_names import KnownNames, NamingSentences, Sighting, own_sightings, see
from conspectus.storage.hashing import entity_id, mention_id
from conspectus.storage.records import Chunk, Mention, Relation
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.names import NameMatcher
from conspectus.storage.text.nlp import Annotation
from conspectus.storage.text.normalise import entity_key, title_names


def mentions_of(
    drafts: Mapping[str, EntityDraft], relations: Sequence[Relation], chunks: Sequence[Chunk]
) -> list[Mention]:
    """Return the mentions of all entities and relations in their chunks, sorted by id.

    An entity is mentioned at every occurrence of its name, with or without a final parenthesis. A relation is mentioned
    by the sentence that names both its ends and shares most words with its description. If nothing matches, the mention
    covers the whole chunk. `drafts` are by the key of the name.
    """
    keys_in: defaultdict[str, list[str]] = defaultdict(list)
    for key, draft in drafts.items():
        for chunk_id in draft.chunk_ids:
            keys_in[chunk_id].append(key)
    stated_in: defaultdict[str, list[Relation]] = defaultdict(list)
    for relation in relations:
        for chunk_id in relation.chunk_ids:
            stated_in[chunk_id].append(relation)
    made: dict[str, Mention] = {}
    for chunk in chunks:
        seen = list(_sightings(chunk, {key: drafts[key].name for key in keys_in[chunk.id]}))
        found = (*map(_entity_mention, seen), *_relation_mentions(chunk, seen, stated_in[chunk.id]))
        made.update((mention.id, mention) for mention in found)
    return sorted_by_id(made.values())


def _sightings(chunk: Chunk, names: Mapping[str, str]) -> Iterator[Sighting]:
    """Yield the places of names, by key, in a chunk; of a name that it does not contain, the chunk as a whole."""
    known = KnownNames()
    for key, name in names.items():
        own, *others = title_names(name)
        known.add(own)
        for other in others:
            if entity_key(other) not in names:
                known.add(other, key)
    found = see(chunk, Annotation((), ()), NameMatcher(known)).sightings
    yield from found
    folded = entity_key(chunk.text)
    # A short form alone may be the name of another entity.
    for key in names.keys() - {each.key for each in found if each.match == "exact"}:
        yield from own_sightings(chunk, key, names[key], folded)


def _entity_mention(seen: Sighting) -> Mention:
    owner, (start, end) = entity_id(seen.key), (seen.start, seen.end)
    id_ = mention_id(seen.chunk.id, owner, start, end)
    return Mention(id_, seen.chunk.id, owner, None, start, end, seen.match, seen.surface, "")


def _relation_mentions(chunk: Chunk, seen: Iterable[Sighting], relations: Sequence[Relation]) -> Iterator[Mention]:
    """Yield the mentions of a chunk's relations."""
    if not relations:
        return
    sentences = NamingSentences(chunk, (each._replace(key=entity_id(each.key)) for each in seen))
    for relation in relations:
        start, end = sentences.of_both(relation.source_id, relation.target_id, relation.description)
        surface = chunk.text[start - chunk.start : end - chunk.start] if start is not None and end is not None else ""
        id_ = mention_id(chunk.id, relation.id, start, end)
        # The description may be based on other chunks too, so this mention does not get it.
        yield Mention(id_, chunk.id, None, relation.id, start, end, "exact" if surface else "chunk", surface, "")
