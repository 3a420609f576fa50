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
from conspectus.storage.text.names import NameMatcher, is_capitalised, is_other_word, is_worth_looking_for, words
from conspectus.storage.text.nlp import Annotation, Phrase
from conspectus.storage.text.normalise import entity_key, title_names
from conspectus.storage.text.sentences import sentence_spans


class Sighting(NamedTuple):
    """An entity seen in a chunk. Offsets are the document's; None if the mention is the chunk as a whole."""

    chunk: Chunk
    key: str
    surface: str
    type: str | None
    start: int | None
    end: int | None
    match: Match


class KnownName(NamedTuple):
    """The entity keys that a name in a text may refer to: by the name itself, or by another form of it.

    Each comes with how it is matched, exact ones first. `capitalised`: the name is always written with a capital.
    """

    keys: tuple[tuple[str, Match], ...]
    capitalised: bool


class KnownNames(Mapping[str, KnownName]):
    """Names to search for, by their keys; each is made when it is asked for."""

    def __init__(self) -> None:
        self._is_capitalised: dict[str, bool] = {}
        self._titles: dict[str, set[str]] = {}
        self._only_titles: set[str] = set()

    def add(self, surface: str, title: str | None = None) -> None:
        """Add a name, of itself or of the entity with this title's key."""
        key = entity_key(surface)
        is_new = key not in self._is_capitalised
        self._is_capitalised[key] = is_capitalised([surface]) and (is_new or self._is_capitalised[key])
        if title is None:
            self._only_titles.discard(key)
            return
        self._titles.setdefault(key, set()).add(title)
        if is_new:
            self._only_titles.add(key)

    def leave_out(self, names: Iterable[str]) -> None:
        """Leave out names."""
        for key in names:
            del self._is_capitalised[key]

    def __getitem__(self, key: str) -> KnownName:
        capitalised = self._is_capitalised[key]
        exact: list[tuple[str, Match]] = [] if key in self._only_titles else [(key, "exact")]
        titles = self._titles.get(key, ())
        return KnownName((*exact, *((title, "alias") for title in sorted(titles) if title != key)), capitalised)

    def __len__(self) -> int:
        return len(self._is_capitalised)

    def __iter__(self) -> Iterator[str]:
        return iter(self._is_capitalised)


def known_names(documents: Sequence[Document], found: Iterable[str]) -> KnownNames:
    """Return every name to search for, by its key: titles and found names. Lone short words are left out."""
    known = KnownNames()
    for document in documents:
        if document.title.strip():
            title, *others = title_names(document.title)
            known.add(title)
            for other in others:
                known.add(other, entity_key(title))
    for surface in found:
        known.add(surface)
    known.leave_out([key for key in known if not is_worth_looking_for(key)])
    return known


def see(chunk: Chunk, annotation: Annotation, matcher: "NameMatcher[KnownName]") -> "ChunkSightings":
    """Return the sightings in one chunk: known names first, then annotated phrases that no longer name covers."""
    text, offset = chunk.text, chunk.start
    sightings: list[Sighting] = []
    starts: list[int] = []
    covered: list[tuple[int, str]] = []
    for match in matcher.find(text):
        surface = text[match.start : match.end]
        keys, capitalised = match.value
        if is_other_word(surface, capitalised):
            continue
        start, end = offset + match.start, offset + match.end
        sightings += [Sighting(chunk, key, surface, None, start, end, kind) for key, kind in keys]
        starts.append(match.start)
        covered.append((match.end, keys[0][0]))

    stands_for: dict[Phrase, str] = {}
    for phrase in annotation.phrases:
        at = bisect_right(starts, phrase.start) - 1  # covers do not overlap
        end, name = covered[at] if at >= 0 else (-1, "")
        is_covered = phrase.end <= end
        key = entity_key(phrase.text)
        stands_for[phrase] = name if is_covered else key
        # If the cover is longer, the shorter phrase is part of another name and is ignored.
        if not is_covered or (starts[at], end) == (phrase.start, phrase.end):
            surface = text[phrase.start : phrase.end]
            span = offset + phrase.start, offset + phrase.end
            sightings.append(Sighting(chunk, key, surface, phrase.type, *span, "exact"))
    return ChunkSightings(chunk, tuple(sightings), stands_for)


@dataclass(frozen=True, slots=True)
class ChunkSightings:
    """The sightings in a chunk, and the entity key that each annotated phrase refers to."""

    chunk: Chunk
    sightings: tuple[Sighting, ...]
    stands_for: dict[Phrase, str]


class NamingSentences:
    """The sentences of a chunk, by the entities that they name.

    Args:
        chunk: The chunk.
        seen: What is seen in it.
    """

    def __init__(self, chunk: Chunk, seen: Iterable[Sighting]) -> None:
        self._chunk = chunk
        self._spans = sentence_spans(chunk.text)
        ends = [end for _, end in self._spans]
        self._naming: defaultdict[str, set[int]] = defaultdict(set)
        for sighting in seen:
            if sighting.start is not None:
                self._naming[sighting.key].add(bisect_right(ends, sighting.start - chunk.start))

    def of_both(self, source: str, target: str, told: str) -> tuple[int, int] | tuple[None, None]:
        """Return the sentence, in document offsets, that names both ends and shares most words with what is told.

        Ties go to the first. Both offsets are None if no sentence names both.
        """
        both = sorted(self._naming[source] & self._naming[target])
        if not both:
            return None, None
        text, wanted = self._chunk.text, {word.key for word in words(told)} if len(both) > 1 else set()

        def shared(place: int) -> int:
            start, end = self._spans[place]
            return len(wanted & {word.key for word in words(text[start:end])})

        start, end = self._spans[both[0] if len(both) == 1 else max(both, key=shared)]
        return self._chunk.start + start, self._chunk.start + end


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
                for key, kind in name.keys if name else ():
                    if kind == "exact":
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
