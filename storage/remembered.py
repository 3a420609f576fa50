"""Results that functions of words and names keep, until a large build drops them between its steps."""

import gc
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

Result = TypeVar("Result")

_drop: list[Callable[[], None]] = []


def remembered(most: int | None) -> "Callable[[Callable[..., Result]], _lru_cache_wrapper[Result]]":
    """Return a decorator that keeps the `most` recent results of a function (None: all) until `forget` drops them.

    >>> @remembered(100)
    ... def doubled(word: str) -> str:
    ...     return word + word
    >>> doubled("tom"), doubled.cache_info().currsize
    ('tomtom', 1)
    """

    def kept(function: Callable[..., Result]) -> "_lru_cache_wrapper[Result]":
        keeps = lru_cache(most)(function)
        _drop.append(keeps.cache_clear)
        return keeps

    return kept


def forget() -> None:
    """Drop all results that `remembered` functions keep: 200 bytes each, and as much again in holes among them.

    So are the small objects that Python itself keeps for later ones until it collects garbage.
    """
    for drop in _drop:
        drop()
    gc.collect()
