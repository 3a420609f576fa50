"""Query a SPARQL endpoint over HTTP (SPARQL 1.1 Protocol), read-only, with limits, and trusting nothing it sends."""

import json
import time
from urllib.parse import urlsplit

import httpx
from conspectus.query.sparql.checks import checked, declared
from conspectus.query.sparql.result import SparqlResult, result_of
from conspectus.query.sparql.run import ROWS, SECONDS
from conspectus.query.sparql.store import PREFIXES
from conspectus.storage.errors import SparqlError, UsageError

_BYTES = 20_000_000
"""Bytes of a result; a longer one is refused, since JSON that is cut off cannot be read."""
_SHOWN = 200
_ACCEPT = "application/sparql-results+json"
_STANDARD = ("rdf", "rdfs", "xsd", "dcterms")
"""Prefixes that need no declaration; those of an index mean nothing elsewhere."""


def query_endpoint(url: str, text: str, rows: int = ROWS, seconds: float = SECONDS) -> SparqlResult:
    """Return the result of a SELECT or ASK that an endpoint executes.

    Redirects are not followed, so that no other server sees the query, and no credentials are sent.

    Args:
        url: The address of the endpoint, http or https, without a user or password.
        text: The query.
        rows: The largest number of rows; `SparqlResult.complete` says whether there were more.
        seconds: The longest time until the whole result is there.

    Raises:
        UsageError: The address is no web address, has a password, or a limit is not positive.
        SparqlError: The query would change something or asks another server, or the endpoint refused it, could not
            be reached, took too long, or sent something else than a result.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise UsageError("an endpoint is an address that begins with http:// or https://, without a user or password")
    if rows < 1 or seconds <= 0:
        raise UsageError("the limits of rows and seconds must be positive")
    asked = checked(text)
    known = declared(asked)
    prefixes = "".join(f"PREFIX {name}: <{PREFIXES[name]}> " for name in _STANDARD if name not in known)
    content = _received(url, prefixes + asked, seconds)
    try:
        return result_of(text, json.loads(content), rows)
    except (ValueError, RecursionError) as error:
        raise SparqlError(f"{parts.hostname} sent no result of SPARQL 1.1 in JSON: {error}") from error


def _received(url: str, text: str, seconds: float) -> bytes:
    """Return the body of the endpoint's answer."""
    until, host = time.monotonic() + seconds, urlsplit(url).hostname
    found = bytearray()
    try:
        with (
            httpx.Client(timeout=seconds, follow_redirects=False, trust_env=False) as client,
            client.stream("POST", url, data={"query": text}, headers={"Accept": _ACCEPT}) as reply,
        ):
            for block in reply.iter_bytes():
                found += block
                if len(found) > _BYTES:
                    raise SparqlError(f"{host} sent more than {_BYTES:,} bytes; ask for less (LIMIT)")
                if time.monotonic() > until:
                    raise SparqlError(f"{host} took longer than {seconds:g} s; ask for less, or allow it longer")
            if reply.is_redirect:
                raise SparqlError(
                    f"{host} leads elsewhere ({reply.status_code}); name the address of the endpoint itself"
                )
            if reply.status_code != httpx.codes.OK:
                said = " ".join(found.decode("utf-8", "replace").split())[:_SHOWN]
                raise SparqlError(f"{host} refused the query ({reply.status_code}): {said}")
    except httpx.TimeoutException as error:
        raise SparqlError(f"{host} took longer than {seconds:g} s; ask for less, or allow it longer") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise SparqlError(f"{host} cannot be asked: {error or type(error).__name__}") from error
    return bytes(found)
