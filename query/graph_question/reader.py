"""Read a question to a graph: the best query among the candidates, its answer, or why there is none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import combinations, product
from typing import cast

import numpy as np
from conspectus.query.context import Context
from conspectus.query.graph_question.candidate_query import query_of
from conspectus.query.graph_question.candidates import Candidate, CandidateSearch, Leg, LiteralStep
from conspectus.query.graph_question.confidence import RATHER, SURE, probability_of
from conspectus.query.graph_question.declining import why_declined
from conspectus.query.graph_question.lexicon import DATE, NUMBER, stems_of
from conspectus.query.graph_question.meanings import Meanings, Predicates, is_literal, open_predicates, read_meanings
from conspectus.query.graph_question.mentions import EntityMention, find_mentions, open_names, spelled
from conspectus.query.graph_question.question_form import DIMENSIONS, ReadQuestion, read_asked
from conspectus.query.graph_question.scoring import Scoring
from conspectus.query.graph_question.structured_query import GraphAnswer, GraphQuery
from conspectus.query.graph_question.translation import in_english
from conspectus.query.question.bounds import MOST_CLOSELY, first_words
from conspectus.query.walk.graph import sentence, spoken
from conspectus.query.walk.run_query import run
from conspectus.storage.arrays import Ints
from conspectus.storage.index import per_index
from conspectus.storage.text.literals import is_time, parse_literal

_MOST_READINGS = 4
"""Number of readings cached per index."""
_MENTIONS = 6
"""Number of best mentions from which candidates start."""
_VOTES = 10
"""Number of best candidates that vote on the order in which answers are listed."""
_SURE = 0.9
"""Likeness from which the words of a mention are not also read as a relation."""
_ORDERED = 20
"""Number of best candidates that are combined with an order; twice as many with a bound."""
_NAMED_CLASS = 0.7
_CLASSES = 12
"""Number of likeliest classes that a noun of the question may name, ..."""
_LEAST_CLASS = 0.4
"""... and the certainty that they require."""
_NARROWED = 12
"""Number of best candidates that are restricted to a class named by the question's noun."""
_COMPARED = 6
"""Best candidates whose paths are compared with the question as a text."""
_LIKENESS, _USUAL = 3.0, 0.45
"""What the cosine of a path with the question counts, beyond a cosine that adds nothing."""
_INSTEAD = 3
"""Number of statements that tell what the graph says instead of what was asked."""
_UNSAID = 0.3
"""Support below which a question does not say a step."""
_TURNED = 0.2
"""What the way of a path counts: it only decides between a predicate and the same against its direction."""
_UNSTARTED = 0.6
"""The cosine of what starts nowhere ("all films"): no text is like the question where it lacks the names in it."""


@dataclass(frozen=True, slots=True, eq=False)
class GraphReading:
    """The interpretation of a question.

    Attributes:
        asked: The parsed question.
        mentions: The entities that it mentions.
        candidates: The candidate queries, best first.
        scoring: Scores candidates and reports which words they account for.
        query: The best candidate as a query; None if there is no candidate.
        answer: The answer to `query`; None without a query.
        probability: How likely the answer is right.
        declined: Why the answer is not reliable; "" if it is.
    """

    asked: ReadQuestion
    mentions: tuple[EntityMention, ...]
    candidates: tuple[Candidate, ...]
    scoring: Scoring
    query: GraphQuery | None = None
    answer: GraphAnswer | None = None
    probability: float = 0.0
    declined: str = ""

    @property
    def best(self) -> Candidate | None:
        """The best candidate."""
        return self.candidates[0] if self.candidates else None

    @property
    def answered(self) -> bool:
        """Whether the best candidate has an answer that is very likely right."""
        return self.answer is not None and not self.declined

    @property
    def best_effort(self) -> bool:
        """Whether the answer is rather right than wrong, but not reliable."""
        return self.answer is not None and bool(self.declined) and self.probability >= RATHER

    @property
    def named(self) -> frozenset[int]:
        """The places of words that name what the best candidate is about; of things to choose from, all names."""
        best, chosen = self.best, self.asked.choice or self.asked.form == "compare"
        all_names = frozenset(place for mention in self.mentions for place in mention.places)
        return all_names if best is None or chosen else best.named

    @property
    def content(self) -> list[int]:
        """The places of the content words that name nothing."""
        return [place for place, weight in enumerate(self.asked.weights) if weight >= 1 and place not in self.named]


def read_graph_question(context: Context, question: str, topics: Sequence[int] | None = None) -> GraphReading:
    """Return the best query for a question, with its answer or the reason why there is none.

    The last few are cached with the index: one method tries another, which reads the same question.

    Args:
        context: The open index.
        question: The question.
        topics: Rows of the entities that it is about, if they are known; None to find them in its words.
    """
    return _readings(context)(question, None if topics is None else tuple(topics))


@per_index
def _readings(context: Context) -> Callable[[str, tuple[int, ...] | None], GraphReading]:
    return cast(
        Callable[[str, tuple[int, ...] | None], GraphReading], lru_cache(_MOST_READINGS)(partial(_read, context))
    )


