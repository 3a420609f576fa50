"""Asking for a typed answer: what a model gets wrong once, it is told and asked again."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal, TypeVar

from conspectus.prompts.client.capabilities import schema_text
from conspectus.prompts.model import LanguageModel, Message, Reply, Request
from conspectus.prompts.render import render
from conspectus.prompts.replies.typed import read_answer, read_choice
from conspectus.storage.errors import BadAnswer
from pydantic import BaseModel, create_model

Answer = TypeVar("Answer", bound=BaseModel)


async def ask_for(model: LanguageModel, request: Request, schema: type[Answer], *, again: int = 1) -> Answer:
    """Return the model's answer as a `schema`; after a bad one the model is shown it and asked again.

    Raises BadAnswer, with the last reply, where that one is bad too, and what `complete` raises.
    """
    asked = replace(request, schema=schema)
    while True:
        reply = await model.complete(asked)
        try:
            return read_answer(reply.text, schema, cut_off=reply.finish == "length")
        except BadAnswer as bad:
            if not again:
                raise
            asked, again = _complained(asked, reply, bad, schema), again - 1


async def choose(model: LanguageModel, request: Request, choices: Sequence[str]) -> str:
    """Return the one of `choices` that the model picks: a forced choice, the yes or no of a gleaning.

    Servers that know JSON schemas cannot answer anything else; of others a word in plain text is taken too.
    """
    try:
        picked: str = (await ask_for(model, request, _form(tuple(choices)), again=0)).answer  # type: ignore[attr-defined]
    except BadAnswer as bad:
        return read_choice(bad.raw, choices)
    return picked


@cache
def _form(choices: tuple[str, ...]) -> type[BaseModel]:
    """Return the form of a choice: one class for all who have the same."""
    one_of_them: Any = Literal[choices]
    return create_model("Choice", answer=(one_of_them, ...))


def _complained(asked: Request, reply: Reply, bad: BadAnswer, schema: type[BaseModel]) -> Request:
    complaint = Message("user", render("form/again", reason=bad.reason, schema=schema_text(schema)))
    return replace(asked, messages=(*asked.messages, Message("assistant", reply.text), complaint))
