"""A model file is served by a child process; what is none is refused with a reason."""

import asyncio
from pathlib import Path

import httpx
import pytest
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.client.model_file import url_of
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.prompts.language_model import Message, Request
from conspectus.storage.errors import ModelRefused, SettingsError
from conspectus.storage.settings import EmbeddingServerSettings, EmbeddingSettings, LlmSettings

from tests.end_to_end.test_real_model import model_file


def test_a_name_or_a_url_starts_nothing() -> None:
    assert url_of("gpt-4o", "") == ""
    assert url_of("/no/such.gguf", "http://localhost:1/v1") == "http://localhost:1/v1"


def test_a_file_that_is_missing_or_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no model file"):
        url_of(str(tmp_path / "none.gguf"), "")
    pytest.importorskip("xllamacpp", reason="`make test` installs it")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(SettingsError, match="cannot load"):
        url_of(str(broken), "")


def test_a_file_that_is_no_model_of_embeddings_is_refused_by_its_server() -> None:
    embedder = open_embedder(EmbeddingSettings(model=str(model_file())), EmbeddingServerSettings())
    with pytest.raises(ModelRefused, match="Pooling type 'none'"):
        embedder.embed(["The cat sleeps."])


def test_the_file_of_a_step_has_its_own_server(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="`make test` installs it")
    other = tmp_path / "other.gguf"
    other.symlink_to(model_file())
    model = ModelClient(LlmSettings(model=str(model_file()), step_models={"extract": str(other)}, max_output_tokens=4))
    for step, file in (("answer", model_file()), ("extract", other)):
        reply = asyncio.run(model.complete(Request((Message("user", "Hello"),), step)))
        assert reply.model == str(file)
        assert served(str(file)) == [str(file)]


def served(model: str) -> list[str]:
    """Return what the server of a model lists."""
    return [each["id"] for each in httpx.get(f"{url_of(model, '')}/models").json()["data"]]
