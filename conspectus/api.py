"""Building and asking from Python."""

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from query.types import Answer, Evidence, Say
from storage.errors import UsageError
from storage.settings import Settings, load_settings

if TYPE_CHECKING:
    from query.context import Context
    from storage.records import Report
    from storage.verify import Problem

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Index:
    """An index open for questions: read-only, one version, safe to share between threads."""

    context: "Context"

    def ask(self, question: str, method: str = "auto", say: Say | None = None) -> Answer:
        """Return a cited answer; UnknownMethod names the nearest known method.

        `say` is called with the answer piece by piece as a model makes it.
        """
        return _wait(self.ask_async(question, method, say))

    async def ask_async(self, question: str, method: str = "auto", say: Say | None = None) -> Answer:
        """The same for code that is asynchronous already."""
        from query.methods import find_method

        return await find_method(method).answerer(self.context).answer(question, say or _nobody)

    def retrieve(self, question: str, method: str = "ppr", k: int = 5) -> Evidence:
        """Return the `k` best passages without answering."""
        return _wait(self.retrieve_async(question, method, k))

    async def retrieve_async(self, question: str, method: str = "ppr", k: int = 5) -> Evidence:
        """The same for code that is asynchronous already."""
        from query.methods import find_retriever

        if k < 1:
            raise UsageError(f"k is the number of passages wanted, at least 1, not {k}")
        return await find_retriever(method, self.context).retrieve(question, k)

    def reports(self, level: str | None = None) -> "list[Report]":
        """Return the reports of one level, "c0" the coarsest, or all of them; best rated first on each level.

        UsageError where the hierarchy does not reach so deep.
        """
        from conspectus.browse import entries

        return [each.report for each in entries(self.context, level)]

    def verify(self) -> "list[Problem]":
        """Return everything that is wrong with the index on disk: nothing, if all is well."""
        from storage.verify import verify

        return verify(self.context.index)


def open_index(path: str | Path, settings: Settings | None = None) -> Index:
    """Open the current version of an index; IndexNotFound or IndexCorrupt where there is none to open."""
    from query.context import Context
    from storage.index import Index as Stored

    return Index(Context(Stored.open(path), settings or load_settings()))


def build(inputs: Sequence[str | Path] | str | Path, index: str | Path, settings: Settings | None = None) -> Index:
    """Make the index at `index` equal to the documents in `inputs` and open it."""
    from pipelines.index import build_index

    settings = settings or load_settings()
    build_index([inputs] if isinstance(inputs, str | Path) else inputs, Path(index), settings)
    return open_index(index, settings)


def _nobody(piece: str) -> None:
    """Listen to an answer that is only wanted whole."""


def _wait(work: Coroutine[Any, Any, Result]) -> Result:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # A notebook has a loop running already, and one thread can run but one.
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, work).result()
