"""Read a question to a graph: the best query among the candidates, its answer, or why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from conspectus.query.context import Context
from conspectus.query.graph_question.asked import DIMENSIONS, Asked, read_asked
from conspectus.query.graph_question.candidates import Candidate, CandidateSearch, Leg, Literal
from conspectus.query.graph_question.declining import why_declined
from conspectus.query.graph_question.lexicon import DATE, NUMBER
from conspectus.query.graph_question.meanings import (
    Meanings,
    Predicates,
    is_literal,
    is_time,
    open_predicates,
    read_meanings,
)
from conspectus.query.graph_question.mentions import Mention, find_mentions, spelled
from conspectus.query.graph_question.scoring import WEIGHTS, Scoring, dimension_fit
from conspectus.query.question.graph_query import (
    Bound,
    Condition,
    Direction,
    GraphAnswer,
    GraphQuery,
    Order,
    Step,
    Things,
)
from conspectus.query.walk.run_query import run
from conspectus.storage.arrays import Ints
from conspectus.storage.text.literals import parse_literal

_MENTIONS = 6
"""Best mentions from which candidates start."""
_VOTES = 10
"""Best readings that decide which of several things is named first."""
_SURE = 0.9
"""Likeness from which the words of a mention are not read as a relation too."""
_ORDERED = 20
"""Best candidates to which an order or a bound is tried."""
_NAMED_CLASS = 0.7
_CLASSES = 12
"""Classes of things that a noun of the question may name, the likeliest, ..."""
_LEAST_CLASS = 0.4
"""... and what certainty they need."""
_NARROWED = 12
"""Best candidates that are narrowed to a class that the question's noun names."""
_INSTEAD = 6
"""Things whose relations an answer with no cites: who wrote the film instead."""


@dataclass(frozen=True, slots=True, eq=False)
class GraphReading:
    """How a question was read.

    Attributes:
        asked: What its words ask for.
        mentions: What it names.
        candidates: The candidate queries, best first.
        scoring: Their scores and what of the question they account for.
        query: The best candidate as a query; None where there is no candidate.
        answer: Its answer; None without a query.
        declined: Why the answer is not to be relied on; "" where it is.
    """

    asked: Asked
    mentions: tuple[Mention, ...]
    candidates: tuple[Candidate, ...]
    scoring: Scoring
    query: GraphQuery | None = None
    answer: GraphAnswer | None = None
    declined: str = ""

    @property
    def best(self) -> Candidate | None:
        """The best candidate."""
        return self.candidates[0] if self.candidates else None

    @property
    def answered(self) -> bool:
        """Whether the best candidate accounts for the question and has an answer."""
        return self.answer is not None and not self.declined

    @property
    def score(self) -> float:
        """The score of the best candidate."""
        return self.best.score if self.best else 0.0


def read_graph_question(context: Context, question: str, topics: Sequence[int] | None = None) -> GraphReading:
    """Return the best query of a question to the graph, its answer, or why there is none.

    Args:
        context: The open index.
        question: The question.
        topics: Rows of the entities that it is about, where they are known; None to find them in its words.
    """
    reading = read_candidates(context, question, topics)
    if topics is not None and not topics:
        return replace(reading, candidates=(), declined="none of the given topics is in the graph")
    predicates = open_predicates(context)
    if reading.best is None:
        return replace(reading, declined=why_declined(predicates, reading) or "nothing that it names is in the graph")
    query = query_of(predicates, reading.asked, reading.best)
    answer = run(predicates.graph, query)
    if query.form == "yes_no" and not answer.verdict and not answer.relations and not query.things.order:
        instead = run(predicates.graph, replace(query, form="things", subjects=()), cited=_INSTEAD)
        answer = replace(answer, relations=instead.relations, known=bool(instead.relations))
    answer = _named_first(predicates, reading, query, answer)
    declined = why_declined(predicates, reading)
    if not declined and (not answer.known or not (answer.found or answer.relations)):
        declined = "no statement of the graph meets all conditions"
    return replace(reading, query=query, answer=answer, declined=declined)


