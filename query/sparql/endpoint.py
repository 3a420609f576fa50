"""Query a SPARQL endpoint over HTTP (SPARQL 1.1 Protocol), read-only, with limits, and trusting nothing it sends."""

import asyncio
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpx
from conspectus.prompts.client.event_loop import call_loop
from conspectus.query.sparql.checks import checked, declared
from conspectus.query.sparql.result import SparqlResult, Term, result_of
from conspectus.query.sparql.run import ROWS, SECONDS
from conspectus.query.sparql.store import PREFIXES
from conspectus.storage.errors import SparqlError, UsageError
from conspectus.storage.turns import away

_BYTES = 20_000_000
"""Bytes of a result; a longer one is refused, since JSON that is cut off cannot be read."""
_SHOWN = 200
_RESULTS = "application/sparql-results+json"
_JSON = frozenset({"", _RESULTS, "application/json", "text/json"})
_STANDARD = ("rdf", "rdfs", "xsd", "dcterms")
"""Prefixes that need no declaration; those of an index mean nothing elsewhere."""
_BUSY = frozenset({httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE})
_PAUSE = 1.0
"""Seconds before a busy server is asked again, where it does not say for how long it is."""
_CACHED, _PAGE = 500, 1_000  # remembered replies; rows asked for at a time, as endpoints cut longer replies off

Row = tuple[Term | None, ...]


class Endpoint:
    """A SPARQL endpoint. Replies that were used last are remembered; threads may share it.

    Redirects are not followed, so that no other server sees a query, and no credentials are sent. A server that says
    that it is busy (429, 503) is asked again when it wants to be, within the time of the query.
    """

    def __init__(self, url: str, seconds: float = SECONDS, cached: int = _CACHED) -> None:
        """Name the endpoint; nothing is sent yet.

        Args:
            url: Its address, http or https, without a user or password.
            seconds: The longest time until a whole result is there.
            cached: The number of results that are remembered.

        Raises:
            UsageError: The address is no web address or has a password, or the time is not positive.
        """
        try:
            parts = urlsplit(url)
            right = parts.scheme in ("http", "https") and parts.hostname and not (parts.username or parts.password)
        except ValueError:
            right = False
        if not right:
            raise UsageError("an endpoint is a URL that begins with http:// or https://, without a user or password")
        if seconds <= 0:
            raise UsageError("the limits of rows and seconds must be positive")
        self.url = url
        self.host = parts.hostname or ""
        self.asked = 0
        """The number of queries that were sent."""
        self._seconds = seconds
        self._cached = cached
        self._client: httpx.AsyncClient | None = None
        self._lock = threading.Lock()
        self._results: OrderedDict[tuple[str, int], SparqlResult] = OrderedDict()

    def query(self, text: str, rows: int = ROWS) -> SparqlResult:
        """Return the result of a SELECT or ASK, at most `rows` rows of it.

        Raises:
            UsageError: `rows` is not positive.
            SparqlError: The query would change something or asks another server, or the endpoint refused it, could not
                be reached, took too long, or sent something else than a result.
        """
        if rows < 1:
            raise UsageError("the limits of rows and seconds must be positive")
        with self._lock:
            if (text, rows) in self._results:
                self._results.move_to_end((text, rows))
                return self._results[text, rows]
        asked = checked(text)
        known = declared(asked)
        prefixes = "".join(f"PREFIX {name}: <{PREFIXES[name]}> " for name in _STANDARD if name not in known)
        content = self._received(prefixes + asked)
        try:
            result = result_of(text, json.loads(content), rows)
        except (ValueError, RecursionError) as error:
            raise SparqlError(f"{self.host} sent no result of SPARQL 1.1 in JSON: {error}") from error
        with self._lock:
            self._results[text, rows] = result
            while len(self._results) > self._cached:
                self._results.popitem(last=False)
        return result

    def pages(self, select: str, most: int) -> Iterator[Row]:
        """Yield the rows of a SELECT that ends in ORDER BY, at most `most`, asked for page by page."""
        for offset in range(0, most, _PAGE):
            limit = min(_PAGE, most - offset)
            found = self.query(f"{select} LIMIT {limit} OFFSET {offset}", limit).rows
            yield from found
            if len(found) < limit:
                return

    def close(self) -> None:
        """Close the connections; a further query opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            asyncio.run_coroutine_threadsafe(client.aclose(), call_loop()).result()

    def _received(self, text: str) -> bytes:
        """Return the body of the answer, within the time for all of it, however slowly it comes."""
        self.asked += 1
        loop = call_loop()
        work = asyncio.wait_for(self._answer(text, time.monotonic() + self._seconds), self._seconds)
        try:
            with away():
                return asyncio.run_coroutine_threadsafe(work, loop).result()
        except (httpx.TimeoutException, TimeoutError) as error:
            raise SparqlError(
                f"{self.host} took longer than {self._seconds:g} s; ask for less, or allow it longer"
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise SparqlError(f"{self.host} cannot be asked: {error or type(error).__name__}") from error

    async def _answer(self, text: str, until: float) -> bytes:
        headers = {"Accept": _RESULTS, "User-Agent": "conspectus"}
        if self._client is None:  # on the loop of all calls, to which its connections belong
            self._client = httpx.AsyncClient(timeout=self._seconds, follow_redirects=False, trust_env=False)
        while True:
            async with self._client.stream("POST", self.url, data={"query": text}, headers=headers) as reply:
                if reply.is_redirect:
                    raise SparqlError(
                        f"{self.host} leads elsewhere ({reply.status_code}); use the URL of the endpoint itself"
                    )
                content = await self._body(reply)
            self._client.cookies.clear()
            if reply.status_code == httpx.codes.OK:
                return self._result(reply, content)
            pause = _pause(reply.headers.get("Retry-After", ""))
            if reply.status_code not in _BUSY or time.monotonic() + pause > until:
                busy = f"; it is busy for {pause:.0f} s" if reply.status_code in _BUSY else ""
                raise SparqlError(f"{self.host} refused the query ({reply.status_code}){busy}: {_beginning(content)}")
            await asyncio.sleep(pause)

    async def _body(self, reply: httpx.Response) -> bytes:
        found = bytearray()
        async for block in reply.aiter_bytes():
            found += block
            if len(found) > _BYTES:
                raise SparqlError(f"{self.host} sent more than {_BYTES:,} bytes; ask for less (LIMIT)")
        return bytes(found)

    def _result(self, reply: httpx.Response, content: bytes) -> bytes:
        kind = reply.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind not in _JSON:
            raise SparqlError(
                f"{self.host} sent no result of SPARQL 1.1 in JSON but {kind!r}, perhaps it is no endpoint: "
                f"{_beginning(content)}"
            )
        return content


def query_endpoint(url: str, text: str, rows: int = ROWS, seconds: float = SECONDS) -> SparqlResult:
    """Return the result of a SELECT or ASK that an endpoint executes (see `Endpoint` for arguments and errors)."""
    with closing(Endpoint(url, seconds, cached=0)) as endpoint:
        return endpoint.query(text, rows)


def _pause(said: str) -> float:
    """Return for how many seconds a header Retry-After asks: a number, or a date; a second where it says nothing."""
    if said.strip().isdigit():
        return float(said.strip()[:9])
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return _PAUSE


def _beginning(content: bytes) -> str:
    return " ".join(content[: 4 * _SHOWN].decode("utf-8", "replace").split())[:_SHOWN]