def _read(context: Context, question: str, topics: tuple[int, ...] | None) -> GraphReading:
    reading = read_candidates(context, question, topics)
    if topics is not None and not topics:
        return replace(reading, candidates=(), declined="none of the given topics is in the graph")
    if reading.best is None:
        why = _why(open_predicates(context), reading) or "nothing that it names is in the graph"
        return replace(reading, declined=why)
    return _executed(context, reading, reading.best)


def read_as(context: Context, reading: GraphReading, candidate: Candidate) -> GraphReading:
    """Return a reading with the given candidate first, and that candidate's answer or why there is none."""
    others = tuple(other for other in reading.candidates if other is not candidate)
    return _executed(context, replace(reading, candidates=(candidate, *others)), candidate)


def _executed(context: Context, reading: GraphReading, best: Candidate) -> GraphReading:
    predicates = open_predicates(context)
    query = query_of(predicates, reading.asked, best)
    answer = run(predicates.graph, query)
    long = query.form == "yes_no" and len(best.steps) - len(best.joining) > 1
    if long and not answer.verdict and min(reading.scoring.account(best).supports) < _UNSAID:
        answer = replace(answer, known=False)  # a way that the question does not say cannot deny it
    stated = answer.known and (answer.found or answer.relations)
    probability = probability_of(predicates, reading, answer) if stated else 0.0
    declined = "" if probability >= SURE else _why(predicates, reading)
    if not answer.known:
        declined = _unstated(predicates, query)
    if context.part and not declined:
        answer, declined = context.part.completed(predicates.graph, query, answer)
    elif context.part:
        declined += "; only a part of the graph was read"
    answer = _named_first(predicates, reading, query, answer)
    return replace(reading, query=query, answer=answer, probability=probability, declined=declined)


def _unstated(predicates: Predicates, query: GraphQuery) -> str:
    """Return that nothing states or contradicts what was asked, with the first things stated of its subject."""
    if query.form != "yes_no":
        return "no statement of the graph meets all conditions"
    graph = predicates.graph
    stated = dict.fromkeys(graph.edges_of(query.subjects[:1]).relation[:_INSTEAD].tolist())
    return f"the graph does not say so; it states: {'; '.join(sentence(graph, relation) for relation in stated)}"


def _why(predicates: Predicates, reading: GraphReading) -> str:
    """Return why a reading is declined, and how a question in another language was read; "" if it is not."""
    declined, translation = why_declined(predicates, reading), reading.asked.translation
    return f"{declined}; {translation.told()}" if declined and translation else declined


def _named_first(predicates: Predicates, reading: GraphReading, query: GraphQuery, answer: GraphAnswer) -> GraphAnswer:
    """Return an answer without opaque ids, sorted by how many of the other good candidates also reach each entity.

    A graph often states the same fact by several predicates, or by a predicate and its inverse.
    """
    if query.form not in ("things", "count") or query.things.order:
        return answer
    found = [each for each in answer.found if not predicates.ids[each.entity]]
    best = reading.candidates[0].score
    votes: dict[int, float] = {}
    for candidate in reading.candidates[:_VOTES]:
        for row in candidate.rows.tolist():
            votes[row] = votes.get(row, 0.0) + float(np.exp(candidate.score - best))
    found.sort(key=lambda each: -round(votes.get(each.entity, 0.0), 6))
    relations = tuple(dict.fromkeys(row for each in found for row in each.relations))
    return replace(answer, found=tuple(found), count=answer.count - len(answer.found) + len(found), relations=relations)


def read_candidates(context: Context, question: str, topics: Sequence[int] | None) -> GraphReading:
    """Return the candidate queries of a question, best first, without executing them."""
    predicates = open_predicates(context)
    question = first_words(question, MOST_CLOSELY)
    translated = in_english(question, open_names(context).is_name)
    question = translated.text if translated else question
    asked = read_asked(question)
    keys = [word.key for word in asked.words]
    slips = spelled(context, keys, predicates.vocabulary) if translated is None else {}
    for place in sorted(slips, reverse=True):
        word = asked.words[place]
        question = question[: word.start] + slips[place] + question[word.end :]
    if slips:
        asked = read_asked(question)
    bounded = {place for bound in asked.bounds for place in range(bound.start, bound.end)}
    found = [item for item in find_mentions(context, asked, predicates.known) if not item.places & bounded]
    found = [
        replace(item, likeness=max(item.likeness, _SURE)) if predicates.classes_named.issuperset(item.rows) else item
        for item in found
    ]
    mentions = found if topics is None else _about(found, topics) if topics else []
    mentions = mentions[:_MENTIONS]
    if asked.form == "yes_no" and not asked.order:  # "is the light automated?"
        mentions += [EntityMention(0, 0, (row,), 1.0) for row in open_names(context).whole(["true"])[:1]]
    names = [mention.places for mention in mentions if mention.likeness >= _SURE and len(mention.places) > 1]
    if asked.order and any(asked.order.place in places for places in names):
        asked = read_asked(question, frozenset().union(*names))  # "the father of Ada the Elder"
    asked = replace(asked, translation=translated)
    sure = frozenset(place for mention in mentions if mention.likeness >= _SURE for place in mention.places)
    meanings = read_meanings(context, asked, sure)
    scoring = Scoring(predicates, asked, meanings, _head(asked))
    search = CandidateSearch(predicates, asked, meanings.near.max(axis=0, initial=0.0)[1::2], scoring)
    things = search.things(mentions)
    candidates = sorted(_formed(search, meanings, mentions, things), key=lambda item: -item.score)
    compared = _compared(predicates, question, candidates, scoring.turned)
    return GraphReading(asked, tuple(mentions), tuple(compared), scoring)


