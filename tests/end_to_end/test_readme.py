"""The Python of the README runs. Its commands are run with those of the guides, in test_guides.py."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def fenced(kind: str) -> list[str]:
    """Return the blocks of code of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", README, re.M | re.S)


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
