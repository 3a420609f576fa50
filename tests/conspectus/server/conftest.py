from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conspectus.server.running import Running, build, running


@pytest.fixture(scope="session")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small index. Tests that change anything build their own."""
    return build(tmp_path_factory.mktemp("notes"))


@pytest.fixture(scope="module")
def server(notes: Path) -> Iterator[Running]:
    """A server of that index, without tokens."""
    with running(("notes", notes)) as found:
        yield found
