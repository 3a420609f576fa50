"""Find all known names in every chunk: an entity of one chunk may be mentioned in another.

A recogniser that reads one chunk at a time misses a name in one chunk that it found in another. So every known name
(a document's title, with and without its trailing parenthesis, and every recognised name) is searched in all chunks
by exact longest match. On multi-hop questions this linking helps more than any other.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from conspectus.storage.records import Chunk, Document, Match
from conspectus.storage.settings import NameSettings
from conspectus.storage.text.names import NameMatcher, is_capitalised, is_other_word, is_worth_looking_for, words
from conspectus.storage.text.nlp import Annotation, Phrase
from conspectus.storage.text.normalise import entity_key, title_names


class Sighting(NamedTuple):
    """An entity seen in a chunk. Offsets are the document's; None if the mention is the chunk as a whole."""

    chunk: Chunk
    key: str
    surface: str
    type: str | None
    start: int | None
    end: int | None
    match: Match


@dataclass(frozen=True, slots=True)
class KnownName:
    """The entity keys that a name in a text may refer to: by the name itself, or by another form of it."""

    exact: frozenset[str]
    alias: frozenset[str]
    capitalised: bool


def known_names(documents: Sequence[Document], found: Iterable[str], settings: NameSettings) -> dict[str, KnownName]:
    """Return every name to search for, by its key: titles and found names. Lone short words are left out."""
    exact: defaultdict[str, set[str]] = defaultdict(set)
    alias: defaultdict[str, set[str]] = defaultdict(set)
    surfaces: defaultdict[str, set[str]] = defaultdict(set)
    for document in documents:
        if document.title.strip():
            title, *others = title_names(document.title)
            exact[entity_key(title)].add(entity_key(title))
            surfaces[entity_key(title)].add(title)
            for other in others:
                alias[entity_key(other)].add(entity_key(title))
                surfaces[entity_key(other)].add(other)
    for surface in found:
        key = entity_key(surface)
        exact[key].add(key)
        surfaces[key].add(surface)
    return {
        key: KnownName(frozenset(exact[key]), frozenset(alias[key]), is_capitalised(surfaces[key]))
        for key in sorted(surfaces)
        if is_worth_looking_for(key, settings.min_characters)
    }


def see(chunk: Chunk, annotation: Annotation, matcher: "NameMatcher[KnownName]") -> "ChunkSightings":
    """Return the sightings in one chunk: known names first, then annotated phrases that no longer name covers."""
    sightings: list[Sighting] = []
    covered: list[tuple[int, int, str]] = []
    for match in matcher.find(chunk.text):
        surface = chunk.text[match.start : match.end]
        name = match.value
        if is_other_word(surface, name.capitalised):
            continue
        start, end = chunk.start + match.start, chunk.start + match.end
        kinds: tuple[tuple[frozenset[str], Match], ...] = ((name.exact, "exact"), (name.alias - name.exact, "alias"))
        for keys, kind in kinds:
            sightings += [Sighting(chunk, key, surface, None, start, end, kind) for key in sorted(keys)]
        covered.append((match.start, match.end, min(name.exact or name.alias)))

    starts = [start for start, _, _ in covered]
    stands_for: dict[Phrase, str] = {}
    for phrase in annotation.phrases:
        cover = covered[bisect_right(starts, phrase.start) - 1] if covered else None  # covers do not overlap
        if cover and not cover[0] <= phrase.start <= phrase.end <= cover[1]:
            cover = None
        stands_for[phrase] = cover[2] if cover else entity_key(phrase.text)
        # If the cover is longer, the shorter phrase is part of another name and is ignored.
        if cover is None or cover[:2] == (phrase.start, phrase.end):
            start, end = chunk.start + phrase.start, chunk.start + phrase.end
            key = entity_key(phrase.text)
            surface = chunk.text[phrase.start : phrase.end]
            sightings.append(Sighting(chunk, key, surface, phrase.type, start, end, "exact"))
    return ChunkSightings(chunk, tuple(sightings), stands_for)


@dataclass(frozen=True, slots=True)
class ChunkSightings:
    """The sightings in a chunk, and the entity key that each annotated phrase refers to."""

    chunk: Chunk
    sightings: tuple[Sighting, ...]
    stands_for: dict[Phrase, str]


def own_sightings(chunk: Chunk, key: str, name: str, folded: str, type_: str | None = None) -> Iterator[Sighting]:
    """Yield the places of a chunk's own name that is too short to search elsewhere, or part of another name.

    If the text does not contain it, the mention is the chunk as a whole. `folded` is the key of the chunk's text.
    """
    matches = []
    if all(word.key in folded for word in words(name)):  # a cheap test before the costly search
        matches = NameMatcher({name: key}).find(chunk.text)
    for match in matches:
        surface = chunk.text[match.start : match.end]
        yield Sighting(chunk, key, surface, type_, chunk.start + match.start, chunk.start + match.end, "exact")
    if not matches:
        yield Sighting(chunk, key, name, type_, None, None, "chunk")


def title_sightings(
    documents: Iterable[Document], chunks: Iterable[Chunk], known: Mapping[str, KnownName]
) -> Iterator[Sighting]:
    """Yield, for each chunk of a titled document, its title and the known names inside it ("Diocese of Fredericton").

    Titles are not part of the text, so these sightings have no span.
    """
    inside: dict[str, list[tuple[str, str]]] = {}
    for document in documents:
        title = document.title.strip()
        if title:
            own = {entity_key(title): title}
            for surface in _parts(title):
                name = known.get(entity_key(surface))
                for key in sorted(name.exact) if name else ():
                    own.setdefault(key, surface)
            inside[document.id] = list(own.items())
    for chunk in chunks:
        for key, surface in inside.get(chunk.document_id, ()):
            yield Sighting(chunk, key, surface, None, None, None, "chunk")


_MOST_WORDS_IN_TITLE = 20
"""Words of a title beyond which it is a sentence, whose parts are not looked up."""


def _parts(title: str) -> Iterator[str]:
    found = words(title)[:_MOST_WORDS_IN_TITLE]
    for first, word in enumerate(found):
        for last in found[first:]:
            yield title[word.start : last.end]
