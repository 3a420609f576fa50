"""Task types with their own prompts: questions, fact verification and slot filling."""

from typing import Literal

from conspectus.prompts.render import render
from conspectus.storage.settings import AnswerSettings

Task = Literal["qa", "claims", "slots"]
"""`tog.task`. A claim is answered by a label (SUPPORTS, REFUTES, NOT ENOUGH INFO); a slot, `thing [SEP] relation`, by
the thing related in this way, as in Zero-Shot RE and T-REx (Petroni et al. 2021, KILT)."""


def prompt_for(task: Task, prompt: str) -> str:
    """Return the name of the answering prompt for a task.

    >>> prompt_for("qa", "query/answer/io"), prompt_for("claims", "query/answer/io")
    ('query/answer/io', 'query/answer/io_claims')
    """
    return prompt if task == "qa" else f"{prompt}_{task}"


def as_question(task: Task, asked: str) -> str:
    """Return a claim or slot as a question, for prompts that choose and score but do not answer.

    >>> as_question("claims", "Bern lies in Sweden.")
    'Is this claim true? Bern lies in Sweden.'
    """
    return asked if task == "qa" else render(f"query/question_{task}", question=asked)


def answer_style(settings: AnswerSettings, *, brief: bool = False) -> str:
    """Return the instructions on the form of an answer, as lines of a list; "" if there are none.

    A `brief` answer, a name or a number, has no length: it follows the instructions alone.

    >>> answer_style(AnswerSettings(words=80, instructions="Write a list."))
    '- Use at most 80 words.\\n- Write a list.'
    >>> answer_style(AnswerSettings(words=80, instructions="Write dates as YYYY-MM-DD."), brief=True)
    '- Write dates as YYYY-MM-DD.'
    """
    length = f"Use at most {settings.words} words." if settings.words and not brief else ""
    lines = (length, settings.instructions)
    return "\n".join(f"- {line}" for line in lines if line)
