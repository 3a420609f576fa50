"""Entity linking: from the words of a question to rows of the entity table.

One `Linker` per index, and one method per kind of linking:

- `link`, `mentions`: names that occur in the question, by exact longest match;
- `entities`: the same as rows of entities only, including names that are titles (GraphRAG's local search);
- `nearest`: for each name of a list the entity whose vector is nearest (HippoRAG, section 2.3);
- `given`: names that the caller gives, and those that the graph lacks (the topic entities of walks).

A walk that is given no topic entities ranks candidates by more than their names: see `topics.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.storage.arrays import Rows, distinct
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.memory_index import MemoryIndex
from conspectus.storage.name_tables import alias_rows, are_names, entity_table, title_table
from conspectus.storage.records import Entity, Name
from conspectus.storage.text.name_table import TableMatcher
from conspectus.storage.text.names import NameMatcher, Word, words
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.postings import TextColumn


@dataclass(frozen=True, slots=True)
class Links:
    """The names in a question: names of chunks (titles), and rows of the entity table, ascending."""

    names: tuple[Name, ...]
    entity_rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NamedSpan:
    """A name of the index at [start, end) of a text, and the types of the entity of that name (empty: no such entity).

    `is_title` is true if passages have the name as their title.
    """

    start: int
    end: int
    name: str
    types: tuple[str, ...]
    is_title: bool


class Linker:
    """Finds the names of an index in questions. Immutable, and safe to share between threads.

    It searches two dictionaries: the names of chunks, and the names of all entities, including those merged into them.
    A lone capitalised name ("Speed") must be capitalised in the question too, unless the question is written without
    capitals.
    """

    def __init__(self, index: StoredIndex) -> None:
        self._index = index
        table = index.arrow(Entity, "name", "types")
        self._names: Sequence[str] = TextColumn(lambda: table.column("name"))
        self._types = table.column("types")
        self._titles = _title_matcher(index)
        self._entities = self._entity_matcher()

    def link(self, text: str, found: Sequence[Word] | None = None) -> Links:
        """Return the names in a question, each title and entity once, in the order of the tables.

        Args:
            text: The question.
            found: Its words, if they are known already.
        """
        found = words(text) if found is None else found
        cased = any(text[word.start].isupper() for word in found[1:])
        titles = {
            match.value.id: match.value
            for match in self._titles.find(text, found)
            if not (cased and not _is_lower(match.value.name) and _is_lower(text[match.start : match.end]))
        }
        entities = {
            match.value
            for match in self._entities.find(text, found)
            if not (cased and _is_lower(text[match.start : match.end]))
        }
        return Links(tuple(titles[id_] for id_ in sorted(titles)), tuple(sorted(entities)))

    def mentions(self, text: str, found: Sequence[Word] | None = None) -> list[NamedSpan]:
        """Return the names in a text, in order and without overlaps; of two that overlap, the longer.

        If any word of the text is capitalised, a lone name must be too.
        """
        found = words(text) if found is None else found
        cased = any(text[word.start].isupper() for word in found)
        titles = [
            NamedSpan(match.start, match.end, match.value.name, self.types_of(match.value.name), True)
            for match in self._titles.find(text, found)
        ]
        entities = [
            NamedSpan(match.start, match.end, self._names[match.value], self._types_at(match.value), False)
            for match in self._entities.find(text, found)
        ]
        chosen: list[NamedSpan] = []
        taken: set[int] = set()
        for span in sorted((*titles, *entities), key=lambda span: (span.start - span.end, not span.is_title)):
            lower = cased and _is_lower(text[span.start : span.end])
            if not lower and taken.isdisjoint(range(span.start, span.end)):
                chosen.append(span)
                taken.update(range(span.start, span.end))
        return sorted(chosen, key=lambda span: span.start)

    def entities(self, links: Links) -> tuple[int, ...]:
        """Return the rows of the linked entities, including those whose names are titles, ascending."""
        named = (self._rows_of(name.name)[-1:] for name in links.names)
        return tuple(sorted({*links.entity_rows, *(row for rows in named for row in rows)}))

    def nearest(self, names: Sequence[str], embedder: Embedder) -> Rows:
        """Return the rows of the entities nearest to names by cosine, int64, ascending, without duplicates.

        Gutiérrez et al. 2024 (arXiv 2405.14831), section 2.3. A long name is compared by its first window.
        """
        if not names or not self._names:
            return np.zeros(0, np.int64)
        vectors = embedder.embed([embedder.windows(name)[0] for name in names])
        _, rows = self._index.vectors("entities").search(vectors, 1)
        return distinct(rows)

    def given(self, names: Sequence[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Return the rows of the entities of these names, without duplicates, and the names that no entity has.

        Case and underscores are ignored (see `entity_key`); if several entities then have one name, the one spelled
        exactly like it is preferred.
        """
        found: dict[int, None] = {}
        missing: list[str] = []
        for name in names:
            rows = self._rows_of(name)
            written_alike = [row for row in rows if self._names[row] == name]
            if rows:
                found[(written_alike or rows)[0]] = None
            else:
                missing.append(name)
        return tuple(found), tuple(missing)

    def titles_in(self, text: str) -> list[Name]:
        """Return the titles in a text, in order."""
        return [match.value for match in self._titles.find(text)]

    def without_titles(self, question: str) -> str:
        """Return a question without titles."""
        for match in reversed(self._titles.find(question)):
            question = question[: match.start] + question[match.end :]
        return question

    def types_of(self, name: str) -> tuple[str, ...]:
        """Return the types of the entity of that name; empty if there is no such entity."""
        rows = self._rows_of(name)
        return self._types_at(rows[-1]) if rows else ()

    def _types_at(self, row: int) -> tuple[str, ...]:
        return tuple(self._types[row].as_py())

    def _rows_of(self, name: str) -> Sequence[int]:
        """Return the rows of the entities of a name, or of the one into which such a name was merged.

        Case is ignored, and underscores are spaces.
        """
        key = _loose_key(name)
        if self._is_large:
            like = entity_table(self._index).like(key)
            rows = [row for row in like if row < len(self._names) and _loose_key(self._names[row]) == key]
        else:
            rows = self._rows_by_key.get(key, [])
        merged = None if rows else self._merged.get(key)
        return rows if merged is None else [merged]

    @property
    def _is_large(self) -> bool:
        return self._index.is_mapped(Entity)

    @cached_property
    def _merged(self) -> Mapping[str, int]:
        return {_loose_key(alias): row for alias, row in reversed(list(alias_rows(self._index).items()))}

    @cached_property
    def _rows_by_key(self) -> Mapping[str, list[int]]:
        rows_of: dict[str, list[int]] = {}
        for row, name in enumerate(self._names[:]):
            rows_of.setdefault(_loose_key(name), []).append(row)
        return rows_of

    def _entity_matcher(self) -> NameMatcher[int] | TableMatcher[int]:
        aliases = alias_rows(self._index)
        if self._is_large:
            merged, n_entities = list(aliases.items()), len(self._names)

            def named(numbers: Sequence[int]) -> Mapping[str, int]:
                rows = {self._names[number]: number for number in numbers if number < n_entities}
                return {**dict(merged[number - n_entities] for number in numbers if number >= n_entities), **rows}

            return TableMatcher(entity_table(self._index), named)
        near = self._index.entity_names() if isinstance(self._index, MemoryIndex) else None
        if near and not aliases:
            return TableMatcher(near, lambda rows: {self._names[row]: row for row in rows})
        is_name = are_names(self._types).tolist()
        rows = {name: row for row, name in enumerate(self._names[:]) if is_name[row]}
        return NameMatcher({**aliases, **rows})


def _title_matcher(index: StoredIndex) -> NameMatcher[Name] | TableMatcher[Name]:
    if not index.is_mapped(Name):
        return NameMatcher({name.name: name for name in index.rows(Name)})
    names = index.each(Name)
    return TableMatcher(title_table(index), lambda rows: {names[row].name: names[row] for row in rows})


@per_index
def open_linker(index: StoredIndex) -> Linker:
    """Return the index's linker, made on first use."""
    return Linker(index)


def _loose_key(name: str) -> str:
    return entity_key(name.replace("_", " "))


def _is_lower(text: str) -> bool:
    """Return whether a text is one word that begins with a lower-case letter."""
    return len(words(text)) == 1 and text[:1] != text[:1].upper()
