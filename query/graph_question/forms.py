"""Candidate queries in the form that a question asks for: counts, orders, bounds, choices, comparisons, yes or no."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np
from conspectus.query.graph_question.candidates import Candidate, CandidateSearch, Leg, LiteralStep
from conspectus.query.graph_question.lexicon import DATE, NUMBER, stems_of
from conspectus.query.graph_question.meanings import Meanings, Predicates, is_literal
from conspectus.query.graph_question.mentions import EntityMention
from conspectus.query.graph_question.question_form import DIMENSIONS, ReadQuestion
from conspectus.storage.arrays import Ints
from conspectus.storage.text.literals import is_time, parse_literal

_ORDERED = 20
"""Number of best candidates that are combined with an order; twice as many with a bound."""
_NAMED_CLASS = 0.7
_CLASSES = 12
"""Number of likeliest classes that a noun of the question may name, ..."""
_LEAST_CLASS = 0.4
"""... and the certainty that they require."""
_ABOUT = 0.1
"""Certainties of two classes that are about the same."""
_NARROWED = 12
"""Number of best candidates that are restricted to a class named by the question's noun."""


def formed(
    search: CandidateSearch, meanings: Meanings, mentions: Sequence[EntityMention], things: Sequence[Candidate]
) -> list[Candidate]:
    """Return the candidates in the form that the question asks for.

    Args:
        search: The search of the question's candidates.
        meanings: How near its words are to predicates and classes.
        mentions: The entities that it names.
        things: The chains from these and their intersections, best first.
    """
    predicates, asked = search.predicates, search.asked
    if asked.choice:
        return _chosen(search, mentions, things)
    if asked.negated >= 0:
        things = search.without(mentions, things, asked.negated)
    if asked.form in ("yes_no", "compare") and asked.order and len(mentions) > 1:
        return _comparisons(search, mentions)
    if asked.form == "yes_no" and asked.bounds:
        return _bounded(search, [_itself(mention, row) for mention in mentions for row in mention.rows])
    if asked.form == "yes_no":
        return search.verdicts(mentions, things)
    if asked.bounds:
        classes = [*_classes(search, meanings), *_with_literal(search, meanings)]
        bounded = _bounded(search, [*things[: 2 * _ORDERED], *classes])
        return [replace(candidate, form=asked.form) for candidate in bounded]
    if asked.order:
        classes = [*_classes(search, meanings), *_with_literal(search, meanings)]
        several = [*_stating(search, things)[:_ORDERED], *classes]
        ordered = search.with_literals(several, lambda rows: _ordering(search, rows))
        return [*ordered, *_counted(search, meanings, several)]
    if asked.form == "count":
        counted = [*things, *_classes(search, meanings)]
        return [
            search.scored(
                replace(candidate, form="things" if _kind_at(predicates, candidate.end) == NUMBER else "count")
            )
            for candidate in counted  # "how many minutes" asks for the number that the graph states
        ]
    named = any(sign.isdigit() for place in head_of(asked) for sign in asked.surface(place))
    return [*things, *_narrowed(search, meanings, things), *([] if things or named else _classes(search, meanings))]


def _chosen(search: CandidateSearch, mentions: Sequence[EntityMention], things: Sequence[Candidate]) -> list[Candidate]:
    """Return the names beside "or" that the graph states of the others ("is it a drama or a comedy?")."""
    place = [word.key for word in search.asked.words].index("or")
    ends = [mention.end for mention in mentions if mention.end <= place]
    starts = [mention.start for mention in mentions if mention.start > place]
    beside = [each for each in mentions if each.end == max(ends, default=-1) or each.start == min(starts, default=-1)]
    found = []
    for verdict in search.verdicts(mentions, things):
        for mention, row in verdict.subjects if verdict.verdict else ():
            if mention in beside and not any(leg.mention in beside for leg in verdict.legs):
                legs, rows = (*verdict.legs, Leg(mention, row, ())), np.array([row], np.int64)
                one = replace(verdict, form="things", legs=legs, subjects=(), verdict=None, rows=rows)
                found.append(search.scored(one))
    return found


