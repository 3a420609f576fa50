"""A language model with scripted replies, in process: for unit tests, without a socket."""

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from conspectus.prompts.client.usage_and_cost import Spending, record
from conspectus.prompts.fake.replies import fake_token_count, truncated
from conspectus.prompts.language_model import Reply, Request
from conspectus.storage.errors import ModelError

Answer = str | Reply | ModelError
AnswerScript = Answer | Sequence[Answer] | Callable[[Request], Answer]


class ScriptedModel:
    """A `LanguageModel` that answers from a script and records what it was asked.

    Args:
        replies: Its answers: a text, a `Reply` (to set a finish reason or token counts), a `ModelError`
            to raise, several of these in turn (the last repeats), or a function of the request. A mapping from
            regular expressions to any of these answers by the first one found in the messages.
        piece: Characters in a streamed piece.

    Attributes:
        requests: All requests so far, in order.

    Example:
        >>> import asyncio
        >>> from conspectus.prompts.language_model import Message, Request
        >>> model = ScriptedModel({"capital of France": "Paris", "": "I do not know."})
        >>> question = Request((Message("user", "What is the capital of France?"),), step="answer")
        >>> asyncio.run(model.complete(question)).text
        'Paris'
        >>> [request.step for request in model.requests]
        ['answer']
    """

    def __init__(self, replies: AnswerScript | Mapping[str, AnswerScript], *, piece: int = 12) -> None:
        self._rules = replies if isinstance(replies, Mapping) else {"": replies}
        self._turns = dict.fromkeys(self._rules, 0)
        self._piece = piece
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        """Return the scripted reply; raise it if it is an error, LookupError if no expression is found."""
        self.requests.append(request)
        answer = self._answer(request)
        if isinstance(answer, ModelError):
            raise answer
        reply = answer if isinstance(answer, Reply) else self._as_reply(answer, request)
        record(
            Spending(
                request.step,
                reply.model,
                calls=1,
                attempts=1,
                prompt_tokens=reply.prompt_tokens,
                completion_tokens=reply.completion_tokens,
                cost=None,
            )
        )
        return reply

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """Yield the reply of `complete` in pieces."""
        text = (await self.complete(request)).text
        for start in range(0, len(text), self._piece):
            yield text[start : start + self._piece]

    def _answer(self, request: Request) -> Answer:
        prompt = "\n".join(message.content for message in request.messages)
        for expression, script in self._rules.items():
            if re.search(expression, prompt):
                turn = self._turns[expression]
                self._turns[expression] += 1
                if callable(script):
                    return script(request)
                if isinstance(script, Sequence) and not isinstance(script, str):
                    return script[min(turn, len(script) - 1)]
                return script
        raise LookupError(f"no scripted reply matches the prompt {prompt[:200]!r}")

    def _as_reply(self, text: str, request: Request) -> Reply:
        """Return a text as a reply, cut at the request's `max_tokens`."""
        prompt_tokens = sum(fake_token_count(message.content) for message in request.messages)
        limit = request.max_tokens
        if limit is not None and fake_token_count(text) > limit:
            return Reply(truncated(text, limit), "scripted", "length", prompt_tokens, limit)
        return Reply(text, "scripted", "stop", prompt_tokens, fake_token_count(text))
