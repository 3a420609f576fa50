"""All errors that are not bugs, in one tree.

    ConspectusError
    ├── UsageError            exit 2   the request itself is wrong
    │   ├── SettingsError              an unknown key or a value out of range
    │   ├── UnknownMethod              no query method of that name
    │   └── SparqlError                a query is not SPARQL, is not allowed, or exceeded its limits
    ├── InputError            exit 3   the documents (or a question set) cannot be read
    ├── IndexUnusable         exit 4   the index cannot be used
    │   ├── IndexNotFound              the folder contains no published index
    │   ├── IndexCorrupt               a file is missing, damaged or of another format
    │   └── IndexBusy                  another build has locked the index
    ├── NeedsModel            exit 6   the method has no faithful fallback and no model is configured
    ├── ModelError            exit 8   a model's server gave no usable answer
    │   ├── ModelRefused               the server refuses: key, model name, request
    │   ├── ModelUnavailable           the server cannot be reached, or failed on every attempt
    │   ├── Deferred                   the request waits for a batch
    │   └── BadAnswer                  the reply does not have the requested form (contains the raw reply)
    ├── BudgetReached         exit 9   `llm.max_cost` or `llm.max_tokens` would be exceeded
    ├── BatchWritten          exit 10  requests are written to files; the build continues with the results of a batch
    ├── ChecksFailed          exit 11  a version fails too many checks, and is not published
    ├── MissingPart           exit 7   a required part is not installed (names what to install)
    └── NotConverged          exit 1   a numerical method did not reach its tolerance

Exit 0 is success, 1 an unexpected error, 5 a build that was published although more items failed than
`build.failure_threshold` allows. Every message states the problem, its location, and the remedy.
"""

import difflib
import errno
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


class ConspectusError(Exception):
    """The root: catch this to catch every error caused by the user's input or environment."""

    exit_status = 1


class UsageError(ConspectusError):
    """The request itself is wrong: an option, a setting or a name."""

    exit_status = 2


class SettingsError(UsageError):
    """A setting is unknown or has an invalid value."""


class UnknownMethod(UsageError):
    """No query method has that name."""


class SparqlError(UsageError):
    """A query is not SPARQL 1.1, would change or fetch something, or exceeded its time limit."""


class NotThere(UsageError):
    """The named item does not exist, or is not visible to who asks."""


class InputError(ConspectusError):
    """The input contains nothing that can be indexed or evaluated."""

    exit_status = 3


class IndexUnusable(ConspectusError):
    """The index cannot be used."""

    exit_status = 4


class IndexNotFound(IndexUnusable):
    """The folder contains no published index."""


class IndexCorrupt(IndexUnusable):
    """The index has another format, or a file of it is missing, damaged, or differs from its manifest."""


class IndexBusy(IndexUnusable):
    """Another process is building this index."""


class NeedsModel(ConspectusError):
    """The method cannot run without a language model, and none is configured."""

    exit_status = 6


class ModelError(ConspectusError):
    """A model's server gave no usable answer."""

    exit_status = 8


class ModelRefused(ModelError):
    """The server refuses the request: a wrong key, an unknown model, a bad request."""


class ModelUnavailable(ModelError):
    """The server cannot be reached, or failed on every attempt."""


class Deferred(ModelError):
    """The request is written to a batch file; a later run gets its reply."""


class BadAnswer(ModelError):
    """A model's reply does not have the requested form.

    `raw` is the reply as received, `reason` the problem. `salvaged` is the reliable part of a reply
    that was cut off (the records before the cut), None if there is none.
    """

    def __init__(self, reason: str, raw: str, salvaged: object = None) -> None:
        shown = " ".join(raw[:2000].split())
        super().__init__(f"{reason}: {shown[:200]!r}{'...' if len(shown) > 200 else ''}")
        self.reason = reason
        self.raw = raw
        self.salvaged = salvaged


class BudgetReached(ConspectusError):
    """The next call could exceed `llm.max_cost` or `llm.max_tokens`; cached replies stay, and a rerun continues."""

    exit_status = 9


class BatchWritten(ConspectusError):
    """A stage's requests are written to batch files (`--batch`); a rerun stores the results and continues."""

    exit_status = 10


class ChecksFailed(ConspectusError):
    """More checks of `build.checks` fail than `build.checks_failed`: the `version` is kept, but not published."""

    exit_status = 11

    def __init__(self, message: str, version: str, results: Sequence[Any]) -> None:
        super().__init__(message)
        self.version = version
        self.results = results


class MissingPart(ConspectusError):
    """A library, pipeline or model that the settings name is not installed."""

    exit_status = 7


class PluginFailed(ConspectusError):
    """A plug-in of another package cannot be imported, or failed."""

    exit_status = 7


class NotConverged(ConspectusError):
    """A numerical method stopped before it reached its tolerance."""


FAILURES_PAST_THRESHOLD = 5
"""Exit status of a build that was published with more failures than `build.failure_threshold`."""


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOTHING = 262_144
"""Bytes: if fewer are free, a failed write means a full disk. SQLite and FAISS do not give the reason."""


def no_space(folder: Path) -> IndexUnusable:
    """Return the error for a full disk."""
    return IndexUnusable(
        f"no space left on the disk of {folder}: free some and run the same command again; "
        "what is published stays in force, and what was paid for is kept"
    )


def is_out_of_space(error: BaseException | None) -> bool:
    """Return whether an error says that a disk, or the share of a user, is full."""
    return isinstance(error, OSError) and error.errno in _FULL


def is_full(folder: Path) -> bool:
    """Return whether the disk of a folder is nearly full; False if this cannot be determined."""
    try:
        return shutil.disk_usage(folder).free < _NOTHING
    except OSError:
        return False


def unwritten(root: Path, error: OSError) -> IndexUnusable | None:
    """Return the meaning of an error of writing into `root`; None for an unrelated error."""
    within = error.filename is not None and Path(os.fsdecode(error.filename)).absolute().is_relative_to(root.absolute())
    # NumPy only counts the bytes written: its errors have neither a number nor a name.
    if is_out_of_space(error) or ((within or error.errno is None) and is_full(root)):
        return no_space(root)
    if within:
        why = f"{error.filename}: {error.strerror}"
        return IndexUnusable(f"cannot write in {root}: {why}; put that right and run the same command again")
    return None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a suggestion for the end of a message, or "" if no known name is close.

    >>> did_you_mean("graphmll", ["csv", "graphml"]), did_you_mean("pdf", ["csv", "openie"])
    ("; did you mean 'graphml'?", '')
    """
    found = nearest_name(name, known)
    return f"; did you mean {found!r}?" if found else ""


_LONGEST_NAME = 200
"""Characters of a name for which a similar one is looked for: to compare takes the product of both lengths."""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to another, ignoring case, or None if none is close."""
    if len(name) > _LONGEST_NAME:
        return None
    spelling = {known_name.casefold(): known_name for known_name in known}
    found = difflib.get_close_matches(name.casefold(), spelling, n=1)
    return spelling[found[0]] if found else None
