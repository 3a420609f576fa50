import contextlib
import json
import time
from collections.abc import Callable

from conspectus.prompts.fake import FakeServer, Faults

from tests.prompts.fake.conftest import Wire

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
Open = Callable[[FakeServer], Wire]


def test_a_connection_serves_one_request_after_another(wire: Open) -> None:
    with FakeServer("x") as server:
        line = wire(server)
        for _ in range(3):
            line.post(BODY)
            assert line.read(b"}}").startswith(b"HTTP/1.1 200 OK\r\n")
    assert len(server.requests) == 3


def test_requests_sent_ahead_are_answered_in_order(wire: Open) -> None:
    with FakeServer(["first", "second", "third"], latency=lambda asked: 0.05 * (asked.number == 0)) as server:
        line = wire(server)
        for _ in range(3):
            line.post(BODY)
        got = b""
        while got.count(b"HTTP/1.1 200") < 3 or not got.endswith(b"}}"):
            got += line.socket.recv(1 << 16)
    assert got.index(b"first") < got.index(b"second") < got.index(b"third")


def test_a_request_may_come_byte_by_byte_and_in_chunks(wire: Open) -> None:
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: fake\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(BODY[i : i + 9]), BODY[i : i + 9]) for i in range(0, len(BODY), 9))
    with FakeServer("x") as server:
        line = wire(server)
        for byte in head + chunks + b"0\r\n\r\n":
            line.send(bytes([byte]))
        assert b"200 OK" in line.read(b"}}")


def test_a_client_may_ask_before_it_sends(wire: Open) -> None:
    with FakeServer("x") as server:
        line = wire(server)
        line.post(b"", extra=f"Expect: 100-continue\r\nX-Length: {len(BODY)}\r\n")
        assert line.read(b"}}").startswith(b"HTTP/1.1 ")
        line = wire(server)
        line.send(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: fake\r\nExpect: 100-continue\r\n"
            b"Content-Length: %d\r\n\r\n" % len(BODY)
        )
        assert line.read(b"\r\n\r\n").startswith(b"HTTP/1.1 100")
        line.send(BODY)
        assert b"200 OK" in line.read(b"}}")


def test_a_client_may_ask_to_close(wire: Open) -> None:
    with FakeServer("x") as server:
        line = wire(server)
        line.post(BODY, extra="Connection: close\r\n")
        assert b"200 OK" in line.read()


def test_what_is_no_http_is_refused(wire: Open) -> None:
    with FakeServer() as server:
        line = wire(server)
        line.send(b"\x16\x03\x01 hello\r\n\r\n")
        assert line.read().startswith(b"HTTP/1.1 400")
        line = wire(server)
        line.send(b"GET / HTTP/1.1\r\nHost: fake\r\nX: " + b"x" * 20_000)
        assert b"HTTP/1.1 431" in line.read()


def test_a_cut_body_is_shorter_than_it_says(wire: Open) -> None:
    with FakeServer("x" * 1000, faults=Faults({"cut_body": 1.0})) as server:
        line = wire(server)
        line.post(BODY)
        head, _, body = line.read().partition(b"\r\n\r\n")
    told = next(int(row.split(b":")[1]) for row in head.split(b"\r\n") if row.lower().startswith(b"content-length"))
    assert 0 < len(body) < told


def test_a_cut_stream_has_no_end(wire: Open) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}).encode()
    with FakeServer("one two three four", faults=Faults({"cut_stream": 1.0})) as server:
        line = wire(server)
        line.post(body)
        got = line.read()
    assert b"data: {" in got
    assert b"[DONE]" not in got
    assert not got.endswith(b"0\r\n\r\n")


def test_a_dropped_connection_sends_nothing(wire: Open) -> None:
    with FakeServer(faults=Faults({"drop": 1.0})) as server:
        line = wire(server)
        line.post(BODY)
        with contextlib.suppress(ConnectionResetError):
            assert line.read() == b""
    assert server.requests[0].fault == "drop"


def test_streamed_pieces_come_one_by_one(wire: Open) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}).encode()
    with FakeServer("abcdef", piece=2, piece_delay=0.02) as server:
        line = wire(server)
        line.post(body)
        times = []
        got = b""
        while not got.endswith(b"0\r\n\r\n"):
            got += line.socket.recv(1 << 16)
            times.append(time.perf_counter())
    assert got.count(b"data: ") == 6
    assert len(times) >= 5
    assert times[-1] - times[0] >= 0.08
