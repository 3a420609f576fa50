"""Extract entities, relationships and claims from chunks with a language model.

The element instances of GraphRAG (Edge et al. 2024, sections 3.1.2 and A.1): one prompt for entities and relationships;
then, up to `extraction.max_gleanings` times, a forced yes or no to the question whether any were missed and, on yes, a
continuation prompt that claims that many were. Each reply is parsed separately. Claims have a separate prompt.

A model that does not write records in this form is asked for JSON under a schema, which servers enforce. If all
passages so far needed that, the others are asked for JSON at once.
"""

import json
from array import array
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cache
from itertools import starmap
from tempfile import TemporaryFile
from typing import TypeVar

from conspectus.pipelines.runner import Progress, no_progress
from conspectus.pipelines.steps.extract.schema import read_schema
from conspectus.pipelines.steps.extract.validate import flaw, name_key
from conspectus.prompts.client.event_loop import gather_all
from conspectus.prompts.client.window import window_for
from conspectus.prompts.language_model import LanguageModel, Message, Reply, Request, another_try
from conspectus.prompts.render import messages, prompt_text, render
from conspectus.prompts.replies.records import (
    ClaimRecord,
    EntityRecord,
    LostRecord,
    Records,
    RelationRecord,
    is_empty_list,
    read_records,
)
from conspectus.prompts.replies.structured import ExchangeResult, ask_choice, least_lost, with_complaint
from conspectus.storage.errors import BudgetReached, ModelError, ModelRefused, ModelUnavailable
from conspectus.storage.hashing import digest
from conspectus.storage.locators import sections_at
from conspectus.storage.made_rows import RowsFrom
from conspectus.storage.records import Chunk, Document, Failure
from conspectus.storage.settings import ExtractionSettings, read_tuned
from conspectus.storage.spilled import rows_by_id, spill_folder
from pydantic import BaseModel

STAGE = "extract"
_FEWEST_TOKENS = 3000
"""Of a prompt with the form of records, its examples and a passage; where fewer fit, JSON is asked for at once."""
AT_ONCE = 1024
"""Concurrent passages: more than the calls that any server takes, few enough to keep their prompts in memory."""
LOST_RECORD = "lost record"
CHUNK_STEPS = ("extract", "glean_check", "glean", "claims", "claims_glean")
"""The steps that prompt for one chunk at a time."""


@dataclass(frozen=True, slots=True)
class Guidance:
    """Adaptation of the prompts to a domain: the persona of the model, and examples in the format of records.

    Empty examples mean those of prompts/index.
    """

    persona: str = ""
    examples: str = ""
    claim_examples: str = ""


def guidance_of(settings: ExtractionSettings) -> Guidance:
    """Return the guidance by texts fitted to a corpus, and by a schema; SettingsError if these cannot be read."""
    tuned, schema = read_tuned(settings), read_schema(settings.schema)
    persona = "\n\n".join(filter(None, [tuned.extracts_as(), schema.prompt() if schema else ""]))
    return Guidance(persona, tuned.extract_examples, tuned.claims_examples)


@dataclass(frozen=True, slots=True)
class ShownChunk:
    """A chunk as a prompt shows it: its text, the title of its document, and the headings above it.

    Title and heading often contain the name that the text omits.
    """

    text: str
    title: str = ""
    section: str = ""

    @property
    def place(self) -> dict[str, str]:
        """The location of the text, as the prompts describe it."""
        return {"title": self.title or "(none)", "section": self.section or "(none)"}


def passages_of(documents: Sequence[Document], chunks: Sequence[Chunk]) -> Sequence[ShownChunk]:
    """Return the chunks as prompts show them, in order; each is made when it is asked for."""
    rows = rows_by_id(documents)

    def passage(row: int) -> ShownChunk:
        chunk = chunks[row]
        if chunk.document_id not in rows:
            return ShownChunk(chunk.text)
        document = documents[rows[chunk.document_id]]
        return ShownChunk(chunk.text, document.title, ": ".join(sections_at(document.places, chunk.start)))

    return RowsFrom(range(len(chunks)), passage)


@dataclass(frozen=True, slots=True)
class Loss:
    """Something missing from a chunk's replies: the reason, a detail, and the error if there was no reply."""

    reason: str
    detail: str
    error: ModelError | None = None


