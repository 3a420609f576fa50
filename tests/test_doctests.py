"""Every example in a docstring runs and prints what it shows."""

import doctest
import pkgutil
from importlib import import_module
from pathlib import Path
from types import ModuleType

import conspectus
import pytest
from conspectus import api, building, operations

from benchmarks import fake_server

FOLDERS = ("storage", "prompts", "query", "pipelines")

INTERFACE = (api, building, operations)
"""Modules whose examples need an index."""

NOTES = {
    "lighthouse": "The lamp of the lighthouse on Gull Point failed in the storm of 1911. Mara Quill repaired it.",
    "harbour": "Mara Quill was harbour master of Tarnmouth. Under her the harbour was dredged for the herring fleet.",
    "tide-mill": "The tide mill of Tarnmouth ground barley until 1934. Its last miller was Odo Fenn.",
}
"""The three notes that the examples of the Python interface run over."""


def modules() -> list[str]:
    """Return all modules; the folders beside `conspectus/` belong to it once it is installed."""
    packages = [conspectus, fake_server, *(import_module(f"conspectus.{folder}") for folder in FOLDERS)]
    names = {
        found.name for package in packages for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    }
    return sorted(name for name in names if not name.endswith("__main__"))


def failed(module: ModuleType, **names: object) -> int:
    return doctest.testmod(module, extraglobs={"Path": Path, **names}).failed


@pytest.mark.parametrize("name", [name for name in modules() if name not in {module.__name__ for module in INTERFACE}])
def test_examples_in_docstrings_run(name: str) -> None:
    assert failed(import_module(name)) == 0


def test_examples_of_the_python_interface_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONSPECTUS_EXTRACTION__PIPELINE", "regex")
    (tmp_path / "notes").mkdir()
    for name, text in NOTES.items():
        (tmp_path / "notes" / f"{name}.txt").write_text(text)
    index = conspectus.build("notes", "notes.index")
    assert failed(api, index=index, conspectus=conspectus) == 0
    assert failed(operations, index=index, **vars(operations)) == 0
    assert failed(building, conspectus=conspectus) == 0
