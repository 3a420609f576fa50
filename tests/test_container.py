"""The Containerfile and compose.yaml name what exists, and their commands run (here, without a container)."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from conspectus.storage.settings import LlmSettings, load_settings

from tests.command_line import conspectus
from tests.waiting import LIMIT, free_port, wait_until

ROOT = Path(__file__).parent.parent
CONTAINERFILE = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", " ")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
HEALTHCHECK: list[str] = json.loads(re.findall(r"^HEALTHCHECK .*? CMD +(.*)$", CONTAINERFILE, re.M)[0])
TOKEN = "a-token-of-a-test-1"
ADMIN = "an-administrators-token"
_REFERENCE = re.compile(r"\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}")
OUTSIDE = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
CONTAINED = """
mount --bind "$1" /mnt && mount -t tmpfs tmpfs /tmp && mount -o remount,bind,ro / && cd /mnt/data || exit 99
shift
exec unshare --user --map-user=10001 --map-group=10001 setpriv --no-new-privs "$@"
"""
"""Runs a command as the services do: all files are read-only but /tmp and, at /mnt, those of the first argument, there
is no home, and user 10001 has no capability."""


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} +(.*)$", CONTAINERFILE, re.M)


def environment(service: str, **given: str) -> dict[str, str]:
    """Return the environment of a service whose user has set some variables."""
    named: dict[str, str] = SERVICES[service]["environment"]
    return {
        key: _REFERENCE.sub(lambda found: given.get(found[1]) or found[2] or "", value) for key, value in named.items()
    }


def placed(text: str, ports: Mapping[str, str]) -> str:
    """Return a word of a command or a variable with its volume below /mnt, and other ports of this machine."""
    text = re.sub(r"^(\w+=)?/(data|documents)\b", r"\1/mnt/\2", text).replace("//prefect:", "//127.0.0.1:")
    return re.sub(r"\b(4200|8765)\b", lambda found: ports[found[1]], text)


def contained(service: str, folder: Path, ports: Mapping[str, str], **given: str) -> subprocess.Popen[str]:
    """Start the command of a service with its volumes in a folder, and other ports."""
    program, *words = (placed(word, ports) for word in SERVICES[service]["command"])
    run = [sys.executable, "-m", {"conspectus": "conspectus.cli"}.get(program, program), *words]
    env = {
        "PATH": os.environ["PATH"],
        "HOME": "/home/conspectus",
        "HF_HUB_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    env |= {key: placed(value, ports) for key, value in environment(service, **given).items()}
    return subprocess.Popen([*OUTSIDE, CONTAINED, "sh", folder, *run], env=env, stderr=subprocess.PIPE, text=True)


def wait_until_healthy(
    check: Sequence[str], ports: Mapping[str, str], process: subprocess.Popen[str], seconds: float = LIMIT
) -> None:
    """Wait until a check of health passes for a process, which must be running."""
    python, *words = check
    assert python == "python"
    command = [sys.executable, *(placed(word, ports) for word in words)]

    def passes() -> bool:
        assert process.poll() is None
        return subprocess.run(command, capture_output=True).returncode == 0

    wait_until(passes, seconds, between=0.5)


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    copied = [word for line in instructions("COPY") if "--from" not in line for word in shlex.split(line)[:-1]]
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert ignored[0] == "*"
    for name in copied:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in ignored
    assert "constraints.txt" in copied
    links = {path.name for path in (ROOT / "conspectus").iterdir() if path.is_symlink()}
    assert len(links) == 4
    assert links <= set(copied), "the folders that conspectus/ links to are there too"


@pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)
def test_a_container_can_do_no_more_than_it_needs(service: dict[str, Any]) -> None:
    assert instructions("USER") == ["10001"]
    assert "user" not in service
    assert "privileged" not in service
    assert service["read_only"]
    assert service["tmpfs"] == ["/tmp"]  # noqa: S108  (a file system of its own)
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"]
    assert service["pids_limit"] == 2048


def test_only_this_machine_reaches_the_server_and_only_the_build_reaches_prefect() -> None:
    assert {name: each.get("ports") for name, each in SERVICES.items()} == {
        "prefect": None,
        "index": None,
        "server": ["127.0.0.1:8765:8765"],
    }
    assert {name: each.get("networks") for name, each in SERVICES.items()} == {
        "prefect": ["building"],
        "index": ["building", "default"],
        "server": None,
    }
    assert COMPOSE["networks"] == {"building": {"internal": True}}


@pytest.mark.parametrize("name", ["index", "server"])
def test_a_model_is_named_by_the_environment(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = {
        "CONSPECTUS__LLM__MODEL": "small",
        "CONSPECTUS__LLM__BASE_URL": "http://127.0.0.1:9/v1",
        "OPENAI_API_KEY": "a-key-of-a-test",
    }
    assert given.items() <= environment(name, **given).items()
    without = environment(name)
    assert [without[key] for key in given] == ["", "", ""]
    file = tmp_path / "settings.yaml"
    file.write_text("llm: {model: of-the-file, base_url: 'http://127.0.0.1:8/v1'}\n", "utf-8")
    for key, value in without.items():
        monkeypatch.setenv(key, value)
    assert load_settings().llm == LlmSettings()
    assert load_settings(file).llm.model == "of-the-file"
    assert load_settings(file).llm.base_url == "http://127.0.0.1:8/v1"


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


def test_all_services_work_with_no_more_than_they_are_given(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or subprocess.run([*OUTSIDE, "mount -t tmpfs tmpfs /mnt"]).returncode:
        pytest.skip("this machine lets nobody mount in a namespace of their own")
    ports = {"4200": str(free_port()), "8765": str(free_port())}
    for name in ("data", "documents", "of prefect/data"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "documents" / "a.md").write_text("Otto Brand left Port Alma for North Bay.", "utf-8")
    prefect = contained("prefect", tmp_path / "of prefect", ports)
    try:
        wait_until_healthy(SERVICES["prefect"]["healthcheck"]["test"][1:], ports, prefect, 5 * LIMIT)
        early = contained("server", tmp_path, ports, CONSPECTUS_TOKEN=TOKEN)
        assert "build one with: conspectus index" in early.communicate(timeout=LIMIT)[1]
        assert early.returncode == 4
        index = contained("index", tmp_path, ports)
        told = index.communicate(timeout=LIMIT)[1]
        assert index.returncode == 0, told
        assert "Finished in state Completed()" in told, "it is a flow of that Prefect server"
    finally:
        prefect.terminate()
        prefect.communicate(timeout=LIMIT)
    server = contained("server", tmp_path, ports, CONSPECTUS_TOKEN=TOKEN)
    try:
        wait_until_healthy(HEALTHCHECK, ports, server)
        headers = {"authorization": f"Bearer {TOKEN}"}
        url = f"http://127.0.0.1:{ports['8765']}/v1/indexes/index/ask"
        asked = httpx.post(url, json={"question": "Who left Port Alma?"}, headers=headers, timeout=LIMIT)
        assert "Otto Brand" in asked.json()["text"]
    finally:
        server.terminate()
        server.communicate(timeout=LIMIT)


@pytest.mark.parametrize(
    "given", [{}, {"CONSPECTUS_ADMIN_TOKEN": ADMIN, "CONSPECTUS_ALLOW_HOST": "a.example b.example"}]
)
def test_what_the_environment_gives_the_server_counts_and_nothing_is_none(
    given: dict[str, str], index_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert json.loads(instructions("CMD")[-1]) == SERVICES["server"]["command"], "the image starts as the service does"
    shutil.copytree(index_root, tmp_path / "index")
    port = str(free_port())
    words = [placed(word.replace("/data", str(tmp_path)), {"8765": port}) for word in SERVICES["server"]["command"]]
    monkeypatch.setenv("CONSPECTUS_TOKEN", "")
    assert conspectus(*words[1:]).status == 2, "without a token nothing is served to other machines"
    env = {**os.environ, **environment("server", CONSPECTUS_TOKEN=TOKEN, **given)}
    with subprocess.Popen([sys.executable, "-m", "conspectus.cli", *words[1:]], env=env, text=True) as server:
        try:
            wait_until_healthy(HEALTHCHECK, {"8765": port}, server)
            url = f"http://127.0.0.1:{port}"
            for host in ("a.example", "b.example"):
                assert httpx.get(f"{url}/livez", headers={"host": host}).status_code == (200 if given else 421)
            mine = httpx.get(f"{url}/v1/administration", headers={"authorization": f"Bearer {TOKEN}"}).json()
            assert mine == {"on": bool(given), "administrator": False}
            admin = httpx.get(f"{url}/v1/administration", headers={"authorization": f"Bearer {ADMIN}"})
            assert admin.status_code == (200 if given else 401)
            assert not given or admin.json() == {"on": True, "administrator": True}
        finally:
            server.terminate()