def loss_of(step: str, error: ModelError) -> Loss:
    """Return the loss that a failed call causes."""
    unanswered = isinstance(error, ModelRefused | ModelUnavailable)
    return Loss(f"the call of step {step} failed", str(error), error if unanswered else None)


def raise_if_unanswered(losses: Sequence[Sequence[Loss]]) -> None:
    """Raise the error of the first chunk if no call for any chunk got a reply; `losses` are those of each chunk.

    A server that is down, or refuses the key, must not become a list of failures: the current version is worth more
    than an empty one.
    """
    errors = [loss.error for one in losses for loss in one if loss.error]
    if errors and all(one and all(loss.error for loss in one) for one in losses):
        raise errors[0]


@dataclass(frozen=True, slots=True)
class ChunkExtraction:
    """The records in the replies for one chunk, in the order of the replies, and the losses."""

    entities: tuple[EntityRecord, ...] = ()
    relations: tuple[RelationRecord, ...] = ()
    claims: tuple[ClaimRecord, ...] = ()
    losses: tuple[Loss, ...] = ()


class _Kept:
    """Extractions in an unnamed file, written as soon as they are known; all are added before one is read."""

    def __init__(self) -> None:
        self._file = TemporaryFile(dir=spill_folder())  # noqa: SIM115 - it is as old as the extractions
        self._ends = array("Q", (0,))
        self.losses: list[tuple[Loss, ...]] = []

    def add(self, found: ChunkExtraction) -> int:
        """Add an extraction and return its number."""
        kinds = found.entities, found.relations, found.claims
        written = json.dumps([[astuple(record) for record in kind] for kind in kinds]).encode()
        self._file.write(written)
        self._ends.append(self._ends[-1] + len(written))
        self.losses.append(found.losses)
        return len(self.losses) - 1

    def get(self, number: int) -> ChunkExtraction:
        """Return an extraction by its number."""
        begin, end = self._ends[number : number + 2]
        self._file.seek(begin)
        entities, relations, claims = json.loads(self._file.read(end - begin))
        return ChunkExtraction(
            tuple(starmap(EntityRecord, entities)),
            tuple(starmap(RelationRecord, relations)),
            tuple(starmap(ClaimRecord, claims)),
            self.losses[number],
        )


class _Entity(BaseModel):
    name: str
    type: str
    description: str


class _Relationship(BaseModel):
    source: str
    predicate: str
    target: str
    description: str


class _Extraction(BaseModel):
    """The schema of the JSON form; `read_records` reads the reply."""

    entities: list[_Entity]
    relationships: list[_Relationship]


@dataclass(slots=True)
class _Form:
    """Whether the model of a build has written records yet, or JSON instead."""

    in_records: bool = False
    in_json: bool = False

    @property
    def is_json(self) -> bool:
        """Whether to ask for JSON at once."""
        return self.in_json and not self.in_records


async def extract_chunks(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    settings: ExtractionSettings,
    model: LanguageModel,
    progress: Progress = no_progress,
    guidance: Guidance | None = None,
) -> tuple[Sequence[ChunkExtraction], list[Failure]]:
    """Return the records that a model extracts from each chunk, in order, and a failure for each loss.

    The records are read from a file when they are asked for.

    As many chunks run concurrently as the server works on; equal texts under one title and heading share their calls.
    A failed call is a failure, and the records before it remain. BudgetReached is raised after the running calls have
    ended; ModelRefused or ModelUnavailable if no call at all got a reply.
    """
    passages = passages_of(documents, chunks)
    window = window_for(model, "extract")
    form = _Form(in_json=window.of_prompt is not None and window.of_prompt < _FEWEST_TOKENS)
    kept = _Kept()

    async def ask(passage: ShownChunk) -> int:
        return kept.add(await extract_passage(passage, model, settings, guidance, form))

    numbers = await of_each(passages, ask, STAGE, progress, window.slots or AT_ONCE)
    found = RowsFrom(numbers, kept.get)
    if not any(one.entities or one.relations or one.claims for one in found):
        raise_if_unanswered([one.losses for one in found])
    failures = [
        Failure(STAGE, chunks[row].id, loss.reason, loss.detail)
        for row, number in enumerate(numbers)
        for loss in kept.losses[number]
    ]
    return found, failures


