"""Accounting of model calls: tokens and dollars by step and model, and the budget of a run.

A budget is never exceeded, because the most a call can use is reserved before it is sent. The server's tokenizer is
unknown, but byte-level tokenizers (all that matter) make at most one token per byte. So a prompt has at most as many
tokens as UTF-8 bytes plus those of the chat template, and a reply at most the requested `max_tokens`. When the reply
has arrived, the server's own count replaces the bound.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace

from conspectus.prompts.language_model import Message
from conspectus.storage.errors import BudgetReached, SettingsError
from conspectus.storage.settings import Price

_TOKENS_PRICED = 1_000_000
"""Prices are per million tokens."""
_TEMPLATE, _TEMPLATE_PER_MESSAGE = 64, 16
"""Most tokens that chat templates add to a conversation, and to each message."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What the calls of one step to one model used.

    Attributes:
        step: The step of the request.
        model: The name of the model.
        calls: Replies received from the server, not counting remembered ones.
        attempts: Requests sent, failed attempts included.
        remembered: Replies taken from the memo, at no cost.
        prompt_tokens: Tokens of the prompts.
        completion_tokens: Tokens of the replies.
        reasoning_tokens: Those of them before an answer.
        unconfirmed_tokens: Upper bound for attempts without a reply (time-outs, dropped connections), for which a
            server may charge.
        cost: US dollars without the unconfirmed tokens; None if the settings have no price for the model.
        estimated: Some tokens were estimated here because the server reported none.
    """

    step: str
    model: str
    calls: int = 0
    attempts: int = 0
    remembered: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unconfirmed_tokens: int = 0
    cost: float | None = 0.0
    estimated: bool = False
    reasoning_tokens: int = 0


_COUNTS = tuple(each.name for each in fields(Spending) if each.type is int)


class Meter:
    """Adds up spending by step and model."""

    def __init__(self) -> None:
        self._by: dict[tuple[str, str], Spending] = {}

    def add(self, spent: Spending) -> None:
        """Add to the spending of a step and model."""
        key = (spent.step, spent.model)
        so_far = self._by.get(key)
        self._by[key] = spent if so_far is None else _sum(so_far, spent)

    def budget(self) -> "TokenBudget | None":
        """Return the budget that the metered calls must fit into besides that of the settings, None if there is none.

        Called on the event loop of the calls.
        """
        return None

    def spending(self) -> tuple[Spending, ...]:
        """Return the spending, ordered by step, then model."""
        return tuple(self._by[key] for key in sorted(self._by))

    def total(self) -> Spending:
        """Return the sum; its cost is None if a model without a price used tokens."""
        whole = Spending("", "")
        for spent in self._by.values():
            whole = _sum(whole, spent)
        return whole


def cost(prices: Mapping[str, Price], model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return the cost in dollars, None if the model has no price.

    >>> cost({"m": Price(input=0.15, output=0.6)}, "m", 2_000_000, 500_000)
    0.6
    """
    price = prices.get(model)
    if price is None:
        return None
    return (prompt_tokens * price.input + completion_tokens * price.output) / _TOKENS_PRICED


def _sum(first: Spending, second: Spending) -> Spending:
    # Without tokens there is no cost, whatever the price.
    costs = [spent.cost for spent in (first, second) if spent.prompt_tokens or spent.completion_tokens]
    known = [dollars for dollars in costs if dollars is not None]
    counts = {name: getattr(first, name) + getattr(second, name) for name in _COUNTS}
    whole = sum(known) if len(known) == len(costs) else None
    return replace(first, **counts, cost=whole, estimated=first.estimated or second.estimated)


_METERS: ContextVar[tuple[Meter, ...]] = ContextVar("meters", default=())


@contextmanager
def metered(given: Meter | None = None) -> Iterator[Meter]:
    """Meter the spending of this task and its child tasks inside the block, such as the usage of one answer."""
    meter = given or Meter()
    before = _METERS.set((*_METERS.get(), meter))
    try:
        yield meter
    finally:
        _METERS.reset(before)


@dataclass(frozen=True, slots=True)
class Recording:
    """The meters that were active where a call was made, to be used wherever and whenever it runs."""

    meters: tuple[Meter, ...]

    def add(self, spent: Spending) -> None:
        """Add spending to all meters."""
        for meter in self.meters:
            meter.add(spent)

    @asynccontextmanager
    async def reserve(
        self, budget: "TokenBudget", model: str, prompt_tokens: int, completion_tokens: int
    ) -> AsyncIterator["Reservation"]:
        """Reserve the most a call can use in a budget and in those of the meters; settling it settles it in all.

        Raises:
            BudgetReached: One of them has too little left.
        """
        budgets = [budget, *(one for meter in self.meters if (one := meter.budget()))]
        async with AsyncExitStack() as stack:
            held = [
                await stack.enter_async_context(one.reserve(model, prompt_tokens, completion_tokens)) for one in budgets
            ]
            whole = replace(held[-1])
            try:
                yield whole
            finally:
                for each in held:
                    each.settle(whole.tokens, whole.dollars)


