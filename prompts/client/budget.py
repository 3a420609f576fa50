"""What may be spent: a budget is never passed, because the most a call can take is set aside before it is sent.

No tokenizer of ours knows how a server counts, but one bound always holds: a tokenizer over bytes (all that matter)
makes at most one token of a byte. So a prompt takes at most its UTF-8 bytes and what the chat template adds, and an
answer at most the `max_tokens` that it was asked with. Once the reply is in, the server's own count takes the
place of the bound.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from conspectus.prompts.client.usage import cost
from conspectus.prompts.model import Message
from conspectus.storage.errors import BudgetReached, SettingsError
from conspectus.storage.settings import Price

_TEMPLATE = 64
_TEMPLATE_A_MESSAGE = 16
"""Most tokens that chat templates put around a conversation, and around each message."""


def most_prompt_tokens(messages: tuple[Message, ...], schema: str = "") -> int:
    """Return a number of tokens that the prompt cannot exceed.

    >>> most_prompt_tokens((Message("user", "Grüße"),))
    87
    """
    said = sum(len(each.content.encode()) + _TEMPLATE_A_MESSAGE for each in messages)
    return _TEMPLATE + said + len(schema.encode())


@dataclass(slots=True)
class Reserve:
    """What is set aside for one call: its bound, until the call tells what it took."""

    tokens: int
    dollars: float

    def settle(self, tokens: int, dollars: float | None) -> None:
        """Say what the call took; None where its model has no price (then there is no bound in dollars)."""
        self.tokens, self.dollars = tokens, dollars or 0.0


class Budget:
    """At most `max_tokens` tokens and `max_cost` dollars, None for no bound. It belongs to one event loop.

    `kept`: replies are remembered, so that a run with more to go on pays none of them twice; the error says so.
    Raises SettingsError where `max_cost` is set and a model that may be called has no price.
    """

    def __init__(
        self,
        max_tokens: int | None,
        max_cost: float | None,
        prices: Mapping[str, Price],
        models: Iterable[str],
        *,
        kept: bool = True,
    ) -> None:
        unpriced = sorted(set(models) - set(prices))
        if max_cost is not None and unpriced:
            raise SettingsError(
                f"llm.max_cost needs the price of {', '.join(unpriced)}: set llm.prices, for example "
                f"{{{unpriced[0]}: {{input: 0.15, output: 0.6}}}} in dollars a million tokens, or use llm.max_tokens"
            )
        self._max_tokens = max_tokens
        self._max_cost = max_cost
        self._prices = prices
        self._kept = kept
        self._settled = Reserve(0, 0.0)
        self._set_aside = Reserve(0, 0.0)
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, model: str, prompt_tokens: int, completion_tokens: int) -> AsyncIterator[Reserve]:
        """Set aside the most that a call can take, waiting for calls under way where these may leave too little.

        What is set aside counts as spent unless the reserve is settled. Raises BudgetReached where what is spent
        for certain leaves too little.
        """
        tokens = prompt_tokens + completion_tokens
        dollars = cost(self._prices, model, prompt_tokens, completion_tokens) or 0.0
        async with self._changed:
            while not self._fits(tokens, dollars, self._set_aside):
                if not self._fits(tokens, dollars, Reserve(0, 0.0)):
                    raise BudgetReached(self._why(tokens, dollars))
                await self._changed.wait()
            self._set_aside.tokens += tokens
            self._set_aside.dollars += dollars
        reserve = Reserve(tokens, dollars)
        try:
            yield reserve
        finally:
            # No await until the sums are right: a cancelled call must give back what it set aside.
            self._set_aside.tokens -= tokens
            self._set_aside.dollars -= dollars
            self._settled.tokens += reserve.tokens
            self._settled.dollars += reserve.dollars
            async with self._changed:
                self._changed.notify_all()

    def _fits(self, tokens: int, dollars: float, beside: Reserve) -> bool:
        in_tokens = self._settled.tokens + beside.tokens + tokens
        in_dollars = self._settled.dollars + beside.dollars + dollars
        return (self._max_tokens is None or in_tokens <= self._max_tokens) and (
            self._max_cost is None or in_dollars <= self._max_cost
        )

    def _why(self, tokens: int, dollars: float) -> str:
        spent = f"{self._settled.tokens:,} tokens"
        parts = []
        if self._max_tokens is not None and self._settled.tokens + tokens > self._max_tokens:
            parts.append(
                f"llm.max_tokens is {self._max_tokens:,}, {spent} are spent, the next call may take {tokens:,}"
            )
        if self._max_cost is not None and self._settled.dollars + dollars > self._max_cost:
            parts.append(
                f"llm.max_cost is ${self._max_cost:g}, ${self._settled.dollars:.4f} ({spent}) are spent, "
                f"the next call may cost ${dollars:.4f}"
            )
        if not self._kept:
            return f"{'; '.join(parts)}. No reply is kept: run the same command with more to begin again"
        return f"{'; '.join(parts)}. Every reply is kept: run the same command with more to go on"
