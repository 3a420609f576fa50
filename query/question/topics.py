"""Topic entities: the entities at which a walk over the knowledge graph begins.

They are found as the reader of questions finds them (`graph_question/mentions`): by whole names, parts of names,
initials and misspelled names. They are ranked by the weight of their words and their likeness to the name, by their
degree, and by the similarity of their predicates to the question's other words.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from conspectus.query.context import Context
from conspectus.query.graph_question.meanings import open_predicates
from conspectus.query.graph_question.mentions import find_mentions
from conspectus.query.graph_question.question_form import read_asked
from conspectus.query.question.bounds import MOST_CLOSELY, first_words
from conspectus.query.question.linking import open_linker
from conspectus.query.question.question import span_vectors
from conspectus.query.types import Step, Topics
from conspectus.query.walk.graph import open_graph, predicate_vectors, spoken

_UNRELATED = 0.25
"""The largest cosine of an unrelated word and predicate."""
_DEGREE_WEIGHT = 0.2
"""Weight of the natural logarithm of an entity's number of triples."""
_PREDICATE_WEIGHT = 0.5
"""Weight of the share of the question's other words that are similar to predicates of an entity."""
_MOST_RANKED = 8
"""Number of entities whose predicates are compared with the question."""
_LEAST_OF_BEST, _WHOLE = 0.7, 0.95
"""Least share of the best topic's score, and least likeness to its name, that a further topic must have."""


def find_topics(
    context: Context, text: str, given: Sequence[str] | None = None, most: int = 3, step: str = "topics"
) -> Topics:
    """Return the topic entities of a question in the graph to walk: the given ones, or those linked from its words.

    Args:
        context: The index.
        text: The question.
        given: Names of the things that the question is about; None to link them from the question. Names that no
            entity has are listed in the step.
        most: Most entities linked from the question.
        step: The name of the step that reports the result.
    """
    if context.live:
        return context.live.topics(text, given, most)
    if given is None:
        rows = link_topics(context, text, most)
        names = ", ".join(spoken(open_graph(context).names[row]) for row in rows)
        return Topics(rows, Step(step, f"names of the graph in the question: {names or 'none'}"))
    rows, missing = rows_of(context, given)
    lacks = f"; the graph lacks {', '.join(missing)}" if missing else ""
    return Topics(rows, Step(step, f"given: {', '.join(given)}{lacks}"))


def rows_of(context: Context, names: Sequence[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the rows of the entities of these names, without duplicates, and the names that no entity has."""
    return open_linker(context.index).given(names)


def link_topics(context: Context, text: str, most: int = 3) -> tuple[int, ...]:
    """Return the rows of up to `most` entities that a question is about, the likeliest first.

    The best is a topic, as are others whose whole names stand elsewhere in the question and whose score is nearly as
    high.
    """
    chosen: list[RankedTopic] = []
    ranked = ranked_topics(context, text)
    for topic in ranked:
        apart = not any(topic.places & other.places for other in chosen)
        if not chosen or (topic.likeness >= _WHOLE and apart and topic.score >= _LEAST_OF_BEST * ranked[0].score):
            chosen.append(topic)
    return tuple(topic.row for topic in chosen[:most])


@dataclass(frozen=True, slots=True)
class RankedTopic:
    """An entity that words of a question may name: its row, their places, their likeness to its name, and its score."""

    row: int
    places: frozenset[int]
    likeness: float
    score: float


def ranked_topics(context: Context, text: str) -> list[RankedTopic]:
    """Return the entities that a question may be about, the likeliest first, at most `_MOST_RANKED`."""
    graph = open_graph(context)
    degrees = graph.degrees()
    asked = read_asked(spoken(first_words(text, MOST_CLOSELY)))
    weights, vectors = list(asked.weights), predicate_vectors(context)
    content = [place for place, weight in enumerate(weights) if weight >= 1]
    if not content or not len(vectors):
        return []
    near = np.clip(span_vectors(context)([asked.words[place].key for place in content]) @ vectors.T - _UNRELATED, 0, 1)
    likeliest = near.max(axis=1)
    for place, like in zip(content, likeliest.tolist(), strict=True):
        weights[place] -= like / (1 - _UNRELATED)  # a word that says a predicate tells less of what is meant
    found: dict[int, RankedTopic] = {}
    for mention in find_mentions(context, asked, open_predicates(context).known):
        weight = mention.likeness * sum(weights[place] for place in mention.places)
        for row in mention.rows:
            score = weight * (1 + _DEGREE_WEIGHT * float(np.log1p(degrees[row]))) * bool(degrees[row])
            if score > 0 and (row not in found or score > found[row].score):
                found[row] = RankedTopic(row, mention.places, mention.likeness, score)
    ranked = []
    for topic in sorted(found.values(), key=lambda topic: (-topic.score, topic.row))[:_MOST_RANKED]:
        others = [at for at, place in enumerate(content) if place not in topic.places]
        predicates = np.unique(graph.edges_of([topic.row]).predicate)
        reached = near[others][:, predicates].max(axis=1) if others else np.zeros(0)
        share = float(reached.sum() / (likeliest[others].sum() or 1.0))
        ranked.append(replace(topic, score=topic.score * (1 + _PREDICATE_WEIGHT * share)))
    return sorted(ranked, key=lambda topic: (-round(topic.score, 9), topic.row))
