"""Baselines without retrieval: a direct prompt, chain of thought, and self-consistency.

Chain of thought is Wei et al. 2022 (arXiv 2201.11903), self-consistency Wang et al. 2023 (arXiv 2203.11171). Nothing is
retrieved, so nothing is cited.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from conspectus.prompts.client.event_loop import gather_settled
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.query.abstention import is_unknown, no_answer
from conspectus.query.answering import assembling
from conspectus.query.context import Context
from conspectus.query.question.tasks import prompt_for
from conspectus.query.types import Answer, Step
from conspectus.query.walk.verdicts import final_answer
from conspectus.storage.errors import ModelError
from conspectus.storage.text.normalise import entity_key

_MAX_TOKENS = 1024
_SAMPLE_TEMPERATURE, _REASON_TEMPERATURE = 0.7, 0.0
"""Temperatures of the samples of self-consistency, and of a single answer."""

_SAMPLES = 10  # answers, of which the most frequent wins; each costs a call
STEP = "direct"


class Direct:
    """Answers from the model's own knowledge; `tog.task` chooses the variant of the prompt."""

    def __init__(
        self, name: str, context: Context, model: LanguageModel, *, prompt: str, sampled: bool = False
    ) -> None:
        """Answer with a prompt, asked once or, if `sampled`, `_SAMPLES` times."""
        self._name = name
        self._context = context
        self._model = model
        self._prompt = prompt
        self._samples = _SAMPLES if sampled else 1

    async def answer(self, question: str) -> Answer:
        """Return the answer of the model, the most frequent one of several samples. ModelError if every call fails."""
        with assembling(question, self._name) as assembly:
            said, step = await self._said(question)
            assembly.add(step)
            text = said or no_answer(question)
            return assembly.assemble(text, names=tuple(part.strip() for part in said.split(";") if part.strip()))

    async def _said(self, question: str) -> tuple[str, Step]:
        if self._samples == 1:
            reply = await self._model.complete(asking(self._context, self._prompt, question))
            said = _known(final_answer(reply.text, question))
            return said, Step("direct", f"the model says {said or 'that it does not know'}")
        answers = await sampled(self._context, self._model, self._prompt, question, self._samples)
        said, share = most_frequent(answers)
        return said, Step("samples", f"{len(answers)} of {self._samples} came, {share:.0%} say {said or 'nothing'}")


async def sampled(context: Context, model: LanguageModel, prompt: str, question: str, samples: int) -> list[str]:
    """Return the answers of several samples without the failed ones. ModelError if all fail."""
    requests = [
        replace(asking(context, prompt, question), sample=number, temperature=_SAMPLE_TEMPERATURE)
        for number in range(samples)
    ]
    replies = await gather_settled(model.complete(request) for request in requests)
    failed = [reply for reply in replies if isinstance(reply, ModelError)]
    if failed and len(failed) == len(replies):
        raise failed[0]
    return [_known(final_answer(reply.text, question)) for reply in replies if not isinstance(reply, ModelError)]


def asking(context: Context, prompt: str, question: str) -> Request:
    """Return the request for one answer, at the temperature of reasoning."""
    chosen = context.settings.tog
    asked = messages(prompt_for(chosen.task, prompt), question=question)
    return Request(asked, STEP, max_tokens=_MAX_TOKENS, temperature=_REASON_TEMPERATURE)


def most_frequent(answers: Sequence[str]) -> tuple[str, float]:
    """Return the most frequent answer (the first on a tie) and its share of all samples.

    >>> most_frequent(["Bern", "bern", "Basel", ""])
    ('Bern', 0.5)
    """
    counts = Counter(entity_key(answer) for answer in answers if answer)
    if not counts:
        return "", 0.0
    key, count = counts.most_common(1)[0]
    return next(answer for answer in answers if answer and entity_key(answer) == key), count / len(answers)


def _known(answer: str) -> str:
    return "" if is_unknown(answer) else answer
