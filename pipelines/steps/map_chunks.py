"""Asking a model about every chunk, each distinct text once."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from conspectus.pipelines.runner import Progress
from conspectus.prompts.client.gather import together
from conspectus.storage.errors import BudgetReached
from conspectus.storage.records import Chunk

Result = TypeVar("Result")

_AT_ONCE = 1024
"""Texts in hand: more than any server takes calls at once, few enough for their prompts to be held in memory."""


async def of_each_text(
    chunks: Sequence[Chunk], ask: Callable[[str], Awaitable[Result]], stage: str, progress: Progress
) -> list[Result]:
    """Return what `ask` gives for the text of each chunk, in their order; equal texts are asked for once.

    No text waits for another. BudgetReached is raised when the calls under way have ended, and no text is begun after
    it.
    """
    texts = list(dict.fromkeys(chunk.text for chunk in chunks))
    found: dict[str, Result] = {}
    pending = iter(texts)
    stopped = False

    async def work() -> None:
        nonlocal stopped
        for text in pending:
            if stopped:
                return
            try:
                found[text] = await ask(text)
            except BudgetReached:
                stopped = True
                raise
            progress(stage, len(found), len(texts))

    progress(stage, 0, len(texts))
    await together(work() for _ in range(min(_AT_ONCE, len(texts))))
    return [found[chunk.text] for chunk in chunks]
