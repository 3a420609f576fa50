"""Leases: a program that serves a version marks it as in use, so that `prune` does not delete it.

A lease is a file `versions/.lease-VERSION-...` that its owner has locked. The operating system releases the lock when
the owner ends, even by a crash, so a lease without a lock is a leftover and is ignored.
"""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

_PREFIX = ".lease-"


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease of one version by this process."""

    file: Path
    _lock: FileLock

    def give_back(self) -> None:
        """End the lease."""
        self._lock.release()
        self.file.unlink(missing_ok=True)


def take_lease(root: Path, version: str) -> Lease | None:
    """Mark a version as in use.

    Args:
        root: The index folder.
        version: The name of the version.

    Returns:
        The lease; None if nothing can be written, so that nothing can be marked (or pruned by this user).
    """
    file = root / "versions" / f"{_PREFIX}{version}-{os.getpid()}-{secrets.token_hex(4)}"
    lock = FileLock(file, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except OSError:
        return None
    return Lease(file, lock)


def leased(root: Path) -> set[str]:
    """Return the versions that programs have in use, and delete the leases of programs that crashed."""
    found = set()
    for file in (root / "versions").glob(f"{_PREFIX}*"):
        lock = FileLock(file)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            found.add(file.name.removeprefix(_PREFIX).partition("-")[0])
        except OSError:
            continue  # released in the meantime
        else:
            file.unlink(missing_ok=True)
            lock.release()
    return found