def _narrowed(search: CandidateSearch, meanings: Meanings, things: Sequence[Candidate]) -> list[Candidate]:
    """Return the best candidates restricted to a class that the question's head noun names ("which directors")."""
    head = head_of(search.asked)
    if not head:
        return []
    fit = meanings.types[head].max(axis=0)
    found = []
    for cls in np.argsort(-fit, kind="stable")[:3].tolist():
        members = search.predicates.members(cls)
        for candidate in things[:_NARROWED] if fit[cls] >= _NAMED_CLASS else ():
            rows = candidate.rows[np.isin(candidate.rows, members)]
            said = max(float(meanings.near[place, 2 * step + out]) for place in head for step, out in candidate.steps)
            if said < _NAMED_CLASS and len(rows) and (len(rows) < len(candidate.rows) or fit[cls] > fit[candidate.end]):
                found.append(search.scored(replace(candidate, rows=rows, members=cls)))
    return found


def _classes(search: CandidateSearch, meanings: Meanings) -> list[Candidate]:
    """Return a candidate for each class that a word of the question names, with all its members.

    Dates and numbers are a class only if they are what is asked for. Of two classes of which one has all members of
    the other, as employees with a salary and employees with a desk, the larger one is meant.
    """
    predicates, content = search.predicates, [place for place, weight in enumerate(search.asked.weights) if weight >= 1]
    if not content:
        return []
    fit = meanings.types[content].max(axis=0)
    head = meanings.types[head_of(search.asked)].max(axis=0, initial=0.0)
    likely = [
        cls
        for cls in np.argsort(-fit, kind="stable")[:_CLASSES].tolist()
        if fit[cls] >= _LEAST_CLASS and (_kind_at(predicates, cls) not in (DATE, NUMBER) or head[cls] >= _LEAST_CLASS)
    ]
    members = {cls: predicates.members(cls) for cls in likely}
    return [
        search.scored(Candidate("things", (), members[cls], members=cls))
        for cls in likely
        if not any(
            fit[other] >= fit[cls] - _ABOUT
            and len(members[other]) > len(members[cls])
            and np.isin(members[cls], members[other]).all()
            for other in likely
        )
    ]


def _with_literal(search: CandidateSearch, meanings: Meanings) -> list[Candidate]:
    """Return the things that have a date or number that a word says ("who died first?"), as candidates."""
    head = head_of(search.asked)
    said = [place for place, weight in enumerate(search.asked.weights) if weight and place not in head]
    near = meanings.near[said].max(axis=0, initial=0.0)
    return [
        search.scored(Candidate("things", (), search.predicates.members(2 * predicate), members=2 * predicate))
        for predicate, kind in enumerate(search.predicates.kinds)
        if kind in (DATE, NUMBER) and near[2 * predicate + 1] >= _NAMED_CLASS
    ]


def _itself(mention: EntityMention, row: int) -> Candidate:
    """Return whether a thing is within bounds, as a candidate ("was Ada born before 1980?")."""
    return Candidate("yes_no", (Leg(mention, row, ()),), np.array([row], np.int64), subjects=((mention, row),))


def _ordering(search: CandidateSearch, rows: Ints) -> list[LiteralStep]:
    """Return the literals by which entities may be ordered as the question asks."""
    return [
        LiteralStep(step, least, sign > 0)
        for rank, (wanted, sign) in enumerate(search.asked.order.by if search.asked.order else ())
        for step, fit in _literal_steps(search.predicates, rows, wanted)
        if (least := fit - 0.15 * rank) > 0
    ]


