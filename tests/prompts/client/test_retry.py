from email.utils import formatdate
from time import time

import httpx2
import openai
import pytest
from conspectus.prompts.client.retry import (
    BadRequest,
    TryAgain,
    as_outcome,
    retry_after,
    wait_before_retry,
)
from conspectus.prompts.client.server import Address
from conspectus.storage.errors import ModelRefused, ModelUnavailable

AT = Address("http://h/v1", "", "KEY", 1, 1, 1, None, None)
ASKED = httpx2.Request("POST", "http://h/v1/chat/completions")


def error(
    status: int, code: str = "", headers: dict[str, str] | None = None, message: str = "Sorry."
) -> openai.APIError:
    response = httpx2.Response(status, headers=headers, json={}, request=ASKED)
    body = {"message": message, "code": code, "param": "temperature"}
    return openai.APIStatusError(message, response=response, body=body)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again(status: int) -> None:
    meant = as_outcome(error(status), AT, str)
    assert isinstance(meant, TryAgain)
    assert meant.busy == (status in {429, 503, 529})
    assert not meant.taken
    assert str(meant) == f"http://h/v1 says {status}: Sorry."


@pytest.mark.parametrize(
    ("status", "code", "hint"),
    [
        (401, "", "llm.api_key_variable"),
        (403, "", "llm.api_key_variable"),
        (404, "", "llm.model"),
        (413, "", "413"),
        (429, "insufficient_quota", "Add credit"),
    ],
)
def test_what_will_not_pass_is_refused_with_what_to_do(status: int, code: str, hint: str) -> None:
    meant = as_outcome(error(status, code), AT, str)
    assert isinstance(meant, ModelRefused)
    assert hint in str(meant)


def test_a_request_that_is_not_understood_tells_what_of_it() -> None:
    for status, message in (
        (400, "Unsupported value."),
        (422, "?"),
        (500, "('body', 'response_format'): Input should be"),
    ):
        meant = as_outcome(error(status, message=message), AT, str)
        assert isinstance(meant, BadRequest)
        assert meant.refusal == f"temperature {message}"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
    ],
)
def test_servers_name_the_wait_in_several_ways(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_date_names_the_wait_too() -> None:
    assert retry_after({"retry-after": formatdate(time() + 50, usegmt=True)}) == pytest.approx(50, abs=30)
    assert retry_after({"retry-after": formatdate(time() - 20, usegmt=True)}) == 0


def test_only_a_connection_that_came_about_may_have_cost_something() -> None:
    lost = openai.APIConnectionError(request=ASKED)
    lost.__cause__ = httpx2.ReadError("gone")
    never = openai.APIConnectionError(request=ASKED)
    never.__cause__ = httpx2.ConnectError("no route")
    for each, taken in ((lost, True), (never, False), (openai.APITimeoutError(request=ASKED), True)):
        meant = as_outcome(each, AT, str)
        assert isinstance(meant, TryAgain)
        assert meant.taken == taken


def refused(at: str) -> openai.APIError:
    """Return the error of a connection that is refused, wrapped as the libraries wrap it."""
    cause = httpx2.ConnectError("All connection attempts failed")
    cause.__cause__ = OSError("several addresses")
    cause.__cause__.__cause__ = ExceptionGroup("refused", [ConnectionRefusedError(111, "Connection refused")])
    found = openai.APIConnectionError(request=httpx2.Request("POST", f"{at}/chat/completions"))
    found.__cause__ = cause
    return found


@pytest.mark.parametrize("at", ["http://localhost:9/v1", "http://127.0.0.1:9/v1", "http://[::1]:9/v1"])
def test_a_server_on_this_machine_that_never_answered_is_not_waited_for(at: str) -> None:
    address = Address(at, "", "KEY", 1, 1, 1, None, None)
    meant = as_outcome(refused(at), address, str, has_answered=False)
    assert isinstance(meant, ModelUnavailable)
    assert str(meant).startswith(f"nothing listens at {at} (connection refused)")
    assert isinstance(as_outcome(refused(at), address, str, has_answered=True), TryAgain), "it may be restarting"


def test_waits_are_the_servers_or_random_below_a_bound_that_doubles() -> None:
    assert wait_before_retry(TryAgain("down", wait=3.0), 1) == 3.0
    assert wait_before_retry(TryAgain("busy", wait=3.0, busy=True), 1) == 0.0, "its limiter holds back all calls"
    for attempt, bound in ((1, 0.5), (2, 1.0), (3, 2.0), (7, 30.0), (5_000, 30.0)):
        waits = [wait_before_retry(TryAgain("down"), attempt) for _ in range(200)]
        assert 0.0 <= min(waits) <= bound / 2 <= max(waits) <= bound
