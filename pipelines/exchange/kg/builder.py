"""Collect the triples of a graph and resolve its names, ids and labels to things.

A thing is identified by its name or by an id. Names with one `entity_key` are one thing. Ids that share a label remain
distinct things: the one with the most triples gets the label alone as its name, so that it is linked to texts that
mention the label; the others have their id in parentheses.
"""

import json
import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import IO, Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
from conspectus.pipelines.build_report import KG
from conspectus.pipelines.readers.encodings import clean
from conspectus.storage.arrays import Ints, distinct
from conspectus.storage.records import Failure
from conspectus.storage.text.normalise import entity_key


@dataclass(frozen=True, slots=True)
class ForeignRow:
    """A row of a file: the file, the row's id and position in it, and content that our tables have no column for.

    The details also contain the description and the types (a JSON list), so that they can be distinguished from
    statements of documents about the same thing.
    """

    file: str
    source_id: str
    ordinal: int
    details: Mapping[str, str] = field(default_factory=dict)

    def of(self, description: str, types: Sequence[str] = ()) -> "ForeignRow":
        """Return the row with the description and the types among its details."""
        added = {"description": description, "types": json.dumps(types, ensure_ascii=False) if types else ""}
        return replace(self, details={**self.details, **{name: text for name, text in added.items() if text}})


@dataclass(frozen=True, slots=True)
class ThingAttributes:
    """The attributes of a thing in a file; the first type is its main one."""

    types: tuple[str, ...] = ()
    description: str = ""
    rows: tuple[ForeignRow, ...] = ()


@dataclass(frozen=True, slots=True)
class TripleAttributes:
    """The attributes of a triple in a file. `strength` is that of conspectus.storage.records.Relation.

    `statements` are the qualifiers of each statement of the triple: pairs of a predicate and a value.
    """

    weight: float = 1.0
    strength: float | None = None
    description: str = ""
    rows: tuple[ForeignRow, ...] = ()
    statements: tuple[tuple[tuple[str, str], ...], ...] = ()


def merged_thing(rows: Sequence[ThingAttributes]) -> ThingAttributes:
    """Merge the rows of one thing: all distinct types and descriptions, in file order."""
    types = tuple(dict.fromkeys(chain.from_iterable(row.types for row in rows)))
    files = tuple(chain.from_iterable(row.rows for row in rows))
    return ThingAttributes(types, _texts(row.description for row in rows), files)


def merged_triple(rows: Sequence[TripleAttributes]) -> TripleAttributes:
    """Merge the rows of one triple: the sum of the weights, the mean strength, distinct descriptions and statements."""
    strengths = [row.strength for row in rows if row.strength is not None]
    return TripleAttributes(
        sum(row.weight for row in rows),
        sum(strengths) / len(strengths) if strengths else None,
        _texts(row.description for row in rows),
        tuple(chain.from_iterable(row.rows for row in rows)),
        tuple(dict.fromkeys(chain.from_iterable(row.statements for row in rows))),
    )


def weight_of(text: str) -> float | None:
    """Return the weight in a text, None if it is not a positive number."""
    weight = strength_of(text)
    return weight if weight is not None and weight > 0 else None


def strength_of(text: str) -> float | None:
    """Return the strength in a text, None if it is not a finite number."""
    try:
        strength = float(text)
    except ValueError:
        return None
    return strength if math.isfinite(strength) else None


def types_of(text: str) -> tuple[str, ...]:
    """Return the texts in a JSON list, such as types; empty if the text is not a JSON list."""
    try:
        values = json.loads(text) if text.lstrip().startswith("[") else []
    except (ValueError, RecursionError):
        return ()
    return tuple(clean(value) for value in values if isinstance(value, str) and value.strip())


def _texts(texts: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(filter(None, texts)))


