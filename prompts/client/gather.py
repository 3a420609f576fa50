"""Model calls side by side, none of which is paid for and thrown away."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

from conspectus.storage.errors import ModelError

Result = TypeVar("Result")


async def together(works: Iterable[Awaitable[Result]]) -> list[Result]:
    """Return the results in the order of the works, which run at once.

    Where one raises, the others are finished first, since their calls are under way and their replies will be
    remembered; then the first error, in the order of the works, is raised.
    """
    tasks = [asyncio.ensure_future(work) for work in works]
    await asyncio.gather(*tasks, return_exceptions=True)
    return [task.result() for task in tasks]


async def settled(works: Iterable[Awaitable[Result]]) -> list[Result | ModelError]:
    """Return the same, with the ModelError of a work in the place of its result; other errors are raised."""
    return await together(_settled(each) for each in works)


async def _settled(work: Awaitable[Result]) -> Result | ModelError:
    try:
        return await work
    except ModelError as error:
        return error
