"""Answers with their citations checked: what a sentence cites must support it.

Every method's answer comes through here, so that what *supports* means is the same for all: each name and number of
the sentence stands in what it cites, and their cosine is at least `citations.threshold`, or a model says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import regex
from conspectus.prompts.client.event_loop import gather_settled
from conspectus.prompts.model import LanguageModel, Message, Request
from conspectus.prompts.render import render
from conspectus.prompts.replies.structured import ask_choice
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.answering import measured
from conspectus.query.citations.entailment import Source, closeness, missing, names_alone, quotes
from conspectus.query.citations.marks import NOTHING_SUPPORTED, UNVERIFIED, CitedSentence, cited_sentences
from conspectus.query.context import Context
from conspectus.query.types import Answer, Check, Citation, CitedTriple, Step
from conspectus.storage.errors import ModelError
from conspectus.storage.text.embedded import predicate_words

STEP = "verify"
_BULLET = regex.compile(r"^(?:[-*•]|\d{1,3}[.)])\s+")
_BULLET_ALONE = regex.compile(r"[ \t]*(?:[-*•]|\d{1,3}[.)])?[ \t]*")


@dataclass(frozen=True, slots=True)
class _Cited:
    """A sentence of an answer, what of it is compared, and what it cites that resolves."""

    place: CitedSentence
    sentence: str
    sources: tuple[Source, ...]


async def verified(context: Context, answer: Answer) -> Answer:
    """Return an answer whose cited sentences are checked: unsupported ones are treated as `citations.unsupported` says.

    The checks stand in `checks`, their count in the trace. Where no sentence is left the answer is that nothing is
    known; where all are marked, it says so. A model that is asked (`citations.ask_model`) adds to the usage; where it
    gives no answer, the cosine decides.
    """
    cited = _sentences(answer)
    if not cited:
        return answer
    model = context.model if context.settings.citations.ask_model else None
    with measured() as measure:
        checks = await _checked(context, answer, cited, model)
    usage = answer.usage.plus(measure.usage())
    answer = replace(answer, checks=checks, usage=usage, trace=(*answer.trace, _step(checks)))
    places = [item.place for item, check in zip(cited, checks, strict=True) if not check.supported]
    mode = context.settings.citations.unsupported
    if not places or mode == "keep":
        return answer
    return _without(answer, places) if mode == "drop" else _marked(answer, places)


def _sentences(answer: Answer) -> list[_Cited]:
    cited: tuple[Citation | CitedTriple, ...] = (*answer.citations, *answer.triples)
    sources = {item.number: _source(item) for item in cited}
    found = []
    for place in cited_sentences(answer.text):
        sentence = _BULLET.sub("", place.text)
        own = tuple(sources[number] for number in place.numbers if number in sources)
        if sentence and own:
            found.append(_Cited(place, sentence, own))
    return found


def _source(cited: Citation | CitedTriple) -> Source:
    if isinstance(cited, CitedTriple):
        return Source(f"{cited.source} {predicate_words(cited.predicate)} {cited.target}")
    return Source(cited.quote, " ".join(filter(None, (cited.title, *cited.headings))))


async def _checked(
    context: Context, answer: Answer, cited: Sequence[_Cited], model: LanguageModel | None
) -> tuple[Check, ...]:
    lacking = [_lacking(item, answer.names) for item in cited]
    open_ = [place for place, lost in enumerate(lacking) if lost is None]
    judged: Mapping[int, str] = {}
    if model is not None:
        replies = await gather_settled(_asked(context, model, answer, cited[place]) for place in open_)
        judged = {
            place: "" if said == "Yes" else "the model finds no support"
            for place, said in zip(open_, replies, strict=True)
            if not isinstance(said, ModelError)
        }
    checks = []
    for place, entry in enumerate(cited):
        why = lacking[place]
        if why is None:
            why = judged[place] if place in judged else _far(context, answer, entry)
        checks.append(Check(entry.sentence, entry.place.numbers, not why, why))
    return tuple(checks)


def _lacking(cited: _Cited, names: Sequence[str]) -> str | None:
    """Return "" for a sentence that is quoted, what it names and its sources do not, or None where neither is so.

    Where a walk answers with a list of names, it is quoted where each of them is.
    """
    listed = names_alone(cited.sentence, names)
    if quotes(cited.sentence, cited.sources) or (listed and all(quotes(item, cited.sources) for item in listed)):
        return ""
    lost = missing(cited.sentence, cited.sources)
    return f"not there: {', '.join(lost)}" if lost else None


def _far(context: Context, answer: Answer, cited: _Cited) -> str:
    least = context.settings.citations.threshold
    found = closeness(cited.sentence, cited.sources, answer.standalone or answer.question)
    return "" if found >= least else f"cosine {found:.2f}, the least is {least:g}"


async def _asked(context: Context, model: LanguageModel, answer: Answer, cited: _Cited) -> str:
    source = "\n\n".join("\n".join(filter(None, (source.above, source.quote))) for source in cited.sources)
    question = answer.standalone or answer.question
    prompt = render("query/verify_citation", source=source, question=question, sentence=cited.sentence)
    passages = {citation.number: citation for citation in answer.citations}
    chunks = [passages[number].document_id for number in cited.place.numbers if number in passages]
    request = Request((Message("user", prompt),), STEP, sources=_hashes(context, chunks))
    return await ask_choice(model, request, ["Yes", "No"])


def _hashes(context: Context, document_ids: Sequence[str]) -> tuple[str, ...]:
    """Return the hashes of the chunks of documents: what a reply over a quotation of them depends on."""
    wanted = set(document_ids)
    return context.sources(chunk.id for chunk in context.chunks if chunk.document_id in wanted)


def _step(checks: Sequence[Check]) -> Step:
    lost = [check for check in checks if not check.supported]
    said = f"{len(checks) - len(lost)} of {len(checks)} cited sentences are supported by what they cite"
    return Step(STEP, "; ".join([said, *(f"{failure.sentence!r}: {failure.why}" for failure in lost)]))


def _marked(answer: Answer, places: Sequence[CitedSentence]) -> Answer:
    text = answer.text
    for place in reversed(places):
        text = f"{text[: place.end]} {UNVERIFIED}{text[place.end :]}"
    if not any(check.supported for check in answer.checks):
        text = f"{text}\n\n{NOTHING_SUPPORTED}"
    return replace(answer, text=text)


def _without(answer: Answer, places: Sequence[CitedSentence]) -> Answer:
    text = answer.text
    for place in reversed(places):
        text = _cut(text, place.start, place.rest)
    text = text.strip()
    left = {number for sentence in cited_sentences(text) for number in sentence.numbers}
    if not left:
        return replace(answer, text=NO_ANSWER, citations=(), triples=(), names=(), span="")
    return replace(
        answer,
        text=text,
        citations=tuple(citation for citation in answer.citations if citation.number in left),
        triples=tuple(triple for triple in answer.triples if triple.number in left),
    )


def _cut(text: str, start: int, end: int) -> str:
    """Return a text without a sentence, and without its line where nothing else but a bullet stands there."""
    before, behind = text[:start].rstrip(" \t"), text[end:].lstrip(" \t")
    line = before.rpartition("\n")[2]
    if _BULLET_ALONE.fullmatch(line) and behind[:1] in {"", "\n"}:
        return before[: len(before) - len(line)] + behind[1:]
    return f"{before} {behind}" if line.strip() and behind[:1] not in {"", "\n"} else before + behind
