"""Indexes that subgraphs are found in, built once a session."""

from pathlib import Path

import pytest

from conspectus.query.context import Context
from tests.query.walk import films


@pytest.fixture(scope="session")
def films_index(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """The graph of made-up films, open without a model."""
    return films.build(tmp_path_factory.mktemp("films"), films.TRIPLES)


@pytest.fixture
def memo(tmp_path: Path) -> Path:
    """A folder for what a model's replies are remembered in."""
    return tmp_path / "memo"
