"""The server's counters in the text format of Prometheus. No label contains a question, a token or a document."""

from collections.abc import Callable, Iterable

from conspectus.query.types import Usage
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "DELETE", "PUT", "PATCH"})
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self._registry = kept = CollectorRegistry()
        requests, reloads = "Requests by route, method and status.", "Changes to a new version, and failed ones."
        version = "The version in force of each index."
        self._requests = Counter("conspectus_requests", requests, ["route", "method", "status"], registry=kept)
        self._seconds = Histogram(
            "conspectus_request_seconds", "Seconds of requests.", ["route"], buckets=_SECONDS, registry=kept
        )
        self._in_flight = Gauge("conspectus_questions_in_flight", "Questions that run or wait.", registry=kept)
        self._tokens = Counter("conspectus_model_tokens", "Tokens of models.", ["kind"], registry=kept)
        self._calls = Counter("conspectus_model_calls", "Calls to models.", registry=kept)
        self._dollars = Counter("conspectus_model_cost_dollars", "Known cost of models.", registry=kept)
        self._remembered = Counter("conspectus_memo_hits", "Replies taken from the cache.", registry=kept)
        self._version = Gauge("conspectus_index_info", version, ["index", "version"], registry=kept)
        self._reloads = Counter("conspectus_reloads", reloads, ["index", "result"], registry=kept)

    def count_in_flight(self, count: Callable[[], float]) -> None:
        """Set the function that returns the number of questions in flight; it is called when the metrics are read."""
        self._in_flight.set_function(count)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(route, method if method in _METHODS else "other", str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def usage(self, usage: Usage) -> None:
        """Count the tokens, calls and cost of an answer."""
        self._tokens.labels("prompt").inc(usage.prompt_tokens)
        self._tokens.labels("completion").inc(usage.completion_tokens)
        self._calls.inc(usage.calls)
        self._dollars.inc(usage.cost or 0.0)
        self._remembered.inc(usage.remembered)

    def reload(self, index: str, *, worked: bool) -> None:
        """Count a switch to a new version, or a failed one."""
        self._reloads.labels(index, "changed" if worked else "failed").inc()

    def text(self, versions: Iterable[tuple[str, str]]) -> bytes:
        """Return all metrics; `versions` contains the names of the indexes with their current versions."""
        self._version.clear()
        for index, version in versions:
            self._version.labels(index, version).set(1)
        return generate_latest(self._registry)