@dataclass(frozen=True, slots=True, eq=False)
class ImportedGraph:
    """A knowledge graph that was read from files.

    Attributes:
        names: The display names of the things; no two have the same `entity_key`.
        predicates: The distinct predicates.
        sources, stated, targets: For each distinct triple, the row in `names`, `predicates` and `names` (n_triples,).
        failures: Items that could not be read.
        notes: Sentences about omitted content.
        understood: For each file, how it was read, with an example.
        other_names: Further names of things and the row of the thing in `names`: labels in other languages, and
            alternative ones.
        thing_attributes: The attributes of things that have any, by their row in `names`.
        triple_attributes: The attributes of triples that have any, by their row.
    """

    names: list[str]
    predicates: list[str]
    sources: Ints
    stated: Ints
    targets: Ints
    failures: list[Failure]
    notes: tuple[str, ...] = ()
    understood: tuple[str, ...] = ()
    other_names: tuple[tuple[str, int], ...] = ()
    thing_attributes: Mapping[int, ThingAttributes] = field(default_factory=dict)
    triple_attributes: Mapping[int, TripleAttributes] = field(default_factory=dict)

    @property
    def n_triples(self) -> int:
        """The number of triples."""
        return len(self.sources)


class GraphBuilder:
    """Takes what readers state about a graph (see `Statements`), in any order, and builds the graph.

    A label may precede the triple that uses its id, or belong to an id that no triple uses. Labels are therefore
    stored in the file `label_file`, and memory is needed only for the triples and what they use.
    """

    def __init__(self, label_file: IO[str]) -> None:
        self._labels = label_file
        self._names: dict[str, int] = {}
        self._literals: dict[str, int] = {}
        self._ids: dict[str, int] = {}
        self._predicates: dict[str, int] = {}
        self._count = 0
        self._triples: tuple[array[int], array[int], array[int]] = (array("q"), array("q"), array("q"))
        self._thing_attributes: defaultdict[int, list[ThingAttributes]] = defaultdict(list)
        self._triple_attributes: dict[int, TripleAttributes] = {}
        self._quantities: dict[str, tuple[str, str]] = {}
        self._also_labelled: set[str] = set()
        self._qualified: dict[int, Sequence[Sequence[Sequence[str]]]] = {}
        self._files: list[tuple[str, int]] = []
        self.failures: list[Failure] = []
        self.notes: list[str] = []
        self._take: dict[str, Callable[..., None]] = {
            "add": self._add, "thing": self._thing, "label": self.label, "fail": self.fail, "note": self.notes.append,
            "form": lambda form: self._files.append((form, len(self._triples[0]))),
        }  # fmt: skip

    def take(self, statement: Sequence[Any]) -> None:
        """Take a statement: its name and its values."""
        self._take[statement[0]](*statement[1:])

    def _number(self, thing: Sequence[str]) -> int:
        """Return the number of a thing: a text is its name; a list has a kind and an id, a literal or a quantity."""
        if isinstance(thing, str):
            numbers, text = self._names, thing
        else:
            kind, text, *unit = thing
            numbers = {"id": self._ids, "literal": self._literals, "quantity": self._names}[kind]
            if unit:
                self._also_labelled.update(unit)
                self._quantities[f"{text} {unit[0]}"] = (text, unit[0])
                text = f"{text} {unit[0]}"
        number = numbers.setdefault(text, self._count)
        self._count += number == self._count
        return number

    def _add(
        self,
        source: Sequence[str],
        predicate: str,
        target: Sequence[str],
        fields: Sequence[Any] | None = None,
        ids: Sequence[str] = (),
    ) -> None:
        sources, stated, targets = self._triples  # called for every triple, so written without a loop
        if fields:
            weight, strength, description, rows, statements = fields
            if ids:
                self._also_labelled.update(ids)
                self._qualified[len(sources)] = statements
            told = tuple(tuple((said, value) for said, value in each) for each in statements)
            rows = tuple(ForeignRow(*row) for row in rows)
            self._triple_attributes[len(sources)] = TripleAttributes(weight, strength, description, rows, told)
        sources.append(self._number(source))
        stated.append(self._predicates.setdefault(predicate, len(self._predicates)))
        targets.append(self._number(target))

    def _thing(self, thing: Sequence[str], fields: Sequence[Any]) -> None:
        types, description, rows = fields
        attributes = ThingAttributes(tuple(types), description, tuple(ForeignRow(*row) for row in rows))
        self._thing_attributes[self._number(thing)].append(attributes)

    def label(self, id_: str, text: str, rank: int = 0) -> None:
        """Add a label of an id. The label with the lowest rank wins, then the alphabetically first."""
        self._labels.write(json.dumps([rank, _shown(text), id_], ensure_ascii=False) + "\n")

    def fail(self, item: str, reason: str, detail: str = "") -> None:
        """Record an item that could not be read."""
        self.failures.append(Failure(KG, item, reason, clean(detail)[:_LONGEST_DETAIL]))

    def graph(self) -> ImportedGraph:
        """Return the graph. A thing with a label is displayed by it, an id without a label by the id itself."""
        labels, others = self._known_labels()
        for row, statements in self._qualified.items():
            told = tuple(
                tuple((_shown(labels.get(said, said)), _shown(labels.get(value, value))) for said, value in each)
                for each in statements
            )
            self._triple_attributes[row] = replace(self._triple_attributes[row], statements=told)
        sources, stated, targets = (np.array(triple, dtype=np.int64) for triple in self._triples)
        counts = np.bincount(np.concatenate([sources, targets]), minlength=self._count)
        ids = {**self._ids, **{text: number for text, number in self._names.items() if text in labels}}
        amounts = {text: f"{amount} {labels.get(unit, unit)}" for text, (amount, unit) in self._quantities.items()}
        plain = [(amounts.get(text, text), number) for text, number in self._names.items() if text not in labels]
        plain += self._literals.items()
        thing_of, names = _things(ids, plain, counts, labels, self._thing_attributes.keys())
        predicate_of, predicates = _predicates(self._predicates, labels)
        resolved = thing_of[sources], predicate_of[stated], thing_of[targets]
        distinct = _distinct(*resolved, len(names), len(predicates))
        notes = tuple(dict.fromkeys(self.notes))
        things: defaultdict[int, list[ThingAttributes]] = defaultdict(list)
        for number, several in self._thing_attributes.items():
            things[int(thing_of[number])] += several
        rows = ((text, int(thing_of[ids[id_]])) for id_, text in others if id_ in ids)
        return ImportedGraph(
            names,
            predicates,
            *distinct,
            self.failures,
            notes,
            tuple(self._understood(*resolved, names, predicates)),
            tuple((text, row) for text, row in rows if row >= 0),
            {thing: merged_thing(several) for thing, several in things.items()},
            self._merged_attributes(*resolved, distinct) if self._triple_attributes else {},
        )

    def _merged_attributes(
        self, sources: Ints, stated: Ints, targets: Ints, distinct: tuple[Ints, Ints, Ints]
    ) -> dict[int, TripleAttributes]:
        """Return the merged attributes of the distinct triples, by their row in `distinct`."""
        place = {triple: row for row, triple in enumerate(zip(*(column.tolist() for column in distinct), strict=True))}
        found: defaultdict[int, list[TripleAttributes]] = defaultdict(list)
        for row, attributes in self._triple_attributes.items():
            found[place[int(sources[row]), int(stated[row]), int(targets[row])]].append(attributes)
        return {row: merged_triple(several) for row, several in found.items()}

    def _understood(
        self, sources: Ints, stated: Ints, targets: Ints, names: Sequence[str], predicates: Sequence[str]
    ) -> Iterator[str]:
        """Yield a line for each file: its form, the number of its triples, and the first."""
        ends = [first for _, first in self._files[1:]] + [len(sources)]
        for (form, first), end in zip(self._files, ends, strict=False):
            line = f"{form}: {end - first:,} triples"
            if end > first:
                example = names[sources[first]], predicates[stated[first]], names[targets[first]]
                line += f", e.g. {' '.join(' '.join(example).split())[:_LONGEST_DETAIL]}"
            yield line

    def _known_labels(self) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """Return the labels of the ids that are used, and their other labels."""
        found: defaultdict[str, set[tuple[int, str]]] = defaultdict(set)
        self._labels.seek(0)
        for line in self._labels:
            rank, text, id_ = json.loads(line)
            if any(id_ in known for known in (self._ids, self._names, self._predicates, self._also_labelled)):
                found[id_].add((rank, text))
        chosen: dict[str, str] = {}
        others: list[tuple[str, str]] = []
        for id_, labels in found.items():
            ordered = sorted(labels)
            if name := next((text for rank, text in ordered if not ALTERNATIVE <= rank < LAST_LABEL), ""):
                chosen[id_] = name
            further = (text for rank, text in ordered if OTHER_NAME <= rank < LAST_LABEL and text != name)
            others += [(id_, text) for text in islice(dict.fromkeys(further), _MOST_NAMES)]
        return chosen, others


