"""One small index for all tests, built once a session: short passages on invented isles and the sample passages."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import hypothesis
import pytest
from conspectus.query.context import Context
from conspectus.storage.index import StoredIndex
from conspectus.storage.settings import load_settings

from tests import samples
from tests.cross_encoders import save_cross_encoder

# The same examples every time, on a machine of any speed; --hypothesis-profile=random looks for others, and for more.
hypothesis.settings.register_profile("random", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile(
    "same", hypothesis.settings.get_profile("random"), derandomize=True, max_examples=40
)
hypothesis.settings.load_profile("same")

# Without compiled files each worker, and each of the hundred programs that tests start, compiles everything again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

EXAMPLES = Path(__file__).parent.parent / "examples"
ISLES = Path(__file__).parent / "data" / "isles"

LONGEST = (
    "end_to_end/test_prefect.py", "query/filter/test_canaries.py", "pipelines/remote_index/test_object_store.py",
    "test_container.py", "contracts/test_retrievers.py", "conspectus/server/admin/test_admin_routes.py",
    "end_to_end/test_guides.py", "end_to_end/test_kill.py", "end_to_end/test_docs.py", "end_to_end/test_no_contact.py",
    "pipelines/remote_index/test_parts.py", "end_to_end/test_dask.py", "conspectus/server/admin/test_manage_page.py",
    "end_to_end/test_wheel.py", "pipelines/estimation/test_estimate.py", "contracts/test_answerers.py",
    "conspectus/test_cli.py", "conspectus/server/admin/test_jobs.py", "conspectus/server/test_page.py",
    "prompts/client/test_client.py", "end_to_end/test_habits.py", "pipelines/train/gretriever/test_train.py",
    "end_to_end/test_hostile.py", "test_layers.py",
)  # fmt: skip
"""The files that take longest. They run first, so that no worker still has a long one when the other has none."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; a file keeps the order of its tests."""
    first = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: first.get(item.path, len(first)))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a test after its bytes' argument, not after the bytes: an archive holds the second in which it was made,
    and two workers that collect tests with different names run none.
    """
    return argname if isinstance(val, bytes) else None


Build = Callable[[Iterable[tuple[str, str]]], Context]
"""Makes a small index of titles and texts; a document's id is its place, from "0"."""


@pytest.fixture(scope="session")
def index_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the shared index. Tests that change anything work on a copy."""
    from conspectus.pipelines.build_index import build_index

    folder = tmp_path_factory.mktemp("shared")
    passages = folder / "samples.jsonl"
    rows = [{"id": each.id, "title": each.title, "text": each.text} for each in samples.documents()]
    write_rows(passages, rows)
    report = build_index([ISLES / "corpus.jsonl", passages], folder / "index", load_settings())
    assert not report.failures
    return folder / "index"


@pytest.fixture(scope="session")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny cross-encoder that has learned nothing."""
    return save_cross_encoder(tmp_path_factory.mktemp("cross-encoder"), samples.PASSAGES.values())


@pytest.fixture(scope="session")
def reranking(cross_encoder: Path) -> dict[str, dict[str, object]]:
    """Settings that let every method run, the one with a model too."""
    return {"rerank": {"model": str(cross_encoder)}}


@pytest.fixture(scope="session")
def context(index_root: Path, reranking: dict[str, dict[str, object]]) -> Context:
    """The shared index, open for questions."""
    return Context(StoredIndex.open(index_root), load_settings(overrides=reranking))


@pytest.fixture(scope="session")
def sample_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an index of the sample passages only, with something in every table that needs no model."""
    from conspectus.pipelines.build_index import build_index

    folder = tmp_path_factory.mktemp("samples")
    write_rows(folder / "samples.jsonl", [{"title": title, "text": text} for title, text in samples.PASSAGES.items()])
    build_index([folder / "samples.jsonl"], folder / "index", load_settings(overrides={"synonyms": {"threshold": 0.6}}))
    return folder / "index"


@pytest.fixture(scope="session")
def sample_context(sample_root: Path, reranking: dict[str, dict[str, object]]) -> Context:
    """The index of the sample passages, open for questions."""
    return Context(StoredIndex.open(sample_root), load_settings(overrides=reranking))


@pytest.fixture(scope="session")
def questions() -> list[str]:
    """The questions about the invented isles."""
    lines = (ISLES / "questions.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory, reranking: dict[str, dict[str, object]]) -> Build:
    """Makes further indexes of a few texts, without spaCy."""
    from conspectus.pipelines.build_index import build_index

    def make(passages: Iterable[tuple[str, str]]) -> Context:
        folder = tmp_path_factory.mktemp("small")
        rows = [{"id": str(i), "title": title, "text": text} for i, (title, text) in enumerate(passages)]
        write_rows(folder / "input.jsonl", rows)
        chosen = load_settings(overrides={"extraction": {"pipeline": "regex"}, **reranking})
        build_index([folder / "input.jsonl"], folder / "index", chosen)
        return Context(StoredIndex.open(folder / "index"), chosen)

    return make


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write one JSON object a line."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
