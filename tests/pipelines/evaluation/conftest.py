"""The graph of made-up films, which walks are measured over."""

import pytest
from conspectus.query.context import Context

from tests.query import films as made_up


@pytest.fixture(scope="session")
def films(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """An index of the films alone, without a document."""
    return made_up.build(tmp_path_factory.mktemp("films"), made_up.TRIPLES)
