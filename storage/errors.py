"""Everything that can go wrong and is not a bug, in one tree.

    ConspectusError
    ├── UsageError            exit 2   the request itself is wrong
    │   ├── SettingsError              an unknown key or a value out of range
    │   ├── UnknownMethod              no query method of that name
    │   └── SparqlError                a query is not SPARQL, is not allowed, or passed its limits
    ├── InputError            exit 3   the documents (or a question set) cannot be read
    ├── IndexUnusable         exit 4   the index cannot be used
    │   ├── IndexNotFound              the folder holds no published index
    │   ├── IndexCorrupt               a file is missing, damaged or of the wrong shape
    │   ├── IndexTooNew                a newer version of this program made it
    │   └── IndexBusy                  another build holds the index
    ├── NeedsModel            exit 6   the method has no honest stand-in and no model is configured
    ├── ModelError            exit 8   a model's server gave no usable answer
    │   ├── ModelRefused               the server will not do it: key, model name, request
    │   ├── ModelUnavailable           the server cannot be reached, or failed every time it was asked
    │   ├── Deferred                   the request waits for a batch
    │   └── BadAnswer                  the reply is not what was asked for (holds the raw reply)
    ├── BudgetReached         exit 9   `llm.max_cost` or `llm.max_tokens` would be passed
    ├── BatchWritten          exit 10  requests are written to files; the results of a batch let the build go on
    ├── MissingPart           exit 7   something that should be installed is not (names what to install)
    └── NotConverged          exit 1   a numerical method did not reach its tolerance

Exit 0 is success, 1 an unexpected error, 5 a build that was published although more items failed than
`build.failure_threshold` allows. Every message says what was wrong, where, and what to do.
"""

import difflib
import errno
import os
import shutil
from collections.abc import Iterable
from pathlib import Path


class ConspectusError(Exception):
    """The root: catch this to catch all that a user's input or environment can cause."""

    exit_status = 1


class UsageError(ConspectusError):
    """The request itself is wrong: an option, a setting or a name."""

    exit_status = 2


class SettingsError(UsageError):
    """A setting is unknown or has a value that it cannot have."""


class UnknownMethod(UsageError):
    """No query method has that name."""


class SparqlError(UsageError):
    """A query is not SPARQL 1.1, would change or fetch something, or passed the limit of its time."""


class InputError(ConspectusError):
    """The input holds nothing that can be indexed or evaluated."""

    exit_status = 3


class IndexUnusable(ConspectusError):
    """The index cannot be used."""

    exit_status = 4


class IndexNotFound(IndexUnusable):
    """The folder holds no published index."""


class IndexCorrupt(IndexUnusable):
    """A file of the index is missing, damaged, or not what its manifest says."""


class IndexTooNew(IndexUnusable):
    """The index has a format that only a newer version of this program knows."""


class IndexBusy(IndexUnusable):
    """Another process is building this index."""


class NeedsModel(ConspectusError):
    """The method cannot run without a language model, and none is configured."""

    exit_status = 6


class ModelError(ConspectusError):
    """A model's server gave no usable answer."""

    exit_status = 8


class ModelRefused(ModelError):
    """The server answers that it will not do what it was asked: a wrong key, an unknown model, a bad request."""


class ModelUnavailable(ModelError):
    """The server cannot be reached, or failed every time that it was asked."""


class Deferred(ModelError):
    """The request is written to a batch file; its reply comes with a later run."""


class BadAnswer(ModelError):
    """A model's reply is not of the form that was asked for.

    `raw` is the reply as it came, `reason` what is wrong with it. `salvaged` is what can be relied on of a reply
    that was cut off (the records before the cut), None where nothing can.
    """

    def __init__(self, reason: str, raw: str, salvaged: object = None) -> None:
        shown = " ".join(raw[:2000].split())
        super().__init__(f"{reason}: {shown[:200]!r}{'...' if len(shown) > 200 else ''}")
        self.reason = reason
        self.raw = raw
        self.salvaged = salvaged


class BudgetReached(ConspectusError):
    """The next call could pass `llm.max_cost` or `llm.max_tokens`; what is remembered stays, and a rerun goes on."""

    exit_status = 9


class BatchWritten(ConspectusError):
    """A stage's requests are written to batch files (`--batch`); a rerun takes the results back and goes on."""

    exit_status = 10


class MissingPart(ConspectusError):
    """A library, pipeline or model that the settings name is not installed."""

    exit_status = 7


class NotConverged(ConspectusError):
    """A numerical method stopped before it reached its tolerance."""


FAILURES_PAST_THRESHOLD = 5
"""Exit status of a build that was published with more failures than `build.failure_threshold`."""


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOTHING = 262_144
"""Bytes: where fewer are free, what could not be written found no space. SQLite and FAISS do not say why."""


def no_space(folder: Path) -> IndexUnusable:
    """Return the error of a disk that is full."""
    return IndexUnusable(
        f"no space left on the disk of {folder}: free some and run the same command again; "
        "what is published stays in force, and what was paid for is kept"
    )


def is_full(folder: Path) -> bool:
    """Tell whether next to nothing can be written where a folder is; False where that cannot be told."""
    try:
        return shutil.disk_usage(folder).free < _NOTHING
    except OSError:
        return False


def unwritten(root: Path, error: OSError) -> IndexUnusable | None:
    """Return what an error of writing into `root` means; None for one that has nothing to do with it."""
    within = error.filename is not None and Path(os.fsdecode(error.filename)).absolute().is_relative_to(root.absolute())
    # NumPy only counts what was written: its errors have neither a number nor a name.
    if error.errno in _FULL or ((within or error.errno is None) and is_full(root)):
        return no_space(root)
    if within:
        why = f"{error.filename}: {error.strerror}"
        return IndexUnusable(f"cannot write in {root}: {why}; put that right and run the same command again")
    return None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a suggestion to end a message with, or nothing where no known name is near.

    >>> did_you_mean("graphmll", ["csv", "graphml"]), did_you_mean("pdf", ["csv", "openie"])
    ("; did you mean 'graphml'?", '')
    """
    found = nearest_name(name, known)
    return f"; did you mean {found!r}?" if found else ""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like another, whatever the case, or None where none is near."""
    spelling = {known_name.casefold(): known_name for known_name in known}
    found = difflib.get_close_matches(name.casefold(), spelling, n=1)
    return spelling[found[0]] if found else None