def _named_first(predicates: Predicates, reading: GraphReading, query: GraphQuery, answer: GraphAnswer) -> GraphAnswer:
    """Return an answer without opaque ids, and first the things that most of the other good readings lead to as well.

    A graph often says the same by several predicates, or a predicate and its inverse.
    """
    if query.form not in ("things", "count") or query.things.order:
        return answer
    found = [each for each in answer.found if not predicates.ids[each.entity]]
    best = reading.score
    votes: dict[int, float] = {}
    for candidate in reading.candidates[:_VOTES]:
        for row in candidate.rows.tolist():
            votes[row] = votes.get(row, 0.0) + float(np.exp(candidate.score - best))
    found.sort(key=lambda each: -round(votes.get(each.entity, 0.0), 6))
    relations = tuple(dict.fromkeys(row for each in found for row in each.relations))
    return replace(answer, found=tuple(found), count=answer.count - len(answer.found) + len(found), relations=relations)


def read_candidates(
    context: Context, question: str, topics: Sequence[int] | None = None, weights: Sequence[float] = WEIGHTS
) -> GraphReading:
    """Return the candidate queries of a question, best first, and none executed."""
    predicates = open_predicates(context)
    asked = read_asked(question)
    slips = spelled(context, [word.key for word in asked.words], predicates.vocabulary)
    for place in sorted(slips, reverse=True):
        word = asked.words[place]
        question = question[: word.start] + slips[place] + question[word.end :]
    if slips:
        asked = read_asked(question)
    bounded = {place for bound in asked.bounds for place in range(bound.start, bound.end)}
    found = [item for item in find_mentions(context, asked, predicates.known) if not item.places & bounded]
    mentions = found if topics is None else _about(found, topics) if topics else []
    mentions = mentions[:_MENTIONS]
    names = [mention.places for mention in mentions if mention.likeness >= _SURE and len(mention.places) > 1]
    if asked.order and any(asked.order.place in places for places in names):
        asked = read_asked(question, frozenset().union(*names))  # "the father of Ada the Elder"
    sure = frozenset(place for mention in mentions if mention.likeness >= _SURE for place in mention.places)
    meanings = read_meanings(context, asked, sure)
    scoring = Scoring(predicates, asked, meanings, _head(asked), weights)
    search = CandidateSearch(predicates, asked, meanings.near.max(axis=0, initial=0.0)[1::2], scoring)
    things = search.things(mentions)
    candidates = _formed(predicates, asked, meanings, mentions, search, things)
    return GraphReading(asked, tuple(mentions), tuple(sorted(candidates, key=lambda item: -item.score)), scoring)


def _about(found: Sequence[Mention], topics: Sequence[int]) -> list[Mention]:
    """Return mentions of the given topics, at the words that name them, then the other mentions."""
    given = []
    for topic in topics:
        at = next((mention for mention in found if topic in mention.rows), None)
        given.append(replace(at, rows=(topic,), likeness=1.0) if at else Mention(0, 0, (topic,), 1.0))
    taken = frozenset[int]().union(*(mention.places for mention in given))
    return [*given, *(mention for mention in found if not mention.places & taken)]


def _formed(
    predicates: Predicates, asked: Asked, meanings: Meanings, mentions: Sequence[Mention],
    search: CandidateSearch, things: Sequence[Candidate],
) -> list[Candidate]:  # fmt: skip
    """Return the candidates in the form that is asked for."""
    if asked.form in ("yes_no", "compare") and asked.order and len(mentions) > 1:
        return _comparisons(predicates, asked, mentions, search)
    if asked.form == "yes_no":
        return search.verdicts(mentions, things)
    if asked.bounds:
        classes = _classes(predicates, asked, meanings, search)
        bounded = _bounded(predicates, asked, search, [*things[: 2 * _ORDERED], *classes])
        return [replace(candidate, form=asked.form) for candidate in bounded]
    if asked.order:
        classes = _classes(predicates, asked, meanings, search)
        return search.with_literals([*things[:_ORDERED], *classes], lambda rows: _ordering(predicates, asked, rows))
    if asked.form == "count":
        counted = [*things, *_classes(predicates, asked, meanings, search)]
        return [search.scored(replace(candidate, form="count")) for candidate in counted]
    return [*things, *_narrowed(predicates, asked, meanings, search, things)]


