"""The openai package as a client of fake servers."""

from collections.abc import Callable, Iterator

import openai
import pytest

from benchmarks.fake_server import FakeServer

Connect = Callable[..., openai.OpenAI]
Ask = Callable[..., str]


@pytest.fixture(scope="session")
def _client() -> Iterator[openai.OpenAI]:
    """One client for all tests: making one takes time."""
    with openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key="sk-test", max_retries=0, timeout=10) as client:
        yield client


@pytest.fixture
def connect(_client: openai.OpenAI) -> Connect:
    """Makes a client of a server, without retries unless they are requested."""

    def make(server: FakeServer, **options: object) -> openai.OpenAI:
        return _client.with_options(base_url=server.url, **options)  # type: ignore[arg-type]

    return make


@pytest.fixture
def ask(connect: Connect) -> Ask:
    """Sends one user message and returns the text of the reply."""

    def send(server: FakeServer, prompt: str, **options: object) -> str:
        messages = [{"role": "user", "content": prompt}]
        reply = connect(server).chat.completions.create(model="m", messages=messages, **options)  # type: ignore
        return reply.choices[0].message.content or ""

    return send
