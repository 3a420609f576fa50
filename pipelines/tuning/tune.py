"""Tune the prompts of indexing to documents with a language model.

From a sample, a model describes the domain and language of the documents, then a persona and the entity types, and it
writes examples of extraction for texts of the sample (the prompt tuning of GraphRAG; Edge et
al. 2024, section 3.1.2, asks for examples fitted to the domain).
"""

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from conspectus.pipelines.runner import Progress, no_progress
from conspectus.pipelines.steps.documents import read_documents
from conspectus.pipelines.steps.extract.llm import ShownChunk, passages_of
from conspectus.pipelines.steps.extract.schema import LONGEST, RelationType, Schema
from conspectus.pipelines.tuning.examples import (
    STEP,
    Checked,
    Embed,
    ExampleDraft,
    can_be_shown,
    claims_in,
    elements_in,
    excerpt,
    make_example,
    sample,
    written,
    written_claims,
)
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.client.event_loop import gather_all
from conspectus.prompts.client.usage_and_cost import Spending
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.prompts.language_model import Request
from conspectus.prompts.render import messages, prompt_text, prompts_of, render, tagged
from conspectus.prompts.replies.structured import ask_for
from conspectus.storage.arrays import Vectors
from conspectus.storage.errors import InputError, UsageError
from conspectus.storage.settings import ExtractionSettings, Settings, TunedPrompts, as_yaml, file_of
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

FEWEST_TYPES = 3
MOST_TYPES = 10

_LONGEST_TEXT = 1_500
"""Maximum characters of a text that is part of every prompt; a few sentences have some hundreds."""
_LONGEST_NAME = 40
_NO_NAME = re.compile(r"[<>|#{}\[\]\"]")


def _paragraph(text: str) -> str:
    text = " ".join(text.split())
    if not text:
        raise ValueError("it is empty")
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"it is longer than {_LONGEST_TEXT} characters; two or three sentences are enough")
    return text


def _name(text: str) -> str:
    text = " ".join(text.split())
    if not text or len(text) > _LONGEST_NAME or _NO_NAME.search(text):
        raise ValueError("it is not a name of one or two words")
    return text


def _described(item: object) -> object:
    """Return a type that is only a name as one without a description."""
    return {"name": item} if isinstance(item, str) else item


class TypeAnswer(BaseModel):
    """A type of entities, with a sentence that says what belongs to it."""

    name: str
    description: str = ""


class RelationAnswer(BaseModel):
    """A type of relations, with the types of its ends."""

    name: str
    source: str = ""
    target: str = ""
    description: str = ""


def _kinds(types: list[TypeAnswer]) -> list[TypeAnswer]:
    """Return the types with distinct names without commas, at most `MOST_TYPES`."""
    found: dict[str, TypeAnswer] = {}
    for item in types:
        name = " ".join(item.name.split())
        if name and len(name) <= _LONGEST_NAME and not _NO_NAME.search(name) and not re.search("[,;，、；]", name):
            found.setdefault(name.casefold(), TypeAnswer(name=name, description=item.description[:LONGEST]))
    if len(found) < FEWEST_TYPES:
        raise ValueError(f"there must be at least {FEWEST_TYPES} different types, each of one or two words")
    return list(found.values())[:MOST_TYPES]


Paragraph = Annotated[str, AfterValidator(_paragraph)]
Name = Annotated[str, AfterValidator(_name)]


class DomainAnswer(BaseModel):
    """The description and the language of a collection."""

    domain: Paragraph
    language: Name


class PersonaAnswer(BaseModel):
    """The personas of a model for extraction, and for reports."""

    extraction: Paragraph
    reports: Paragraph


class TypesAnswer(BaseModel):
    """Kinds of entities, the most important first."""

    types: Annotated[
        list[Annotated[TypeAnswer, BeforeValidator(_described)]],
        AfterValidator(_kinds),
        Field(description="kinds of entities"),
    ]
    relations: list[RelationAnswer] = []

    def schema_of_domain(self) -> Schema:
        """Return the schema that the answer proposes: relations between its types, one of each name."""
        kinds = {kind.name.casefold(): kind.name for kind in self.types}
        relations: dict[str, RelationType] = {}
        for each in self.relations:
            name, ends = " ".join(each.name.split()), [kinds.get(end.casefold()) for end in (each.source, each.target)]
            if name and len(name) <= _LONGEST_NAME and not _NO_NAME.search(name) and all(ends):
                known = relations.get(name.casefold(), RelationType(name, description=each.description[:LONGEST]))
                domain, range_ = (
                    tuple(dict.fromkeys((*had, str(end))))
                    for had, end in zip((known.domain, known.range), ends, strict=True)
                )
                relations[name.casefold()] = replace(known, domain=domain, range=range_)
        return Schema({kind.name: kind.description for kind in self.types}, tuple(relations.values()))