def _narrowed(
    predicates: Predicates, asked: Asked, meanings: Meanings, search: CandidateSearch, things: Sequence[Candidate]
) -> list[Candidate]:
    """Return the best candidates with only the things of a class that the noun asked for names ("which directors")."""
    head = _head(asked)
    if not head:
        return []
    fit = meanings.types[head].max(axis=0)
    found = []
    for cls in np.argsort(-fit, kind="stable")[:3].tolist():
        members = predicates.members(cls)
        for candidate in things[:_NARROWED] if fit[cls] >= _NAMED_CLASS else ():
            rows = candidate.rows[np.isin(candidate.rows, members)]
            said = max(float(meanings.near[place, 2 * step + out]) for place in head for step, out in candidate.steps)
            if said < _NAMED_CLASS and len(rows) and (len(rows) < len(candidate.rows) or fit[cls] > fit[candidate.end]):
                found.append(search.scored(replace(candidate, rows=rows, members=cls)))
    return found


def _classes(predicates: Predicates, asked: Asked, meanings: Meanings, search: CandidateSearch) -> list[Candidate]:
    """Return all things of the classes that a noun of the question names."""
    content = [place for place, weight in enumerate(asked.weights) if weight >= 1]
    if not content:
        return []
    fit = meanings.types[content].max(axis=0)
    return [
        search.scored(Candidate("things", (), predicates.members(cls), members=cls))
        for cls in np.argsort(-fit, kind="stable")[:_CLASSES].tolist()
        if fit[cls] >= _LEAST_CLASS
    ]


def _ordering(predicates: Predicates, asked: Asked, rows: Ints) -> list[Literal]:
    """Return the literals by which things may be ordered as the question says."""
    assert asked.order is not None
    return [
        Literal(step, least, sign > 0)
        for rank, (wanted, sign) in enumerate(asked.order.by)
        for step, fit in _literal_steps(predicates, rows, wanted)
        if (least := fit - 0.15 * rank) > 0
    ]


LiteralStep = tuple[tuple[int, bool] | None, float]
"""A step to a literal, None for a year in the thing's own name, and how well it fits what is compared."""


def _literal_steps(predicates: Predicates, rows: Ints, wanted: str) -> list[LiteralStep]:
    """Return the steps to literals that things have, of the kind that is wanted."""
    graph = predicates.graph
    sample = rows[np.linspace(0, len(rows) - 1, min(len(rows), 40)).astype(np.int64)] if len(rows) else rows
    edges = graph.edges_of(sample)
    found: list[LiteralStep] = []
    stated = np.unique(np.stack([edges.at, edges.predicate.astype(np.int64)])[:, edges.outgoing], axis=1)
    numbers, counts = np.unique(stated[1], return_counts=True)
    for predicate, count in zip(numbers.tolist(), counts.tolist(), strict=True):
        fit = dimension_fit(predicates, predicate, wanted, DIMENSIONS)
        if fit > 0:
            found.append(((predicate, True), fit * (0.5 + 0.5 * count / max(1, len(sample)))))
    if wanted == DATE and len(sample) and sum(is_literal(graph.names[int(row)]) for row in sample) > 0.6 * len(sample):
        found.append((None, 0.7))
    return found


