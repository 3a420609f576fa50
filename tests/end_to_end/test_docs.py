"""What docs/ shows works: its Python runs, and the settings that it and the README name exist."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conspectus.storage.settings import Settings

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def page(path: Path) -> str:
    return path.read_text("utf-8")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_setting_that_is_named_exists(path: Path) -> None:
    sections = "|".join(Settings.model_fields)
    for section, key in set(re.findall(rf"(?<![\w./-])({sections})\.([a-z_]+)\b(?!\.)(?=[=`' ,])", page(path))):
        if key in {"parquet", "faiss", "rows", "tsv", "json"}:  # files, of an index, a suite or a training
            continue
        fields: Any = Settings.model_fields[section].annotation
        assert key in fields.model_fields, f"{section}.{key}"


@pytest.mark.parametrize(
    "snippet", re.findall(r"^```python\n(.*?)^```", page(ROOT / "docs" / "models.md"), re.M | re.S)
)
def test_the_python_of_models_runs(snippet: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", snippet], capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    if "server.measures" in snippet:
        assert "200" in done.stdout


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_file_that_a_page_leads_to_exists(path: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page(path)):
        assert (path.parent / target).exists(), target
    for target in re.findall(
        r"`((?:tests|benchmarks|docs|examples|prompts|pipelines|storage|query)/[\w./-]+\.\w+)`", page(path)
    ):
        assert (ROOT / target).exists(), target


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(ROOT / "docs"), str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "Index.ask" in (tmp_path / "site" / "api.html").read_text("utf-8")
