"""The scripts of `conspectus completion` in real shells. A missing shell is skipped: apt install zsh fish."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import conspectus as run

ROOT = Path(__file__).parent.parent.parent
CASES = [
    (["conspectus", "re"], {"reports", "remove", "retrieve"}),
    (["conspectus", "ask", "--met"], {"--method"}),
    (["conspectus", "ask", "--method", "hy"], {"hybrid"}),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with the program, and its script for each shell where zsh looks for one."""
    command = tmp_path / "conspectus"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m conspectus.cli "$@"\n', "utf-8")
    command.chmod(0o755)
    for shell, name in (("bash", "bash"), ("fish", "fish"), ("zsh", "_conspectus")):
        script = run("completion", shell)
        assert script.status == 0
        (tmp_path / name).write_text(script.out, "utf-8")
    return tmp_path


def shown(home: Path, shell: str, script: str) -> str:
    """Return what a shell prints."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    env = {**os.environ, "PATH": f"{home}:{os.environ['PATH']}", "HOME": str(home), "TERM": "xterm"}
    command = [shell, "-c", script]
    return subprocess.run(command, env=env, cwd=ROOT, check=True, capture_output=True, text=True, timeout=300).stdout


@pytest.mark.parametrize(("words", "offered"), CASES)
def test_bash_completes(home: Path, words: list[str], offered: set[str]) -> None:
    typed = " ".join(f"'{word}'" for word in words)
    ask = (
        f"source {home}/bash; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; "
        '_conspectus_completion conspectus; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    said = shown(home, "bash", ask).split()
    assert offered <= set(said)
    assert all(each.startswith(words[-1]) for each in said)


@pytest.mark.parametrize(("words", "offered"), CASES)
def test_fish_completes(home: Path, words: list[str], offered: set[str]) -> None:
    said = shown(home, "fish", f'source {home}/fish; complete -C "{" ".join(words)}"')
    assert offered <= {line.split("\t")[0] for line in said.splitlines()}


def test_zsh_completes(home: Path) -> None:
    """The keys are typed into an interactive zsh that finds the script on its `fpath`."""
    typed = f"""
zmodload zsh/zpty
zpty z "zsh -f -i"
zpty -w z "PS1=; fpath=({home} \\$fpath); autoload -Uz compinit; compinit -u -d {home}/dump; echo RE''ADY"
zpty -r -m z out "*READY*"
zpty -n -w z "conspectus ask --method hyb"$'\t\t'
zpty -r -m z out "*hyb*rid*"
zpty -n -w z $'\x15'"conspectus re"$'\t\t'
zpty -r -m z out "*reports*retrieve*"; print -r -- "$out"
zpty -d z
"""
    said = shown(home, "zsh", typed)
    assert all(name in said for name in ("remove", "reports", "retrieve"))
