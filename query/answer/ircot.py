"""IRCoT's answer: passages found thought by thought, then read by the model, which cites them."""

import time
from dataclasses import dataclass, replace

from prompts.llm import LanguageModel
from prompts.usage import metered
from query.answer.final import usage_of
from query.answer.read_model import ModelReader
from query.context import Context
from query.types import Answer, Evidence, Retriever, Say


class Ircot:
    """Answers over what a retriever with a chain of thought finds.

    The calls of one question are at most `ircot.max_steps` thoughts and 1 answer. As in the paper the answer is read
    from the passages: the thoughts only find them, so that nothing is said which no passage supports.
    """

    def __init__(self, name: str, context: Context, retriever: Retriever, model: LanguageModel) -> None:
        self._name = name
        self._context = context
        self._retriever = retriever
        self._model = model

    async def answer(self, question: str, say: Say) -> Answer:
        """Return the model's answer with its citations over the `ircot.passages` best; its usage has the thoughts."""
        began = time.perf_counter()
        with metered() as meter:
            evidence = await self._retriever.retrieve(question, self._context.settings.ircot.passages)
            reader = ModelReader(self._name, self._context, _Given(evidence), self._model)
            answer = await reader.answer(question, say)
        return replace(answer, usage=usage_of(meter.total(), time.perf_counter() - began, 0, 0))


@dataclass(frozen=True, slots=True)
class _Given:
    """A retriever of what was found already."""

    evidence: Evidence

    async def retrieve(self, question: str, k: int) -> Evidence:
        return self.evidence
