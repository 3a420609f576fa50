"""Question to names: which of the index's names stand in it, by exact longest match."""

from dataclasses import dataclass

from query.context import Context
from storage.records import Entity, Name
from storage.text.names import NameMatcher, words
from storage.text.nlp import CONCEPT


@dataclass(frozen=True, slots=True)
class Linked:
    """What a question names: names that stand for chunks, and rows of the entity table."""

    names: tuple[Name, ...]
    entity_rows: tuple[int, ...]


class Linker:
    """Finds the names of an index in questions.

    Two dictionaries are searched: the names that stand for chunks, and all entities that are names. A lone
    capitalised name ("Speed") must be capitalised in the question too, unless the question is written
    without capitals.
    """

    def __init__(self, context: Context) -> None:
        self._names = NameMatcher({name.name: name for name in context.index.rows(Name)})
        table = context.index.arrow(Entity, "name", "types")
        rows = zip(table.column("name").to_pylist(), table.column("types").to_pylist(), strict=True)
        self._entities = NameMatcher(
            {name: row for row, (name, types) in enumerate(rows) if any(kind != CONCEPT for kind in types)}
        )

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

    def without_titles(self, question: str) -> str:
        """Return the question without the names that stand for chunks."""
        for match in reversed(self._names.find(question)):
            question = question[: match.start] + question[match.end :]
        return question


def open_linker(context: Context) -> Linker:
    """Return the index's linker, made on first use."""
    return context.index.keep("linker", lambda: Linker(context))


def _words(text: str) -> list[str]:
    return [text[word.start : word.end] for word in words(text)]


def _other_word(name: str, surface: str) -> bool:
    return not _is_lower(name) and _is_lower(surface)


def _is_lower(text: str) -> bool:
    """Return whether a text is one word that begins with a small letter."""
    return len(words(text)) == 1 and text[:1] != text[:1].upper()
