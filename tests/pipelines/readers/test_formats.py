import subprocess
import sys
import zipfile
from pathlib import Path

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


def test_a_suffix_of_ones_own_is_read_like_another(tmp_path: Path) -> None:
    settings = InputSettings(suffixes={".memo": ".md", ".tpl": ".py"})
    (tmp_path / "a.memo").write_text("# Minutes\n\nThe *keeper* spoke.", "utf-8")
    (tmp_path / "b.tpl").write_text("x = 1\n", "utf-8")
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.write(tmp_path / "a.memo", "d.memo")
    assert texts(read(tmp_path / "a.memo", settings)[0]) == {"": "Minutes\n\nThe keeper spoke."}
    assert texts(read(tmp_path / "b.tpl", settings)[0]) == {"": "```\nx = 1\n```"}
    assert texts(read(tmp_path / "c.zip", settings)[0]) == {"d.memo": "Minutes\n\nThe keeper spoke."}
