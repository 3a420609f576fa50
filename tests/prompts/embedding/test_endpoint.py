import base64
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from conspectus.prompts.client.retry import TryAgain
from conspectus.prompts.client.usage_and_cost import metered
from conspectus.prompts.embedding.endpoint import EndpointEmbedder, read_vectors
from conspectus.prompts.embedding.windows import estimated_spans
from conspectus.storage.errors import ModelRefused, ModelUnavailable, SettingsError
from conspectus.storage.settings import EmbeddingServerSettings, EmbeddingSettings
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmarks.fake_server import FakeServer
from tests.waiting import Together

TEXTS = [f"Ship number {i} left the harbour" + " at noon" * (i % 7) for i in range(200)]


def embedder(url: str, *, dimension: int | None = None, model: str = "m", **server: Any) -> EndpointEmbedder:  # noqa: ANN401
    of_model = {key: server.pop(key) for key in list(server) if key in EmbeddingSettings.model_fields}
    settings = EmbeddingSettings(provider="endpoint", model=model, **of_model)
    return EndpointEmbedder(settings, EmbeddingServerSettings(base_url=url, **server), dimension)


def inputs(server: FakeServer) -> list[list[str]]:
    return [list(each.body["input"]) for each in server.requests if each.body and each.status == 200]


def test_vectors_are_those_of_the_server_in_the_order_of_the_texts() -> None:
    with FakeServer(dimensions=32) as server:
        one = embedder(server.url, batch_size=16)
        vectors = one.embed(TEXTS)
        assert (vectors.shape, vectors.dtype, one.dimension) == ((200, 32), np.float32, 32)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
        alone = embedder(server.url)
        for i in (0, 77, 199):
            np.testing.assert_array_equal(alone.embed([TEXTS[i]])[0], vectors[i])
        np.testing.assert_array_equal(alone.embed(TEXTS[::-1])[::-1], vectors)
        assert (vectors[0] @ vectors[7]) > (vectors[0] @ vectors[6])  # the server's vectors are of the words


def test_texts_go_in_batches_and_so_many_at_once() -> None:
    with FakeServer() as server:
        server.change(latency=Together(server, 5))
        embedder(server.url, batch_size=16, concurrency=5).embed(TEXTS)
        sent = inputs(server)
        assert sorted(map(len, sent)) == [8, *[16] * 12]
        assert sorted(text for each in sent for text in each) == sorted(TEXTS)
        assert server.measures.in_flight_peak == 5
        assert all(each.body and each.body["encoding_format"] == "base64" for each in server.requests)
        assert all(each.body and "dimensions" not in each.body for each in server.requests)


def test_dimensions_and_prefixes_are_sent() -> None:
    with FakeServer(dimensions=32) as server:
        e5 = embedder(server.url, dimensions=8, document_prefix="passage: ", query_prefix="query: ")
        assert e5.embed(["Ada"]).shape == (1, 8)
        assert e5.embed_query("Who?").shape == (8,)
        assert [each.body and each.body["dimensions"] for each in server.requests] == [8, 8]
        assert inputs(server) == [["passage: Ada"], ["query: Who?"]]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "endpoint:m"),
        ({"dimensions": 8}, "endpoint:m@8"),
        ({"query_prefix": "query: ", "max_input_tokens": 99}, "endpoint:m"),
        ({"dimensions": 8, "document_prefix": "passage: "}, "endpoint:m@8 'passage: '"),
    ],
)
def test_the_name_is_all_that_shapes_the_vector_of_a_text(settings: dict[str, Any], name: str) -> None:
    assert embedder("http://127.0.0.1:9/v1", **settings).name == name
    assert embedder("http://127.0.0.1:8/v1", **settings).name == name


def test_a_long_text_goes_in_windows_that_fit_and_cover_it() -> None:
    one = embedder("http://127.0.0.1:9/v1", max_input_tokens=50, document_prefix="passage: ")
    for text in (" ".join(TEXTS), "北京大学 and 清华大学 " * 90, "x" * 5000, "👍" * 500):
        pieces = one.windows(text)
        assert len(pieces) > 3
        assert all(len(estimated_spans("passage: " + each)) <= 40 == one.max_tokens for each in pieces)
        end = 0
        for piece in pieces:
            start = text.rfind(piece, 0, end + len(piece))
            assert 0 <= start <= end
            end = start + len(piece)
        assert end == len(text)
        with pytest.raises(ValueError, match="more than 40 tokens: embed its windows"):
            one.embed(["short", text])
    assert one.windows("") == [""]