OTHER_NAME, ALTERNATIVE, LAST_LABEL = 1, 1 << 19, 1 << 20
"""Ranks of labels. From the first on, a label that is not the best one is a further name of the thing; from the second
on, it is never the name displayed; the third is used only if there is no other."""
_MOST_NAMES = 20
"""Maximum further names of one thing."""
_LONGEST_DETAIL = 200


def _distinct(sources: Ints, stated: Ints, targets: Ints, n_names: int, n_predicates: int) -> tuple[Ints, Ints, Ints]:
    """Return the distinct triples in ascending order; packing a triple into one 64-bit number makes sorting faster."""
    if n_names**2 * n_predicates < np.iinfo(np.int64).max:
        keys, whole_target = np.divmod(distinct((sources * n_predicates + stated) * n_names + targets), n_names)
        whole_source, whole_stated = np.divmod(keys, n_predicates)
        return whole_source, whole_stated, whole_target
    whole = np.unique(np.stack([sources, stated, targets]), axis=1)
    return whole[0], whole[1], whole[2]


def _things(
    ids: Mapping[str, int],
    plain: Iterable[tuple[str, int]],
    counts: npt.NDArray[Any],
    labels: Mapping[str, str],
    described: Set[int],
) -> tuple[Ints, list[str]]:
    """Return the thing of each number, -1 if no triple uses the number, and the names of the things.

    The numbers in `described` have attributes, and are things even without a triple.
    """
    thing_of = np.full(len(counts), -1, dtype=np.int64)
    names: list[str] = []
    taken: dict[str, int] = {}

    def give(name: str, numbers: list[int]) -> None:
        taken[entity_key(name)] = len(names)
        thing_of[numbers] = len(names)
        names.append(name)

    def by_name(several: Iterable[tuple[str, str, int]]) -> dict[str, list[tuple[int, str, int]]]:
        """Return the number of triples, the text and the number of each thing that is used, by the key of its name."""
        found: defaultdict[str, list[tuple[int, str, int]]] = defaultdict(list)
        for name, text, number in several:
            if counts[number] or number in described:
                found[entity_key(name)].append((-int(counts[number]), text, number))
        return found

    bearers = by_name((_name_of(id_, labels), id_, number) for id_, number in ids.items())
    later: list[tuple[str, int]] = []
    for key in sorted(bearers):
        (_, first, number), *others = sorted(bearers[key])
        give(_name_of(first, labels), [number])
        later += [(id_, other) for _, id_, other in others]
    for id_, number in sorted(later):
        name = _name_of(id_, labels)
        if entity_key(name) in taken:
            name = f"{name} ({local_name(id_)})"
        while entity_key(name) in taken:  # the label looks like another label with its id
            name = f"{name} ({id_})"
        give(name, [number])
    for key, found in by_name((text, _shown(text), number) for text, number in plain).items():
        numbers = [number for _, _, number in found]
        if key in taken:
            thing_of[numbers] = taken[key]
        else:
            give(min(found)[1], numbers)
    return thing_of, names