def _counted(search: CandidateSearch, meanings: Meanings, things: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates ordered by how many entities a step leads to that words after "most" or "fewest" say."""
    asked = search.asked
    assert asked.order is not None
    place, by = asked.order.place, asked.order.by[0]
    said = [at for at in range(place + 1, len(asked.words)) if asked.weights[at] >= 1]
    if by[0] != NUMBER or asked.words[place].key not in _COUNTING or not said:
        return []
    fit = np.maximum(meanings.near[said], meanings.types[said]).max(axis=0)

    def steps(rows: Ints) -> list[LiteralStep]:
        return [
            LiteralStep(
                step, float(fit[2 * step[0] + step[1]]), by[1] > 0,
                counted=_kind_at(search.predicates, 2 * step[0] + step[1]) != NUMBER,  # seats may be numbers or things
            )
            for step in search.steps(rows[:_SAMPLED])
            if fit[2 * step[0] + step[1]] >= _NAMED_CLASS
        ]  # fmt: skip

    return search.with_literals(things, steps)


_COUNTING = frozenset("most more fewest fewer least less".split())
_SAMPLED = 40
"""Number of entities whose predicates are looked at."""
_FittingStep = tuple[tuple[int, bool] | None, float]
"""A step to a literal (None for a year in the entity's own name), and how well it fits the comparison."""


def _literal_steps(predicates: Predicates, rows: Ints, wanted: str) -> list[_FittingStep]:
    """Return the steps from entities to literals of the wanted kind."""
    graph = predicates.graph
    sample = rows[np.linspace(0, len(rows) - 1, min(len(rows), _SAMPLED)).astype(np.int64)] if len(rows) else rows
    found: list[_FittingStep] = []
    stated, counts = predicates.stated(sample)
    for predicate, count in zip(stated.tolist(), counts.tolist(), strict=True):
        fit = _fit(predicates, predicate, wanted)
        if fit > 0:
            found.append(((predicate, True), fit * (0.5 + 0.5 * count / max(1, len(sample)))))
    if wanted == DATE and len(sample) and sum(is_literal(graph.names[int(row)]) for row in sample) > 0.6 * len(sample):
        found.append((None, 0.7))
    return found


def _fit(predicates: Predicates, predicate: int, wanted: str) -> float:
    """Return how well a predicate's literals fit the dimension that an adjective compares, 0 to 1."""
    kind = predicates.kinds[predicate]
    if wanted in (DATE, NUMBER):
        return 0.8 if kind == wanted else 0.0
    return float(kind == NUMBER and not set(DIMENSIONS[wanted]).isdisjoint(stems_of(predicates.texts[predicate])))


def _bounded(search: CandidateSearch, things: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates combined with each literal that the bound may apply to."""
    predicates, asked = search.predicates, search.asked
    bound = asked.bounds[0]
    value = parse_literal(bound.value)
    by_time = value is not None and is_time(value) and bound.dimension in ("", DATE)
    kinds = [*([DATE] if by_time else []), *([] if bound.dimension == DATE else [bound.dimension or NUMBER])]

    def literals(rows: Ints) -> list[LiteralStep]:
        return [LiteralStep(step, fit) for kind in kinds for step, fit in _literal_steps(predicates, rows, kind)]

    return search.with_literals(_stating(search, things), literals)


def _stating(search: CandidateSearch, things: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that lead to what has dates and numbers, not to these, unless they are asked for."""
    literal = (DATE, NUMBER)
    if search.asked.kind in literal:
        return list(things)
    return [each for each in things if _kind_at(search.predicates, each.end) not in literal]


def _kind_at(predicates: Predicates, cls: int) -> str:
    """Return the kind of a predicate's objects, "" for its subjects."""
    return predicates.kinds[cls // 2] if cls >= 0 and cls % 2 else ""


def _comparisons(search: CandidateSearch, mentions: Sequence[EntityMention]) -> list[Candidate]:
    found = []
    for one, other in combinations(sorted(mentions, key=lambda mention: mention.start), 2):
        for first, second in product(one.rows, other.rows) if not one.places & other.places else ():
            rows = np.array([first, second], np.int64)
            both = Candidate(search.asked.form, (), rows, subjects=((one, first), (other, second)))
            found += [search.scored(replace(both, literal=literal)) for literal in _ordering(search, rows)]
    return found


def head_of(asked: ReadQuestion) -> list[int]:
    """Return the places of the nouns that name the kind of answer."""
    if asked.head < 0:
        return []
    places = []
    for place in range(asked.head, len(asked.words)):
        if asked.weights[place] < 0.2 or asked.words[place].key in _PARTICIPLES:
            break
        if asked.weights[place] >= 1 and not asked.words[place].key.endswith(_VERB_ENDINGS):
            places.append(place)
    return places[:4]


_PARTICIPLES = frozenset("born made written shot built sold run led held kept won lost known spoken".split())
_VERB_ENDINGS = ("ing", "ed")
