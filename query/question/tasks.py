"""Task types with their own prompts: questions, fact verification and slot filling."""

from typing import Literal

from conspectus.prompts.render import render
from conspectus.storage.settings import AnswerSettings

Task = Literal["qa", "claims", "slots"]
"""`tog.task`. A claim is answered by a label (SUPPORTS, REFUTES, NOT ENOUGH INFO); a slot, `thing [SEP] relation`, by
what stands in this relation to the thing, as Zero-Shot RE and T-REx ask (Petroni et al. 2021, KILT)."""


def prompt_for(task: Task, prompt: str) -> str:
    """Return the name of the prompt that answers, for a task.

    >>> prompt_for("qa", "query/io"), prompt_for("claims", "query/io")
    ('query/io', 'query/io_claims')
    """
    return prompt if task == "qa" else f"{prompt}_{task}"


def as_question(task: Task, asked: str) -> str:
    """Return what is asked as a question: what prompts that choose and score, and do not answer, are given.

    >>> as_question("claims", "Bern lies in Sweden.")
    'Is this claim true? Bern lies in Sweden.'
    """
    return asked if task == "qa" else render(f"query/question_{task}", question=asked)


def answer_style(settings: AnswerSettings) -> str:
    """Return what a model is told of the form of an answer, as lines of a list; "" for nothing.

    >>> answer_style(AnswerSettings(response_type="a list", words=80))
    '- Write the answer as: a list.\\n- Use at most 80 words.'
    """
    lines = [
        settings.response_type and f"Write the answer as: {settings.response_type}.",
        settings.words and f"Use at most {settings.words} words.",
        settings.tone and f"Write in this tone: {settings.tone}.",
        settings.instructions,
    ]
    return "\n".join(f"- {line}" for line in lines if line)
