"""Who asks: tokens, what each may see, and how many questions a minute it may ask."""

import hmac
import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError
from yaml import YAMLError, safe_load

from conspectus.storage.errors import UsageError

TOKEN_VARIABLE = "CONSPECTUS_TOKEN"  # noqa: S105  (the name of a variable)
SHORTEST = 16
"""Bytes of a token. A shorter one could be guessed over the network."""
_LARGEST_FILE = 1_000_000
_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class TooManyQuestions(Exception):
    """A caller asked more questions than its token allows. `seconds` is how long it should wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__("too many questions a minute")
        self.seconds = seconds


class Allowance:
    """Questions a minute: a bucket that holds a minute's questions and fills evenly. It is per process."""

    def __init__(self, per_minute: int | None, now: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._now = now
        self._left = float(per_minute or 0)
        self._at = now()

    def take(self) -> None:
        """Take one question; TooManyQuestions where none is left.

        >>> clock = iter([0.0, 0.0, 0.0, 30.0])
        >>> bucket = Allowance(2, lambda: next(clock))
        >>> bucket.take(); bucket.take(); bucket.take()  # half a minute later there is one again
        """
        if self._per_minute is None:
            return
        now = self._now()
        rate = self._per_minute / 60
        self._left = min(self._left + (now - self._at) * rate, float(self._per_minute))
        self._at = now
        if self._left < 1:
            raise TooManyQuestions((1 - self._left) / rate)
        self._left -= 1


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    Attributes:
        name: What the log calls it; never the token.
        access: The access tags that it holds, fixed; None for one that sees all documents that the settings show.
        indexes: The indexes that it may ask; None for all.
        allowance: Its questions a minute.
    """

    name: str
    access: tuple[str, ...] | None = None
    indexes: frozenset[str] | None = None
    allowance: Allowance = field(default_factory=lambda: Allowance(None), compare=False)

    @property
    def unrestricted(self) -> bool:
        """Whether it sees every document of every index."""
        return self.access is None and self.indexes is None


class _Row(BaseModel):
    """One token of a file."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True, strict=True)

    token: SecretStr
    name: Annotated[str, Field(pattern=r"^[\w.@ -]{1,60}$")]
    access: list[str] | None = None
    indexes: list[str] | None = None
    questions_per_minute: Annotated[int, Field(ge=1)] | None = None


class Callers:
    """All callers by their tokens. Without any token everybody who reaches the server is the same caller."""

    def __init__(self, by_digest: Mapping[bytes, Caller], questions_per_minute: int | None = None) -> None:
        self._by_digest = dict(by_digest)
        self._anybody = Caller("local", allowance=Allowance(questions_per_minute))

    @property
    def needed(self) -> bool:
        """Whether a request needs a token."""
        return bool(self._by_digest)

    def of(self, authorization: str | None) -> Caller | None:
        """Return the caller of an Authorization header, None for an unknown one."""
        if not self.needed:
            return self._anybody
        scheme, _, token = (authorization or "").partition(" ")
        given = _digest(token.strip())
        found = None
        for known, caller in self._by_digest.items():
            if hmac.compare_digest(known, given):  # all are compared: the time says nothing of which
                found = caller
        return found if scheme.lower() == "bearer" else None


def read_callers(file: Path | None, environment: Mapping[str, str], questions_per_minute: int | None) -> Callers:
    """Return the callers of a file of tokens and of the environment.

    Args:
        file: YAML, a list of {token, name, access, indexes, questions_per_minute}; readable by its owner only.
        environment: `CONSPECTUS_TOKEN` in it is a token that sees everything.
        questions_per_minute: The limit of tokens that have none of their own, and of everybody where there are none.

    Raises:
        UsageError: The file cannot be used (it says why, and no token), or a token is shorter than 16 bytes.
    """
    made: dict[bytes, Caller] = {}
    if token := environment.get(TOKEN_VARIABLE):
        _check_length(token, f"the token in {TOKEN_VARIABLE}")
        made[_digest(token)] = Caller("environment", allowance=Allowance(questions_per_minute))
    for row in _rows(file) if file else ():
        token = row.token.get_secret_value()
        _check_length(token, f"{file}: the token of {row.name!r}")
        if _digest(token) in made:
            raise UsageError(f"{file}: the token of {row.name!r} is also another's")
        made[_digest(token)] = Caller(
            row.name,
            None if row.access is None else tuple(row.access),
            None if row.indexes is None else frozenset(row.indexes),
            Allowance(row.questions_per_minute or questions_per_minute),
        )
    return Callers(made, questions_per_minute)


def check_address(host: str, callers: Callers) -> None:
    """Raise UsageError where others could reach a server that asks for no token."""
    if not callers.needed and not is_loopback(host):
        raise UsageError(
            f"--host {host} lets others reach the server, and there is no token: "
            f"set {TOKEN_VARIABLE} (at least {SHORTEST} bytes) or give --tokens FILE, or leave --host out"
        )


def is_loopback(host: str) -> bool:
    """Tell whether an address is that of this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("localhost.example")
    (True, True, False, False)
    """
    if host in _NAMES:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _rows(file: Path) -> Sequence[_Row]:
    try:
        handle = os.open(file, os.O_RDONLY)
        with open(handle, "rb") as opened:  # noqa: PTH123  (the file that is checked is the one that is read)
            found = os.fstat(handle)
            if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                mode = stat.S_IMODE(found.st_mode)
                raise UsageError(f"{file} holds tokens and has mode {mode:o}: others can read it; chmod 600 {file}")
            text = opened.read(_LARGEST_FILE)
        return TypeAdapter(Annotated[list[_Row], Field(min_length=1)]).validate_python(safe_load(text))
    except OSError as error:
        raise UsageError(f"--tokens {file}: {error.strerror}") from None
    except (YAMLError, UnicodeDecodeError):
        raise UsageError(f"--tokens {file} is not YAML") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"--tokens {file}: {f'{place}: ' if place else ''}{first['msg']}") from None


def _check_length(token: str, what: str) -> None:
    if len(token.encode()) < SHORTEST:
        raise UsageError(f"{what} is shorter than {SHORTEST} bytes; make one with: openssl rand -hex 24")


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()
