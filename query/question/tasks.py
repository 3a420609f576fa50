"""Task types with their own prompts: questions, fact verification and slot filling."""

from typing import Literal

from conspectus.prompts.render import render

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
