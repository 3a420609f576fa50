"""Citation verification: every cited sentence must be supported by its citations.

Every method's answer passes through here, so support is defined uniformly: the cited text contains each name and
number of the sentence, says the same of the same (`claim_check.py`), and their cosine is at least
`citations.threshold`; or a model judges the sentence supported.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import regex
from conspectus.prompts.client.event_loop import gather_settled
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.query.abstention import abstains, no_answer
from conspectus.query.answering import assembling, measured
from conspectus.query.citations.entailment import (
    CitedText,
    can_compare,
    missing,
    names_alone,
    quotes,
    unsupported,
)
from conspectus.query.citations.marks import (
    NOTHING_FOUND,
    NOTHING_SUPPORTED,
    UNVERIFIED,
    CitedSentence,
    cited_sentences,
)
from conspectus.query.context import Context
from conspectus.query.sayings import saying
from conspectus.query.types import Answer, Answerer, Check, Citation, CitedTriple, Step
from conspectus.storage.errors import BadAnswer, ModelError
from conspectus.storage.text.embedded import predicate_words

if TYPE_CHECKING:
    from conspectus.query.menu import Method

STEP = "verify"
_NEAREST = 2
"""Statements that are shown beside a model's "I do not know", if the documents answer without it."""
_BULLET = regex.compile(r"^(?:[-*•]|\d{1,3}[.)])\s+")
_BULLET_ALONE = regex.compile(r"[ \t]*(?:[-*•]|\d{1,3}[.)])?[ \t]*")


@dataclass(frozen=True, slots=True)
class _CitedSentence:
    """A sentence of an answer, the text to compare, and its resolved citations."""

    place: CitedSentence
    sentence: str
    sources: tuple[CitedText, ...]


async def verified(context: Context, answer: Answer, method: "Method | None" = None) -> Answer:
    """Return an answer with its cited sentences checked; `citations.unsupported` decides what happens to unsupported
    ones.

    `checks` lists the checks, and the trace their count. If no sentence remains, the answer becomes an abstention; if
    none is supported, or those that are do not answer, what `method` answers without a model stands instead. With
    `citations.ask_model` a model decides, which adds to the usage; if it gives no verdict, the cosine decides.
    """
    if answer.computed:
        return replace(answer, trace=(*answer.trace, Step(STEP, "the answer is computed from what it cites")))
    cited = _sentences(answer)
    if not cited and abstains(answer.text):
        return await _with_nearest(context, answer, method)
    if not cited:
        baseless = answer.text.endswith((NOTHING_FOUND, UNVERIFIED))
        return await _otherwise(context, answer, method) if baseless else answer
    model = context.model if context.settings.citations.ask_model else None
    with measured() as measure:
        checks = await _checked(context, answer, cited, model)
    usage = answer.usage.plus(measure.usage())
    answer = replace(answer, checks=checks, usage=usage, trace=(*answer.trace, _step(checks)))
    places = [item.place for item, check in zip(cited, checks, strict=True) if not check.supported]
    mode = context.settings.citations.unsupported
    if mode == "keep" or (mode == "drop" and places):
        return answer if mode == "keep" else _without(answer, places)
    supported = " ".join(check.sentence for check in checks if check.supported)
    return await _otherwise(context, _marked(answer, places) if places else answer, method, supported)


async def _otherwise(context: Context, answer: Answer, method: "Method | None", supported: str = "") -> Answer:
    """Return what a method answers without a model instead of what one wrote, unless a supported part of it answers.

    A supported part stays where the documents do not answer, or where it has the short answer that they give. What
    nothing supports is never shown: the trace has it.
    """
    if method is None or context.model is None:
        return answer
    from conspectus.query.answer_writing.extractive import LACKS, UNSUPPORTED, WITHHELD, tells  # imports much

    question = answer.standalone or answer.question
    if supported and UNVERIFIED not in answer.text and tells(context, question, supported):
        return answer
    plain = await _without_model(context, answer, question, method)
    mostly = sum(check.supported for check in answer.checks) >= answer.text.count(UNVERIFIED)
    if supported and not (plain.known and (not mostly or not tells(context, question, supported, plain.span))):
        return answer
    why = LACKS if supported and mostly else UNSUPPORTED if plain.known else WITHHELD
    said = Step("model", " ".join(answer.text.split()))
    usage, trace = answer.usage, (*answer.trace, said, *plain.trace)
    return replace(
        plain, question=answer.question, standalone=answer.standalone, method=answer.method,
        text=f"{plain.text}\n{why}", usage=usage, trace=trace, checks=answer.checks,
    )  # fmt: skip


async def _with_nearest(context: Context, answer: Answer, method: "Method | None") -> Answer:
    """Return an answer of a model that does not know, with the statement that would be quoted without a model."""
    if method is None or context.model is None:
        return answer
    question = answer.standalone or answer.question
    plain = await _without_model(context, answer, question, method)
    if not plain.known or not plain.citations:
        return answer
    quotes = " … ".join(" ".join(citation.quote.split()) for citation in plain.citations[:_NEAREST])
    return replace(answer, text=f"{answer.text.strip()} {saying('nearest statement', question, quotes)}")


