"""Open information extraction by a language model, merged into entities, relations and their mentions.

HippoRAG's index (Gutiérrez et al. 2024, arXiv 2405.14831, section 2.3): a 1-shot prompt lists the named entities of a
passage; a second one is given these and yields triples, whose ends may be any phrase. Identities are as in the other
extractors (see merge.py). A named entity is a name, searched in all chunks; a phrase that is only the end of a triple
is a concept of its chunk. Each is located at its words in the text, or else in the chunk as a whole.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conspectus.pipelines.build_report import EXTRACT
from conspectus.pipelines.resolution.corrections import Rule
from conspectus.pipelines.runner import Progress, no_progress
from conspectus.pipelines.steps.extract.find_names import (
    NamingSentences,
    Sighting,
    known_names,
    own_sightings,
    see,
    title_sightings,
)
from conspectus.pipelines.steps.extract.llm import (
    LOST_RECORD,
    Loss,
    ShownChunk,
    loss_of,
    of_each,
    passages_of,
    raise_if_unanswered,
)
from conspectus.pipelines.steps.extract.merge import Findings, Knowledge, StatedTriple, statements
from conspectus.pipelines.steps.extract.split_names import Splits
from conspectus.pipelines.steps.extract.validate import name_key
from conspectus.prompts.language_model import LanguageModel, Message, Request
from conspectus.prompts.render import messages, prompt_text
from conspectus.prompts.replies.prose import ListReply, triples_in_words
from conspectus.prompts.replies.structured import ExchangeResult, ask_for, least_lost
from conspectus.prompts.replies.typed import CUT_OFF
from conspectus.storage.errors import BadAnswer, ModelError
from conspectus.storage.hashing import digest
from conspectus.storage.records import Chunk, Document, Failure
from conspectus.storage.text.names import NameMatcher
from conspectus.storage.text.nlp import CONCEPT, NAME, Annotation
from conspectus.storage.text.normalise import entity_key
from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class OpenTriple:
    """A triple in the words of the extraction."""

    subject: str
    predicate: str
    object: str

    @property
    def told(self) -> str:
        """The triple as a sentence."""
        return " ".join(f"{self.subject} {self.predicate} {self.object}".split())


@dataclass(frozen=True, slots=True)
class OpenExtraction:
    """The distinct usable named entities and triples of a text (see `usable`)."""

    entities: tuple[str, ...] = ()
    triples: tuple[OpenTriple, ...] = ()


_NOTHING_STATED = OpenExtraction()
_NOTHING_SEEN = Annotation((), ())


@dataclass(frozen=True, slots=True)
class Annotated:
    """The result for a chunk: of open information extraction, of an annotator, or of neither."""

    chunk: Chunk
    extraction: OpenExtraction = _NOTHING_STATED
    annotation: Annotation = _NOTHING_SEEN


def usable(entities: Sequence[object], triples: Sequence[object]) -> tuple[OpenExtraction, list[str]]:
    """Return the usable part of lists from outside, and an error message for every other item.

    An entity is a text with visible characters; a triple is three such texts, and joins two different things.
    """
    wrong: list[str] = []
    names: dict[str, None] = {}
    stated: dict[OpenTriple, None] = {}
    for entity in entities:
        if isinstance(entity, str) and name_key(entity):
            names.setdefault(" ".join(entity.split()))
        else:
            wrong.append(f"no name: {entity!r}"[:_SHOWN])
    for item in triples:
        triple = _triple(item)
        if isinstance(triple, OpenTriple):
            stated.setdefault(triple)
        else:
            wrong.append(f"{triple}: {item!r}"[:_SHOWN])
    return OpenExtraction(tuple(names), tuple(stated)), wrong


_SHOWN = 200
"""Characters of an unusable item that a message shows."""


def _triple(found: object) -> OpenTriple | str:
    """Return a usable triple, or an error message."""
    if not isinstance(found, list | tuple) or len(found) != 3 or not all(isinstance(part, str) for part in found):
        return "no triple of texts"
    if not all(map(name_key, found)):
        return "an empty part"
    if entity_key(found[0]) == entity_key(found[2]):
        return "it joins a thing with itself"
    return OpenTriple(*(" ".join(part.split()) for part in found))


def merge_open(documents: Sequence[Document], found: Sequence[Annotated], rules: Sequence[Rule] = ()) -> Knowledge:
    """Return the knowledge of all chunks, independent of their order; names are split by corrections."""
    found = sorted(found, key=lambda one: one.chunk.id)
    known = known_names(documents, _names(found))
    matcher = NameMatcher(known)
    with Findings(Splits(rules, documents)) as findings:
        for one in found:
            seen = see(one.chunk, one.annotation, matcher)
            own = _seen(one, seen.sightings)
            findings.add([*seen.sightings, *own])
            findings.state(statements(seen, one.annotation))
            findings.state(_stated(one, [*seen.sightings, *own]))
        findings.add(title_sightings(documents, [one.chunk for one in found], known))
        return findings.knowledge()


def _names(found: Sequence[Annotated]) -> Iterator[str]:
    for one in found:
        yield from one.extraction.entities
        yield from (phrase.text for phrase in one.annotation.phrases if phrase.type != CONCEPT)


def _seen(one: Annotated, seen: Sequence[Sighting]) -> list[Sighting]:
    """Return the sightings of a chunk's extracted names and phrases, in addition to the known names `seen` there."""
    first: dict[str, Sighting] = {}
    for sighting in seen:
        if sighting.match == "exact":
            first.setdefault(sighting.key, sighting)
    surfaces: dict[str, tuple[str, str]] = {}
    for name in one.extraction.entities:
        surfaces.setdefault(entity_key(name), (name, NAME))
    for triple in one.extraction.triples:
        for phrase in (triple.subject, triple.object):
            surfaces.setdefault(entity_key(phrase), (phrase, CONCEPT))
    folded = entity_key(one.chunk.text) if surfaces.keys() - first.keys() else ""
    own: list[Sighting] = []
    for key, (surface, kind) in surfaces.items():
        if key not in first:
            own += own_sightings(one.chunk, key, surface, folded, kind)
        elif kind == NAME:  # a second sighting at the same place does not count again: it only adds the type
            at = first[key]
            own.append(Sighting(one.chunk, key, at.surface, NAME, at.start, at.end, "exact"))
    return own


