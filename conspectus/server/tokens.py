"""Callers: tokens, what each may see, and their limits of questions a minute and dollars a day."""

import hmac
import os
import stat
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from conspectus.prompts.client.event_loop import call_loop
from conspectus.prompts.client.usage_and_cost import Meter, Spending, TokenBudget
from conspectus.prompts.embedding.endpoint import STEP as EMBEDDING_STEP
from conspectus.storage.errors import BudgetReached, UsageError
from conspectus.storage.settings import LlmSettings
from pydantic import BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError
from yaml import YAMLError, safe_load

TOKEN_VARIABLE = "CONSPECTUS_TOKEN"  # noqa: S105  (the name of a variable)
ADMIN_VARIABLE = "CONSPECTUS_ADMIN_TOKEN"
SHORTEST = 16
"""Minimum length of a token in bytes. A shorter one could be guessed over the network."""
_LARGEST_FILE = 1_000_000
_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class TooManyQuestions(Exception):
    """A caller asked more questions than its token allows. `seconds` is the time to wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__("too many questions a minute")
        self.seconds = seconds


class MoneySpent(BudgetReached):
    """A caller's next call to a model may exceed its token's daily limit. `seconds` is the time until the next day."""

    def __init__(self, seconds: float) -> None:
        super().__init__("the day's money is spent")
        self.seconds = seconds


class DayBudget(TokenBudget):
    """The money of one day, and how long the day still lasts."""

    def __init__(self, dollars: float, llm: LlmSettings, day: date, now: Callable[[], datetime]) -> None:
        super().__init__(None, dollars, llm.prices, (), resumable=False)
        self.day = day
        self._now = now

    def refusal(self, tokens: int = 0, dollars: float = 0.0) -> MoneySpent:  # noqa: ARG002  (a caller is told no sums)
        """Return the error for a call that may cost more than is left."""
        midnight = datetime.combine(self.day + timedelta(days=1), datetime.min.time(), UTC)
        return MoneySpent(max(1.0, (midnight - self._now()).total_seconds()))


class Purse(Meter):
    """A daily limit (UTC) in dollars on the model calls of a caller's questions. It applies per process.

    The most that a call can cost is reserved before it is sent, so concurrent questions never exceed the limit
    together; a call waits for running ones that may leave enough. An abandoned call counts with that maximum. Vectors
    of questions are counted once they have been made.
    """

    def __init__(
        self, dollars: float, llm: LlmSettings, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        super().__init__()
        self._dollars = dollars
        self._llm = llm
        self._now = now
        self._lock = threading.Lock()
        self._today = DayBudget(dollars, llm, now().date(), now)

    def add(self, spent: Spending) -> None:
        """Count what was not reserved."""
        if spent.step == EMBEDDING_STEP and spent.cost:
            call_loop().call_soon_threadsafe(self.budget().use, spent.cost)

    def budget(self) -> DayBudget:
        """Return the budget of today."""
        with self._lock:
            day = self._now().date()
            if day != self._today.day:
                self._today = DayBudget(self._dollars, self._llm, day, self._now)
            return self._today

    def check(self) -> None:
        """Raise MoneySpent if nothing is left today."""
        today = self.budget()
        if today.left <= 0:
            raise today.refusal()


class Allowance:
    """A token bucket of questions: it holds one minute's questions and refills evenly. It applies per process."""

    def __init__(self, per_minute: int | None, now: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._now = now
        self._left = float(per_minute or 0)
        self._at = now()

    def take(self) -> None:
        """Take one question. Raises TooManyQuestions if none is left.

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
    """A caller of the server.

    Attributes:
        name: Its name in the log; never the token.
        access: Its fixed access tags; None if it sees all documents that the settings permit.
        indexes: The indexes that it may ask; None for all.
        allowance: Its limit of questions a minute.
        purse: Its limit of dollars a day; None for no limit.
        administers: Whether it may add and remove documents and start builds.
    """

    name: str
    access: tuple[str, ...] | None = None
    indexes: frozenset[str] | None = None
    allowance: Allowance = field(default_factory=lambda: Allowance(None), compare=False)
    purse: Purse | None = field(default=None, compare=False)
    administers: bool = False

    @property
    def unrestricted(self) -> bool:
        """Whether the caller sees every document of every index."""
        return self.access is None and self.indexes is None


class _Row(BaseModel):
    """One token in the file of tokens."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True, strict=True)

    token: SecretStr
    name: Annotated[str, Field(pattern=r"^[\w.@ -]{1,60}$")]
    access: list[str] | None = None
    indexes: list[str] | None = None
    questions_per_minute: Annotated[int, Field(ge=1)] | None = None
    dollars_a_day: Annotated[float, Field(gt=0, strict=False)] | None = None


@dataclass(frozen=True, slots=True)
class CallerLimits:
    """The default limits of callers, and the models whose calls cost money."""

    questions_per_minute: int | None = None
    dollars_a_day: float | None = None
    llm: LlmSettings = field(default_factory=LlmSettings)

    def purse(self, dollars: float | None) -> Purse | None:
        """Return a purse with this daily limit or the default one; None if there is no limit.

        Raises:
            UsageError: A model has no price.
        """
        dollars = dollars or self.dollars_a_day
        if dollars is None:
            return None
        models = {self.llm.model, *self.llm.step_models.values()} - {""}
        if unpriced := sorted(models - self.llm.prices.keys()):
            raise UsageError(f"a daily spending limit needs the price of {', '.join(unpriced)}: set llm.prices")
        return Purse(dollars, self.llm)


_ADMINISTRATOR = Caller("administrator", administers=True)


class Callers:
    """All callers by their tokens. If readers need no token, all their requests come from one unnamed caller."""

    def __init__(
        self, by_digest: Mapping[bytes, Caller], limits: CallerLimits = CallerLimits(), admin_token: str = ""
    ) -> None:
        self._by_digest = dict(by_digest)
        self._admin = _digest(admin_token) if admin_token else b""
        self._anybody = Caller("local", allowance=Allowance(limits.questions_per_minute), purse=limits.purse(None))

    @property
    def needed(self) -> bool:
        """Whether a request needs a token. The administrator's does not keep others from reading."""
        return bool(self._by_digest)

    @property
    def several(self) -> bool:
        """Whether there are several callers, who share the threads of requests."""
        return max(1, len(self._by_digest)) + bool(self._admin) > 1

    @property
    def administered(self) -> bool:
        """Whether there is an administrator."""
        return bool(self._admin)

    def of(self, authorization: str | None) -> Caller | None:
        """Return the caller of an Authorization header, None for an unknown one."""
        scheme, _, token = (authorization or "").partition(" ")
        given = _digest(token.strip())
        if self._admin and scheme.lower() == "bearer" and hmac.compare_digest(self._admin, given):
            return _ADMINISTRATOR
        if not self.needed:
            return self._anybody
        found = None
        for known, caller in self._by_digest.items():
            if hmac.compare_digest(known, given):  # every token is compared, so timing reveals nothing
                found = caller
        return found if scheme.lower() == "bearer" else None


def read_callers(
    file: Path | None, environment: Mapping[str, str], limits: CallerLimits, admin_file: Path | None = None
) -> Callers:
    """Return the callers in a file of tokens and in the environment.

    Args:
        file: YAML, a list of {token, name, access, indexes, questions_per_minute, dollars_a_day}; readable by its
            owner only.
        environment: `CONSPECTUS_TOKEN` in it is a token that sees everything, `CONSPECTUS_ADMIN_TOKEN` the
            administrator's.
        limits: The default limits of tokens, which also apply if there are no tokens.
        admin_file: A file with the administrator's token, readable by its owner only; it precedes the environment.

    Raises:
        UsageError: A file cannot be used (the message contains no token), a token is shorter than 16 bytes or belongs
            to two callers, or spending is limited and a model has no price.
    """
    made: dict[bytes, Caller] = {}
    if token := environment.get(TOKEN_VARIABLE):
        _check_length(token, f"the token in {TOKEN_VARIABLE}")
        made[_digest(token)] = Caller(
            "environment", allowance=Allowance(limits.questions_per_minute), purse=limits.purse(None)
        )
    for row in _rows(file) if file else ():
        token = row.token.get_secret_value()
        _check_length(token, f"{file}: the token of {row.name!r}")
        if _digest(token) in made:
            raise UsageError(f"{file}: the token of {row.name!r} is used twice")
        made[_digest(token)] = Caller(
            row.name,
            None if row.access is None else tuple(row.access),
            None if row.indexes is None else frozenset(row.indexes),
            Allowance(row.questions_per_minute or limits.questions_per_minute),
            limits.purse(row.dollars_a_day),
        )
    admin_token = environment.get(ADMIN_VARIABLE, "")
    if admin_file:
        admin_token = _private(admin_file, "--admin-token").decode("utf-8", "replace").strip()
    if admin_token or admin_file:
        _check_length(admin_token, "the administrator's token")
        if _digest(admin_token) in made:
            raise UsageError("the administrator's token is also a reader's; it must be one of its own")
    return Callers(made, limits, admin_token)


def check_address(host: str, callers: Callers) -> None:
    """Raise UsageError if other machines could reach a server that requires no token."""
    if not callers.needed and not is_loopback(host):
        raise UsageError(
            f"--host {host} lets others reach the server, and there is no token: "
            f"set {TOKEN_VARIABLE} (at least {SHORTEST} bytes) or give --tokens FILE, or omit --host"
        )


def is_loopback(host: str) -> bool:
    """Return whether an address is reachable only from this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("localhost.example")
    (True, True, False, False)
    """
    if host in _NAMES:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _private(file: Path, option: str) -> bytes:
    """Return what a file of secrets holds; UsageError where others can read it."""
    try:
        handle = os.open(file, os.O_RDONLY)
        with open(handle, "rb") as opened:  # noqa: PTH123  (the file that is checked is the one that is read)
            found = os.fstat(handle)
            if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                mode = stat.S_IMODE(found.st_mode)
                raise UsageError(f"{file} contains tokens and has mode {mode:o}: others can read it; chmod 600 {file}")
            return opened.read(_LARGEST_FILE)
    except OSError as error:
        raise UsageError(f"{option} {file}: {error.strerror}") from None


def _rows(file: Path) -> Sequence[_Row]:
    text = _private(file, "--tokens")
    try:
        return TypeAdapter(Annotated[list[_Row], Field(min_length=1)]).validate_python(safe_load(text))
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