async def answered(context: Context, question: str, method: "Method", answerer: Answerer) -> Answer:
    """Return the answer of a method; if no reply of its model can be used, what it answers without one, which says so.

    Raises:
        ModelError: The model's server failed, or the method needs a model.
    """
    with measured() as measure:
        try:
            return await answerer.answer(question)
        except BadAnswer as error:
            from conspectus.query.answer_writing.extractive import UNUSABLE

            if method.needs_model:
                raise
            answer = await _without_model(context, Answer(question, method.name, ""), question, method)
            text = f"{answer.text}\n{UNUSABLE}"
            trace = (Step("model", f"no reply can be used: {error}"), *answer.trace)
    return replace(answer, text=text, usage=measure.usage(), trace=trace)


async def _without_model(context: Context, answer: Answer, question: str, method: "Method") -> Answer:
    """Return what a method answers without a model; of one that needs a model, what the passages that it found say."""
    from conspectus.query.answer_writing.extractive import quote_evidence

    llm = context.settings.llm.model_copy(update={"model": ""})
    plain = replace(context, settings=context.settings.model_copy(update={"llm": llm}))
    if method.missing(plain.settings) is None:
        return await method.answerer(plain).answer(question)
    with assembling(question, answer.method) as assembly:
        return quote_evidence(assembly, plain, answer.evidence)


def _sentences(answer: Answer) -> list[_CitedSentence]:
    cited: tuple[Citation | CitedTriple, ...] = (*answer.citations, *answer.triples)
    sources = {item.number: _source(item) for item in cited}
    found = []
    for place in cited_sentences(answer.text):
        sentence = _BULLET.sub("", place.text)
        own = tuple(sources[number] for number in place.numbers if number in sources)
        if sentence and own:
            found.append(_CitedSentence(place, sentence, own))
    return found


def _source(cited: Citation | CitedTriple) -> CitedText:
    if isinstance(cited, CitedTriple):
        return CitedText(f"{cited.source} {predicate_words(cited.predicate)} {cited.target}")
    return CitedText(cited.quote, " ".join(filter(None, (cited.title, *cited.headings))))


async def _checked(
    context: Context, answer: Answer, cited: Sequence[_CitedSentence], model: LanguageModel | None
) -> tuple[Check, ...]:
    least, question = context.settings.citations.threshold, answer.standalone or answer.question
    reasons = [
        "" if _lists_quoted(item, answer.names) else unsupported(item.sentence, item.sources, question, least)
        for item in cited
    ]
    if model is not None:  # it judges what neither is quoted nor lacks a name
        open_ = [place for place, item in enumerate(cited) if _is_open(item, answer.names)]
        replies = await gather_settled(_asked(context, model, answer, cited[place]) for place in open_)
        for place, said in zip(open_, replies, strict=True):
            if not isinstance(said, ModelError):
                reasons[place] = "" if said == "Yes" else "the model finds no support"
    return tuple(
        Check(entry.sentence, entry.place.numbers, not why, why) for entry, why in zip(cited, reasons, strict=True)
    )


def _lists_quoted(cited: _CitedSentence, names: Sequence[str]) -> bool:
    """Return whether a sentence is a list of names, as an answer of a walk is, and every name is quoted."""
    listed = names_alone(cited.sentence, names)
    return bool(listed) and all(quotes(item, cited.sources) for item in listed)


def _is_open(cited: _CitedSentence, names: Sequence[str]) -> bool:
    quoted = _lists_quoted(cited, names) or quotes(cited.sentence, cited.sources)
    return not quoted and not missing(cited.sentence, cited.sources)


async def _asked(context: Context, model: LanguageModel, answer: Answer, cited: _CitedSentence) -> str:
    from conspectus.prompts.replies.structured import ask_choice  # only a model needs it

    source = "\n\n".join("\n".join(filter(None, (source.above, source.quote))) for source in cited.sources)
    question = answer.standalone or answer.question
    prompt = messages("query/verify_citation", source=source, question=question, sentence=cited.sentence)
    passages = {citation.number: citation for citation in answer.citations}
    chunks = [passages[number].document_id for number in cited.place.numbers if number in passages]
    request = Request(prompt, STEP, sources=_hashes(context, chunks))
    return await ask_choice(model, request, ["Yes", "No"], reasoned=True)


def _hashes(context: Context, document_ids: Sequence[str]) -> tuple[str, ...]:
    """Return the hashes of the chunks of documents; a verdict on their quotations depends on these."""
    wanted = set(document_ids)
    return context.sources(chunk.id for chunk in context.chunks if chunk.document_id in wanted)


def _step(checks: Sequence[Check]) -> Step:
    lost = [check for check in checks if not check.supported]
    said = f"{len(checks) - len(lost)} of {len(checks)} cited sentences are supported by what they cite"
    unread = [] if can_compare() else ["names and numbers were compared, meanings not: that needs conspectus[local]"]
    return Step(STEP, "; ".join([said, *(f"{failure.sentence!r}: {failure.why}" for failure in lost), *unread]))


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
        return replace(answer, text=no_answer(answer.question), citations=(), triples=(), names=(), span="")
    return replace(
        answer,
        text=text,
        citations=tuple(citation for citation in answer.citations if citation.number in left),
        triples=tuple(triple for triple in answer.triples if triple.number in left),
    )


def _cut(text: str, start: int, end: int) -> str:
    """Return a text without a sentence, and without its line if only a bullet remains there."""
    before, behind = text[:start].rstrip(" \t"), text[end:].lstrip(" \t")
    line = before.rpartition("\n")[2]
    if _BULLET_ALONE.fullmatch(line) and behind[:1] in {"", "\n"}:
        return before[: len(before) - len(line)] + behind[1:]
    return f"{before} {behind}" if line.strip() and behind[:1] not in {"", "\n"} else before + behind
