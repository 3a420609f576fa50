"""Entity linking: from the words of a question to rows of the entity table.

One `Linker` per index, and one method for each way of linking:

- `link`, `mentions`: names that occur in the question, by exact longest match;
- `entities`: the same as rows of entities alone, names that are titles included (GraphRAG's local search);
- `nearest`: for each name of a list the entity whose vector is nearest (HippoRAG, section 2.3);
- `given`: names that the caller gives, and which of them the graph lacks (the topic entities of walks).

A walk that is given no topic entities ranks candidates by more than their names: see `topics.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.storage.arrays import Rows
from conspectus.storage.index import Index, per_index
from conspectus.storage.records import Entity, Merge, Name
from conspectus.storage.text.names import NameMatcher, Word, words
from conspectus.storage.text.nlp import CONCEPT
from conspectus.storage.text.normalise import entity_key


@dataclass(frozen=True, slots=True)
class Links:
    """What a question names: names that stand for chunks (titles), and rows of the entity table, ascending."""

    names: tuple[Name, ...]
    entity_rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NamedSpan:
    """A name of the index at [start, end) of a text, and the types of the entity of that name (none: no entity is).

    `is_title` is true where passages have the name as their title.
    """

    start: int
    end: int
    name: str
    types: tuple[str, ...]
    is_title: bool


class Linker:
    """Finds the names of an index in questions. Immutable, and safe to share between threads.

    Two dictionaries are searched: the names that stand for chunks, and all entities that are names, with those that
    were merged into them. A lone capitalised name ("Speed") must be capitalised in the question too, unless the
    question is written without capitals.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._titles = NameMatcher({name.name: name for name in index.rows(Name)})
        table = index.arrow(Entity, "name", "types")
        self._names: list[str] = table.column("name").to_pylist()
        self._types: list[list[str]] = table.column("types").to_pylist()
        named = {
            name: row
            for row, (name, types) in enumerate(zip(self._names, self._types, strict=True))
            if any(kind != CONCEPT for kind in types)
        }
        self._entities = NameMatcher({**alias_rows(index), **named})

    def link(self, text: str, found: Sequence[Word] | None = None) -> Links:
        """Return what a question names, each title and entity once, in the order of the tables.

        Args:
            text: The question.
            found: Its words, where they are known already.
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
        """Return the names in a text, in order and apart from one another; of two that overlap the longer.

        A lone name must be capitalised as in `link`, and as soon as the text begins with a capital.
        """
        found = words(text) if found is None else found
        cased = any(text[word.start].isupper() for word in found)
        titles = [
            NamedSpan(match.start, match.end, match.value.name, self.types_of(match.value.name), True)
            for match in self._titles.find(text, found)
        ]
        entities = [
            NamedSpan(match.start, match.end, self._names[match.value], tuple(self._types[match.value]), False)
            for match in self._entities.find(text, found)
        ]
        chosen: list[NamedSpan] = []
        for span in sorted((*titles, *entities), key=lambda span: (span.start - span.end, not span.is_title)):
            lower = cased and _is_lower(text[span.start : span.end])
            if not lower and all(span.end <= other.start or other.end <= span.start for other in chosen):
                chosen.append(span)
        return sorted(chosen, key=lambda span: span.start)

    def entities(self, links: Links) -> tuple[int, ...]:
        """Return the rows of the entities that links name, those whose names are titles included, ascending."""
        keys = (entity_key(name.name) for name in links.names)
        return tuple(sorted({*links.entity_rows, *(self._row_of[key] for key in keys if key in self._row_of)}))

    def nearest(self, names: Sequence[str], embedder: Embedder) -> Rows:
        """Return the rows of the entities nearest to names, int64, ascending, each once: arg max of the cosine.

        Gutiérrez et al. 2024 (arXiv 2405.14831), section 2.3. A long name is compared by its first window.
        """
        if not names or not self._names:
            return np.zeros(0, np.int64)
        vectors = embedder.embed([embedder.windows(name)[0] for name in names])
        _, rows = self._index.vectors("entities").search(vectors, 1)
        return np.unique(rows)

    def given(self, names: Sequence[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Return the rows of the entities of these names, each once, and the names that no entity has.

        Case and underscores make no difference (see `entity_key`); of several entities that then have one name, the
        one that is written like it is meant.
        """
        found: dict[int, None] = {}
        missing: list[str] = []
        for name in names:
            rows = self._rows_of.get(entity_key(name.replace("_", " ")), ())
            written_alike = [row for row in rows if self._names[row] == name]
            if rows:
                found[(written_alike or rows)[0]] = None
            else:
                missing.append(name)
        return tuple(found), tuple(missing)

    def titles_in(self, text: str) -> list[Name]:
        """Return the names in a text that stand for chunks, in order."""
        return [match.value for match in self._titles.find(text)]

    def without_titles(self, question: str) -> str:
        """Return a question without the names that stand for chunks."""
        for match in reversed(self._titles.find(question)):
            question = question[: match.start] + question[match.end :]
        return question

    def types_of(self, name: str) -> tuple[str, ...]:
        """Return the types of the entity of that name; none where there is no such entity."""
        return self._types_by_key.get(entity_key(name), ())

    @cached_property
    def _types_by_key(self) -> Mapping[str, tuple[str, ...]]:
        aliases = {entity_key(alias): tuple(self._types[row]) for alias, row in alias_rows(self._index).items()}
        return aliases | {entity_key(name): tuple(types) for name, types in zip(self._names, self._types, strict=True)}

    @cached_property
    def _row_of(self) -> Mapping[str, int]:
        return {entity_key(name): row for row, name in enumerate(self._names)}

    @cached_property
    def _rows_of(self) -> Mapping[str, tuple[int, ...]]:
        """The rows by key, underscores read as spaces, and of the names that were merged into others."""
        rows_of: dict[str, list[int]] = {}
        for row, name in enumerate(self._names):
            rows_of.setdefault(entity_key(name.replace("_", " ")), []).append(row)
        for alias, row in alias_rows(self._index).items():
            rows_of.setdefault(entity_key(alias.replace("_", " ")), [row])
        return {key: tuple(rows) for key, rows in rows_of.items()}


@per_index
def open_linker(index: Index) -> Linker:
    """Return the index's linker, made on first use."""
    return Linker(index)


@per_index
def alias_rows(index: Index) -> Mapping[str, int]:
    """Return the row of the entity that each merged name became part of; names that an entity has are left out."""
    merges = [merge for merge in index.rows(Merge) if not merge.undone]
    if not merges:
        return {}
    table = index.arrow(Entity, "id", "name")
    row_of = {id_: row for row, id_ in enumerate(table.column("id").to_pylist())}
    own_names = {entity_key(name) for name in table.column("name").to_pylist()}
    return {merge.alias: row_of[merge.entity_id] for merge in merges if entity_key(merge.alias) not in own_names}


def _is_lower(text: str) -> bool:
    """Return whether a text is one word that begins with a small letter."""
    return len(words(text)) == 1 and text[:1] != text[:1].upper()
