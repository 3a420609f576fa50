"""The Containerfile and compose.yaml name what exists, and their commands run (here, without a container)."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.waiting import LIMIT, free_port, wait_until

ROOT = Path(__file__).parent.parent
CONTAINERFILE = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", " ")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
TOKEN = "a-token-of-a-test-1"


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} +(.*)$", CONTAINERFILE, re.M)


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    copied = [word for line in instructions("COPY") if "--from" not in line for word in shlex.split(line)[:-1]]
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert ignored[0] == "*"
    for name in copied:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in ignored
    assert "constraints.txt" in copied
    folders = re.search(r"FOLDERS = \((.*)\)", (ROOT / "setup.py").read_text("utf-8"))
    assert folders is not None
    assert {word.strip(' "') for word in folders[1].split(",")} <= set(copied)


def test_it_runs_as_nobody_in_particular() -> None:
    assert instructions("USER") == ["10001"]
    server = COMPOSE["services"]["server"]
    assert server["read_only"]
    assert server["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for each in COMPOSE["services"].values() for port in each.get("ports", ()))


def test_the_image_sets_what_conspectus_sets_for_itself() -> None:
    """Prefect's server runs there too, and never imports Conspectus."""
    code = """
import os
before = set(os.environ)
import conspectus
print(*(f"{name}={os.environ[name]}" for name in {*os.environ} - before))
"""
    set_by_us = subprocess.run([sys.executable, "-c", code], env={}, capture_output=True, text=True, check=True)
    [image] = instructions("ENV")
    assert set_by_us.stdout.split()
    assert {*set_by_us.stdout.split()} <= {*shlex.split(image)}


def test_the_extras_of_the_image_exist() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    [extras] = re.findall(r"'\.\[(.*?)\]'", CONTAINERFILE)
    for extra in extras.split(","):
        assert re.search(rf"^{extra} = \[", project, re.M)


@pytest.mark.parametrize("command", [instructions("CMD")[-1], json.dumps(COMPOSE["services"]["server"]["command"])])
def test_the_server_starts_and_is_healthy(index_root: Path, command: str) -> None:
    program, *words = json.loads(command)
    assert program == "conspectus"
    port = str(free_port())
    words = [word.replace("/data/index", str(index_root)).replace("8765", port) for word in words]
    env = {**os.environ, "CONSPECTUS_TOKEN": TOKEN}
    serve = [sys.executable, "-m", "conspectus.cli", *words]
    without = subprocess.run(serve, env={**env, "CONSPECTUS_TOKEN": ""}, capture_output=True, text=True)
    assert without.returncode == 2
    [check] = re.findall(r"^HEALTHCHECK .*? CMD +(.*)$", CONTAINERFILE, re.M)
    python, *code = json.loads(check.replace("8765", port))
    assert python == "python"
    server = subprocess.Popen(serve, env=env, stderr=subprocess.DEVNULL)
    try:

        def is_healthy() -> bool:
            assert server.poll() is None
            return subprocess.run([sys.executable, *code], capture_output=True).returncode == 0

        wait_until(is_healthy)
    finally:
        server.terminate()
        assert server.wait(LIMIT) in (0, -15)


def test_the_command_that_indexes_has_options_that_exist() -> None:
    command = COMPOSE["services"]["index"]["command"]
    help_ = subprocess.run(
        [sys.executable, "-m", "conspectus.cli", command[1], "--help"], capture_output=True, text=True
    )
    assert all(word in help_.stdout for word in command if word.startswith("--"))
