"""A real endpoint, Oxigraph's server, and servers that mean harm."""

import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest
from conspectus.query.sparql import endpoint
from conspectus.query.sparql.endpoint import Endpoint, query_endpoint
from conspectus.storage.errors import SparqlError, UsageError

from tests.query.endpoint_serving import oxigraph_server, send, serving

DATA = """
<http://ex.org/heron> <http://ex.org/year> 1971 ; <http://www.w3.org/2000/01/rdf-schema#label> "Grey Heron"@en .
<http://ex.org/alma> <http://ex.org/year> 1979 .
"""


@pytest.fixture(scope="module")
def oxigraph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with oxigraph_server(tmp_path_factory.mktemp("store"), DATA) as url:
        yield url


def test_an_endpoint_is_queried(oxigraph: str) -> None:
    found = query_endpoint(oxigraph, "PREFIX x: <http://ex.org/> SELECT ?f ?y { ?f x:year ?y } ORDER BY ?y")
    assert found.dicts() == [{"f": "http://ex.org/heron", "y": "1971"}, {"f": "http://ex.org/alma", "y": "1979"}]
    assert (len(query_endpoint(oxigraph, "SELECT ?f { ?f ?p ?y }", rows=1).rows)) == 1
    assert not query_endpoint(oxigraph, "SELECT ?f { ?f ?p ?y }", rows=1).complete
    assert query_endpoint(oxigraph, "ASK { ?f rdfs:label 'Grey Heron'@en }").boolean is True
    [[label]] = query_endpoint(oxigraph, "SELECT ?l { ?f rdfs:label ?l }").rows
    assert label
    assert (label.value, label.language) == ("Grey Heron", "en")


def test_what_the_endpoint_refuses_and_what_is_not_sent(oxigraph: str) -> None:
    with pytest.raises(SparqlError, match=r"refused the query \(400\)"):
        query_endpoint(oxigraph, "SELECT ?x {")
    for query in ("DROP ALL", "SELECT * { SERVICE <http://127.0.0.1:1/> { ?a ?b ?c } }"):
        with pytest.raises(SparqlError, match="would"):
            query_endpoint(oxigraph, query)
    for url in (
        "ftp://ex.org/sparql",
        "sparql",
        "http://[::1",
        "http://user:secret@ex.org/sparql",
        "file:///etc/passwd",
    ):
        with pytest.raises(UsageError, match="a URL"):
            query_endpoint(url, "ASK { ?a ?b ?c }")


def test_an_endpoint_that_cannot_be_reached() -> None:
    with serving(lambda request, _: None) as url:
        pass
    with pytest.raises(SparqlError, match="cannot be asked"):
        query_endpoint(url, "ASK { ?a ?b ?c }")


@pytest.mark.parametrize(
    "body",
    [
        b"<html>", b"[]", b"\xff\xfe", b'{"head": {}}', b'{"head": {"vars": [1]}, "results": {"bindings": []}}',
        b'{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "evil", "value": "1"}}]}}',
        b'{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "uri", "value": 1}}]}}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_result_is_one_clear_error(body: bytes) -> None:
    with (
        serving(lambda request, _: send(request, 200, body)) as url,
        pytest.raises(SparqlError, match="sent no result"),
    ):
        query_endpoint(url, "ASK { ?a ?b ?c }")


def test_redirects_are_not_followed() -> None:
    seen: list[str] = []
    with serving(lambda request, query: seen.append(query)) as other:
        moved = {"Location": other}
        with (
            serving(lambda request, _: send(request, 307, b"", **moved)) as url,
            pytest.raises(SparqlError, match="leads elsewhere"),
        ):
            query_endpoint(url, "ASK { ?a ?b ?c }")
    assert seen == []


def test_results_without_end_and_slow_ones_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_BYTES", 10_000)
    large = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": [{}] * 20_000}}).encode()
    with (
        serving(lambda request, _: send(request, 200, large)) as url,
        pytest.raises(SparqlError, match="more than"),
    ):
        query_endpoint(url, "ASK { ?a ?b ?c }")

    def drip(request: BaseHTTPRequestHandler, _: str) -> None:
        request.send_response(200)
        request.end_headers()
        while True:
            try:
                request.wfile.write(b" ")
                request.wfile.flush()
            except OSError:
                return
            time.sleep(0.05)

    with serving(drip) as url, pytest.raises(SparqlError, match="took longer"):
        query_endpoint(url, "ASK { ?a ?b ?c }", seconds=0.3)


def test_a_header_that_drips_is_stopped() -> None:
    def drip(request: BaseHTTPRequestHandler, _: str) -> None:
        request.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(1_000):
            try:
                request.wfile.write(b"X-%d: 1\r\n" % number)
                request.wfile.flush()
            except OSError:
                return
            time.sleep(0.05)

    with serving(drip) as url, pytest.raises(SparqlError, match="took longer"):
        query_endpoint(url, "ASK { ?a ?b ?c }", seconds=0.4)


def test_a_page_of_html_is_no_result() -> None:
    page = b"<html><body>Log in</body></html>"
    kind = {"Content-Type": "text/html; charset=utf-8"}
    with (
        serving(lambda request, _: send(request, 200, page, **kind)) as url,
        pytest.raises(SparqlError, match="but 'text/html', perhaps it is no endpoint: <html>"),
    ):
        query_endpoint(url, "ASK { ?a ?b ?c }")


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_when_it_wants_to_be(status: int) -> None:
    times: list[float] = []

    def busy(request: BaseHTTPRequestHandler, _: str) -> None:
        times.append(time.monotonic())
        if len(times) == 1:
            return send(request, status, b"slow down", **{"Retry-After": "1"})
        return send(request, 200, b'{"head": {}, "boolean": true}')

    with serving(busy) as url:
        assert query_endpoint(url, "ASK { ?a ?b ?c }").boolean is True
    assert len(times) == 2
    assert times[1] - times[0] > 0.9

    wait = {"Retry-After": "600"}
    with (
        serving(lambda request, _: send(request, status, b"later", **wait)) as url,
        pytest.raises(SparqlError, match=rf"\({status}\); it is busy for 600 s: later"),
    ):
        query_endpoint(url, "ASK { ?a ?b ?c }", seconds=5)


def test_the_last_results_are_remembered(oxigraph: str) -> None:
    endpoint_ = Endpoint(oxigraph, cached=2)
    queries = [f"SELECT ?f {{ ?f ?p {number} }}" for number in (1971, 1979, 1980)]
    for query in (queries[0], queries[0], queries[1], queries[0], queries[2], queries[0]):
        endpoint_.query(query)
    assert endpoint_.asked == 3
    endpoint_.query(queries[1])  # the oldest of three was forgotten
    assert endpoint_.asked == 4


def test_a_long_result_comes_in_pages(oxigraph: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_PAGE", 2)
    endpoint_ = Endpoint(oxigraph)
    everything = "SELECT ?s ?p ?o { ?s ?p ?o } ORDER BY ?s ?p ?o"
    assert len(list(endpoint_.pages(everything, 100))) == 3
    assert endpoint_.asked == 2
    assert len(list(endpoint_.pages(everything, 1))) == 1