def recording() -> Recording:
    """Return the meters that are active here.

    A call whose caller was cancelled is accounted for later, on the event loop of the calls.
    """
    return Recording(_METERS.get())


def record(spent: Spending) -> None:
    """Add spending to all meters that are active here."""
    recording().add(spent)


def most_prompt_tokens(messages: tuple[Message, ...], schema: str = "") -> int:
    """Return an upper bound for the tokens of a prompt.

    >>> most_prompt_tokens((Message("user", "Grüße"),))
    87
    """
    texts = sum(len(message.content.encode()) + _TEMPLATE_PER_MESSAGE for message in messages)
    return _TEMPLATE + texts + len(schema.encode())


@dataclass(slots=True)
class Reservation:
    """Tokens and dollars set aside for one call: its upper bound, until it is settled."""

    tokens: int
    dollars: float

    def settle(self, tokens: int, dollars: float | None) -> None:
        """Set the actual usage of the call; dollars are None if its model has no price (nor a bound in dollars)."""
        self.tokens, self.dollars = tokens, dollars or 0.0


@asynccontextmanager
async def no_budget() -> AsyncIterator[Reservation]:
    """Reserve nothing: the budgets in the settings apply to language models."""
    yield Reservation(0, 0.0)


class TokenBudget:
    """At most `max_tokens` tokens and `max_cost` dollars. It belongs to one event loop.

    Args:
        max_tokens: Bound on all tokens; None for no bound.
        max_cost: Bound in dollars; None for no bound.
        prices: Prices by model.
        models: All models that may be called.
        resumable: Replies are remembered, so a rerun with a larger budget pays for none of them twice; the error
            message says so.

    Raises:
        SettingsError: `max_cost` is set and a model has no price.
    """

    def __init__(
        self,
        max_tokens: int | None,
        max_cost: float | None,
        prices: Mapping[str, Price],
        models: Iterable[str],
        *,
        resumable: bool = True,
    ) -> None:
        unpriced = sorted(set(models) - set(prices))
        if max_cost is not None and unpriced:
            raise SettingsError(
                f"llm.max_cost needs the price of {', '.join(unpriced)}: set llm.prices, for example "
                f"{{{unpriced[0]}: {{input: 0.15, output: 0.6}}}} in dollars per million tokens, or use llm.max_tokens"
            )
        self._max_tokens = math.inf if max_tokens is None else max_tokens
        self._max_cost = math.inf if max_cost is None else max_cost
        self._prices = prices
        self._resumable = resumable
        self._settled = Reservation(0, 0.0)
        self._reserved = Reservation(0, 0.0)
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, model: str, prompt_tokens: int, completion_tokens: int) -> AsyncIterator[Reservation]:
        """Reserve the most a call can use, and wait for running calls if they may leave too little.

        A reservation counts as spent unless it is settled.

        Raises:
            BudgetReached: Too little is left, whatever the running calls use.
        """
        tokens = prompt_tokens + completion_tokens
        dollars = cost(self._prices, model, prompt_tokens, completion_tokens) or 0.0
        async with self._changed:
            while not self._fits(tokens, dollars, self._reserved):
                if not self._fits(tokens, dollars, Reservation(0, 0.0)):
                    raise self.refusal(tokens, dollars)
                await self._changed.wait()
            self._reserved.tokens += tokens
            self._reserved.dollars += dollars
        reservation = Reservation(tokens, dollars)
        try:
            yield reservation
        finally:
            # No await before the sums are updated: a cancelled call must release its reservation.
            self._reserved.tokens -= tokens
            self._reserved.dollars -= dollars
            self._settled.tokens += reservation.tokens
            self._settled.dollars += reservation.dollars
            async with self._changed:
                self._changed.notify_all()

    @property
    def left(self) -> float:
        """Dollars that no call has used; infinite without a bound."""
        return self._max_cost - self._settled.dollars

    def use(self, dollars: float) -> None:
        """Count dollars that were used without a reservation. Called on the event loop of the budget."""
        self._settled.dollars += dollars

    def refusal(self, tokens: int, dollars: float) -> BudgetReached:
        """Return the error for a call that may use more than is left."""
        spent = f"{self._settled.tokens:,} tokens"
        parts = []
        if self._settled.tokens + tokens > self._max_tokens:
            parts.append(
                f"llm.max_tokens is {self._max_tokens:,}, {spent} are spent, the next call may take {tokens:,}"
            )
        if self._settled.dollars + dollars > self._max_cost:
            parts.append(
                f"llm.max_cost is ${self._max_cost:g}, ${self._settled.dollars:.4f} ({spent}) are spent, "
                f"the next call may cost ${dollars:.4f}"
            )
        more = "Every reply is kept: run the same command with more to go on"
        if not self._resumable:
            more = "No reply is kept: run the same command with more to begin again"
        return BudgetReached(f"{'; '.join(parts)}. {more}")

    def _fits(self, tokens: int, dollars: float, others: Reservation) -> bool:
        in_tokens = self._settled.tokens + others.tokens + tokens
        return in_tokens <= self._max_tokens and self._settled.dollars + others.dollars + dollars <= self._max_cost
