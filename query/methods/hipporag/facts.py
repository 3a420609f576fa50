"""Question to facts: the triples nearest to it, and which of them a model finds of use.

Gutiérrez et al. 2025 (arXiv 2502.14802, section 3.3): the question is compared with whole triples, not with names, and
a model leaves out those that do not help ("recognition memory").
"""

from dataclasses import dataclass

import numpy as np
from conspectus.prompts.model import LanguageModel, Message, Request
from conspectus.prompts.render import render
from conspectus.prompts.replies.structured import ask_for
from conspectus.query.context import Context
from conspectus.query.types import Step
from conspectus.storage.arrays import Floats, Rows, Vectors
from conspectus.storage.errors import BadAnswer
from conspectus.storage.index import per_index
from conspectus.storage.records import Entity, Relation
from pydantic import BaseModel

STEP = "fact_filter"


class HelpfulFacts(BaseModel):
    """The numbers of the facts that help, best first."""

    facts: list[int]


@dataclass(frozen=True, slots=True)
class Facts:
    """Rows of the relation table, best first, and a score of each from 0 to 1."""

    rows: Rows
    scores: Floats

    def only(self, places: list[int]) -> "Facts":
        """Return those at some places."""
        chosen = np.array(places, np.int64)
        return Facts(self.rows[chosen], self.scores[chosen])


def nearest_facts(context: Context, vector: Vectors, count: int) -> Facts:
    """Return the `count` triples nearest to a question's vector (d,).

    Their scores are the cosines c scaled over all triples of the index, (c - min c) / (max c - min c); 1 where all
    are equal. Of an index of more than `vectors.exact_rows` triples the extremes are those that the search finds.
    """
    vectors = context.index.vectors("relations")
    if not vectors.n_found:  # a graph's own triples have no vectors
        return Facts(np.zeros(0, np.int64), np.zeros(0))
    cosines, rows = vectors.search(vector[np.newaxis], count)
    farthest, _ = vectors.search(-vector[np.newaxis], 1)
    return Facts(rows[0], between(cosines[0].astype(np.float64), -float(farthest[0, 0]), float(cosines[0, 0])))


def between(values: Floats, least: float, most: float) -> Floats:
    """Scale values from [least, most] to [0, 1]; all are 1 where the two are equal.

    >>> between(np.array([0.2, 0.5]), 0.0, 0.5)
    array([0.4, 1. ])
    """
    if most <= least:
        return np.ones(len(values))
    scaled: Floats = (values - least) / (most - least)
    return scaled


def told(context: Context, rows: Rows) -> list[str]:
    """Return facts as sentences: `subject predicate object`, or both ends and what is said of them."""
    relations = context.index.rows(Relation)
    name_of = _names_by_id(context)
    sentences = []
    for row in rows:
        each = relations[row]
        source, target = name_of[each.source_id], name_of[each.target_id]
        by_predicate = f"{source} {each.predicate} {target}"
        sentences.append(by_predicate if each.predicate else f"{source}, {target}: {each.description}")
    return sentences


async def helpful_facts(context: Context, model: LanguageModel, question: str, facts: Facts) -> tuple[Facts, Step]:
    """Return the facts that the model picks, in their order, and what was done.

    Numbers that name no fact are passed over. All facts stay where the reply is unusable; ModelError where there is
    none.
    """
    sentences = told(context, facts.rows)
    numbered = "\n".join(f"{number}. {each}" for number, each in enumerate(sentences, start=1))
    text = render("query/hipporag_fact_filter", question=question, facts=numbered, most=str(len(sentences)))
    request = Request((Message("user", text),), STEP, sources=_sources(context, facts.rows))
    try:
        picked = set((await ask_for(model, request, HelpfulFacts)).facts)
    except BadAnswer as bad:
        return facts, Step("filter", f"the model's choice is unusable ({bad.reason}); all {len(sentences)} facts stay")
    kept = [place for place in range(len(sentences)) if place + 1 in picked]
    return facts.only(kept), Step("filter", f"the model keeps {len(kept)} of {len(sentences)} facts")


def _sources(context: Context, rows: Rows) -> tuple[str, ...]:
    relations = context.index.rows(Relation)
    return context.sources(id_ for row in rows for id_ in relations[row].chunk_ids)


@per_index
def _names_by_id(context: Context) -> dict[str, str]:
    return {entity.id: entity.name for entity in context.index.rows(Entity)}
