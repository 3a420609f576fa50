"""Triples as they come in, numbered, and the things that they turn out to be about.

A thing is known by its name or by an id. Names that are one name (see `entity_key`) are one thing, and ids that share
a label stay as many: the one with most triples bears the label alone, so that texts which name it meet it, and each
other one its id behind it.
"""

import json
import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from conspectus.pipelines.build_report import KG
from conspectus.pipelines.readers.encodings import clean
from conspectus.storage.arrays import Ints
from conspectus.storage.records import Failure
from conspectus.storage.text.normalise import entity_key


@dataclass(frozen=True, slots=True)
class ForeignRow:
    """Where it stands: the file, the id that it has there, its place, and what our tables have no column for.

    The description and the types (a JSON list) are among the details too: of what documents say something else as well,
    nothing else tells whose words are whose.
    """

    file: str
    source_id: str
    ordinal: int
    details: Mapping[str, str] = field(default_factory=dict)


def details_of(rest: Mapping[str, str], description: str, types: Sequence[str] = ()) -> dict[str, str]:
    """Return the details of a row: what is left of it, its description, its types."""
    details = dict(rest)
    if description:
        details["description"] = description
    if types:
        details["types"] = json.dumps(types, ensure_ascii=False)
    return details


@dataclass(frozen=True, slots=True)
class ToldThing:
    """What is said of a thing; the first of its types is the one that counts."""

    types: tuple[str, ...] = ()
    description: str = ""
    rows: tuple[ForeignRow, ...] = ()


@dataclass(frozen=True, slots=True)
class ToldTriple:
    """What is said of a triple. `strength` as in conspectus.storage.records.Relation."""

    weight: float = 1.0
    strength: float | None = None
    description: str = ""
    rows: tuple[ForeignRow, ...] = ()


def one_thing(told: Sequence[ToldThing]) -> ToldThing:
    """Return what several rows say of one thing: all types and descriptions, each once, in their order."""
    if len(told) == 1:
        return told[0]
    types = tuple(dict.fromkeys(chain.from_iterable(each.types for each in told)))
    return ToldThing(types, _texts(each.description for each in told), _rows(told))


def one_triple(told: Sequence[ToldTriple]) -> ToldTriple:
    """Return what several rows say of one triple: the sum of the weights, the mean strength, all descriptions."""
    if len(told) == 1:
        return told[0]
    strengths = [each.strength for each in told if each.strength is not None]
    return ToldTriple(
        sum(each.weight for each in told),
        sum(strengths) / len(strengths) if strengths else None,
        _texts(each.description for each in told),
        _rows(told),
    )


def weight_of(text: str) -> float | None:
    """Return a weight as a file states it, None for what is none."""
    weight = strength_of(text)
    return weight if weight is not None and weight > 0 else None


def strength_of(text: str) -> float | None:
    """Return a strength as a file states it, None for what is none."""
    try:
        strength = float(text)
    except ValueError:
        return None
    return strength if math.isfinite(strength) else None


def types_of(text: str) -> tuple[str, ...]:
    """Return the types of a JSON list, none where it is no such list."""
    try:
        values = json.loads(text) if text.lstrip().startswith("[") else []
    except (ValueError, RecursionError):
        return ()
    return tuple(clean(each) for each in values if isinstance(each, str) and each.strip())


def _texts(texts: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(filter(None, texts)))


def _rows(told: Sequence[ToldThing] | Sequence[ToldTriple]) -> tuple[ForeignRow, ...]:
    return tuple(chain.from_iterable(each.rows for each in told))


@dataclass(frozen=True, slots=True, eq=False)
class ImportedGraph:
    """A graph that was brought along: `sources[i]`, `stated[i]`, `targets[i]` are one triple, each once.

    `names` are the display names of its things, no two with one `entity_key`; `predicates` are distinct. `failures`
    are what could not be read, `notes` what else should be known. Where a file says more of a thing or a triple than
    its names, `things[i]` has it of the thing `names[i]`, `told[i]` of triple i.
    """

    names: list[str]
    predicates: list[str]
    sources: Ints
    stated: Ints
    targets: Ints
    failures: list[Failure]
    notes: tuple[str, ...] = ()
    things: Mapping[int, ToldThing] = field(default_factory=dict)
    told: Mapping[int, ToldTriple] = field(default_factory=dict)

    @property
    def n_triples(self) -> int:
        """The number of triples."""
        return len(self.sources)


