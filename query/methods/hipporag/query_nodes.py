"""Query nodes, the seeds of the walk: named entities (HippoRAG 1) or retrieved facts (HippoRAG 2).

HippoRAG 1 (Gutiérrez et al. 2024, arXiv 2405.14831, section 2.3): a model lists the named entities of the question by
a 1-shot prompt, and each is linked with the phrase of the highest cosine. Without a model the question's entities are
its names, both those of the index and those found by the index's NLP pipeline; if there are none, its noun
phrases. (If noun phrases were always added, "person" and "part" would count as much as names.)

HippoRAG 2 (Gutiérrez et al. 2025, arXiv 2502.14802, section 3.3): the question is compared with whole triples, and a
model removes those that do not help ("recognition memory").
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.choose import choose, numbered
from conspectus.prompts.replies.structured import ask_for
from conspectus.query.context import Context
from conspectus.query.question.bounds import MOST_WORDS, first_words
from conspectus.query.question.linking import open_linker
from conspectus.query.question.question import open_question
from conspectus.query.types import Step
from conspectus.storage.arrays import Floats, Rows, Vectors
from conspectus.storage.errors import BadAnswer
from conspectus.storage.index import per_index
from conspectus.storage.records import Entity, Relation
from conspectus.storage.text.embedded import relation_text
from conspectus.storage.text.nlp import CONCEPT, Annotator, open_annotator
from conspectus.storage.text.normalise import entity_key
from pydantic import BaseModel

ENTITIES_STEP = "question_entities"
FILTER_STEP = "fact_filter"
_MOST_CHARACTERS = 8 * MOST_WORDS
"""Characters that are annotated, where each sign may be a token."""


class QuestionEntities(BaseModel):
    """A model's reply: the named entities of a question."""

    entities: list[str]


@dataclass(frozen=True, slots=True)
class NamedInQuestion:
    """The distinct named entities of a question, in order, and the trace step on how they were found."""

    names: tuple[str, ...]
    step: Step


@dataclass(frozen=True, slots=True)
class Facts:
    """Triples: f rows of the relation table, best first, and a score of each from 0 to 1."""

    rows: Rows
    scores: Floats

    def at(self, places: list[int]) -> "Facts":
        """Return the facts at some positions."""
        chosen = np.array(places, np.int64)
        return Facts(self.rows[chosen], self.scores[chosen])


async def named_entities(context: Context, question: str) -> NamedInQuestion:
    """Return the named entities of a question, from the model if there is one.

    Raises:
        ModelError: The server gives no reply. After an unusable reply the names in the question are used, and the step
            says so.
    """
    if context.model is None or not question.strip():
        names = _names_in(context, question)
        return NamedInQuestion(names, Step("entities", f"names and noun phrases: {_listed(names)}"))
    request = Request(messages("query/hipporag/question_entities", question=question), ENTITIES_STEP)
    try:
        reply = await ask_for(context.model, request, QuestionEntities)
    except BadAnswer as bad:
        names = _names_in(context, question)
        return NamedInQuestion(
            names, Step("entities", f"the model's list is unusable ({bad.reason}); found: {_listed(names)}")
        )
    names = _distinct(reply.entities)
    return NamedInQuestion(names, Step("entities", f"the model lists {_listed(names)}"))


def nearest_phrases(context: Context, names: Sequence[str]) -> Rows:
    """Return the rows of the phrases nearest to names by cosine, ascending, without duplicates."""
    return open_linker(context.index).nearest(names, context.embedder)


def nearest_facts(context: Context, vector: Vectors, count: int) -> Facts:
    """Return the `count` triples nearest to a question's vector (d,).

    Their scores are the cosines c scaled over all triples of the index, (c - min c) / (max c - min c); 1 if all
    are equal. In an index of more than `EXACT_ROWS` triples the extremes are those found by the approximate search.
    """
    vectors = context.index.vectors("relations")
    if not vectors.n_found:  # triples of an imported graph have no vectors
        return Facts(np.zeros(0, np.int64), np.zeros(0))
    cosines, rows = vectors.search(vector[np.newaxis], count)
    farthest, _ = vectors.search(-vector[np.newaxis], 1)
    return Facts(rows[0], scaled_between(cosines[0].astype(np.float64), -float(farthest[0, 0]), float(cosines[0, 0])))


async def helpful_facts(context: Context, model: LanguageModel, question: str, facts: Facts) -> tuple[Facts, Step]:
    """Return the facts that the model picks, in their order, and the trace step with their count.

    Invalid numbers are ignored. If the reply is unusable, all facts are retained.

    Raises:
        ModelError: The server gives no reply.
    """
    sentences = fact_sentences(context, facts.rows)
    most = str(len(sentences))
    asked = messages("query/hipporag/fact_filter", question=question, facts=numbered(sentences), most=most)
    relations = context.index.each(Relation)
    sources = context.sources(id_ for row in facts.rows for id_ in relations[row].chunk_ids)
    try:
        places = sorted(await choose(model, Request(asked, FILTER_STEP, sources=sources), sentences))
    except BadAnswer as bad:
        return facts, Step("filter", f"the model's choice is unusable ({bad.reason}); all {len(sentences)} are kept")
    return facts.at(places), Step("filter", f"the model keeps {len(places)} of {len(sentences)} facts")


def fact_sentences(context: Context, rows: Rows) -> list[str]:
    """Return facts as sentences."""
    relations, names = context.index.each(Relation), _entity_names(context)
    return [relation_text(relations[row], names) for row in rows]


def scaled_between(values: Floats, least: float, most: float) -> Floats:
    """Scale values from [least, most] to [0, 1]; all are 1 if the two are equal.

    >>> scaled_between(np.array([0.2, 0.5]), 0.0, 0.5)
    array([0.4, 1. ])
    """
    if most <= least:
        return np.ones(len(values))
    scaled: Floats = (values - least) / (most - least)
    return scaled


def _names_in(context: Context, question: str) -> tuple[str, ...]:
    """Return the names in a question, or its noun phrases if there are none."""
    spans = [(mention.start, mention.end) for mention in open_question(context, question).mentions]
    # of the same length: a lone surrogate becomes one character
    readable = first_words(question, MOST_WORDS)[:_MOST_CHARACTERS].encode("utf-8", "replace").decode()
    phrases = _annotator(context).annotate(readable).phrases
    for phrase in phrases:
        if phrase.type != CONCEPT and all(phrase.end <= start or end <= phrase.start for start, end in spans):
            spans.append((phrase.start, phrase.end))
    chosen = sorted(spans) or [(phrase.start, phrase.end) for phrase in phrases]
    return _distinct([question[start:end] for start, end in chosen])


@per_index
def _annotator(context: Context) -> Annotator:
    """Return the NLP pipeline of the index, so that questions are analysed like its documents."""
    return open_annotator(str(context.index.manifest.settings["extraction"]["pipeline"]))


@per_index
def _entity_names(context: Context) -> Mapping[str, str]:
    """Return the name of each entity by its id."""
    return context.index.by_id(Entity, "name")


def _distinct(names: list[str]) -> tuple[str, ...]:
    return tuple({entity_key(name): name for name in reversed(names) if entity_key(name)}.values())[::-1]


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"
