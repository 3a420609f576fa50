"""A real endpoint: Oxigraph's engine behind an HTTP server that the test starts; and servers that mean harm."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pyoxigraph as ox
import pytest
from conspectus.query.sparql import endpoint
from conspectus.query.sparql.endpoint import query_endpoint
from conspectus.storage.errors import SparqlError, UsageError

Handle = Callable[[BaseHTTPRequestHandler, str], None]
DATA = """
<http://ex.org/heron> <http://ex.org/year> 1971 ; <http://www.w3.org/2000/01/rdf-schema#label> "Grey Heron"@en .
<http://ex.org/alma> <http://ex.org/year> 1979 .
"""


@contextmanager
def serving(handle: Handle) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            handle(self, parse_qs(body)["query"][0])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/sparql"
    finally:
        server.shutdown()
        server.server_close()


def send(request: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    request.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(body)


@pytest.fixture
def oxigraph() -> Iterator[str]:
    store = ox.Store()
    store.load(DATA.encode(), format=ox.RdfFormat.TURTLE)

    def handle(request: BaseHTTPRequestHandler, query: str) -> None:
        try:
            found = store.query(query)
        except SyntaxError as error:
            return send(request, 400, str(error).encode())
        assert not isinstance(found, ox.QueryTriples)
        return send(request, 200, found.serialize(format=ox.QueryResultsFormat.JSON) or b"")

    with serving(handle) as url:
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
    for url in ("ftp://ex.org/sparql", "sparql", "http://user:secret@ex.org/sparql", "file:///etc/passwd"):
        with pytest.raises(UsageError, match="address"):
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
        for _ in range(40):
            try:
                request.wfile.write(b" ")
                request.wfile.flush()
            except OSError:
                return
            time.sleep(0.05)

    began = time.monotonic()
    with serving(drip) as url, pytest.raises(SparqlError, match="took longer"):
        query_endpoint(url, "ASK { ?a ?b ?c }", seconds=0.3)
    assert time.monotonic() - began < 1.5
