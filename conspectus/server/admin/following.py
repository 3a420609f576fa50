"""A folder of documents that an index follows: whenever its files have changed, an update is started as a job.

The folder is named by who starts the server; an administrator switches on and off that it is followed. That is on disk,
so it goes on after the server was started again.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.server.request_checks import Refused
from conspectus.storage.errors import ConspectusError
from conspectus.storage.publishing import write_whole
from conspectus.watching import watched
from pydantic import BaseModel

if TYPE_CHECKING:
    from conspectus.server.admin.jobs import Jobs

NO_FOLDER = "this index has no folder of documents here; it is named with: conspectus serve --documents FOLDER"
_SECONDS_UNTIL_AGAIN = 5.0
"""After how long a folder that could not be followed is looked for again."""


class Following(BaseModel):
    """The folder of documents of an index, and whether it is followed; `problem` says why that does not work now."""

    folder: str
    on: bool
    by: str = ""
    """The name of the caller who switched it on."""
    problem: str = ""


class Follower:
    """Follows the folder of one index."""

    def __init__(self, jobs: "Jobs", root: Path, documents: str) -> None:
        """Look for the folder.

        Raises:
            UsageError: There is no such folder.
            MissingPart: watchfiles is not installed.
        """
        watched([documents], root)
        self.documents = Path(documents).absolute()
        self._jobs = jobs
        self._root = root
        self._switch = root / "admin" / "follows.txt"  # there if it is on, with the name of the caller
        self._problem = ""
        self._task: asyncio.Task[None] | None = None

    def state(self) -> Following:
        """Return whether the folder is followed."""
        is_on = self._switch.exists()
        by = self._switch.read_text("utf-8") if is_on else ""
        return Following(folder=self.documents.name, on=is_on, by=by, problem=self._problem)

    def switch_on(self, by: str) -> None:
        """Follow the folder from now on."""
        write_whole(self._switch, by)
        self.begin()

    async def switch_off(self) -> None:
        """Follow the folder no longer. An update that runs goes on."""
        self._switch.unlink(missing_ok=True)
        await self.end()

    def begin(self) -> None:
        """Follow the folder if that is switched on."""
        if self._task is None and self._switch.exists():
            self._task = asyncio.create_task(self._follow())

    async def end(self) -> None:
        """Stop, until the server is started again."""
        task, self._task, self._problem = self._task, None, ""
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _follow(self) -> None:
        from watchfiles import awatch

        while True:
            try:
                places, options = watched([str(self.documents)], self._root)
                has_changed = True  # perhaps, while nobody looked
                async for changes in awatch(*places, **options):
                    self.documents.stat()  # nobody tells that it is gone, or that another is in its place
                    self._problem = ""
                    has_changed = has_changed or bool(changes)
                    if has_changed and self._jobs.running is None:
                        has_changed = False
                        self._jobs.start("update", None, self.state().by)
            except (ConspectusError, OSError, RuntimeError, Refused) as error:
                self._problem = f"the folder cannot be followed now ({type(error).__name__})"
            await asyncio.sleep(_SECONDS_UNTIL_AGAIN)
