"""What a language model answers by itself: at once, step by step, or as most of several chains of thought.

The baselines of Wei et al. 2022 (arXiv 2201.11903) and Wang et al. 2023 (arXiv 2203.11171). Nothing is looked up, so
nothing is cited: such an answer rests on no source.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from conspectus.prompts.model import LanguageModel, Message, Request
from conspectus.prompts.render import render
from conspectus.prompts.replies.json_repair import without_thinking
from conspectus.query.abstention import NO_ANSWER, is_unknown
from conspectus.query.answering import assembling
from conspectus.query.context import Context
from conspectus.query.question.tasks import prompt_for
from conspectus.query.types import Answer, Say, Step
from conspectus.storage.errors import ModelError
from conspectus.storage.text.normalise import entity_key

_SAMPLE_TEMPERATURE, _REASON_TEMPERATURE = 0.7, 0.0
"""Temperatures of the samples of self-consistency, and of a single answer."""

STEP = "direct"
_ANSWER = re.compile(r"\banswer\s+is\s*:?\s*(?P<said>[^\n]*)", re.IGNORECASE)


class Direct:
    """Answers with one prompt, `query/io` or `query/cot` or that of `tog.task`, asked once or `samples` times."""

    def __init__(
        self, name: str, context: Context, model: LanguageModel, *, prompt: str, sampled: bool = False
    ) -> None:
        """Answer with a prompt, asked once or, if `sampled`, `tog.samples` times."""
        self._name = name
        self._context = context
        self._model = model
        self._prompt = prompt
        self._samples = context.settings.tog.samples if sampled else 1

    async def answer(self, question: str, say: Say) -> Answer:
        """Return what the model says; of several samples the most frequent answer. ModelError where there is none."""
        with assembling(question, self._name) as assembly:
            said, step = await self._said(question)
            assembly.add(step)
            text = said or NO_ANSWER
            say(text)
            return assembly.assemble(text, names=tuple(part.strip() for part in said.split(";") if part.strip()))

    async def _said(self, question: str) -> tuple[str, Step]:
        if self._samples == 1:
            reply = await self._model.complete(asking(self._context, self._prompt, question))
            said = _known(final_answer(reply.text))
            return said, Step("direct", f"the model says {said or 'that it does not know'}")
        answers = await sampled(self._context, self._model, self._prompt, question, self._samples)
        said, share = most_frequent(answers)
        return said, Step("samples", f"{len(answers)} of {self._samples} came, {share:.0%} say {said or 'nothing'}")


async def agreed(context: Context, model: LanguageModel, question: str) -> tuple[str, Step]:
    """Return what enough of `tog.self_consistency` samples say, "" where they do not agree, and what is to be told."""
    chosen = context.settings.tog
    answers = await sampled(context, model, "query/cot", question, chosen.self_consistency)
    said, share = most_frequent(answers)
    agrees = bool(said) and share >= chosen.self_consistency_threshold
    told = (
        f"{share:.0%} of {chosen.self_consistency} samples say {said or 'nothing'}: {'enough' if agrees else 'too few'}"
    )
    return (said if agrees else ""), Step("self-consistency", told)


async def sampled(context: Context, model: LanguageModel, prompt: str, question: str, samples: int) -> list[str]:
    """Return the answers of several samples; one that fails is left out. ModelError where all do."""
    asked = [
        replace(asking(context, prompt, question), sample=number, temperature=_SAMPLE_TEMPERATURE)
        for number in range(samples)
    ]
    replies = await asyncio.gather(*(model.complete(each) for each in asked), return_exceptions=True)
    found: list[str] = []
    failed: list[ModelError] = []
    for reply in replies:
        if isinstance(reply, ModelError):
            failed.append(reply)
        elif isinstance(reply, BaseException):
            raise reply
        else:
            found.append(_known(final_answer(reply.text)))
    if failed and not found:
        raise failed[0]
    return found


def asking(context: Context, prompt: str, question: str) -> Request:
    """Return the request of one answer, at the temperature of reasoning."""
    chosen = context.settings.tog
    message = Message("user", render(prompt_for(chosen.task, prompt), question=question))
    return Request((message,), STEP, max_tokens=chosen.max_tokens, temperature=_REASON_TEMPERATURE)


def final_answer(reply: str) -> str:
    """Return the answer that a reply ends with: behind "the answer is", or its last line.

    >>> final_answer("It lies in Sweden.\\nSo the answer is: Sweden."), final_answer("Sweden")
    ('Sweden', 'Sweden')
    """
    said = without_thinking(reply).strip()
    found = list(_ANSWER.finditer(said))
    text = found[-1]["said"] if found else (said.splitlines() or [""])[-1]
    return text.strip().strip('"').rstrip(".").strip()


def most_frequent(answers: Sequence[str]) -> tuple[str, float]:
    """Return the answer that most samples give, the first of those that as many give, and their share of all.

    >>> most_frequent(["Bern", "bern", "Basel", ""])
    ('Bern', 0.5)
    """
    counts = Counter(entity_key(each) for each in answers if each)
    if not counts:
        return "", 0.0
    key, count = counts.most_common(1)[0]
    return next(each for each in answers if each and entity_key(each) == key), count / len(answers)


def _known(answer: str) -> str:
    return "" if is_unknown(answer) else answer
