"""What the README shows works: its Python runs, and its commands exist with the options that it gives them."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import conspectus

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def fenced(kind: str) -> list[str]:
    """Return the blocks of code of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", README, re.M | re.S)


def command_lines() -> list[str]:
    """Return every call of ours, in blocks and within the text."""
    joined = [line for block in fenced("[a-z]*") for line in block.replace("\\\n", " ").splitlines()]
    within = re.findall(r"`(conspectus [^`]+)`", README)
    shown = [re.sub(r"\s#.*", "", line).strip() for line in joined + within]
    return [line for line in shown if re.match(r"(\.venv/bin/)?conspectus ", line)]


def test_the_readme_shows_the_main_commands() -> None:
    assert {"index", "ask", "status", "evaluate"} <= {line.split()[1] for line in command_lines()}


@pytest.mark.parametrize("line", command_lines())
def test_a_command_of_the_readme_exists(line: str) -> None:
    _, command, *words = shlex.split(line)
    shown = conspectus(command, "--help")
    assert shown.status == 0, f"no command {command}"
    options = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", shown.out.partition("Options:")[2]))
    assert {word.partition("=")[0] for word in words if word.startswith("-")} <= options


def test_the_python_of_the_readme_runs(index_root: Path, tmp_path: Path) -> None:
    snippets = fenced("python")
    assert snippets
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for place in re.findall(r'"(\.conspectus/[^"]+)"', README):  # what others have computed, so that it is quick
        (tmp_path / place / "cache").mkdir(parents=True)
        shutil.copy(index_root / "cache" / "memo.sqlite", tmp_path / place / "cache")
    for snippet in snippets:
        done = subprocess.run(
            [sys.executable, "-W", "error::RuntimeWarning", "-c", snippet],
            capture_output=True, text=True, timeout=300, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        assert "[1]" in done.stdout, "an answer that cites"


def test_the_targets_of_the_readme_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"^make (\w+)", "\n".join(fenced("")), re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target
