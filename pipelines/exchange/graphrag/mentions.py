"""Locate imported entities and relations in the chunks that GraphRAG lists for them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from conspectus.pipelines.exchange.graphrag.graph import EntityDraft
from conspectus.storage.hashing import entity_id, mention_id
from conspectus.storage.records import Chunk, Match, Mention, Relation
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.names import NameMatcher, words
from conspectus.storage.text.normalise import entity_key, title_names
from conspectus.storage.text.sentences import sentence_spans

_Place = tuple[int | None, int | None, Match, str]
"""The span of a name in its document, how it was matched, and the words there."""


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
        names = {key: drafts[key].name for key in keys_in[chunk.id]}
        places = _places(chunk, names)
        # A short form alone may be the name of another entity.
        missing = [key for key in names if all(kind != "exact" for _, _, kind, _ in places.get(key, ()))]
        found = [
            *(_entity_mention(chunk, key, *place) for key in names for place in places.get(key, ())),
            *(_entity_mention(chunk, key, None, None, "chunk", names[key]) for key in missing),
            *_relation_mentions(chunk, names, stated_in[chunk.id]),
        ]
        made.update((mention.id, mention) for mention in found)
    return sorted_by_id(made.values())


def _places(chunk: Chunk, names: Mapping[str, str]) -> dict[str, list[_Place]]:
    """Return the places of each name that a chunk contains, in offsets of the document."""
    surfaces: defaultdict[str, set[tuple[str, Match]]] = defaultdict(set)
    for key, name in names.items():
        own, *others = title_names(name)
        surfaces[own].add((key, "exact"))
        for other in others:
            if entity_key(other) not in names:
                surfaces[other].add((key, "alias"))
    found: defaultdict[str, list[_Place]] = defaultdict(list)
    every = NameMatcher({surface: frozenset(owners) for surface, owners in surfaces.items()})

    def add(start: int, end: int, owners: Iterable[tuple[str, Match]]) -> None:
        for key, kind in sorted(owners):
            found[key].append((chunk.start + start, chunk.start + end, kind, chunk.text[start:end]))

    for match in every.find(chunk.text):
        add(match.start, match.end, match.value)
    missing = {surface: owners for surface, owners in surfaces.items() if any(key not in found for key, _ in owners)}
    folded = entity_key(chunk.text) if missing else ""
    for surface, owners in missing.items():
        if not all(word.key in folded for word in words(surface)):
            continue  # a cheap test before the costly search
        # The name may be part of a longer name, which the matcher prefers.
        for alone in NameMatcher({surface: None}).find(chunk.text):
            add(alone.start, alone.end, owners)
    return found


def _entity_mention(chunk: Chunk, key: str, start: int | None, end: int | None, match: Match, surface: str) -> Mention:
    owner = entity_id(key)
    id_ = mention_id(chunk.id, owner, start, end)
    return Mention(id_, chunk.id, owner, None, start, end, match, surface, "")


def _relation_mentions(chunk: Chunk, names: Mapping[str, str], relations: Sequence[Relation]) -> Iterator[Mention]:
    """Yield the mentions of a chunk's relations; `names` are by key."""
    if not relations:
        return
    sentences = sentence_spans(chunk.text)
    sentence_words = [[word.key for word in words(chunk.text[start:end])] for start, end in sentences]
    folded = [_run(words_of_one) for words_of_one in sentence_words]
    naming: dict[str, set[int]] = {}
    for key, name in names.items():
        wanted = _run(word.key for word in words(title_names(name)[-1]))
        naming[entity_id(key)] = {row for row, text in enumerate(folded) if wanted in text} if wanted.strip() else set()
    for relation in relations:
        both = naming.get(relation.source_id, set()) & naming.get(relation.target_id, set())
        start = end = None
        surface = ""
        if both:
            described = {word.key for word in words(relation.description)}
            best = min(both, key=lambda row: (-len(described.intersection(sentence_words[row])), row))
            first, last = sentences[best]
            start, end, surface = chunk.start + first, chunk.start + last, chunk.text[first:last]
        id_ = mention_id(chunk.id, relation.id, start, end)
        # The description may be based on other chunks too, so this mention does not get it.
        yield Mention(id_, chunk.id, None, relation.id, start, end, "exact" if both else "chunk", surface, "")


def _run(keys: Iterable[str]) -> str:
    """Join words so that a name can be found between blanks, within a longer name too."""
    return f" {' '.join(keys)} "
