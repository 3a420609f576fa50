"""Chunks to named entities and triples by a language model: HippoRAG's two prompts.

Gutiérrez et al. 2024 (arXiv 2405.14831, section 2.3): a 1-shot prompt lists the named entities of a passage; a second
one is given these and yields the triples, whose ends may be concepts beyond them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from conspectus.pipelines.failure_stats import EXTRACT
from conspectus.pipelines.runner import Progress, no_progress
from conspectus.pipelines.steps.extraction_llm import LOST_RECORD, Loss, loss_of, raise_if_unanswered
from conspectus.pipelines.steps.map_chunks import of_each_text
from conspectus.pipelines.steps.openie import OpenExtraction, usable
from conspectus.prompts.model import LanguageModel, Message, Request
from conspectus.prompts.render import prompt_text, render
from conspectus.prompts.replies.reask import Outcome, least_lost
from conspectus.prompts.replies.structured import ask_for
from conspectus.prompts.replies.typed import CUT_OFF
from conspectus.storage.errors import BadAnswer, ModelError
from conspectus.storage.hashing import digest
from conspectus.storage.records import Chunk, Failure
from pydantic import BaseModel

NER, TRIPLES = "openie_ner", "openie_triples"


class NamedEntities(BaseModel):
    """The named entities of a text."""

    entities: list[str]


class Triples(BaseModel):
    """The triples of a text: subject, predicate and object of each."""

    triples: list[list[str]]


@dataclass(frozen=True, slots=True)
class OpenChunk:
    """What the replies for one text state, and what was lost of them."""

    extraction: OpenExtraction
    losses: tuple[Loss, ...] = ()


async def extract_open(
    chunks: Sequence[Chunk], model: LanguageModel, progress: Progress = no_progress, persona: str = ""
) -> tuple[list[OpenExtraction], list[Failure]]:
    """Return what a model finds in each chunk, in the order of the chunks, and a failure for each loss.

    No chunk waits for another; equal texts are asked for once. BudgetReached is raised when the calls under way have
    ended; ModelRefused or ModelUnavailable where no call at all got a reply.
    """
    found = await of_each_text(chunks, lambda text: extract_text(text, model, persona), EXTRACT, progress)
    if not any(each.extraction.entities or each.extraction.triples for each in found):
        raise_if_unanswered([each.losses for each in found])
    failures = [
        Failure(EXTRACT, chunk.id, loss.reason, loss.detail)
        for chunk, one in zip(chunks, found, strict=True)
        for loss in one.losses
    ]
    return [each.extraction for each in found], failures


async def extract_text(text: str, model: LanguageModel, persona: str = "") -> OpenChunk:
    """Return the named entities and triples of a text. Where a call fails the other's part stays.

    Only BudgetReached is raised.
    """
    losses: list[Loss] = []
    ner = render("index/openie_ner", persona=persona, example=prompt_text("index/openie_ner_example"), text=text)
    named, lost = await _part(model, _request(NER, ner, text), NamedEntities)
    losses += lost
    asked = render(
        "index/openie_triples",
        persona=persona,
        example=prompt_text("index/openie_triples_example"),
        text=text,
        entities=json.dumps(named.entities, ensure_ascii=False),
    )
    stated, lost = await _part(model, _request(TRIPLES, asked, text), Triples)
    losses += lost
    return OpenChunk(OpenExtraction(named.entities, stated.triples), tuple(losses))


def _request(step: str, asked: str, text: str) -> Request:
    return Request((Message("user", asked.strip()),), step, sources=(digest(text),))


async def _part(
    model: LanguageModel, request: Request, form: type[NamedEntities] | type[Triples]
) -> tuple[OpenExtraction, list[Loss]]:
    """Return what can be used of a reply, and what was lost of it."""

    async def exchange(model: LanguageModel) -> Outcome[tuple[OpenExtraction, list[Loss]]]:
        answer: BaseModel
        losses = []
        try:
            answer = await ask_for(model, request, form)
        except BadAnswer as bad:
            if not isinstance(bad.salvaged, form):
                raise
            answer = bad.salvaged
            losses = [Loss(f"the reply of step {request.step} was {CUT_OFF}", "what was complete before is kept")]
        found, wrong = _usable(answer)
        losses += [Loss(LOST_RECORD, each) for each in wrong]
        kept = len(found.entities) + len(found.triples)
        return Outcome((found, losses), kept=kept, lost=len(losses))

    try:
        return await least_lost(model, exchange)
    except ModelError as error:
        return OpenExtraction(), [loss_of(request.step, error)]


def _usable(answer: BaseModel) -> tuple[OpenExtraction, list[str]]:
    entities = answer.entities if isinstance(answer, NamedEntities) else ()
    triples = answer.triples if isinstance(answer, Triples) else ()
    return usable(entities, triples)