CHUNKS = 15
"""Default number of chunks of a sample."""

_SAMPLE_TOKENS = 6_000
"""Maximum tokens of all excerpts in one prompt, for models with a context of 8,000."""
_EXAMPLES = 3
_EXAMPLE_TOKENS = 150
"""Maximum tokens of an example's text. Examples are in the prompt of every chunk;
three of this length take about as many tokens as a chunk."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The tuned texts and types for a corpus, and their origin.

    `examples` and `claims_examples` count the accepted ones, `thrown_away` gives the reasons for rejected replies,
    `left_out` counts records of accepted replies that break the rules, `unread` the inputs that could not be read.
    """

    language: str
    schema: Schema
    prompts: TunedPrompts
    documents: int
    chunks: int
    examples: int
    claims_examples: int
    thrown_away: tuple[str, ...]
    left_out: int
    unread: int
    spending: tuple[Spending, ...] = ()


def tune(
    inputs: Sequence[str | Path], settings: Settings, count: int = CHUNKS, progress: Progress = no_progress
) -> Tuning:
    """Tune the prompts to a sample of `count` chunks with a language model; nothing is written.

    Args:
        inputs: Files, folders or URLs of the documents.
        settings: The settings, with the model.
        count: The number of chunks in the sample.
        progress: Called with the progress of each phase.

    Returns:
        The tuned prompts; an example that fails is reported in it.

    Raises:
        NeedsModel: No model is configured; raised before anything is read.
        InputError: The documents contain no text.
        ModelError: The model returned no domain, persona or types.
        BudgetReached: The budget of the model is spent.
    """
    if settings.extraction.method == "nlp":
        raise UsageError("extraction.method is `nlp`: no model would read the prompts that were tuned")
    model = ModelClient(settings.llm)
    documents, failures = read_documents(inputs, settings.input)
    progress("read", len(documents), len(documents))
    chosen = sample(documents, settings.chunks, count, settings.communities.seed, _embedding(settings))
    if not chosen:
        raise InputError("the documents hold no text to fit the prompts to")
    progress("sample", len(chosen), len(chosen))
    shown, n_documents = passages_of(documents, chosen), len({chunk.document_id for chunk in chosen})
    with prompts_of(settings.llm.prompts):
        return asyncio.run(_ask(model, shown, settings.extraction, len(failures), n_documents, progress))


def _embedding(settings: Settings) -> Embed | None:
    """Return a function that embeds the beginnings of passages; None if that would call a server."""
    if settings.embedding.provider != "local":
        return None
    embedder = open_embedder(settings.embedding, settings.embedding_server)

    def embed(texts: Sequence[str]) -> Vectors:
        return embedder.embed([embedder.windows(text)[0] for text in texts])

    return embed


