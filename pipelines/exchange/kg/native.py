"""Our own N-Triples read back: the graph with its types, descriptions and weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from conspectus.pipelines.exchange import ntriples_terms as terms
from conspectus.pipelines.exchange.kg.attributes import (
    ForeignRow,
    ToldThing,
    ToldTriple,
    details_of,
    strength_of,
    types_of,
    weight_of,
)
from conspectus.pipelines.exchange.kg.builder import Collector
from conspectus.pipelines.readers.encodings import clean


@dataclass(slots=True)
class _Said:
    """What the lines say of one subject so far: texts, and the IRIs of what a relation joins."""

    item: str
    texts: dict[str, str] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)


_TEXTS = {
    terms.VOCABULARY + "types": "types",
    terms.DESCRIPTION: "description",
    terms.VOCABULARY + "weight": "weight",
    terms.VOCABULARY + "strength": "strength",
}
_ENDS = {terms.RDF + "subject": "subject", terms.RDF + "predicate": "predicate", terms.RDF + "object": "object"}


class OwnStatements:
    """Takes the statements of a file whose subject is one of ours, in any order."""

    def __init__(self, path: Path, into: Collector) -> None:
        self._path = path
        self._into = into
        self._entities: dict[str, _Said] = {}
        self._relations: dict[str, _Said] = {}
        self._left_out = 0

    def take(self, item: str, subject: str, predicate: str, value: str | None, thing: str) -> None:
        """Take a statement; `value` is its literal, None where its object is the IRI `thing`."""
        into = self._into
        if subject.startswith(terms.ENTITY):
            said = self._entities.setdefault(subject, _Said(item))
            if predicate == terms.LABEL and value is not None:
                into.label(subject, value)
            elif predicate.startswith(terms.PREDICATE) and value is None:
                into.add(into.id(subject), predicate_of(into, predicate), into.id(thing))
            elif predicate in _TEXTS and value is not None:
                said.texts[_TEXTS[predicate]] = value
        elif subject.startswith(terms.RELATION):
            said = self._relations.setdefault(subject, _Said(item))
            if predicate in _TEXTS and value is not None:
                said.texts[_TEXTS[predicate]] = value
            elif predicate in _ENDS and value is None:
                said.ends[_ENDS[predicate]] = thing
        elif not subject.startswith(terms.PREDICATE):
            self._left_out += 1

    def end(self) -> None:
        """Give all that was said to the collector."""
        into = self._into
        for ordinal, (iri, said) in enumerate(self._entities.items()):
            types, description = types_of(said.texts.get("types", "")), said.texts.get("description", "")
            into.thing(into.id(iri), ToldThing(types, description, (self._row(iri, ordinal, description, types),)))
        for ordinal, (iri, said) in enumerate(self._relations.items()):
            ends = said.ends
            if len(ends) < len(_ENDS) or not ends["predicate"].startswith(terms.PREDICATE):
                into.fail(said.item, "a relation without subject, predicate and object", iri)
                continue
            weight = self._measured(said, "weight", weight_of)
            told = ToldTriple(
                1.0 if weight is None else weight,
                self._measured(said, "strength", strength_of),
                said.texts.get("description", ""),
                (self._row(iri, ordinal, said.texts.get("description", "")),),
            )
            into.add_told(
                into.id(ends["subject"]), predicate_of(into, ends["predicate"]), into.id(ends["object"]), told
            )
        if self._left_out:
            into.notes.append(
                f"{self._left_out:,} statements of {self._path.name} about documents and mentions left out: "
                "a graph is read without them"
            )

    def _row(self, iri: str, ordinal: int, description: str, types: Sequence[str] = ()) -> ForeignRow:
        return ForeignRow(self._path.name, iri, ordinal, details_of({}, description, types))

    def _measured(self, said: _Said, name: str, read: Callable[[str], float | None]) -> float | None:
        text = said.texts.get(name)
        value = None if text is None else read(text)
        if text is not None and value is None:
            self._into.fail(said.item, f"a {name} that is none", text)
        return value


def predicate_of(into: Collector, iri: str) -> int:
    """Return the number of the predicate that an IRI of ours stands for."""
    return into.literal_predicate(clean(unquote(iri.removeprefix(terms.PREDICATE), errors="replace")))