class Collector:
    """Takes triples of names and ids, and labels of ids, in any order.

    A label may come before the triple that names its thing, or for a thing that none names: labels wait in the file
    `waiting`, so that memory holds no more than the triples and what they name.
    """

    def __init__(self, waiting: IO[str]) -> None:
        self._labels = waiting
        self._names: dict[str, int] = {}
        self._ids: dict[str, int] = {}
        self._predicates: dict[str, int] = {}
        self._count = 0
        self._triples: tuple[array[int], array[int], array[int]] = (array("q"), array("q"), array("q"))
        self._things: defaultdict[int, list[ToldThing]] = defaultdict(list)
        self._told: dict[int, ToldTriple] = {}
        self.failures: list[Failure] = []
        self.notes: list[str] = []

    def name(self, text: str) -> int:
        """Return the number of what has this name."""
        number = self._names.get(text)
        if number is None:
            number = self._names[text] = self._count
            self._count += 1
        return number

    def id(self, text: str) -> int:
        """Return the number of what has this id."""
        number = self._ids.get(text)
        if number is None:
            number = self._ids[text] = self._count
            self._count += 1
        return number

    def predicate(self, text: str) -> int:
        """Return the number of a predicate, by its name or id."""
        return self._predicates.setdefault(text, len(self._predicates))

    def literal_predicate(self, text: str) -> int:
        """Return the number of a predicate that is shown as it stands, though it look like an IRI."""
        text = " ".join(text.split())
        if "://" in text or text.startswith("urn:"):
            self.label(text, text)
        return self.predicate(text)

    def add(self, source: int, predicate: int, target: int) -> None:
        """Take a triple."""
        sources, stated, targets = self._triples  # once a triple: no loop
        sources.append(source)
        stated.append(predicate)
        targets.append(target)

    def add_told(self, source: int, predicate: int, target: int, told: ToldTriple) -> None:
        """Take a triple, and what is said of it."""
        self._told[len(self._triples[0])] = told
        self.add(source, predicate, target)

    def thing(self, number: int, told: ToldThing) -> None:
        """Take what is said of a thing, which is then one of the graph's though no triple names it."""
        self._things[number].append(told)

    def label(self, id_: str, text: str, rank: int = 0) -> None:
        """Take a label of an id; of several the one with the least rank counts, then the first in the alphabet."""
        self._labels.write(json.dumps([rank, _shown(text), id_], ensure_ascii=False) + "\n")

    def fail(self, item: str, reason: str, detail: str = "") -> None:
        """Note what could not be read."""
        self.failures.append(Failure(KG, item, reason, clean(detail)[:_LONGEST_DETAIL]))

    def graph(self) -> ImportedGraph:
        """Return the graph; what has a label is an id, the label its name. An id without one is named by itself."""
        labels = self._known_labels()
        sources, stated, targets = (np.array(each, dtype=np.int64) for each in self._triples)
        counts = np.bincount(np.concatenate([sources, targets]), minlength=self._count)
        ids = {**self._ids, **{text: number for text, number in self._names.items() if text in labels}}
        plain = {text: number for text, number in self._names.items() if text not in labels}
        thing_of, names = _things(ids, plain, counts, labels, self._things.keys())
        said, predicates = _predicates(self._predicates, labels)
        whole = _distinct(thing_of[sources], said[stated], thing_of[targets], len(names), len(predicates))
        notes = tuple(dict.fromkeys(self.notes))
        things: defaultdict[int, list[ToldThing]] = defaultdict(list)
        for number, several in self._things.items():
            things[int(thing_of[number])] += several
        return ImportedGraph(
            names,
            predicates,
            *whole,
            self.failures,
            notes,
            {thing: one_thing(several) for thing, several in things.items()},
            self._told_of(thing_of[sources], said[stated], thing_of[targets], whole) if self._told else {},
        )

    def _told_of(
        self, sources: Ints, stated: Ints, targets: Ints, whole: tuple[Ints, Ints, Ints]
    ) -> dict[int, ToldTriple]:
        """Return what is said of the triples as they are in the end, each once, by their place."""
        place = {triple: row for row, triple in enumerate(zip(*(each.tolist() for each in whole), strict=True))}
        found: defaultdict[int, list[ToldTriple]] = defaultdict(list)
        for row, told in self._told.items():
            found[place[int(sources[row]), int(stated[row]), int(targets[row])]].append(told)
        return {row: one_triple(several) for row, several in found.items()}

    def _known_labels(self) -> dict[str, str]:
        """Return the labels of what a triple names."""
        best: dict[str, tuple[int, str]] = {}
        self._labels.seek(0)
        for line in self._labels:
            rank, text, id_ = json.loads(line)
            if id_ in self._ids or id_ in self._names or id_ in self._predicates:
                best[id_] = min(best.get(id_, (rank, text)), (rank, text))
        return {id_: text for id_, (_, text) in best.items()}


