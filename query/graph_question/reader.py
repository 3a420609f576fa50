"""Read a question to a graph: the best query among the candidates, its answer, or why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from conspectus.query.context import Context, remembered
from conspectus.query.graph_question.candidates import Candidate, CandidateSearch, query_of
from conspectus.query.graph_question.confidence import RATHER, SURE, probability_of, unmet_words, why_declined
from conspectus.query.graph_question.forms import formed, head_of
from conspectus.query.graph_question.meanings import Predicates, open_predicates, read_meanings
from conspectus.query.graph_question.mentions import EntityMention, find_mentions, open_names, spelled
from conspectus.query.graph_question.question_form import ReadQuestion, of_the_whole, read_asked
from conspectus.query.graph_question.scoring import FEATURES, Scoring
from conspectus.query.graph_question.structured_query import GraphAnswer, GraphQuery
from conspectus.query.graph_question.translation import in_english
from conspectus.query.question.bounds import MOST_CLOSELY, first_words
from conspectus.query.walk.graph import sentence, spoken
from conspectus.query.walk.run_query import reached, run
from conspectus.storage.arrays import Ints

_MOST_READINGS = 4
"""Number of readings cached per index."""
_MENTIONS = 6
"""Number of best mentions from which candidates start."""
_VOTES = 10
"""Number of best candidates that vote on the order in which answers are listed."""
_SURE = 0.9
"""Likeness from which the words of a mention are not also read as a relation."""
_COMPARED = 12
"""Best candidates whose paths are compared with the question as a text."""
_INSTEAD = 3
"""Number of statements that tell what the graph says instead of what was asked."""
_UNSAID = 0.3
"""Support below which a question does not say a step."""


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
    return _read(context, question, None if topics is None else tuple(topics))


@remembered(_MOST_READINGS)
def _read(context: Context, question: str, topics: tuple[int, ...] | None) -> GraphReading:
    reading = read_candidates(context, question, topics)
    if topics is not None and not topics:
        return replace(reading, candidates=(), declined="none of the given topics is in the graph")
    if reading.asked.properties and reading.mentions:
        return _with_properties(context, reading)
    if reading.best is None:
        why = _why(open_predicates(context), reading) or "nothing that it names is in the graph"
        return replace(reading, declined=why)
    return _executed(context, reading, reading.best)


def _with_properties(context: Context, reading: GraphReading) -> GraphReading:
    """Return what the graph states of the first thing named, of a class what it states of its members, often first.

    What it declares to have the class, or one above it, as domain comes before that.
    """
    predicates, row = open_predicates(context), reading.mentions[0].rows[0]
    graph = predicates.graph

    def along(number: int, *, outgoing: bool) -> Ints:
        return reached(graph, [row], (predicates.step((number, outgoing), "yes_no"),))

    above = [along(number, outgoing=True) for number in predicates.to_classes if predicates.transitive[number]]
    is_class = row in predicates.classes_named or any(map(len, above))
    below = [along(number, outgoing=False) for number in predicates.to_classes if not predicates.transitive[number]]
    edges = graph.edges_of(np.unique(np.concatenate([[row], *above])))
    domain = np.flatnonzero(["domain" in text for text in predicates.texts])
    declared = np.flatnonzero(np.isin(edges.predicate, domain) & ~edges.outgoing) if is_class else np.zeros(0, np.int64)
    names = dict.fromkeys(spoken(graph.names[end]) for end in edges.neighbours[declared].tolist())
    proof = edges.relation[declared].tolist()
    members = np.unique(np.concatenate([np.zeros(0, np.int64), *below])) if is_class else np.array([row])
    edges = graph.edges_of(members)
    stated, counts = predicates.stated(members)
    for number in stated[np.argsort(-counts, kind="stable")].tolist():
        if number not in predicates.to_classes and predicates.texts[number] not in names:
            names[predicates.texts[number]] = None
            proof.append(int(edges.relation[(edges.predicate == number) & edges.outgoing][0]))
    answer = GraphAnswer((), len(names), None, tuple(proof), bool(names), tuple(names))
    declined = "" if names else "the graph states no properties of it"
    return replace(reading, answer=answer, probability=float(bool(names)), declined=declined)


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
        probability = 0.0 if unmet_words(reading) else probability  # what was not read may say it
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


def read_candidates(
    context: Context, question: str, topics: Sequence[int] | None, *, in_time: bool = True
) -> GraphReading:
    """Return the candidate queries of a question, best first, without executing them.

    Where nothing has a date, or a thing is called 1999, "in 1999" is read as a name instead of a bound (`in_time`).
    """
    predicates = open_predicates(context)
    asked_first = question = first_words(of_the_whole(question), MOST_CLOSELY)
    translated = in_english(question, open_names(context).is_name)
    question = translated.text if translated else question
    asked = read_asked(question, in_time=in_time)
    if in_time and any(open_names(context).whole([bound.value]) for bound in asked.bounds):
        return read_candidates(context, asked_first, topics, in_time=False)
    keys = [word.key for word in asked.words]
    slips = spelled(context, keys, predicates.vocabulary) if translated is None else {}
    for place in sorted(slips, reverse=True):
        word = asked.words[place]
        question = question[: word.start] + slips[place] + question[word.end :]
    if slips:
        asked = read_asked(question, in_time=in_time)
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
        asked = read_asked(question, frozenset().union(*names), in_time=in_time)  # "the father of Ada the Elder"
    asked = replace(asked, translation=translated)
    sure = frozenset(place for mention in mentions if mention.likeness >= _SURE for place in mention.places)
    meanings = read_meanings(context, asked, sure)
    scoring = Scoring(predicates, asked, meanings, head_of(asked))
    search = CandidateSearch(predicates, asked, meanings.near.max(axis=0, initial=0.0)[1::2], scoring)
    things = search.things(mentions)
    candidates = [each for each in formed(search, meanings, mentions, things) if not _leads_nowhere(scoring, each)]
    candidates.sort(key=lambda item: -item.score)
    if in_time and asked.bounds and not candidates:
        return read_candidates(context, asked_first, topics, in_time=False)
    first = sorted(compared(scoring, predicates, asked, candidates[:_COMPARED]), key=lambda item: -item.score)
    least = min((candidate.score for candidate in first), default=0.0)
    others = [replace(candidate, score=min(candidate.score, least)) for candidate in candidates[_COMPARED:]]
    return GraphReading(asked, tuple(mentions), (*first, *others), scoring)


def _leads_nowhere(scoring: Scoring, candidate: Candidate) -> bool:
    """Return whether a candidate leads back to what the question names, by words in another order than they are said.

    "Who heads the Discovery team?" does not ask for the team of its head.
    """
    starts = {leg.start for leg in candidate.legs if leg.steps}
    back = candidate.form == "things" and bool(candidate.steps) and starts.issuperset(candidate.rows.tolist())
    return back and scoring.features(candidate)[FEATURES.index("disorder")] > 0


def compared(
    scoring: Scoring, predicates: Predicates, asked: ReadQuestion, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """Return candidates scored anew by how like the question their paths are as texts.

    The words of a path stand as one text, where it starts and its relations, as a sentence would say it; its relations
    alone are compared with the question without the names.
    """
    words = [asked.surface(place) for place in range(len(asked.words))]
    texts = [
        (
            path_text(predicates, candidate),
            " ".join(word for place, word in enumerate(words) if place not in candidate.named),
            " ".join(predicates.texts[predicate] for predicate, _ in candidate.steps),
        )
        for candidate in candidates
    ]
    known = list(dict.fromkeys([asked.text, *chain.from_iterable(texts)]))
    vectors = dict(zip(known, np.asarray(predicates.embed(known), np.float64), strict=True))
    found = []
    for candidate, (path, asked_without, path_alone) in zip(candidates, texts, strict=True):
        likeness, said = float(vectors[asked.text] @ vectors[path]), float(vectors[asked_without] @ vectors[path_alone])
        alike = replace(candidate, likeness=likeness, said=said if candidate.steps else 0.0)
        found.append(replace(alike, score=scoring.compared(alike)))
    return found


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