def _bounded(
    predicates: Predicates, asked: Asked, search: CandidateSearch, things: Sequence[Candidate]
) -> list[Candidate]:
    """Return the candidates with each literal that the bound may be about."""
    bound = asked.bounds[0]
    value = parse_literal(bound.value)
    wanted = DATE if value is not None and is_time(value) else bound.dimension or NUMBER

    def literals(rows: Ints) -> list[Literal]:
        return [Literal(step, fit) for step, fit in _literal_steps(predicates, rows, wanted)]

    return search.with_literals(things, literals)


def _comparisons(
    predicates: Predicates, asked: Asked, mentions: Sequence[Mention], search: CandidateSearch
) -> list[Candidate]:
    assert asked.order is not None
    found = []
    ordered = sorted(mentions, key=lambda mention: mention.start)
    for at, one in enumerate(ordered):
        for other in ordered[at + 1 :]:
            if one.places & other.places:
                continue
            for first in one.rows:
                for second in other.rows:
                    rows = np.array([first, second], np.int64)
                    both = Candidate(asked.form, (), rows, subjects=((one, first), (other, second)))
                    literals = _ordering(predicates, asked, rows)
                    found += [search.scored(replace(both, literal=literal)) for literal in literals]
    return found


def _head(asked: Asked) -> list[int]:
    """Return the places of the nouns that name the kind of the answer."""
    if asked.head < 0:
        return []
    places = []
    for place in range(asked.head, len(asked.words)):
        if asked.weights[place] < 0.2:
            break
        if asked.weights[place] >= 1 and not asked.words[place].key.endswith(_VERB_ENDINGS):
            places.append(place)
    return places[:4]


_VERB_ENDINGS = ("ing", "ed")


def query_of(predicates: Predicates, asked: Asked, candidate: Candidate) -> GraphQuery:
    """Return a candidate as a structured query."""
    conditions = [_condition(predicates, leg) for leg in candidate.legs]
    if candidate.members >= 0:
        predicate, objects = divmod(candidate.members, 2)
        name = predicates.graph.predicates[predicate]
        conditions.append(Condition(None, (Step((name,), "forward" if objects else "backward"),)))
    things = Things(tuple(conditions))
    if candidate.tail:
        things = Things((Condition(things, tuple(_step(predicates, step) for step in candidate.tail)),))
    ends_back = [leg for leg in candidate.legs if len(leg.steps) > 1 and leg.steps[-1][0] == leg.steps[-2][0]]
    others = candidate.legs if asked.others else ends_back if candidate.returns else ()
    if others and candidate.form != "yes_no":
        away = tuple(Condition((leg.start,), (), negated=True) for leg in others)
        things = replace(things, conditions=(*things.conditions, *away))
    if candidate.literal:
        steps = (_step(predicates, candidate.literal.step),) if candidate.literal.step else ()
        if asked.bounds and not asked.order:
            bounds = tuple(Bound(steps, bound.comparison, bound.value) for bound in asked.bounds)
            things = replace(things, bounds=bounds)
        else:
            things = replace(things, order=Order(steps, candidate.literal.descending), limit=1)
    return GraphQuery(candidate.form, things, tuple(row for _, row in candidate.subjects))


def _condition(predicates: Predicates, leg: Leg) -> Condition:
    """Return a leg as a condition; where it returns along a predicate and goes on, not by way of its start."""
    steps = tuple(_step(predicates, step) for step in leg.steps)
    back = [
        number + 2
        for number, (one, other) in enumerate(pairwise(leg.steps))
        if number not in leg.joining and one[0] == other[0] and one[1] != other[1] and number + 2 < len(steps)
    ]
    if not back:
        return Condition((leg.start,), steps)
    others = Condition((leg.start,), (), negated=True)
    return Condition(Things((Condition((leg.start,), steps[: back[0]]), others)), steps[back[0] :])


def _step(predicates: Predicates, step: tuple[int, bool]) -> Step:
    direction: Direction = "either" if predicates.symmetric[step[0]] else "forward" if step[1] else "backward"
    return Step((predicates.graph.predicates[step[0]],), direction)
