"""What the words of a question may mean in a graph: its predicates, and the kinds of things at their ends.

A word is near a predicate if they share a stem, if both express the same relation (`relation_words.txt`), or if their
vectors are near. A noun names a class of things if the predicate that leads to them contains it ("drug class"), or if
its vector is near those of the predicates stated of such things, or those of their names.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from conspectus.query.context import Context
from conspectus.query.graph_question.lexicon import (
    CLASS,
    DATE,
    NUMBER,
    PERSON,
    PLACE,
    TEXT,
    nouns,
    passive_verbs,
    question_words,
    relations,
    relations_in,
    stem_of,
    stems_of,
    verbs_of,
)
from conspectus.query.graph_question.question_form import KINDS_OF_NOUNS, ReadQuestion
from conspectus.query.graph_question.structured_query import Direction, Form, PredicateStep
from conspectus.query.graph_question.translation import label_in_english, language_of_labels
from conspectus.query.question.question import EmbedSpans, span_vectors
from conspectus.query.walk.graph import KnowledgeGraph, all_ids, open_graph, predicate_vectors, predicate_words, spoken
from conspectus.storage.arrays import Bools, Floats, Ints, Vectors, distinct
from conspectus.storage.cancellation import check
from conspectus.storage.index import per_index
from conspectus.storage.text.literals import is_time, parse_literal, year_in
from conspectus.storage.text.words import FUNCTION_WORDS, base_form, irregular_forms

_SAMPLE = 24
_SOME_IDS, _OFTEN = 0.1, 0.25
_SAID, _MEANT, _LIGHTLY = 0.95, 0.8, 0.6
"""Nearness to a predicate of the same listed relation: by a predicate's phrase, a question's phrase, a light word."""
_UNRELATED, _RELATED = 0.25, 0.7
"""Range of cosines that is scaled to a nearness of 0 to 1."""
_SHARPNESS = 0.15
"""A cosine this far below that of the nearest predicate is scaled by 1/e."""
_NEAR = 0.85
"""Maximum nearness by vectors alone."""
_DOMAIN = 0.4
"""Nearness of a word that only names the type of the predicate's subjects ("film" in film.film.country)."""
_OF_ANOTHER = 0.4
"""Factor on the nearness by vectors if the word expresses a listed relation that the predicate does not."""
_NOUN = 0.9
"""Certainty that a listed noun names a class of which two of its predicates are stated."""
_MODIFIER = 0.4
"""Nearness of a noun for a predicate's subjects that only modifies the noun in its name ("drug" in drug class)."""
_BACKWARD = 0.99
"""Factor on the nearness of a step against a predicate's direction, so that the plain reading wins a tie."""
_AWAY = 0.6
"""Factor on the nearness of the noun for a predicate's objects if the step leads away from them."""
_WORDS = 5
"""Mean number of words from which names are texts about something."""
_LEAST_JOINED, _CLOSED = 5, 0.9
"""Pairs that two steps along a relation join, and the share of them that it states, from which it is transitive."""
_KINDS = {PERSON: "person", PLACE: "place, city, country", DATE: "date, year"}