def _name_of(id_: str, labels: Mapping[str, str]) -> str:
    return _shown(labels.get(id_, "")) or local_name(id_)


def _predicates(numbers: Mapping[str, int], labels: Mapping[str, str]) -> tuple[Ints, list[str]]:
    """Return the row of each predicate, and the texts of the predicates: the label or, failing that, the name.

    Predicates that share a label or the last part of an IRI are distinguished by their ids.
    """
    shown = {id_: _name_of(id_, labels) for id_ in numbers}  # in the order of their numbers
    bearers = Counter(shown.values())
    texts = [
        name if bearers[name] == 1 else f"{name} ({id_})" if id_ in labels else _shown(id_)
        for id_, name in shown.items()
    ]
    distinct = sorted(set(texts))
    place = {text: row for row, text in enumerate(distinct)}
    return np.array([place[text] for text in texts], dtype=np.int64), distinct


def local_name(id_: str) -> str:
    """Return the last part of an IRI; any other text is returned unchanged.

    >>> local_name("http://dbpedia.org/resource/New_York_City"), local_name("Q90")
    ('New_York_City', 'Q90')
    """
    if "://" not in id_ and not id_.startswith("urn:"):
        return _shown(id_)
    name = id_.rstrip("/#")
    for mark in ("#", "/", ":"):
        head, found, tail = name.rpartition(mark)
        if found and tail and head:
            name = tail
            break
    return _shown(unquote(name)) or id_


def _shown(text: str) -> str:
    return clean(" ".join(text.split()))
