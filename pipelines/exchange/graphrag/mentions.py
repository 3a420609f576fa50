"""Where imported entities and relations stand in the chunks that are said to name them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from conspectus.pipelines.exchange.graphrag.entities import Things
from conspectus.storage.hashing import entity_id, mention_id
from conspectus.storage.records import Chunk, Match, Mention, Relation
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.names import NameMatcher, words
from conspectus.storage.text.normalise import entity_key, title_names
from conspectus.storage.text.sentences import sentence_spans

_Place = tuple[int | None, int | None, Match, str]
"""Where a name stands in its document, how, and the words there."""


def mentions_of(things: Things, relations: Sequence[Relation], chunks: Sequence[Chunk]) -> list[Mention]:
    """Return the mentions of all entities and relations in their chunks, sorted by id.

    An entity is mentioned wherever its name stands, exactly or without a last parenthesis; a relation by the sentence
    that names both its ends and has most words of its description. What stands nowhere is of the chunk as a whole.
    """
    keys_in: defaultdict[str, list[str]] = defaultdict(list)
    for key, thing in things.of_key.items():
        for chunk_id in thing.chunk_ids:
            keys_in[chunk_id].append(key)
    stated_in: defaultdict[str, list[Relation]] = defaultdict(list)
    for relation in relations:
        for chunk_id in relation.chunk_ids:
            stated_in[chunk_id].append(relation)
    made: dict[str, Mention] = {}
    for chunk in chunks:
        names = {key: things.of_key[key].name for key in keys_in[chunk.id]}
        places = _places(chunk, names)
        found = [
            *(_entity_mention(chunk, key, *place) for key in names for place in places.get(key, ())),
            *(_entity_mention(chunk, key, None, None, "chunk", names[key]) for key in names if not _named(places, key)),
            *_relation_mentions(chunk, names, stated_in[chunk.id]),
        ]
        made.update((each.id, each) for each in found)
    return sorted_by_id(made.values())


def _named(places: Mapping[str, Sequence[_Place]], key: str) -> bool:
    """Return whether a name itself stands in the chunk; a short form alone may be somebody else's."""
    return any(kind == "exact" for _, _, kind, _ in places.get(key, ()))


def _places(chunk: Chunk, names: Mapping[str, str]) -> dict[str, list[_Place]]:
    """Return where each name stands in a chunk, in offsets of the document; names that stand nowhere are left out."""
    surfaces: defaultdict[str, set[tuple[str, Match]]] = defaultdict(set)
    for key, name in names.items():
        own, *others = title_names(name)
        surfaces[own].add((key, "exact"))
        for other in others:
            if entity_key(other) not in names:
                surfaces[other].add((key, "alias"))
    found: defaultdict[str, list[_Place]] = defaultdict(list)
    every = NameMatcher({surface: frozenset(those) for surface, those in surfaces.items()})
    for match in every.find(chunk.text):
        for key, kind in sorted(match.value):
            found[key].append(_place(chunk, match.start, match.end, kind))
    missing = {surface: those for surface, those in surfaces.items() if any(key not in found for key, _ in those)}
    folded = entity_key(chunk.text) if missing else ""
    for surface, those in missing.items():
        if not all(word.key in folded for word in words(surface)):
            continue  # looking for it properly costs far more
        # It may be part of a longer name.
        for alone in NameMatcher({surface: None}).find(chunk.text):
            for key, kind in sorted(those):
                found[key].append(_place(chunk, alone.start, alone.end, kind))
    return found


def _place(chunk: Chunk, start: int, end: int, kind: Match) -> _Place:
    return chunk.start + start, chunk.start + end, kind, chunk.text[start:end]


def _entity_mention(chunk: Chunk, key: str, start: int | None, end: int | None, match: Match, surface: str) -> Mention:
    owner = entity_id(key)
    id_ = mention_id(chunk.id, owner, start, end)
    return Mention(id_, chunk.id, owner, None, start, end, match, surface, "")


def _relation_mentions(chunk: Chunk, names: Mapping[str, str], relations: Sequence[Relation]) -> Iterator[Mention]:
    """Yield where a chunk states its relations; `names` are by key."""
    if not relations:
        return
    sentences = sentence_spans(chunk.text)
    keys = [[word.key for word in words(chunk.text[start:end])] for start, end in sentences]
    folded = [_run(each) for each in keys]
    naming: dict[str, set[int]] = {}
    for key, name in names.items():
        wanted = _run(word.key for word in words(title_names(name)[-1]))
        naming[entity_id(key)] = {row for row, told in enumerate(folded) if wanted in told} if wanted.strip() else set()
    for relation in relations:
        both = naming.get(relation.source_id, set()) & naming.get(relation.target_id, set())
        start = end = None
        surface = ""
        if both:
            told = {word.key for word in words(relation.description)}
            best = min(both, key=lambda row: (-len(told.intersection(keys[row])), row))
            first, last = sentences[best]
            start, end, surface = chunk.start + first, chunk.start + last, chunk.text[first:last]
        id_ = mention_id(chunk.id, relation.id, start, end)
        # What is written of it may rest on other chunks too, so no mention says it.
        yield Mention(id_, chunk.id, None, relation.id, start, end, "exact" if both else "chunk", surface, "")


def _run(keys: Iterable[str]) -> str:
    """Return words as one text in which a name is found between blanks, within a longer name too."""
    return f" {' '.join(keys)} "
