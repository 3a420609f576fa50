"""A streamed answer of a model: shown with citation marks, and requested once more if it has no content.

Text already shown is never retracted: an answer that cites nothing is matched with the sources that the model was shown
(`citations/matching.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conspectus.prompts.language_model import LanguageModel, Message, Request
from conspectus.prompts.render import render
from conspectus.query.abstention import abstains, no_answer
from conspectus.query.answer_writing.own_words import NewSentences
from conspectus.query.citations.entailment import CitedText
from conspectus.query.citations.matching import match
from conspectus.query.citations.streaming import Cite, Citing
from conspectus.query.context import Context
from conspectus.query.types import Say, Step
from conspectus.storage.errors import BudgetReached

_EMPTY = "it holds no answer"
_UNFINISHED = "the thinking in it does not end, and no answer follows"


@dataclass(frozen=True, slots=True)
class Streamed:
    """The text of an answer with its marks, notes about it, and additions to the trace."""

    text: str
    steps: tuple[Step, ...] = ()


async def stream_answer(
    context: Context,
    model: LanguageModel,
    request: Request,
    question: str,
    sources: Sequence[CitedText],
    cite: Cite,
    say: Say,
) -> Streamed:
    """Stream the answer to a request.

    Args:
        context: The open index.
        model: The language model.
        request: The request, in which source i has the number i + 1.
        question: The question.
        sources: The sources shown to the model.
        cite: Makes the citations.
        say: Streaming callback.

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

    text = ""
    shown: list[str] = []
    for last in (False, True):
        citing, reply = Citing(count, len(sources)), list[str]()
        new = NewSentences(request.messages, question)
        try:
            async for piece in model.stream(request):
                reply.append(piece)
                _show(citing.take(new.take(piece)), shown, say)
        except BudgetReached as error:
            if not last:
                raise
            steps.append(Step("again", f"not asked again: {error}"))
            break
        _show(citing.take(new.end()) + citing.end(), shown, say)
        text = "".join(shown).strip()
        if new.dropped:
            steps.append(Step("repeated", f"{new.dropped} sentences that tell nothing new are left out"))
            if not _tells(text) and not citing.is_nothing:
                return Streamed("", tuple(steps))
        if _tells(text) or citing.is_nothing or last:
            break
        reason = _UNFINISHED if citing.thinks else _EMPTY
        steps.append(Step("again", f"the reply could not be used ({reason}) and was asked for once more"))
        complaint = Message("user", render("query/answer_again", reason=reason))
        said = (Message("assistant", "".join(reply)),) if "".join(reply).strip() and not citing.thinks else ()
        request = replace(request, messages=(*request.messages, *said, complaint))
    if not _tells(text):
        if not "".join(shown).strip():
            say(no_answer(question))
        return Streamed(no_answer(question), tuple(steps))
    if cited or citing.is_nothing or abstains(text):
        return Streamed(text, tuple(steps))
    matched = match(context, question, text, sources, count)
    steps.append(Step("match", matched.step))
    return Streamed(matched.text or no_answer(question), tuple(steps))


def _show(text: str, shown: list[str], say: Say) -> None:
    if text:
        shown.append(text)
        say(text)


def _tells(text: str) -> bool:
    return any(sign.isalnum() for sign in text)