def _stated(one: Annotated, seen: Sequence[Sighting]) -> Iterator[StatedTriple]:
    """Yield the triples of a chunk, each with the sentence that names both ends, if any."""
    if not one.extraction.triples:
        return
    sentences = NamingSentences(one.chunk, seen)
    for triple in one.extraction.triples:
        source, target = entity_key(triple.subject), entity_key(triple.object)
        start, end = sentences.of_both(source, target, triple.told)
        yield StatedTriple(one.chunk, source, triple.predicate, target, start, end, triple.told)


NER, TRIPLES = "openie_ner", "openie_triples"


class NamedEntities(ListReply):
    """The named entities of a text."""

    entities: list[str]


class Triples(BaseModel):
    """The triples of a text: subject, predicate and object of each."""

    triples: list[list[str]]

    @classmethod
    def in_words(cls, reply: str) -> "Triples | None":
        """Parse triples in lines."""
        stated = triples_in_words(reply)
        return cls(triples=stated) if stated else None


@dataclass(frozen=True, slots=True)
class OpenChunk:
    """The extraction from the replies for one text, and the losses."""

    extraction: OpenExtraction
    losses: tuple[Loss, ...] = ()


async def extract_open(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    model: LanguageModel,
    progress: Progress = no_progress,
    persona: str = "",
) -> tuple[list[OpenExtraction], list[Failure]]:
    """Return the model's extraction of each chunk, in order, and a failure for each loss.

    Chunks run concurrently; equal texts under one title and heading share their calls. BudgetReached is raised after
    the running calls have ended; ModelRefused or ModelUnavailable if no call at all got a reply.
    """
    passages = passages_of(documents, chunks)
    found = await of_each(passages, lambda one: extract_text(one, model, persona), EXTRACT, progress)
    if not any(one.extraction.entities or one.extraction.triples for one in found):
        raise_if_unanswered([one.losses for one in found])
    failures = [
        Failure(EXTRACT, chunk.id, loss.reason, loss.detail)
        for chunk, one in zip(chunks, found, strict=True)
        for loss in one.losses
    ]
    return [one.extraction for one in found], failures


async def extract_text(passage: ShownChunk, model: LanguageModel, persona: str = "") -> OpenChunk:
    """Return the named entities and triples of a passage. If one call fails, the result of the other remains.

    Raises only BudgetReached.
    """
    losses: list[Loss] = []
    text, example = passage.text, prompt_text("index/openie_ner_example")
    ner = messages("index/openie_ner", persona=persona, example=example, text=text, **passage.place)
    named, lost = await _part(model, _request(NER, ner, text), NamedEntities)
    losses += lost
    asked = messages(
        "index/openie_triples",
        persona=persona,
        example=prompt_text("index/openie_triples_example"),
        text=text,
        **passage.place,
        entities=json.dumps(named.entities, ensure_ascii=False),
    )
    stated, lost = await _part(model, _request(TRIPLES, asked, text), Triples)
    losses += lost
    return OpenChunk(OpenExtraction(named.entities, stated.triples), tuple(losses))


def _request(step: str, asked: tuple[Message, ...], text: str) -> Request:
    return Request(asked, step, sources=(digest(text),))


async def _part(
    model: LanguageModel, request: Request, form: type[NamedEntities] | type[Triples]
) -> tuple[OpenExtraction, list[Loss]]:
    """Return the usable part of a reply, and the losses."""

    async def exchange(model: LanguageModel) -> ExchangeResult[tuple[OpenExtraction, list[Loss]]]:
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
        losses += [Loss(LOST_RECORD, item) for item in wrong]
        kept = len(found.entities) + len(found.triples)
        return ExchangeResult((found, losses), read=kept, lost=len(losses))

    try:
        return await least_lost(model, exchange)
    except ModelError as error:
        return OpenExtraction(), [loss_of(request.step, error)]


def _usable(answer: BaseModel) -> tuple[OpenExtraction, list[str]]:
    entities = answer.entities if isinstance(answer, NamedEntities) else ()
    triples = answer.triples if isinstance(answer, Triples) else ()
    return usable(entities, triples)
