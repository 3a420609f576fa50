import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.formats import known_formats, readable_suffix
from conspectus.storage.settings import InputSettings

from tests.pipelines.readers.reading import read, texts


def test_formats_are_loaded_when_they_are_read() -> None:
    heavy = ["lxml", "pypdf", "docx", "pptx", "python_calamine", "pyarrow", "obstore", "httpx"]
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


def test_a_suffix_of_ones_own_is_read_like_another(tmp_path: Path) -> None:
    settings = InputSettings(suffixes={".memo": ".md", ".tpl": ".py"})
    (tmp_path / "a.memo").write_text("# Minutes\n\nThe *keeper* spoke.", "utf-8")
    (tmp_path / "b.tpl").write_text("x = 1\n", "utf-8")
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.write(tmp_path / "a.memo", "d.memo")
    assert texts(read(tmp_path / "a.memo", settings)[0]) == {"": "Minutes\n\nThe keeper spoke."}
    assert texts(read(tmp_path / "b.tpl", settings)[0]) == {"": "```\nx = 1\n```"}
    assert texts(read(tmp_path / "c.zip", settings)[0]) == {"d.memo": "Minutes\n\nThe keeper spoke."}
