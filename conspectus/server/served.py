"""The indexes that a server answers from: of each the version in force, and the change to a new one.

A request holds the version that it began with. When another is published, it is opened and tried beside the old one,
and takes its place for the requests that come then; the old one is let go after its last request. A held version is
marked with a lease, so that `conspectus prune` leaves it.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from conspectus.api import Index, open_index
from conspectus.query.menu import DEFAULT_RETRIEVER
from conspectus.storage.errors import ConspectusError, UsageError
from conspectus.storage.leases import Lease, take_lease
from conspectus.storage.manifest import current_version
from conspectus.storage.settings import Settings

_TRIES = 5
"""How often a version is opened again because another was published in between."""


class Version:
    """One open version of an index, and how many requests hold it."""

    def __init__(self, index: Index, lease: Lease | None) -> None:
        self.index = index
        self.name = index.manifest.version
        self._lease = lease
        self._lock = threading.Lock()
        self._holders = 1  # its place in `Served` is one

    @property
    def closed(self) -> bool:
        """Whether the last holder has let it go."""
        return self._holders == 0

    def hold(self) -> bool:
        """Count one more holder; False if the version was closed before."""
        with self._lock:
            if self._holders == 0:
                return False
            self._holders += 1
            return True

    def let_go(self) -> None:
        """Count one holder less; the last one closes the version."""
        with self._lock:
            self._holders -= 1
            last = self._holders == 0
        if last and self._lease is not None:
            self._lease.give_back()


class Served:
    """An index by the name that requests use for it."""

    def __init__(self, name: str, root: Path, settings: Settings, *, leases: bool = True) -> None:
        """Open the version in force. Raises IndexUnusable where there is none."""
        self.name = name
        self.root = root
        self.ready = False
        self._settings = settings
        self._leases = leases
        self._lock = threading.Lock()
        self._current = self._open()

    @property
    def version(self) -> str:
        """The name of the version in force here."""
        return self._current.name

    def hold(self) -> Version:
        """Return the version in force, held: call `let_go` when the request has ended."""
        while True:
            version = self._current
            if version.hold():
                return version

    def warm(self) -> None:
        """Load what the first question would have to wait for."""
        _try(self._current.index)
        self.ready = True

    def renew(self) -> bool:
        """Change to the published version if it is another one; tell whether it was.

        Raises:
            ConspectusError: The new version cannot be used; the old one stays in force.
        """
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
        """Let the version in force go."""
        self._current.let_go()

    def _open(self) -> Version:
        for _ in range(_TRIES):
            name = current_version(self.root)
            lease = take_lease(self.root, name) if self._leases else None
            try:
                index = open_index(self.root, self._settings)
            except BaseException:
                if lease:
                    lease.give_back()
                raise
            if index.manifest.version == name:
                return Version(index, lease)
            if lease:
                lease.give_back()
        raise ConspectusError(f"{self.root} was published again and again while it was opened")


def read_indexes(
    arguments: Sequence[str], settings: Settings, default: Callable[[Path], str] = lambda path: path.stem
) -> list[Served]:
    """Open the indexes of a command line: NAME=FOLDER, or FOLDER with its name without the ending.

    Raises:
        UsageError: A name is used twice, or cannot stand in an address.
        IndexUnusable: A folder holds no index.
    """
    served: dict[str, Served] = {}
    for argument in arguments:
        name, equals, folder = argument.partition("=")
        path = Path(folder if equals else argument)
        name = name if equals else default(path)
        if not name or not all(sign.isascii() and (sign.isalnum() or sign in "._-") for sign in name):
            raise UsageError(
                f"{argument!r}: the name {name!r} should be of letters, digits, dots, - and _: NAME=FOLDER"
            )
        if name in served:
            raise UsageError(f"two indexes have the name {name!r}; give one another name: NAME=FOLDER")
        served[name] = Served(name, path, settings)
    return list(served.values())


def _try(index: Index) -> None:
    """Look one question up: tables, vectors, graph and encoder are then loaded, and their checksums checked."""
    index.retrieve("what is this about", DEFAULT_RETRIEVER, 1)
