"""Classify a failed attempt: whether to retry, and how long to wait first."""

import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from random import uniform
from time import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from conspectus.storage.errors import ModelRefused, ModelUnavailable

if TYPE_CHECKING:
    import openai
    from conspectus.prompts.client.server import Address

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
"""Seconds between attempts if the server names none: random, below a bound that doubles each time."""
_PATIENCE = 600.0
"""Longest `Retry-After` in seconds that is respected; beyond it the call fails."""
_BUSY = {429, 503, 529}
_WORTH_ANOTHER = {408, 409, 425}
_PARAMETER = re.compile("response_format|json_schema|json_object|stream_options|max_completion_tokens|max_tokens")
"""llama-cpp-python 0.3 answers 500 to a parameter it does not know."""
_OUT_OF_MONEY = {"insufficient_quota", "billing_hard_limit_reached"}


class TryAgain(Exception):
    """An attempt failed, but another may succeed.

    Args:
        reason: What went wrong.
        wait: Seconds that the server asks to wait.
        taken: The server may have done the work, and may charge for it.
        busy: The server refused to start.
    """

    def __init__(self, reason: str, *, wait: float | None = None, taken: bool = False, busy: bool = False) -> None:
        super().__init__(reason)
        self.wait = wait
        self.taken = taken
        self.busy = busy


class TimedOut(ModelUnavailable):
    """The server showed no sign of life; the same request is not sent again."""


class BadRequest(ModelRefused):
    """The server does not understand the request, but may understand a simpler one. `refusal` is its message."""

    def __init__(self, message: str, refusal: str) -> None:
        super().__init__(message)
        self.refusal = refusal


def as_outcome(
    error: "openai.APIError", address: "Address", redact: Callable[[str], str], *, has_answered: bool = True
) -> TryAgain | ModelRefused | ModelUnavailable:
    """Return the meaning of an error of the openai package, raised by a call to `address`.

    Args:
        error: The error.
        address: The server's address.
        redact: Removes secrets from what the server says.
        has_answered: The server has answered before. A server on this machine that never has, and refuses the
            connection, was not started, and no further attempt is made.
    """
    import openai

    if isinstance(error, openai.APIStatusError):
        return _of_status(error, address, redact)
    if isinstance(error, openai.APITimeoutError):
        return TryAgain(f"no reply in time from {address.shown}", taken=True)
    if not isinstance(error, openai.APIConnectionError):
        return TryAgain(redact(f"{address.shown} says: {error.message}"), taken=True)
    cause = error.__cause__
    if type(cause).__name__ == "LocalProtocolError":  # its text may quote a header
        return ModelRefused(f"the request to {address.shown} cannot be sent as HTTP")
    if not has_answered and _is_this_machine(address) and _is_refused(error):
        return ModelUnavailable(
            f"nothing listens at {address.shown} (connection refused): start the model's server, or check "
            f"{address.section}.base_url"
        )
    # Without a connection nothing was sent.
    connected = type(cause).__name__ not in {"ConnectError", "ConnectTimeout", "PoolTimeout"}
    return TryAgain(f"no connection to {address.shown}: {cause or error}", taken=connected)


def _is_this_machine(address: "Address") -> bool:
    host = urlsplit(address.base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _is_refused(error: BaseException | None) -> bool:
    """Return whether any cause of an error is a refused connection: libraries wrap it, and group several addresses."""
    if error is None or isinstance(error, ConnectionRefusedError):
        return error is not None
    grouped = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return any(map(_is_refused, (error.__cause__ or error.__context__, *grouped)))


def _of_status(
    error: "openai.APIStatusError", address: "Address", redact: Callable[[str], str]
) -> TryAgain | ModelRefused:
    status = error.status_code
    message = redact(error.message)
    says = f"{address.shown} says {status}: {' '.join(message.split())[:500]}"
    wait = retry_after(error.response.headers)
    if status == 429 and error.code in _OUT_OF_MONEY:
        return ModelRefused(f"{says}. Add credit, or choose another model ({address.model_key})")
    if wait is not None and wait > _PATIENCE:
        return ModelRefused(f"{says}. It asks to wait {wait:.0f} s, which is too long; run again later")
    if status in {400, 422} or (status >= 500 and _PARAMETER.search(error.message)):
        return BadRequest(says, f"{error.param or ''} {message}")
    if status in _BUSY or status >= 500 or status in _WORTH_ANOTHER:
        return TryAgain(says, wait=wait, busy=status in _BUSY)
    if status in {401, 403}:
        return ModelRefused(f"{says}. Check the key ({address.section}.api_key_variable names the variable it is in)")
    if status == 404:
        look = f"Check the model's name ({address.model_key}) and the server's address ({address.section}.base_url)"
        return ModelRefused(f"{says}. {look}")
    return ModelRefused(says)


def is_refusal(status: int) -> bool:
    """Return whether an HTTP status means that no further attempt at the same request can succeed."""
    return 400 <= status < 500 and status not in _BUSY | _WORTH_ANOTHER


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait (Retry-After in seconds or as a date, or retry-after-ms).

    >>> retry_after({"retry-after": "1.5"})
    1.5
    """
    milliseconds, after = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        if milliseconds:
            return max(0.0, float(milliseconds) / 1000)
        return max(0.0, float(after)) if after else None
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(after or "").timestamp() - time())
    except (ValueError, OverflowError):
        return None


def wait_before_retry(error: TryAgain, attempt: int) -> float:
    """Return the seconds to wait after a failed attempt, the first of which is number 1.

    A busy server's wait holds back all calls in its limiter, so the call itself need not wait here.
    """
    if error.wait is not None:
        return 0.0 if error.busy else error.wait
    bound = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(attempt - 1, 10))
    return uniform(0.0, bound)  # noqa: S311  (no secret)
