"""The indexes of a server: the current version of each, and the switch to a new one.

A request keeps the version that it started with. A newly published version is opened and tested while the old one still
serves, then new requests use it; the old one is closed after its last request. An open version has a lease, so that
`conspectus prune` does not delete it.
"""

import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from conspectus.api import Index, open_index
from conspectus.pipelines.readers.remote import is_url
from conspectus.pipelines.remote_index.local_copy import located
from conspectus.query.menu import DEFAULT_RETRIEVER
from conspectus.storage.errors import ConspectusError, UsageError
from conspectus.storage.manifest import current_version
from conspectus.storage.publishing import Lease, take_lease
from conspectus.storage.settings import Settings

_TRIES = 5
"""Maximum number of attempts to open the current version if another is published meanwhile."""
_SECONDS_BETWEEN_LOOKS = 10.0
"""An object store is asked for a new version this often: one listing and one small object each time."""


class Version:
    """One open version of an index, with a reference count."""

    def __init__(self, index: Index, lease: Lease | None) -> None:
        self.index = index
        self.name = index.manifest.version
        self._lease = lease
        self._lock = threading.Lock()
        self._holders = 1  # `Served` holds one reference

    @property
    def closed(self) -> bool:
        """Whether the last holder has released it."""
        return self._holders == 0

    def hold(self) -> bool:
        """Add a holder; return False if the version is already closed."""
        with self._lock:
            if self._holders == 0:
                return False
            self._holders += 1
            return True

    def let_go(self) -> None:
        """Remove a holder; the last one closes the version."""
        with self._lock:
            self._holders -= 1
            last = self._holders == 0
        if last and self._lease is not None:
            self._lease.give_back()


class Served:
    """A served index, under the name that requests use."""

    def __init__(self, name: str, place: str | Path, settings: Settings) -> None:
        """Open the current version in a folder or at a URL. Raises IndexUnusable if there is none."""
        self.name = name
        self.root = located(place)
        self.place = place
        self._looked = time.monotonic()
        self.ready = False
        self.settings = settings
        self._lock = threading.Lock()
        self._current = self._open()

    @property
    def version(self) -> str:
        """The name of the version that is served now."""
        return self._current.name

    def hold(self) -> Version:
        """Return the current version with a new reference; call `let_go` when the request has ended."""
        while True:
            version = self._current
            if version.hold():
                return version

    def warm(self) -> None:
        """Load everything that the first question would otherwise wait for."""
        _try(self._current.index)
        self.ready = True

    def renew(self) -> bool:
        """Switch to the published version if it is a different one; return whether it was.

        Raises:
            ConspectusError: The new version cannot be used; the old one remains current.
        """
        if is_url(str(self.place)):
            if time.monotonic() - self._looked < _SECONDS_BETWEEN_LOOKS:
                return False
            self._looked = time.monotonic()
            located(self.place, offline=False)
        if current_version(self.root) == self._current.name:
            return False
        with self._lock:
            fresh = self._open()
            try:
                _try(fresh.index)
            except BaseException:
                fresh.let_go()
                raise
            old, self._current = self._current, fresh
        old.let_go()
        return True

    def close(self) -> None:
        """Release the current version."""
        self._current.let_go()

    def _open(self) -> Version:
        for _ in range(_TRIES):
            name = current_version(self.root)
            with ExitStack() as undo:
                if lease := take_lease(self.root, name):
                    undo.callback(lease.give_back)
                index = open_index(self.root, self.settings)
                if index.manifest.version == name:
                    undo.pop_all()
                    return Version(index, lease)
        raise ConspectusError(f"{self.root} was republished repeatedly while it was being opened")


def read_indexes(arguments: Sequence[str], settings: Settings) -> list[Served]:
    """Open the indexes given as NAME=FOLDER or NAME=URL, or without NAME, which is then the stem of the folder.

    Raises:
        UsageError: A name is used twice, or cannot be part of a URL.
        IndexUnusable: A folder contains no index.
    """
    served: dict[str, Served] = {}
    for argument in arguments:
        name, equals, folder = argument.partition("=")
        place = folder if equals else argument
        name = name if equals else Path(place).stem
        if not name or not all(sign.isascii() and (sign.isalnum() or sign in "._-") for sign in name):
            raise UsageError(
                f"{argument!r}: the name {name!r} may contain only letters, digits, dots, - and _: NAME=FOLDER"
            )
        if name in served:
            raise UsageError(f"two indexes are named {name!r}; give one another name: NAME=FOLDER")
        served[name] = Served(name, place, settings)
    return list(served.values())


def _try(index: Index) -> None:
    """Retrieve for one question, which loads tables, vectors, graph and encoder and verifies their checksums."""
    index.retrieve("what is this about", DEFAULT_RETRIEVER, 1)
