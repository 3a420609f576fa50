"""The model-made index that the tests of local search and DRIFT share."""

import pytest

from conspectus.query.context import Context
from tests.query.answer.harbour import build


@pytest.fixture(scope="session")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """Five documents, their graph with claims, and reports; open without a model."""
    return build(tmp_path_factory.mktemp("harbour"))
