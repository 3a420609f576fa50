"""Question to names: which of the index's names stand in it, by exact longest match."""

from dataclasses import dataclass

from conspectus.query.context import Context
from conspectus.query.question.aliases import alias_rows
from conspectus.storage.index import per_index
from conspectus.storage.records import Entity, Name
from conspectus.storage.text.names import NameMatcher, words
from conspectus.storage.text.nlp import CONCEPT
from conspectus.storage.text.normalise import entity_key


@dataclass(frozen=True, slots=True)
class Linked:
    """What a question names: names that stand for chunks, and rows of the entity table."""

    names: tuple[Name, ...]
    entity_rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A name of the index at [start, end) of a text, and the types of the entity of that name (none: no entity is).

    `stands_for_chunks` tells that passages bear the name as their title.
    """

    start: int
    end: int
    name: str
    types: tuple[str, ...]
    stands_for_chunks: bool


class Linker:
    """Finds the names of an index in questions.

    Two dictionaries are searched: the names that stand for chunks, and all entities that are names, with those that
    were merged into them. A lone
    capitalised name ("Speed") must be capitalised in the question too, unless the question is written
    without capitals.
    """

    def __init__(self, context: Context) -> None:
        self._names = NameMatcher({name.name: name for name in context.index.rows(Name)})
        table = context.index.arrow(Entity, "name", "types")
        rows = list(zip(table.column("name").to_pylist(), table.column("types").to_pylist(), strict=True))
        aliases = alias_rows(context)
        names = {name: row for row, (name, types) in enumerate(rows) if any(kind != CONCEPT for kind in types)}
        self._entities = NameMatcher({**aliases, **names})
        self._rows = rows
        self._types = {entity_key(name): tuple(rows[row][1]) for name, row in aliases.items()}
        self._types |= {entity_key(name): tuple(types) for name, types in rows}

    def link(self, question: str) -> Linked:
        """Return what the question names, each once, in the order of the tables."""
        cased = any(word[:1].isupper() for word in _words(question)[1:])
        names = {
            match.value.id: match.value
            for match in self._names.find(question)
            if not (cased and _other_word(match.value.name, question[match.start : match.end]))
        }
        entities = {
            match.value
            for match in self._entities.find(question)
            if not (cased and _is_lower(question[match.start : match.end]))
        }
        return Linked(tuple(names[id_] for id_ in sorted(names)), tuple(sorted(entities)))

    def titles_in(self, text: str) -> list[Name]:
        """Return the names that stand for chunks which a text holds, in its order."""
        return [match.value for match in self._names.find(text)]

    def named(self, text: str) -> list[Named]:
        """Return what a text names, in its order and apart from one another; of two that overlap the longer.

        A lone name must be capitalised as in `link`, and as soon as the text begins with a capital.
        """
        lone_need_capitals = any(word[:1].isupper() for word in _words(text))
        titles = [
            Named(each.start, each.end, each.value.name, self.types_of(each.value.name), True)
            for each in self._names.find(text)
        ]
        entities = [
            Named(each.start, each.end, self._rows[each.value][0], tuple(self._rows[each.value][1]), False)
            for each in self._entities.find(text)
        ]
        taken: list[Named] = []
        for found in sorted((*titles, *entities), key=lambda each: (each.start - each.end, not each.stands_for_chunks)):
            lower = lone_need_capitals and _is_lower(text[found.start : found.end])
            if not lower and all(found.end <= each.start or each.end <= found.start for each in taken):
                taken.append(found)
        return sorted(taken, key=lambda each: each.start)

    def types_of(self, name: str) -> tuple[str, ...]:
        """Return the types of the entity of that name; none where there is no such entity."""
        return self._types.get(entity_key(name), ())

    def without_titles(self, question: str) -> str:
        """Return the question without the names that stand for chunks."""
        for match in reversed(self._names.find(question)):
            question = question[: match.start] + question[match.end :]
        return question


@per_index
def open_linker(context: Context) -> Linker:
    """Return the index's linker, made on first use."""
    return Linker(context)


def _words(text: str) -> list[str]:
    return [text[word.start : word.end] for word in words(text)]


def _other_word(name: str, surface: str) -> bool:
    return not _is_lower(name) and _is_lower(surface)


def _is_lower(text: str) -> bool:
    """Return whether a text is one word that begins with a small letter."""
    return len(words(text)) == 1 and text[:1] != text[:1].upper()
