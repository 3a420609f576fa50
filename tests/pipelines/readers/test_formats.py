import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.formats import CONTAINERS, READERS, known_formats, readable_suffix


def test_each_format_has_a_reader() -> None:
    for module, function in set(READERS.values()):
        assert callable(getattr(import_module(f"conspectus.pipelines.readers.{module}"), function))
    assert set(READERS) > CONTAINERS


def test_formats_are_loaded_when_they_are_read() -> None:
    heavy = ["lxml", "pypdf", "docx", "pptx", "python_calamine", "pyarrow", "fsspec", "httpx"]
    code = (
        f"import sys, conspectus.pipelines.steps.documents\nprint(*[name for name in {heavy!r} if name in sys.modules])"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.split() == []


def test_what_is_not_read_is_told_what_to_do() -> None:
    for name, advice in {
        "a.doc": "save it as .docx",
        "a.rar": "unpack it, or pack it as .zip",
        "a.exe": f"these are read: {known_formats()}",
        "a.exe.gz": "before .gz stands the suffix of a format that is read",
    }.items():
        with pytest.raises(Unreadable) as error:
            readable_suffix(name)
        assert error.value.detail == advice
    assert len(known_formats()) < 260


def test_the_command_line_names_the_formats() -> None:
    from conspectus.cli import index as cli

    assert known_formats() in " ".join((cli.index.__doc__ or "").split())
