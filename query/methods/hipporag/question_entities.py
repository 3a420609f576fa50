"""Question to phrase nodes: what it names, and the phrase of the memory that is nearest to each.

Gutiérrez et al. 2024 (arXiv 2405.14831, section 2.3): a model lists the named entities of the question by a 1-shot
prompt, they are encoded, and each is linked with the phrase of the highest cosine. Without a model the question's
entities are the names in it, those of the index and those that the pipeline of the index finds; where it names nothing,
its noun phrases. (With the noun phrases beside the names, "person" and "part" would count as much as they.)
"""

from dataclasses import dataclass

from conspectus.prompts.model import Message, Request
from conspectus.prompts.render import render
from conspectus.prompts.replies.structured import ask_for
from conspectus.query.context import Context
from conspectus.query.question.linking import open_linker
from conspectus.query.question.question import open_question
from conspectus.query.types import Step
from conspectus.storage.arrays import Ints
from conspectus.storage.errors import BadAnswer
from conspectus.storage.index import per_index
from conspectus.storage.text.nlp import CONCEPT, Annotator, open_annotator
from conspectus.storage.text.normalise import entity_key
from pydantic import BaseModel

STEP = "question_entities"


class QuestionEntities(BaseModel):
    """What a question names."""

    entities: list[str]


@dataclass(frozen=True, slots=True)
class Listed:
    """The entities of a question, each once, in its order, and how they were found."""

    names: tuple[str, ...]
    step: Step


async def entities_of(context: Context, question: str) -> Listed:
    """Return what a question names, by the model where there is one; ModelError where its server gives no reply."""
    if context.model is None or not question.strip():
        names = _offline(context, question)
        return Listed(names, Step("entities", f"names and noun phrases: {_told(names)}"))
    request = Request((Message("user", render("query/hipporag_question_entities", question=question)),), STEP)
    try:
        found = (await ask_for(context.model, request, QuestionEntities)).entities
    except BadAnswer as bad:
        names = _offline(context, question)
        return Listed(names, Step("entities", f"the model's list is unusable ({bad.reason}); found: {_told(names)}"))
    names = _each_once(found)
    return Listed(names, Step("entities", f"the model lists {_told(names)}"))


def nearest_phrases(context: Context, names: tuple[str, ...]) -> Ints:
    """Return the rows of the phrases that are nearest to the names, ascending, each once: arg max of the cosine."""
    return open_linker(context.index).nearest(names, context.embedder)


def _offline(context: Context, question: str) -> tuple[str, ...]:
    names = [(each.start, each.end) for each in open_question(context, question).mentions]
    readable = question.encode("utf-8", "replace").decode()  # of the same length: a lone surrogate becomes one sign
    phrases = _annotator(context).annotate(readable).phrases
    for each in phrases:
        if each.type != CONCEPT and all(each.end <= start or end <= each.start for start, end in names):
            names.append((each.start, each.end))
    found = sorted(names) or [(each.start, each.end) for each in phrases]
    return _each_once([question[start:end] for start, end in found])


@per_index
def _annotator(context: Context) -> Annotator:
    """Return the pipeline that the index was made with, so that a question is read as its documents were."""
    pipeline = str(context.index.manifest.settings["extraction"]["pipeline"])
    return open_annotator(pipeline)


def _each_once(names: list[str]) -> tuple[str, ...]:
    return tuple({entity_key(name): name for name in reversed(names) if entity_key(name)}.values())[::-1]


def _told(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"
