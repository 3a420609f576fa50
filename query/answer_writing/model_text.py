"""The text of an answer that a model writes, requested once more if it has no content.

An answer that cites nothing is matched with the sources that the model was shown (`citations/matching.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conspectus.prompts.language_model import LanguageModel, Message, Request
from conspectus.prompts.render import render
from conspectus.prompts.replies.thinking import after_thinking
from conspectus.query.abstention import abstains, no_answer
from conspectus.query.answer_writing.own_words import without_own_words
from conspectus.query.citations.answer_text import Cite, answer_text
from conspectus.query.citations.entailment import CitedText
from conspectus.query.citations.matching import match
from conspectus.query.context import Context
from conspectus.query.types import Step
from conspectus.storage.errors import BudgetReached

_EMPTY = "it holds no answer"
_UNFINISHED = "the thinking in it does not end, and no answer follows"


@dataclass(frozen=True, slots=True)
class ModelText:
    """The text of an answer with its marks, and additions to the trace."""

    text: str
    steps: tuple[Step, ...] = ()


async def model_text(
    context: Context, model: LanguageModel, request: Request, question: str, sources: Sequence[CitedText], cite: Cite
) -> ModelText:
    """Return the answer to a request.

    Args:
        context: The open index.
        model: The language model.
        request: The request, in which source i has the number i + 1.
        question: The question.
        sources: The sources shown to the model.
        cite: Makes the citations.

    Returns:
        The answer. `no_answer` if the model gives none, twice, or abstains without a sentence; "" if it only repeats
        itself, the question or the prompt: the caller then answers without the model.

    Raises:
        ModelError: The call fails.
    """
    cited = False
    steps: list[Step] = []

    def count(sentence: str, number: int) -> Sequence[int]:
        nonlocal cited
        made = cite(sentence, number)
        cited = cited or bool(made)
        return made

    text, is_nothing = "", False
    for last in (False, True):
        try:
            reply = (await model.complete(request)).text
        except BudgetReached as error:
            if not last:
                raise
            steps.append(Step("again", f"not asked again: {error}"))
            break
        thought_out = after_thinking(reply)
        new, n_dropped = without_own_words(thought_out or "", request.messages, question)
        read = answer_text(new, count, len(sources))
        text, is_nothing = read.text, read.is_nothing
        if n_dropped:
            steps.append(Step("repeated", f"{n_dropped} sentences that tell nothing new are left out"))
            if not _tells(text) and not is_nothing:
                return ModelText("", tuple(steps))
        if _tells(text) or is_nothing or last:
            break
        reason = _UNFINISHED if thought_out is None else _EMPTY
        steps.append(Step("again", f"the reply could not be used ({reason}) and was asked for once more"))
        complaint = Message("user", render("query/answer_again", reason=reason))
        said = (Message("assistant", reply),) if reply.strip() and thought_out is not None else ()
        request = replace(request, messages=(*request.messages, *said, complaint))
    if not _tells(text):
        return ModelText(no_answer(question), tuple(steps))
    if cited or is_nothing or abstains(text):
        return ModelText(text, tuple(steps))
    matched = match(context, question, text, sources, count)
    steps.append(Step("match", matched.step))
    return ModelText(matched.text or no_answer(question), tuple(steps))


def _tells(text: str) -> bool:
    return any(sign.isalnum() for sign in text)
