"""Packing what a model reads into calls: whole reports or passages, numbered, within a token limit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from conspectus.query.reader.material import Unit
from conspectus.storage.hashing import digest
from conspectus.storage.records import Report
from conspectus.storage.text.tokens import count_each, count_tokens, token_spans

_MOST_UNITS = 999
"""Numbers in citations have up to three digits, so that [1984] in a text is none."""


@dataclass(frozen=True, slots=True)
class Window:
    """What one call shows: `text` of `n_tokens`, in which unit i stands under the number i + 1."""

    units: tuple[Unit, ...]
    text: str
    n_tokens: int


def shuffled(units: Iterable[Unit], seed: int) -> list[Unit]:
    """Return the units in an order that looks like chance and depends on `seed` and their texts alone."""
    return sorted(units, key=lambda each: (digest(str(seed), each.title, each.text), each.id))


def pack(units: Sequence[Unit], limit: int) -> list[Window]:
    """Return the units in their order, as many a window as `limit` tokens hold.

    A unit that is longer than a whole window is cut at its end.
    """
    windows: list[Window] = []
    titles = count_each([_title(each) for each in units])
    taken: list[Unit] = []
    used = 0
    for unit, title in zip(units, titles, strict=True):
        tokens = title + unit.n_tokens
        if taken and (len(taken) == _MOST_UNITS or used + _numbers()[len(taken)] + tokens > limit):
            windows.append(_window(taken, used, limit))
            taken, used = [], 0
        used += _numbers()[len(taken)] + tokens
        taken.append(unit)
    return [*windows, _window(taken, used, limit)] if taken else windows


def filled(units: Iterable[Unit], limit: int) -> Window | None:
    """Return the first units that one window of `limit` tokens holds, None where there are none."""
    return next(iter(pack(list(units), limit)), None)


def cut(text: str, limit: int) -> str:
    """Return a text, or the beginning of it that has `limit` tokens."""
    spans = token_spans(text)
    return text if len(spans) <= limit else text[: spans[limit - 1][1]] if limit > 0 else ""


def _window(units: Sequence[Unit], used: int, limit: int) -> Window:
    text = "\n\n".join(f"{_head(number, each)}\n{each.text}" for number, each in enumerate(units, start=1))
    if used <= limit:
        return Window(tuple(units), text, used)
    text = cut(text, limit)  # only a window of one unit can be too full
    return Window(tuple(units), text, count_tokens(text))


def _head(number: int, unit: Unit) -> str:
    return f"[{number}] {_title(unit)}".rstrip()


def _title(unit: Unit) -> str:
    return "" if isinstance(unit.origin, Report) else unit.title  # the text of a report begins with its title


@cache
def _numbers() -> list[int]:
    """Return the tokens of the marks from [1] on."""
    return count_each(f"[{number}]" for number in range(1, _MOST_UNITS + 1))