async def extract_passage(
    passage: ShownChunk,
    model: LanguageModel,
    settings: ExtractionSettings,
    guidance: Guidance | None = None,
    form: _Form | None = None,
) -> ChunkExtraction:
    """Return the records that a model extracts from a passage. Raises only BudgetReached, after its calls end."""
    guided = guidance or Guidance()
    works = [_elements(passage, model, settings, guided, form or _Form())]
    if settings.claims:
        works.append(_claims(passage, model, settings, guided))
    parts = await gather_all(works)
    return ChunkExtraction(
        tuple(entity for part in parts for entity in part.entities),
        tuple(relation for part in parts for relation in part.relations),
        tuple(claim for part in parts for claim in part.claims),
        tuple(loss for part in parts for loss in part.losses),
    )


async def _elements(
    passage: ShownChunk, model: LanguageModel, settings: ExtractionSettings, guidance: Guidance, form: _Form
) -> ChunkExtraction:
    types = ", ".join(settings.entity_types)
    in_json = messages(
        "index/extract_json", persona=guidance.persona, entity_types=types, text=passage.text, **passage.place
    )
    asked = messages(
        "index/extract",
        persona=guidance.persona,
        entity_types=types,
        examples=guidance.examples or prompt_text("index/extract_examples"),
        text=passage.text,
        **passage.place,
    )
    said = _Conversation(model, (digest(passage.text),), asked, in_json, form)
    await said.go_on("extract")
    for _ in range(settings.max_gleanings):
        if not (said.is_open and await said.agrees("glean_check", render("index/glean_check"))):
            break
        await said.go_on("glean", render("index/glean"))
    return said.extraction()


async def _claims(
    passage: ShownChunk, model: LanguageModel, settings: ExtractionSettings, guidance: Guidance
) -> ChunkExtraction:
    asked = messages(
        "index/claims",
        persona=guidance.persona,
        claim_description=settings.claim_description,
        entity_types=", ".join(settings.entity_types),
        examples=guidance.claim_examples or prompt_text("index/claims_examples"),
        text=passage.text,
        **passage.place,
    )
    said = _Conversation(model, (digest(passage.text),), asked)
    await said.go_on("claims")
    for _ in range(settings.max_gleanings):
        if not said.is_open or not await said.go_on("claims_glean", render("index/claims_glean")):
            break
    return said.extraction()


class _Conversation:
    """A chunk's conversation with a model, and the records of its replies. A failed call ends it."""

    def __init__(
        self,
        model: LanguageModel,
        sources: tuple[str, ...],
        asked: tuple[Message, ...],
        in_json: tuple[Message, ...] = (),
        form: _Form | None = None,
    ) -> None:
        """Begin with the messages of a prompt, and of one that asks for the same in JSON.

        Without the second these are records of which most texts have none (claims).
        """
        self._model = model
        self._in_json = in_json
        self._shown = asked[-1].content
        self._form = form or _Form()
        self._sources = sources
        self._messages = asked
        self._records: list[Records] = []
        self._losses: list[Loss] = []
        self.is_open = True

    async def go_on(self, step: str, text: str = "") -> int:
        """Send the conversation, plus `text` if not empty, and parse the reply. Return the number of usable records.

        A reply of which nothing can be used is asked for once more, with the reason, and from a model that has written
        no record yet a third time, in JSON, which ends the conversation. Only the last reply stays in the conversation.
        """
        if text:
            self._messages = (*self._messages, Message("user", text))
        request = Request(self._messages, step, sources=self._sources)
        may_be_none = not self._in_json or bool(text)
        in_json = None if may_be_none else replace(request, messages=self._in_json, schema=_Extraction)
        form, is_json = self._form, False

        async def exchange(model: LanguageModel) -> ExchangeResult[tuple[Reply, Records]]:
            nonlocal is_json
            is_json = in_json is not None and form.is_json
            first = in_json if in_json and is_json else request
            found = _result(await model.complete(first), may_be_none, self._shown)
            if found.lost and not found.read:
                found = _result(await model.complete(_with_complaint(first, *found.value)), may_be_none, self._shown)
            if found.lost and not found.read and in_json and not is_json and not form.in_records:
                is_json = True
                found = _result(await model.complete(in_json), may_be_none, self._shown)
            form.in_json |= is_json and found.read > 0
            form.in_records |= not is_json and found.read > 0
            return found

        try:
            reply, records = await least_lost(self._model, exchange)
        except ModelError as error:
            self._end(step, error)
            return 0
        self._messages = (*self._messages, Message("assistant", reply.text))
        self._records.append(records)
        self._losses += [Loss(LOST_RECORD, f"{failure.reason}: {failure.text}") for failure in records.lost]
        # Many servers refuse a conversation with an empty model message.
        self.is_open = bool(reply.text.strip()) and not is_json
        return len(records.entities) + len(records.relations) + len(records.claims)

    async def agrees(self, step: str, question: str) -> bool:
        """Return whether the model says yes to a question; the exchange is not added to the conversation."""
        request = Request((*self._messages, Message("user", question)), step, sources=self._sources)

        async def exchange(model: LanguageModel) -> ExchangeResult[str]:
            return ExchangeResult(await ask_choice(model, request, ("Yes", "No")))

        try:
            return await least_lost(self._model, exchange) == "Yes"
        except ModelError as error:
            self._end(step, error)
            return False

    def extraction(self) -> ChunkExtraction:
        """Return the records of all replies together."""
        return ChunkExtraction(
            tuple(entity for one in self._records for entity in one.entities),
            tuple(relation for one in self._records for relation in one.relations),
            tuple(claim for one in self._records for claim in one.claims),
            tuple(self._losses),
        )

    def _end(self, step: str, error: ModelError) -> None:
        self.is_open = False
        self._losses.append(loss_of(step, error))


