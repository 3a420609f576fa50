import base64

import numpy as np
import openai
import pytest
from conspectus.prompts.fake import FakeServer

from tests.prompts.fake.conftest import Connect

TEXTS = ["The old mill by the river", "By the river stands an old mill", "Quarterly tax returns"]


def test_vectors_are_units_depend_on_words_and_stay_the_same(connect: Connect) -> None:
    with FakeServer() as server:
        first = connect(server).embeddings.create(model="e", input=TEXTS)
        again = connect(server).embeddings.create(model="e", input=TEXTS[1])
    vectors = np.array([row.embedding for row in first.data])
    assert vectors.shape == (3, 256)
    assert [row.index for row in first.data] == [0, 1, 2]
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[1] > 0.7
    assert abs(vectors[0] @ vectors[2]) < 0.3
    np.testing.assert_array_equal(again.data[0].embedding, vectors[1])
    assert first.usage.prompt_tokens == first.usage.total_tokens == 6 + 7 + 3
    assert server.requests[0].prompt_tokens == 16


def test_base64_is_the_same_vector_as_float(connect: Connect) -> None:
    with FakeServer(dimensions=32) as server:
        create = connect(server).embeddings.create
        floats = create(model="e", input="a mill", encoding_format="float").data[0].embedding
        raw = create(model="e", input="a mill", encoding_format="base64").data[0].embedding
    decoded = np.frombuffer(base64.b64decode(raw), dtype="<f4")  # type: ignore[arg-type]
    np.testing.assert_array_equal(decoded, np.array(floats, dtype=np.float32))
    assert len(floats) == 32


def test_dimensions_are_honoured(connect: Connect) -> None:
    with FakeServer() as server:
        assert len(connect(server).embeddings.create(model="e", input="x", dimensions=17).data[0].embedding) == 17
        with pytest.raises(openai.BadRequestError):
            connect(server).embeddings.create(model="e", input="x", dimensions=0)


def test_token_ids_are_taken(connect: Connect) -> None:
    with FakeServer() as server:
        create = connect(server).embeddings.create
        one = create(model="e", input=[1, 2, 3])
        two = create(model="e", input=[[1, 2, 3], [4]])
    assert one.data[0].embedding == two.data[0].embedding
    assert (one.usage.prompt_tokens, two.usage.prompt_tokens) == (3, 4)


def test_a_batch_beyond_the_largest_is_refused(connect: Connect) -> None:
    with FakeServer(largest_batch=2) as server, pytest.raises(openai.BadRequestError) as caught:
        connect(server).embeddings.create(model="e", input=TEXTS)
    assert caught.value.code == "array_above_max_length"
    assert caught.value.param == "input"
    assert "maximum length 2, but got an array with length 3" in caught.value.message


@pytest.mark.parametrize("wrong", ["", [], ["fine", ""], [["a"]], 7, None])
def test_inputs_that_are_none_are_refused(connect: Connect, wrong: object) -> None:
    with FakeServer() as server, pytest.raises(openai.BadRequestError):
        connect(server).embeddings.create(model="e", input="x", extra_body={"input": wrong})


def test_usage_can_be_missing(connect: Connect) -> None:
    with FakeServer(without={"usage"}) as server:
        reply = connect(server).embeddings.create(model="e", input="x")
    assert getattr(reply, "usage", None) is None


def test_a_text_without_words_has_a_vector(connect: Connect) -> None:
    with FakeServer() as server:
        vector = connect(server).embeddings.create(model="e", input="\n").data[0].embedding
    assert np.linalg.norm(vector) == pytest.approx(1)