async def _ask(
    model: ModelClient,
    chosen: Sequence[ShownChunk],
    settings: ExtractionSettings,
    unread: int,
    n_documents: int,
    progress: Progress,
) -> Tuning:
    texts = [excerpt(chunk.text, _SAMPLE_TOKENS // len(chosen)) for chunk in chosen]
    shown = [
        replace(chunk, text=" ".join(excerpt(chunk.text, _EXAMPLE_TOKENS).split()))
        for chunk in chosen
        if can_be_shown(f"{chunk.title}{chunk.section}{chunk.text}")
    ][:_EXAMPLES]
    tell = _counter(progress, 3 + len(shown) * (2 if settings.claims else 1))

    prompt = messages("index/tune_domain", sample=_excerpts(texts))
    domain = await ask_for(model, Request(prompt, STEP), DomainAnswer)
    tell()
    prompt = messages("index/tune_persona", domain=domain.domain, language=domain.language)
    persona = await ask_for(model, Request(prompt, STEP), PersonaAnswer)
    tell()
    prompt = messages(
        "index/tune_entity_types",
        domain=domain.domain,
        sample=_excerpts(texts),
        fewest=str(FEWEST_TYPES),
        most=str(MOST_TYPES),
        language=domain.language,
    )
    schema = (await ask_for(model, Request(prompt, STEP), TypesAnswer)).schema_of_domain()
    types = tuple(schema.entities)
    tell()
    told = render("index/tuned_domain", domain=domain.domain, language=domain.language)
    prompts = TunedPrompts(told, persona.extraction, persona.reports)
    named = {"persona": prompts.extracts_as(), "entity_types": ", ".join(types), "language": domain.language}

    async def make(one: ShownChunk, template: str, examples: str, checked: Checked, **more: str) -> ExampleDraft:
        texts = {"examples": prompt_text(examples), "text": one.text, **named, **more, **one.place}
        draft = await make_example(model, one, messages(template, **texts), checked)
        tell()
        return draft

    works = [make(one, "index/tune_example", "index/extract_examples", elements_in(one, types)) for one in shown]
    if settings.claims:
        about = settings.claim_description
        kind = "index/tune_claims_example", "index/claims_examples"
        works += [make(one, *kind, claims_in(one), claim_description=about) for one in shown]
    made = await gather_all(works)
    elements, claims = made[: len(shown)], made[len(shown) :]
    return Tuning(
        domain.language,
        schema,
        TunedPrompts(told, persona.extraction, persona.reports, written(elements, types), written_claims(claims)),
        documents=n_documents,
        chunks=len(chosen),
        examples=sum(element.records is not None for element in elements),
        claims_examples=sum(claim.records is not None for claim in claims),
        thrown_away=tuple(reason for example in made for reason in example.thrown_away),
        left_out=sum(example.left_out for example in made),
        unread=unread,
        spending=model.meter.spending(),
    )


def _excerpts(texts: Sequence[str]) -> str:
    return "\n\n".join(tagged("excerpt", text) for text in texts)


def _counter(progress: Progress, total: int) -> Callable[[], None]:
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        progress(STEP, done, total)

    progress(STEP, 0, total)
    return tell


SETTINGS = "settings.yaml"
SCHEMA = "schema.yaml"
FOLDER = "prompts"
"""Folder of the tuned prompts, next to the settings file."""

_ALWAYS = ("domain", "persona", "report_persona", "extract_examples")
_CLAIMS = "claims_examples"


def check_free(directory: Path, settings: Settings) -> None:
    """Raise UsageError if a file to be written exists already."""
    for path in (*_paths(directory, settings).values(), directory / SCHEMA):
        if path.exists():
            raise UsageError(f"{path} already exists; --force overwrites it")


def check_writable(directory: Path, settings: Settings) -> None:
    """Raise UsageError if the files cannot be written, before any model call is paid for."""
    for folder in (directory, directory / FOLDER):
        nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
        if not nearest.is_dir():
            raise UsageError(f"{nearest} is a file, not a folder to write in")
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise UsageError(f"cannot write in {nearest}: permission denied")
    for path in (*_paths(directory, settings).values(), directory / SCHEMA, directory / SETTINGS):
        if path.is_dir():
            raise UsageError(f"{path} is a folder, not a file to write")


def write_tuning(directory: Path, settings: Settings, tuning: Tuning) -> list[Path]:
    """Write the prompts and a settings file that refers to them; return the paths.

    All files are written before any is moved into place.
    """
    types = tuple(tuning.schema.entities)
    tuned = settings.extraction.model_copy(update={"entity_types": types, "prompts": FOLDER, "schema": SCHEMA})
    paths = _paths(directory, settings)
    texts = {path: f"{getattr(tuning.prompts, name)}\n".lstrip("\n") for name, path in paths.items()}
    texts[directory / SCHEMA] = tuning.schema.as_yaml()
    texts[directory / SETTINGS] = as_yaml(settings.model_copy(update={"extraction": tuned}))
    (directory / FOLDER).mkdir(parents=True, exist_ok=True)
    waiting = {path: path.with_name(f"{path.name}.new") for path in texts}
    try:
        for path, text in texts.items():
            waiting[path].write_bytes(text.encode("utf-8", "replace"))
        for path, new in waiting.items():
            new.replace(path)
    finally:
        for new in waiting.values():
            new.unlink(missing_ok=True)
    return list(texts)


def _paths(directory: Path, settings: Settings) -> Mapping[str, Path]:
    names = (*_ALWAYS, _CLAIMS) if settings.extraction.claims else _ALWAYS
    return {name: file_of(directory / FOLDER, name) for name in names}