def _result(reply: Reply, may_be_none: bool, shown: str) -> ExchangeResult[tuple[Reply, Records]]:
    records = _without_examples(read_records(reply.text, cut_off=reply.is_cut_off), shown)
    if may_be_none and not reply.is_cut_off and reply.text.strip() and is_empty_list(reply.text):
        records = Records()
    usable = [not flaw(item) for kind in (records.entities, records.relations, records.claims) for item in kind]
    return ExchangeResult((reply, records), read=usable.count(True), lost=len(records.lost) + usable.count(False))


@cache
def _names_of_examples(examples: str) -> frozenset[str]:
    """Return the names in the examples of a prompt."""
    found = read_records(examples)
    return frozenset(map(name_key, (entity.name for entity in found.entities)))


def _without_examples(records: Records, shown: str) -> Records:
    """Return the records without those of names that only the prompt's examples contain; they are lost records."""
    names = _names_of_examples(prompt_text("index/extract_examples"))
    text = name_key(shown)

    def is_ours(*ends: str) -> bool:
        return any(key in names and key not in text for key in map(name_key, ends))

    entities = tuple(each for each in records.entities if not is_ours(each.name))
    relations = tuple(each for each in records.relations if not is_ours(each.source, each.target))
    lost = [each.name for each in records.entities if each not in entities]
    lost += [f"{each.source}, {each.target}" for each in records.relations if each not in relations]
    reason = "it is from the example in the prompt"
    more = tuple(LostRecord(text, reason) for text in lost)
    return replace(records, entities=entities, relations=relations, lost=(*records.lost, *more))


def _with_complaint(request: Request, reply: Reply, records: Records) -> Request:
    """Return the request with a reply of which nothing can be used, and why; or sampled otherwise if it was cut off."""
    if reply.is_cut_off:
        return another_try(request)
    reason = records.lost[0].reason if records.lost else "its records lack a name or an end"
    return with_complaint(request, reply.text, render("index/extract_again", reason=reason))


Result = TypeVar("Result")


async def of_each(
    passages: Sequence[ShownChunk],
    ask: Callable[[ShownChunk], Awaitable[Result]],
    stage: str,
    progress: Progress,
    at_once: int = AT_ONCE,
) -> list[Result]:
    """Return the result of `ask` for each passage, in order; equal passages share one call.

    At most `at_once` passages run concurrently. BudgetReached is raised after the running calls have ended, and no
    further passage is started.
    """
    keys = [digest(passage.text, passage.title, passage.section) for passage in passages]
    found: dict[str, Result] = {}
    left = set(keys)
    distinct, pending = len(left), zip(keys, passages, strict=True)
    stopped = False

    async def work() -> None:
        nonlocal stopped
        for key, passage in pending:
            if stopped:
                return
            if key not in left:
                continue
            left.remove(key)
            try:
                found[key] = await ask(passage)
            except BudgetReached:
                stopped = True
                raise
            progress(stage, len(found), distinct)

    progress(stage, 0, distinct)
    await gather_all(work() for _ in range(min(at_once, distinct)))
    return [found[key] for key in keys]