def test_a_prefix_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"embedding\.max_input_tokens is 16"):
        embedder("http://127.0.0.1:9/v1", max_input_tokens=16, query_prefix="Find the passage that answers this: ")


def test_a_server_that_takes_fewer_texts_gets_fewer_from_then_on() -> None:
    with FakeServer(largest_batch=10, dimensions=32) as server:
        one = embedder(server.url, batch_size=64, concurrency=1)
        vectors = one.embed(TEXTS)
        refused = [each for each in server.requests if each.status == 400]
        assert 3 <= len(refused) <= 4 * 3  # 64, 32 and 16, of the batches that were under way
        assert max(map(len, inputs(server))) <= 10
        one.embed(TEXTS)
        assert len([each for each in server.requests if each.status == 400]) == len(refused)
    with FakeServer(dimensions=32) as server:
        np.testing.assert_array_equal(embedder(server.url).embed(TEXTS), vectors)


def test_usage_is_counted_by_step_and_priced() -> None:
    with FakeServer() as server:
        one = embedder(server.url, price=2.0)
        with metered() as meter:
            one.embed(TEXTS)
        (spent,) = meter.spending()
        tokens = sum(each.prompt_tokens for each in server.requests)
        assert (spent.step, spent.model, spent.calls, spent.prompt_tokens) == ("embed", "m", 4, tokens)
        assert spent.cost == pytest.approx(2e-6 * tokens)
        assert not spent.estimated
    with FakeServer(without=["usage"]) as server, metered() as meter:
        embedder(server.url).embed(TEXTS)
        (spent,) = meter.spending()
        assert spent.estimated
        assert spent.cost is None
        assert spent.prompt_tokens == pytest.approx(tokens, rel=0.5)


def test_no_server_no_key_and_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelUnavailable, match=r"embedding with endpoint:m: nothing listens at"):
        embedder("http://127.0.0.1:9/v1", attempts=2).embed(["x"])
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SettingsError, match=r"OPENAI_API_KEY holds no key.*embedding_server\.base_url"):
        embedder("").embed(["x"])
    with FakeServer(models=["other"]) as server, pytest.raises(ModelRefused, match=r"404.*\(embedding\.model\)"):
        embedder(server.url).embed(TEXTS)
    secret = "sk-" + "s" * 20
    monkeypatch.setenv("A_KEY", secret)
    with FakeServer(api_key="right") as server:
        with pytest.raises(ModelRefused, match=r"401.*embedding_server\.api_key_variable") as caught:
            embedder(server.url, api_key_variable="A_KEY").embed(["x"])
        assert secret not in str(caught.value)
        assert server.requests[0].bearer == secret


def test_a_server_of_another_dimension_is_refused() -> None:
    with FakeServer(dimensions=32) as server:
        with pytest.raises(ModelRefused, match="the vectors have 32 numbers where 64 are needed"):
            embedder(server.url, dimension=64).embed_query("x")
        assert len(server.requests) == 1


Answer = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]


@contextmanager
def peculiar(answer: Answer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve what no well-behaved server says; the bodies of the requests are noted."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            status, body = answer(asked[-1])
            sent = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def vectors_for(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0, float(text.count("e"))] for text in texts]


