"""Every example in a docstring runs and prints what it says."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import conspectus

MODULES = sorted(found.name for found in pkgutil.walk_packages(conspectus.__path__, "conspectus."))
FOLDERS = ("storage", "prompts", "query", "pipelines")


def modules() -> list[str]:
    """Return the names of all modules; the folders beside `conspectus/` are part of it when it is installed."""
    names = ["conspectus", *MODULES]
    for folder in FOLDERS:
        package = import_module(f"conspectus.{folder}")
        names += [package.__name__, *(m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))]
    return sorted(name for name in set(names) if not name.endswith("__main__"))


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings_run(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0