@dataclass(eq=False)
class Predicates:
    """The p predicates of a graph, prepared for matching questions, and the 2p classes of things at their ends.

    Class 2·i contains the subjects of predicate i, class 2·i + 1 its objects.
    """

    graph: KnowledgeGraph
    vectors: Vectors
    embed: EmbedSpans
    ids: Bools
    entity_vectors: "tuple[Ints, Callable[[Ints], Vectors]] | None" = None
    _members: dict[int, Ints] = field(default_factory=dict)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The words of each predicate in English, without the word "inverse"."""
        return tuple(self._in_english(_without_inverse(predicate_words(name))) for name in self.graph.predicates)

    @cached_property
    def language(self) -> str:
        """The language of the predicates' labels, "" for English."""
        return language_of_labels([_without_inverse(predicate_words(name)) for name in self.graph.predicates])

    def _in_english(self, text: str) -> str:
        return label_in_english(text, self.language) if self.language else text

    @cached_property
    def inverse(self) -> tuple[bool, ...]:
        """For each predicate, whether its name marks it as an inverse: "plays_in_inverse", "leads" (of "led by")."""
        marked = [_without_inverse(text) != text for text in map(predicate_words, self.graph.predicates)]
        return tuple(each or _is_active(text) for each, text in zip(marked, self.texts, strict=True))

    @cached_property
    def twins(self) -> tuple[int, ...]:
        """For each predicate, the number of its inverse, -1 for none."""
        places = {(text, turned): at for at, (text, turned) in enumerate(zip(self.texts, self.inverse, strict=True))}
        return tuple(places.get((text, not turned), -1) for text, turned in zip(self.texts, self.inverse, strict=True))

    @cached_property
    def stems(self) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
        """For each predicate, the stems of its own words, and those of the prefix that names its subjects' type."""
        found = []
        for predicate, text in zip(self.graph.predicates, self.texts, strict=True):
            whole = stems_of(text)
            own = frozenset(stems_of(self._in_english(_without_inverse(predicate_words(_last(predicate))))))
            own = own or frozenset(whole)
            own |= {verb for word in text.split() for verb in verbs_of(word)}
            found.append((own, frozenset(whole) - own))
        return tuple(found)

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """For each predicate, the stem of the noun that names its objects; "" if it ends in a preposition or a verb."""
        lasts = [text.split()[-1] if text else "" for text in self.texts]
        return tuple("" if last in FUNCTION_WORDS or _is_past(last) else stem_of(last) for last in lasts)

    def modifies(self, stem: str, predicate: int) -> bool:
        """Return whether a noun names the subjects of a predicate and only modifies the head noun of its name."""
        head = self.heads[predicate]
        return bool(head) and stem != head and stem in self.nouns[2 * predicate]

    @cached_property
    def relations(self) -> tuple[frozenset[int], ...]:
        """For each predicate, the listed relations that the longest matching run of its words names."""
        found = []
        for text in self.texts:
            named = [(end - start, number) for start, end, number in relations_in(stems_of(text), of_predicate=True)]
            longest = max(named, default=(0, 0))[0]
            found.append(frozenset(number for length, number in named if length == longest))
        return tuple(found)

    @cached_property
    def known(self) -> frozenset[str]:
        """The stems of all words in predicates and in the list of relations."""
        own = {stem for text in self.texts for stem in stems_of(text)}
        return frozenset(own | {stem for relation in relations() for phrase in relation.asked for stem in phrase})

    @cached_property
    def to_classes(self) -> tuple[int, ...]:
        """The predicates that lead to classes: type, subclass of."""
        listed = relations()
        return tuple(at for at, own in enumerate(self.relations) if any(listed[one].kind == CLASS for one in own))

    @cached_property
    def classes_named(self) -> frozenset[int]:
        """The entities that are classes: others have them as type, or they are above or below another."""
        found = [self.members(2 * number + 1) for number in self.to_classes]
        return frozenset(np.concatenate([np.zeros(0, np.int64), *found]).tolist())

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Words that a misspelled word may be corrected to."""
        own = {word for text in self.texts for word in text.split() if word.isalpha()}
        return frozenset(own) | question_words()

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """For each predicate, the kind of its objects: date or number by their texts, else as listed, or ""."""
        found = []
        for number in range(len(self.texts)):
            literal = self._literal(self.members(2 * number + 1, _SAMPLE))
            said = {relations()[relation].kind for relation in self.relations[number]} - {"thing", DATE, NUMBER}
            found.append(literal or (said.pop() if len(said) == 1 and not self.inverse[number] else ""))
        return tuple(found)

    def _literal(self, rows: Ints) -> str:
        """Return DATE or NUMBER if the names of most entities are such, TEXT if they are sentences, else ""."""
        names = [self.graph.names[row] for row in rows.tolist()]
        literals = [literal for name in names if (literal := parse_literal(name))]
        if names and len(literals) >= 0.7 * len(names):
            return DATE if sum(map(is_time, literals)) > len(literals) / 2 else NUMBER
        return TEXT if names and float(np.mean([len(name.split()) for name in names])) >= _WORDS else ""

    def as_stated(self, step: tuple[int, bool] | None, value: str) -> str:
        """Return a value as the bare numbers that a step leads to are meant.

        "1 m" is 100 where the relation is "height in cm", and "100 cm" where it does not say its unit and has numbers
        of that size.
        """
        asked = parse_literal(value)
        if step is None or asked is None or asked.kind not in ("quantity", "duration"):
            return value
        for word in reversed(self.texts[step[0]].split()):  # "in cm"
            unit = parse_literal(f"1 {word}")
            if unit and (unit.kind, unit.unit) == (asked.kind, asked.unit):
                return f"{asked.low / unit.low:g}"
        number = parse_literal(value.split()[0])
        names = [self.graph.names[row] for row in self.members(2 * step[0] + 1, _SAMPLE).tolist()]
        bare = [literal.low for name in names if (literal := parse_literal(name)) and literal.kind == "number"]
        alike = number and 2 * len(bare) > len(names) and min(bare) / 2 <= number.low <= 2 * max(bare)
        return value.split()[0] if alike else value

    @cached_property
    def _by_predicate(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.graph.stated, kind="stable")
        return order, np.searchsorted(self.graph.stated[order], np.arange(len(self.texts) + 1))

    def relations_of(self, predicate: int) -> Ints:
        """Return the rows of the relations with a predicate."""
        order, starts = self._by_predicate
        return order[starts[predicate] : starts[predicate + 1]]

    def members(self, cls: int, most: int | None = None) -> Ints:
        """Return the entities of a class, ascending; if there are more than `most`, an evenly spaced sample."""
        if cls not in self._members:
            rows = self.relations_of(cls // 2)
            self._members[cls] = distinct((self.graph.targets if cls % 2 else self.graph.sources)[rows])
        ends = self._members[cls]
        if most is None or len(ends) <= most:
            return ends
        return ends[np.linspace(0, len(ends) - 1, most).astype(np.int64)]

    @cached_property
    def centres(self) -> tuple[Floats, Floats]:
        """For each class, the mean vectors of the predicates stated of its members, and of the members' names."""
        about, names = np.zeros((2, 2 * len(self.texts), self.vectors.shape[1]))
        for cls in range(len(about)):
            rows = self.members(cls, _SAMPLE)
            stated, counts = self.stated(rows)
            often = counts >= 0.3 * len(rows)
            about[cls] = _unit((self.vectors[stated[often]] * counts[often, None]).sum(axis=0))
            names[cls] = _unit(self._name_vectors(rows).sum(axis=0))
        return about, names

    @cached_property
    def symmetric(self) -> tuple[bool, ...]:
        """For each predicate, whether the list marks it as symmetric, or the graph declares it."""
        declared = self._declared("symmetricproperty")
        return tuple(
            place in declared or any(relations()[number].symmetric for number in own)
            for place, own in enumerate(self.relations)
        )

    def step(self, step: tuple[int, bool], form: Form) -> PredicateStep:
        """Return a step (predicate, outgoing) as a part of a query of some form."""
        names = self.graph.predicates
        direction: Direction = "either" if self.symmetric[step[0]] else "forward" if step[1] else "backward"
        return PredicateStep((names[step[0]],), direction, tuple(names[number] for number in self.through(step, form)))

    def through(self, step: tuple[int, bool], form: Form) -> tuple[int, ...]:
        """Return the transitive predicates that a step may follow on: in yes-or-no questions, and downward in others.

        "Which things are in Spain?" asks for those in its towns too, "Where is Ada based?" only for the town.
        """
        down = step[1] == (self.transitive[step[0]] < 0)
        return self._following[step[0]] if form == "yes_no" or down else ()

    @cached_property
    def leading(self) -> dict[int, list[int]]:
        """The predicates that each transitive one may follow on: a class has the members of those below it."""
        found: dict[int, list[int]] = {}
        for number, following in enumerate(self._following):
            for transitive in following:
                found.setdefault(transitive, []).append(number)
        return found

    @cached_property
    def transitive(self) -> tuple[int, ...]:
        """For each predicate, 0 if it is not transitive, 1 if its object is the larger or higher thing, -1 the subject.

        It is transitive by the list, if the graph declares it, or if nearly all that two steps join is stated.
        """
        declared = self._declared("transitiveproperty")
        found = []
        for number, name in enumerate(self.graph.predicates):
            said = _runs(stems_of(self._in_english(_without_inverse(predicate_words(_last(name))))))
            own = [relations()[relation] for relation in self.relations[number]]
            listed = [relation for relation in own if relation.transitive and said & relation.named]
            turned = self.inverse[number] or any(said & relation.inverse for relation in listed)
            chained = bool(len(np.intersect1d(self.members(2 * number), self.members(2 * number + 1))))
            holds = chained and (bool(listed) or number in declared or self._closed(number))
            found.append((-1 if turned else 1) if holds else 0)
        return tuple(found)

    def _declared(self, kind: str) -> set[int]:
        """Return the predicates that the graph states to be of a kind of OWL ("partOf type TransitiveProperty")."""
        rows = [row for row, name in enumerate(self.graph.names) if name.rsplit(":")[-1].lower() == kind]
        said = {predicate_words(self.graph.names[row]) for row in self.graph.edges_of(rows).neighbours.tolist()}
        return {number for number, name in enumerate(self.graph.predicates) if predicate_words(name) in said}

    def _closed(self, predicate: int) -> bool:
        """Return whether the graph states nearly all that two steps along a predicate join, in a sample."""
        rows = self.relations_of(predicate)
        pairs = set(zip(self.graph.sources[rows].tolist(), self.graph.targets[rows].tolist(), strict=True))
        both = np.intersect1d(self.graph.sources[rows], self.graph.targets[rows])[:_SAMPLE]
        edges = self.graph.edges_of(both)
        own = edges.predicate == predicate
        joined = [
            (before, after) in pairs
            for middle in both.tolist()
            for before in edges.neighbours[own & ~edges.outgoing & (edges.at == middle)][:_SAMPLE].tolist()
            for after in edges.neighbours[own & edges.outgoing & (edges.at == middle)][:_SAMPLE].tolist()
            if before != after
        ]
        return len(joined) >= _LEAST_JOINED and float(np.mean(joined)) >= _CLOSED

    @cached_property
    def _following(self) -> tuple[tuple[int, ...], ...]:
        """For each predicate, itself if it is transitive, or those that lead on from its classes or places."""
        upward = [number for number, way in enumerate(self.transitive) if way > 0]
        kinds = [{relations()[relation].kind for relation in own} & {PLACE, CLASS} for own in self.relations]
        return tuple(
            ()
            if self.symmetric[number]
            else (number,)
            if self.transitive[number]
            else tuple(
                other
                for other in upward
                if kinds[number] & kinds[other]
                and len(np.intersect1d(self.members(2 * number + 1), self.members(2 * other)))
            )
            for number in range(len(self.texts))
        )

    @cached_property
    def mediators(self) -> Bools:
        """For each class, whether more than a tenth of its members have opaque ids, bool (2p,)."""
        return np.array([
            bool(self.ids[self.members(cls, _SAMPLE)].mean() > _SOME_IDS) for cls in range(2 * len(self.texts))
        ])  # fmt: skip

    @cached_property
    def nouns(self) -> tuple[dict[str, float], ...]:
        """For each class, the stems of nouns that name its members, with their certainty."""
        phrases = [_runs(stems_of(text)) for text in self.texts]
        groups = [(said, np.array([bool(own & stated) for own in phrases]), len(stated)) for said, stated in nouns()]
        found: list[dict[str, float]] = []
        for cls in range(2 * len(self.texts)):
            stated = self._stated(cls)
            fits: dict[str, float] = {}
            for said, listed, _ in groups:
                count = int(listed[stated].sum())
                value = _NOUN if count >= 2 else 0.6 if count and len(stated) <= 2 else 0.0
                for stem in said if value else ():
                    fits[stem] = max(fits.get(stem, 0.0), value)
            names = [self.graph.names[row] for row in self.members(cls, _SAMPLE).tolist()]
            lasts = Counter(stem_of(spoken(name).lower().rpartition(" ")[2]) for name in names if not is_literal(name))
            fits |= {stem: _NOUN for stem, count in lasts.items() if count > 1 and count >= _OFTEN * 2 * len(names)}
            found.append(fits)
        return tuple(found)

    def _stated(self, cls: int) -> Ints:
        """Return the predicates stated of at least 30 % of a class's members."""
        rows = self.members(cls, _SAMPLE)
        stated, counts = self.stated(rows)
        return stated[counts >= 0.3 * len(rows)]

    def stated(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the predicates stated of entities, each with the number of entities of which it is."""
        edges = self.graph.edges_of(rows)
        pairs = np.unique(np.stack([edges.at, edges.predicate.astype(np.int64)])[:, edges.outgoing], axis=1)
        return np.unique(pairs[1], return_counts=True)

    def _name_vectors(self, rows: Ints) -> Floats:
        if self.entity_vectors is None:
            return np.zeros((1, self.vectors.shape[1]))
        known, vectors_of = self.entity_vectors
        held = np.intersect1d(known, rows)
        return np.asarray(vectors_of(held), np.float64) if len(held) else np.zeros((1, self.vectors.shape[1]))

    def classes(self, nouns: Floats) -> Floats:
        """Return how likely each noun, given by its unit vector (n, d), names each class, 0 to 1, (n, 2p)."""
        found = np.zeros((len(nouns), 2 * len(self.texts)))
        for centres in self.centres:
            cosines = nouns @ centres.T
            best = cosines.max(axis=1, keepdims=True, initial=0.0)
            near = np.clip((cosines - 0.2) / 0.3, 0, 1) * np.exp((cosines - best) / 0.1)
            found = np.maximum(found, 0.8 * near)
        return found

    @cached_property
    def kinds_of_subjects(self) -> tuple[str, ...]:
        """For each predicate, the kind of its subjects if many are also objects of that kind, or ""."""
        found = [""] * len(self.texts)
        for kind in (PERSON, PLACE):
            objects = [self.members(2 * number + 1) for number, own in enumerate(self.kinds) if own == kind]
            known = np.unique(np.concatenate([np.zeros(0, np.int64), *objects]))
            for number in range(len(self.texts)):
                if np.isin(self.members(2 * number, _SAMPLE), known).mean() > _OFTEN:
                    found[number] = kind
        return tuple(found)

    def kind_of_class(self, kind: str, cls: int) -> float:
        """Return how well a class's members fit a kind, -1 to 1: by their texts, the list, or their names."""
        own = self.kinds[cls // 2] if cls % 2 else self.kinds_of_subjects[cls // 2]
        if kind in (DATE, NUMBER):
            return 1.0 if own in ((DATE,) if kind == DATE else (NUMBER, DATE)) else -1.0
        if own in (DATE, NUMBER):
            return -1.0
        if own in (PERSON, PLACE):
            return 1.0 if own == kind else -0.4
        if kind == PERSON and cls % 2 and verbs_of(self.texts[cls // 2].rpartition(" ")[2]):
            return 0.8
        said = self.nouns[cls]
        if any(said.get(noun, 0.0) >= _NOUN for noun in _NOUNS_OF[kind]):
            return 1.0
        if said:
            return -0.8
        names = self.centres[1][cls]
        if not names.any():
            return 0.0
        cosines = self._prototypes @ names
        return float(np.tanh(6 * (cosines[0 if kind == PERSON else 1] - cosines[1 if kind == PERSON else 0])))

    @cached_property
    def _prototypes(self) -> Floats:
        return np.asarray(self.embed([_KINDS[PERSON], _KINDS[PLACE]]), np.float64)


@per_index
def open_predicates(context: Context) -> Predicates:
    """Return the predicates of the index's graph, prepared on first use."""
    graph = open_graph(context)
    stored = context.index.vectors("entities")
    vectors = predicate_vectors(context)
    held = None
    if stored.n_found:
        known = distinct(stored.table_rows)  # of a large graph only some have a vector
        held = (known, stored.mean_vectors)
    return Predicates(graph, vectors, span_vectors(context), all_ids(context), held)


@dataclass(frozen=True, slots=True, eq=False)
class Meanings:
    """What the t words of a question may mean among p predicates.

    Attributes:
        near: float64 (t, 2p), nearness of each word to a step along each predicate, 0 to 1: backward at 2·i, forward
            at 2·i + 1. A noun for a predicate's objects is less near to a step away from them.
        types: float64 (t, 2p), how likely each word names the members of each class.
        whole: float64 (p,), cosine of each predicate with the question without its named entities.
    """

    near: Floats
    types: Floats
    whole: Floats


def read_meanings(context: Context, asked: ReadQuestion, named: frozenset[int]) -> Meanings:
    """Return the meanings of a question's words; `named` are the places of words that certainly name entities."""
    predicates = open_predicates(context)
    n_words, n_predicates = len(asked.words), len(predicates.texts)
    near = np.zeros((n_words, n_predicates))
    if not n_predicates:
        return Meanings(near, near, np.zeros(0))
    places = [place for place in range(n_words) if asked.weights[place] > 0]
    asking = frozenset(places)
    spans = [(place, place + 1) for place in places]
    spans += [
        (start, end)
        for start in places
        for end in (start + 2, start + 3)
        if end - 1 in asking and named.isdisjoint(range(start, end))
    ]
    keys = [word.key for word in asked.words]
    if spans and n_predicates:
        texts = [" ".join(keys[start:end]) for start, end in spans]
        cosines = np.asarray(predicates.embed(texts) @ predicates.vectors.T, np.float64)
        best = cosines.max(axis=1, keepdims=True)
        scaled = np.clip((cosines - _UNRELATED) / (_RELATED - _UNRELATED), 0, 1) * np.exp((cosines - best) / _SHARPNESS)
        for (start, end), row in zip(spans, _NEAR * scaled, strict=True):
            for place in range(start, end):
                if asked.weights[place] >= (0 if end - start > 1 else 0.2):
                    near[place] = np.maximum(near[place], row)
    stating = _said(asked)
    for place, stated in stating.items():
        near[place, np.array([not stated & own for own in predicates.relations])] *= _OF_ANOTHER
    for place in places:
        check()
        for number, (own, domain) in enumerate(predicates.stems):
            if asked.stems[place] in own:
                value = _MODIFIER if predicates.modifies(asked.stems[place], number) else 1.0
                near[place, number] = value if asked.weights[place] >= 1 else max(near[place, number], _LIGHTLY)
            elif asked.stems[place] in domain:
                near[place, number] = max(near[place, number], _DOMAIN)
    for start, end, relation in relations_in(asked.stems):
        said = tuple(asked.stems[start:end]) in relations()[relation].named
        content = any(asked.weights[place] >= 1 for place in range(start, end)) or end - start > 1
        value = (_SAID if said else _MEANT) if content else _LIGHTLY
        for number, numbers in enumerate(predicates.relations):
            if relation in numbers:
                near[start:end, number] = np.maximum(near[start:end, number], value)
    types = _types(predicates, asked, places, frozenset(stating) | _verb(asked))
    types[list(named)] *= _OF_ANOTHER
    both = np.repeat(near, 2, axis=1)
    turned = np.array(predicates.inverse, np.int64)
    backward = 2 * np.arange(n_predicates) + turned
    both[:, backward] *= _BACKWARD
    for place in places:
        for number, head in enumerate(predicates.heads):
            if head == asked.stems[place]:
                both[place, backward[number]] *= _AWAY
    beside = " ".join(key for place, key in enumerate(keys) if place not in named) or asked.text
    whole = np.asarray(predicates.vectors @ predicates.embed([beside])[0], np.float64)
    return Meanings(both, types, whole)


def _said(asked: ReadQuestion) -> dict[int, set[int]]:
    """Return for content words the listed relations that they express: by a predicate's phrase, or unambiguously."""
    said: dict[int, set[int]] = {}
    meant = Counter((start, end) for start, end, _ in relations_in(asked.stems))
    for start, end, relation in relations_in(asked.stems):
        if meant[start, end] == 1 or tuple(asked.stems[start:end]) in relations()[relation].named:
            for place in range(start, end):
                if asked.weights[place] >= 1:
                    said.setdefault(place, set()).add(relation)
    return said


def _verb(asked: ReadQuestion) -> frozenset[int]:
    """Return the place of a content word after an opening "who": a verb, which names no class of things."""
    is_verb = len(asked.words) > 1 and asked.words[0].key == "who" and asked.weights[1] >= 1
    return frozenset({1} if is_verb else ())


def _types(predicates: Predicates, asked: ReadQuestion, places: list[int], said: frozenset[int]) -> Floats:
    """Return how likely each word names the members of each class, (t, 2p)."""
    types = np.zeros((len(asked.words), 2 * len(predicates.texts)))
    content = [place for place in places if asked.weights[place] >= 1]
    if content:
        vectors = np.asarray(predicates.embed([asked.words[place].key for place in content]), np.float64)
        types[content] = predicates.classes(vectors)
        types[[place for place in content if place in said]] *= _OF_ANOTHER
    for place in content:
        check()
        for cls, fits in enumerate(predicates.nouns):
            if asked.stems[place] in fits:
                types[place, cls] = max(types[place, cls], fits[asked.stems[place]])
        if types[place].max(initial=0.0) >= _NOUN:
            types[place] *= np.where(types[place] >= _NOUN, 1.0, 0.6)
        for number, (_, domain) in enumerate(predicates.stems):
            if asked.stems[place] in domain:
                types[place, 2 * number] = max(types[place, 2 * number], 0.9)
        if kind := KINDS_OF_NOUNS.get(asked.words[place].key):
            of_ends = zip(predicates.kinds_of_subjects, predicates.kinds, strict=True)
            fits_kind = np.array([own == kind for ends in of_ends for own in ends])
            types[place] = np.maximum(types[place], 0.7 * fits_kind)
        for number, head in enumerate(predicates.heads):
            if head == asked.stems[place]:
                led = 2 * number + (not predicates.inverse[number])
                types[place, led] = max(types[place, led], 0.9)
    for start, end, relation in relations_in(asked.stems):
        phrase, inverse = tuple(asked.stems[start:end]), relations()[relation].inverse
        for number in range(len(predicates.texts)):
            if relation in predicates.relations[number] and phrase not in inverse:
                turned = predicates.inverse[number] != bool(_runs(stems_of(predicates.texts[number])) & inverse)
                for place in range(start, end):
                    if asked.weights[place] >= 1:
                        types[place, 2 * number + (not turned)] = max(types[place, 2 * number + (not turned)], 0.7)
    return types


def _last(predicate: str) -> str:
    """Return the last part of a predicate of Freebase ("containedby"), of others the whole."""
    return predicate.rsplit(".", 1)[-1] if "." in predicate and " " not in predicate else predicate


def _without_inverse(text: str) -> str:
    """Return the words of a predicate without the word "inverse"."""
    return " ".join(word for word in text.split() if word != "inverse") or text


def _runs(stems: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    """Return all contiguous runs of stems."""
    return frozenset(stems[start:end] for start in range(len(stems)) for end in range(start + 1, len(stems) + 1))


def _is_active(text: str) -> bool:
    """Return whether a predicate is a verb of which the list has the passive: "leads", not "led by" or "leaders"."""
    last = text.rpartition(" ")[2]
    return last.endswith("s") and not last.endswith(("ers", "ors")) and stem_of(last) in passive_verbs()


def _is_past(word: str) -> bool:
    """Return whether a word is a past form of a verb: "founded", "lit"."""
    irregular = word in irregular_forms() and base_form(word) != word and word not in _PLURALS
    return word.endswith("ed") or irregular


_PLURALS = frozenset("children men women feet teeth mice people lives wives".split())


def _unit(vector: Floats) -> Floats:
    return vector / (float(np.linalg.norm(vector)) or 1.0)


_NOUNS_OF = {PERSON: stems_of("person company team"), PLACE: stems_of("city country")}
"""Listed nouns whose members answer "who" and "where"."""


def is_literal(name: str) -> bool:
    """Return whether a name is a date or a number, or contains a year."""
    return parse_literal(name) is not None or year_in(name) is not None