def reply(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return 200, {"data": [{"index": i, "embedding": row} for i, row in enumerate(vectors_for(body["input"]))]}


def expected(texts: list[str]) -> np.ndarray:
    rows = np.array(vectors_for(texts))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_floats_are_taken_from_a_server_that_knows_no_base64() -> None:
    with peculiar(reply) as (url, asked):
        np.testing.assert_allclose(embedder(url).embed(TEXTS[:9]), expected(TEXTS[:9]), atol=1e-6)
        assert len(asked) == 1

    def refuse(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if "encoding_format" in body:
            return 400, {"error": {"message": "unknown field encoding_format"}}
        return reply(body)

    with peculiar(refuse) as (url, asked):
        one = embedder(url)
        np.testing.assert_allclose(one.embed(TEXTS[:9]), expected(TEXTS[:9]), atol=1e-6)
        one.embed(TEXTS[:3])
        assert ["encoding_format" in each for each in asked] == [True, False, False]


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_text_too_long_for_the_server_is_the_sum_of_its_parts(status: int) -> None:
    def short_sighted(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        longest = max(len(each) for each in body["input"])
        return (status, {"error": {"message": "input is too long"}}) if longest > 40 else reply(body)

    texts = ["Ada", "Bob met Eve", "one two three four five six seven eight nine ten", "Carol"]
    with peculiar(short_sighted) as (url, _):
        one = embedder(url, batch_size=4)
        found = one.embed(texts)
        np.testing.assert_allclose(found[[0, 1, 3]], expected([texts[i] for i in (0, 1, 3)]), atol=1e-6)
        cut = texts[2].rfind(" ", 0, len(texts[2]) // 2) + 1
        total = expected([texts[2][:cut], texts[2][cut:]]).sum(axis=0)
        np.testing.assert_allclose(found[2], total / np.linalg.norm(total), atol=1e-6)
        assert one._most_texts == 4  # it was not their number


def test_wrong_replies_are_never_vectors() -> None:
    wrong = [
        {"data": []},
        {"data": [{"index": 0, "embedding": [float("nan"), 1.0]}]},
        {"data": [{"index": 0, "embedding": base64.b64encode(bytes(8)).decode()}]},
    ]
    with peculiar(lambda _: (200, wrong[len(asked) % 3])) as (url, asked):
        with pytest.raises(ModelUnavailable, match="gave up after 3 tries"):
            embedder(url, attempts=3).embed(["x"])
        assert len(asked) == 3


NUMBERS = st.floats(-1e3, 1e3, width=32).map(lambda x: x if abs(x) > 1e-3 else 1.0)


def coded(vector: np.ndarray) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


@given(arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=NUMBERS), st.randoms())
def test_floats_and_base64_in_any_order_are_the_same_unit_rows(rows: np.ndarray, chance: Any) -> None:  # noqa: ANN401
    floats = [{"index": i, "embedding": row.tolist()} for i, row in enumerate(rows)]
    codes = [{"index": i, "embedding": coded(row)} for i, row in enumerate(rows)]
    chance.shuffle(codes)
    found = read_vectors({"data": floats}, len(rows)).rows
    np.testing.assert_array_equal(read_vectors({"data": codes}, len(rows)).rows, found)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(found * np.linalg.norm(rows, axis=1, keepdims=True), rows, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 7, "total_tokens": 7}, 7),
        ({"total_tokens": 9}, 9),
        ({"prompt_tokens": 0, "total_tokens": 0}, None),
        ({"prompt_tokens": "7"}, None),
        ([], None),
    ],
)
def test_the_tokens_are_the_server_s(usage: object, tokens: int | None) -> None:
    assert read_vectors({"data": [{"embedding": [1]}], "usage": usage}, 1).tokens == tokens


ROW = {"index": 0, "embedding": [1.0, 0.0]}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "without vectors"),
        ({"error": {"message": "no"}}, "without vectors"),
        ({"data": [1, 2]}, "without vectors"),
        ({"data": [ROW]}, "1 vectors for 2 texts"),
        ({"data": [ROW, ROW]}, "indices are not those"),
        ({"data": [ROW, {**ROW, "index": 2}]}, "indices are not those"),
        ({"data": [ROW, {**ROW, "index": True}]}, "indices are not those"),
        ({"data": [ROW, {"embedding": [1.0, 0.0]}]}, "indices are not those"),
        ({"data": [ROW, {"index": 1, "embedding": [1.0]}]}, "several lengths"),
        ({"data": [ROW, {"index": 1, "embedding": [0.0, 0.0]}]}, "without a direction"),
        ({"data": [ROW, {"index": 1, "embedding": [float("nan"), 0.0]}]}, "without a direction"),
        ({"data": [ROW, {"index": 1, "embedding": [float("inf"), 0.0]}]}, "without a direction"),
        ({"data": [ROW, {"index": 1, "embedding": [1.0, None]}]}, "without a direction"),
        ({"data": [ROW, {"index": 1, "embedding": ["x", 0.0]}]}, "cannot be read"),
        ({"data": [ROW, {"index": 1, "embedding": "AAA"}]}, "cannot be read"),
        ({"data": [ROW, {"index": 1, "embedding": "AAAAAA=="}]}, "several lengths"),
        ({"data": [ROW, {"index": 1, "embedding": "AAAA"}]}, "cannot be read"),
        ({"data": [ROW, {"index": 1, "embedding": [[1.0, 0.0]]}]}, "not a list of numbers"),
        ({"data": [ROW, {"index": 1, "embedding": []}]}, "not a list of numbers"),
        ({"data": [ROW, {"index": 1, "embedding": {}}]}, "cannot be read"),
        ({"data": [ROW, {"index": 1}]}, "not a list of numbers"),
    ],
)
def test_what_is_not_right_is_asked_for_again(body: Mapping[str, Any], says: str) -> None:
    with pytest.raises(TryAgain, match=says) as caught:
        read_vectors(body, 2)
    assert caught.value.taken
