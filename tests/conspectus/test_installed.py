"""What comes out of the wheel: it runs without the checkout, and importing it brings little."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LARGEST = 1_800_000
"""Bytes of a wheel; nine tenths of it is source code (docs/decisions/dependencies.md)."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an unpacked wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    ignored = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "tests", "benchmarks", "docs")
    shutil.copytree(ROOT, source, ignore=ignored)
    build = ["-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder, source]
    subprocess.run([sys.executable, *map(str, build)], check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    assert wheel.stat().st_size < LARGEST
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(folder / "site")
    return folder / "site"


def program(installed: Path, folder: Path, *words: str) -> str:
    """Run the program of the wheel in a folder away from the checkout."""
    env = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


def test_p1_a_wheel_answers_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    where = program(installed, tmp_path, "-c", "import conspectus.storage as s; print(s.__path__[0])")
    assert Path(where.strip()) == installed / "conspectus" / "storage"
    (tmp_path / "notes.md").write_text("# Lamp\n\nMara Quill repaired the lighthouse lamp in Port Alma.", "utf-8")
    call = ("-m", "conspectus.cli")
    program(installed, tmp_path, *call, "index", "notes.md", "--set", "extraction.pipeline=regex", "-q")
    answer = json.loads(program(installed, tmp_path, *call, "ask", "Who repaired the lighthouse lamp?", "--json"))
    assert answer["citations"][0]["uri"] == "notes.md"
    assert "Mara Quill" in answer["answer"]


def test_the_demo_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    fewer = (  # the whole takes a minute: of the 62 pages those of one film, and no spaCy
        "from conspectus.cli import demo, main\nimport sys\n"
        "texts = demo.example_texts()\n"
        "assert texts.is_relative_to(sys.argv[1]), texts\n"
        "pages = sorted((texts / 'world' / 'pages').glob('*.html'))\n"
        "assert len(pages) == 62\n"
        "for page in pages:\n"
        "    'Marrow' in page.read_text('utf-8') or page.unlink()\n"
        "sys.argv = ['conspectus', 'demo']\n"
        "main()\n"
    )
    copy = tmp_path / "site"
    shutil.copytree(installed, copy)
    (tmp_path / "settings.yaml").write_text("extraction: {pipeline: regex}\n", "utf-8")
    printed = program(copy, tmp_path, "-c", fewer, str(copy))
    assert printed.count("$ conspectus ask") == 4
    assert "[1]" in printed.partition("Multi-hop")[2].partition("Single fact")[0]
    assert "do not" in printed.partition("Unknown:")[2]


def test_p2_importing_brings_nothing_heavy() -> None:
    code = (
        "import sys, conspectus\n"
        "print(*{'torch', 'prefect', 'fastapi', 'spacy', 'faiss', 'numpy', 'openai'} & sys.modules.keys())"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "\n"