_LONGEST_DETAIL = 200


def _distinct(sources: Ints, stated: Ints, targets: Ints, n_names: int, n_predicates: int) -> tuple[Ints, Ints, Ints]:
    """Return triples each once, in ascending order: as one number each where 64 bits hold it, which sorts faster."""
    if n_names**2 * n_predicates < np.iinfo(np.int64).max:
        keys, whole_target = np.divmod(np.unique((sources * n_predicates + stated) * n_names + targets), n_names)
        whole_source, whole_stated = np.divmod(keys, n_predicates)
        return whole_source, whole_stated, whole_target
    whole = np.unique(np.stack([sources, stated, targets]), axis=1)
    return whole[0], whole[1], whole[2]


def _things(
    ids: Mapping[str, int],
    plain: Mapping[str, int],
    counts: npt.NDArray[Any],
    labels: Mapping[str, str],
    described: Set[int],
) -> tuple[Ints, list[str]]:
    """Return the thing that each number is, -1 for what no triple names, and the names of the things.

    Of those in `described` more is said: they are things without a triple too.
    """
    thing_of = np.full(len(counts), -1, dtype=np.int64)
    names: list[str] = []
    taken: dict[str, int] = {}

    def give(name: str, numbers: Iterable[int]) -> None:
        taken[entity_key(name)] = len(names)
        for number in numbers:
            thing_of[number] = len(names)
        names.append(name)

    bearers: defaultdict[str, list[tuple[int, str, int]]] = defaultdict(list)
    for id_, number in ids.items():
        if counts[number] or number in described:
            label = _shown(labels.get(id_, "")) or local_name(id_)
            bearers[entity_key(label)].append((-int(counts[number]), id_, number))
    later: list[tuple[str, int]] = []
    for key in sorted(bearers):
        first, *others = sorted(bearers[key])
        give(_shown(labels.get(first[1], "")) or local_name(first[1]), [first[2]])
        later += [(id_, number) for _, id_, number in others]
    for id_, number in sorted(later):
        name = _shown(labels.get(id_, "")) or local_name(id_)
        for told in (local_name(id_), id_):
            if entity_key(name) in taken:
                name = f"{_shown(labels.get(id_, '')) or local_name(id_)} ({told})"
        while entity_key(name) in taken:  # a label that looks like another one with its id
            name = f"{name} ({id_})"
        give(name, [number])

    surfaces: defaultdict[str, list[tuple[int, str, int]]] = defaultdict(list)
    for text, number in plain.items():
        if counts[number] or number in described:
            surfaces[entity_key(text)].append((-int(counts[number]), _shown(text), number))
    for key, found in surfaces.items():
        numbers = [number for _, _, number in found]
        if key in taken:
            for number in numbers:
                thing_of[number] = taken[key]
        else:
            give(min(found)[1], numbers)
    return thing_of, names


def _predicates(numbers: Mapping[str, int], labels: Mapping[str, str]) -> tuple[Ints, list[str]]:
    """Return the place of each predicate, and their texts: the label, a name by itself, or its id where it needs one.

    Predicates that share a label, or the last part of an IRI, are told apart by their ids.
    """
    shown = {each: _shown(labels.get(each, "")) or local_name(each) for each in numbers}
    bearers: defaultdict[str, list[str]] = defaultdict(list)
    for each, name in shown.items():
        bearers[name].append(each)
    texts: dict[str, str] = {}
    for name, several in bearers.items():
        for each in several:
            texts[each] = name if len(several) == 1 else f"{name} ({each})" if each in labels else _shown(each)
    distinct = sorted(set(texts.values()))
    place = {text: i for i, text in enumerate(distinct)}
    said = np.zeros(len(numbers), dtype=np.int64)
    for each, number in numbers.items():
        said[number] = place[texts[each]]
    return said, distinct


def local_name(id_: str) -> str:
    """Return the last part of an IRI, and anything else as it is.

    >>> local_name("http://dbpedia.org/resource/New_York_City"), local_name("Q90")
    ('New_York_City', 'Q90')
    """
    from urllib.parse import unquote

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