def _compared(
    predicates: Predicates, question: str, candidates: Sequence[Candidate], turned: Callable[[Candidate], int]
) -> list[Candidate]:
    """Return the candidates with the best in the order of their scores and of how like the question their paths are.

    The words of a path stand as one text, where it starts and its relations, as a sentence would say it. `turned` says
    whether a path goes the way in which the question says its relation.
    """
    best = candidates[:_COMPARED]
    texts = [path_text(predicates, candidate) for candidate in best]
    vectors = np.asarray(predicates.embed([question, *texts]), np.float64)
    cosines = np.where([bool(each.legs) for each in best], vectors[1:] @ vectors[0], _UNSTARTED)
    scored = [
        replace(
            candidate,
            score=candidate.score + _LIKENESS * (float(cosine) - _USUAL) + _TURNED * turned(candidate),
            likeness=float(cosine),
        )
        for candidate, cosine in zip(best, cosines, strict=True)
    ]
    least = min((candidate.score for candidate in scored), default=0.0)
    others = [replace(candidate, score=min(candidate.score, least)) for candidate in candidates[_COMPARED:]]
    return [*sorted(scored, key=lambda item: -item.score), *others]


def path_text(predicates: Predicates, candidate: Candidate) -> str:
    """Return the words of a candidate's path: what it starts from, and its relations."""
    starts = [spoken(predicates.graph.names[leg.start]) for leg in candidate.legs]
    return " ".join([*starts, *(predicates.texts[predicate] for predicate, _ in candidate.steps)])


def _about(found: Sequence[EntityMention], topics: Sequence[int]) -> list[EntityMention]:
    """Return mentions of the given topics, at the words that name them, followed by the other mentions."""
    given = []
    for topic in topics:
        at = next((mention for mention in found if topic in mention.rows), None)
        given.append(replace(at, rows=(topic,), likeness=1.0) if at else EntityMention(0, 0, (topic,), 1.0))
    taken = frozenset[int]().union(*(mention.places for mention in given))
    return [*given, *(mention for mention in found if not mention.places & taken)]


def _formed(
    search: CandidateSearch, meanings: Meanings, mentions: Sequence[EntityMention], things: Sequence[Candidate]
) -> list[Candidate]:
    """Return the candidates in the form that the question asks for."""
    predicates, asked = search.predicates, search.asked
    if asked.choice:
        return _chosen(search, mentions, things)
    if asked.negated >= 0:
        things = search.without(mentions, things, asked.negated)
    if asked.form in ("yes_no", "compare") and asked.order and len(mentions) > 1:
        return _comparisons(search, mentions)
    if asked.form == "yes_no":
        return search.verdicts(mentions, things)
    if asked.bounds:
        classes = _classes(search, meanings)
        bounded = _bounded(search, [*things[: 2 * _ORDERED], *classes])
        return [replace(candidate, form=asked.form) for candidate in bounded]
    if asked.order:
        classes = _classes(search, meanings)
        ordered = search.with_literals([*things[:_ORDERED], *classes], lambda rows: _ordering(search, rows))
        return [*ordered, *_counted(search, meanings, [*things[:_ORDERED], *classes])]
    if asked.form == "count":
        counted = [*things, *_classes(search, meanings)]
        return [
            search.scored(
                replace(candidate, form="things" if _kind_at(predicates, candidate.end) == NUMBER else "count")
            )
            for candidate in counted  # "how many minutes" asks for the number that the graph states
        ]
    return [*things, *_narrowed(search, meanings, things)]


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
    head = _head(search.asked)
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
    """Return a candidate for each class that a word of the question names, with all its members."""
    content = [place for place, weight in enumerate(search.asked.weights) if weight >= 1]
    if not content:
        return []
    fit = meanings.types[content].max(axis=0)
    return [
        search.scored(Candidate("things", (), search.predicates.members(cls), members=cls))
        for cls in np.argsort(-fit, kind="stable")[:_CLASSES].tolist()
        if fit[cls] >= _LEAST_CLASS
    ]


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
    wanted = DATE if value is not None and is_time(value) else bound.dimension or NUMBER

    def literals(rows: Ints) -> list[LiteralStep]:
        return [LiteralStep(step, fit) for step, fit in _literal_steps(predicates, rows, wanted)]

    literal = (DATE, NUMBER)
    stating = [each for each in things if asked.kind in literal or _kind_at(predicates, each.end) not in literal]
    return search.with_literals(stating, literals)


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


def _head(asked: ReadQuestion) -> list[int]:
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
