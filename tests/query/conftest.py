"""Indexes that tests of asking share, built once a session."""

from pathlib import Path

import pytest
from conspectus.query.context import Context

from tests.query import films
from tests.query.harbour import build


@pytest.fixture(scope="session")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """Five documents, their graph with claims, and reports; open without a model."""
    return build(tmp_path_factory.mktemp("harbour"))


@pytest.fixture(scope="session")
def films_index(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """The graph of made-up films, open without a model."""
    return films.build(tmp_path_factory.mktemp("films"), films.TRIPLES)


@pytest.fixture(scope="session")
def films_and_pages(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """The graph of made-up films with the pages of the example about them, open without a model."""
    return films.build(tmp_path_factory.mktemp("both"), films.TRIPLES, films.PAGES)


@pytest.fixture(scope="session")
def grid_index(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """A grid of places, in which a walk never comes to an end."""
    return films.build(tmp_path_factory.mktemp("grid"), films.grid(14))


@pytest.fixture(autouse=True)
def _nothing_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def memo(tmp_path: Path) -> Path:
    """A folder for what a model's replies are remembered in."""
    return tmp_path / "memo"
