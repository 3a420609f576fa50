"""Independent calls at once, of which some may fail."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from storage.errors import ModelError

Result = TypeVar("Result")


async def settled(works: Iterable[Coroutine[Any, Any, Result]]) -> list[Result | ModelError]:
    """Return, in order, what each of `works` returns or the ModelError that it ends with.

    Any other error (a budget that is reached) ends them all and is raised.
    """
    tasks = [asyncio.ensure_future(_settled(each)) for each in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def _settled(work: Coroutine[Any, Any, Result]) -> Result | ModelError:
    try:
        return await work
    except ModelError as error:
        return error
