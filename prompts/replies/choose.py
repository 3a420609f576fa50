"""Asking a model which of some items help: the one form of every choice of a walk."""

from collections.abc import Sequence

from conspectus.prompts.language_model import LanguageModel, Reply, Request
from conspectus.prompts.replies.prose import read_chosen
from conspectus.prompts.replies.structured import ask
from pydantic import BaseModel


class _Item(BaseModel):
    number: int
    why: str
    score: float


class Chosen(BaseModel):
    """The schema of a choice: the numbers of the items, each with a short reason and a score from 0 to 10."""

    chosen: list[_Item]


async def choose(
    model: LanguageModel, request: Request, items: Sequence[str], also: Sequence[str] = ()
) -> dict[int, float]:
    """Return the score from 0 to 1 of each item that the model chooses, by position, in the order of the reply.

    The prompt numbers the items. A reply may name them instead, and be no JSON; without scores each chosen item has 1.

    Args:
        model: The model.
        request: The request; its schema is set here.
        items: The items as they were shown.
        also: Other names of the items, in the same order.

    Raises:
        BadAnswer: The second reply mentions no item either.
        ModelError: What `complete` raises.
    """

    def read(reply: Reply) -> dict[int, float] | None:
        found = read_chosen(reply.text, items)
        return read_chosen(reply.text, also) if also and not found else found

    scores = await ask(model, request, Chosen, read, "it names none of the items")
    scale = 10.0 if max(scores.values(), default=0.0) > 1 else 1.0
    return {place: min(1.0, max(0.0, score / scale)) for place, score in scores.items()}


def numbered(items: Sequence[str]) -> str:
    """Return items as the numbered lines of a prompt.

    >>> print(numbered(["Ada", "Bern"]))
    1. Ada
    2. Bern
    """
    return "\n".join(f"{number}. {item}" for number, item in enumerate(items, start=1))
