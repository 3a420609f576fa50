"""What calls took: tokens and dollars, by step and model."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from conspectus.storage.settings import Price

_TOKENS_PRICED = 1_000_000
"""Prices are for a million tokens."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What the calls of one step to one model took.

    `remembered` replies cost nothing and are no calls. `attempts` counts what was sent, failed tries included.
    `unconfirmed_tokens` bounds what tries may have used of which no reply came back (a time-out, a dropped
    connection): a server may charge for them. `cost` is in US dollars without those, None where the price of the
    model is not in the settings. `estimated`: some of the tokens were counted here, because the server did not.
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


class Meter:
    """Adds up spending."""

    def __init__(self) -> None:
        self._by: dict[tuple[str, str], Spending] = {}

    def add(self, spent: Spending) -> None:
        """Add to what its step and model have taken."""
        key = (spent.step, spent.model)
        so_far = self._by.get(key)
        self._by[key] = spent if so_far is None else _sum(so_far, spent)

    def spending(self) -> tuple[Spending, ...]:
        """Return what was taken, by step, then model."""
        return tuple(self._by[key] for key in sorted(self._by))

    def total(self) -> Spending:
        """Return everything as one; the cost is None if that of any part with tokens is not known."""
        whole = Spending("", "")
        for each in self._by.values():
            whole = _sum(whole, each)
        return whole


def cost(prices: Mapping[str, Price], model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return dollars; None where the model has no price.

    >>> cost({"m": Price(input=0.15, output=0.6)}, "m", 2_000_000, 500_000)
    0.6
    """
    price = prices.get(model)
    if price is None:
        return None
    return (prompt_tokens * price.input + completion_tokens * price.output) / _TOKENS_PRICED


def _sum(first: Spending, second: Spending) -> Spending:
    # What took no tokens costs nothing, whatever the price.
    costs = [each.cost for each in (first, second) if each.prompt_tokens or each.completion_tokens]
    known = [each for each in costs if each is not None]
    return replace(
        first,
        calls=first.calls + second.calls,
        attempts=first.attempts + second.attempts,
        remembered=first.remembered + second.remembered,
        prompt_tokens=first.prompt_tokens + second.prompt_tokens,
        completion_tokens=first.completion_tokens + second.completion_tokens,
        unconfirmed_tokens=first.unconfirmed_tokens + second.unconfirmed_tokens,
        cost=sum(known) if len(known) == len(costs) else None,
        estimated=first.estimated or second.estimated,
    )


_METERS: ContextVar[tuple[Meter, ...]] = ContextVar("meters", default=())


@contextmanager
def metered() -> Iterator[Meter]:
    """Count what is spent inside, by this task and those that it starts: the usage of one answer."""
    meter = Meter()
    before = _METERS.set((*_METERS.get(), meter))
    try:
        yield meter
    finally:
        _METERS.reset(before)


def record(spent: Spending) -> None:
    """Add to every meter that is running here."""
    for meter in _METERS.get():
        meter.add(spent)
