"""What users install: a wheel with one import name, used from a folder whose packages are called like our folders."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.end_to_end.test_readme import ROOT

LARGEST = 1_900_000
"""Bytes of a wheel; nine tenths of it is source code (docs/decisions/dependencies.md)."""
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built from a copy of the sources: a build writes beside them."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("conspectus", "storage", "prompts", "query", "pipelines", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder / "dist"), str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    (built,) = (folder / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with the wheel; libraries come from the environment of the tests."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=300)
    interpreter = folder / "bin" / "python"
    shown = subprocess.run(
        [interpreter, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    libraries = [path for path in sys.path if path.endswith("site-packages")] or [sysconfig.get_path("purelib")]
    (Path(shown.stdout.strip()) / "libraries.pth").write_text("\n".join(libraries))
    command = [
        *PIP,
        "--python",
        str(interpreter),
        "install",
        "--no-deps",
        "--no-index",
        "--ignore-installed",
        str(wheel),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return interpreter


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder of somebody's own, in which `prompts`, `storage`, `query` and `pipelines` are packages of theirs."""
    for name in ("prompts", "storage", "query", "pipelines"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f'raise ImportError("this is the user\'s own {name}")\n')
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "weir.txt").write_text("Mara Quill repaired the weir at Tarnmouth in 1911.")
    return tmp_path


def run(project: Path, *words: str | Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "PYTHONPATH"))}
    done = subprocess.run(words, cwd=project, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_is_small_and_owns_one_import_name(wheel: Path) -> None:
    assert wheel.stat().st_size < LARGEST
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"conspectus"}


def test_the_command_line_runs_from_any_folder(python: Path, project: Path) -> None:
    program = python.with_name("conspectus")
    run(project, program, "index", "notes", "--set", "extraction.pipeline=regex")
    assert "Mara Quill" in run(project, program, "ask", "Who repaired the weir?")
    where = run(project, python, "-c", "import conspectus.storage as storage; print(storage.__file__)")
    assert Path(where.strip()).is_relative_to(python.parent.parent), "not the checkout that the tests run in"


FEWER = """
import sys
from conspectus.cli import demo, main
texts = demo.example_texts()
assert texts.is_relative_to(sys.argv[1]), texts
pages = sorted((texts / "world" / "pages").glob("*.html"))
assert len(pages) == 62
for page in pages:
    "Marrow" in page.read_text("utf-8") or page.unlink()
sys.argv = ["conspectus", "demo"]
main()
"""
"""The demo of the pages of one film, without spaCy: the whole takes a minute."""


def test_the_demo_runs_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    (tmp_path / "settings.yaml").write_text("extraction: {pipeline: regex}\n", "utf-8")
    words = (sys.executable, "-c", f"import sys; sys.path.insert(0, sys.argv[1])\n{FEWER}", tmp_path / "site")
    printed = run(tmp_path, *words)
    assert printed.count("$ conspectus ask") == 4
    assert "[1]" in printed.partition("Multi-hop")[2].partition("Single fact")[0]
    assert "do not" in printed.partition("Unknown:")[2]
