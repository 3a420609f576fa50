"""conspectus init --tune, as a user runs it; a server plays the model."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from yaml import safe_load

from benchmarks.fake_server import FakeServer
from tests.command_line import Done, conspectus
from tests.tuning_model import DOMAIN, PERSONA, TYPES, reply, write_corpus

FILES = ["domain.txt", "extract_examples.txt", "persona.txt", "report_persona.txt"]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply) as running:
        yield running


@pytest.fixture(autouse=True)
def _corpus(tmp_path: Path) -> None:
    write_corpus(tmp_path / "akten")


def tuned(server: FakeServer, *words: str) -> Done:
    return conspectus("init", "--tune", "akten", "--set", "llm.model=m", "--set", f"llm.base_url={server.url}", *words)


def test_it_writes_what_it_says_and_tells_what_it_took(server: FakeServer, tmp_path: Path) -> None:
    done = tuned(server, "project", "--sample", "4")
    assert done.status == 0, done.err
    assert sorted(path.name for path in (tmp_path / "project" / "prompts").iterdir()) == FILES
    settings = safe_load((tmp_path / "project" / "settings.yaml").read_text("utf-8"))
    assert settings["extraction"]["entity_types"] == list(TYPES)
    assert settings["extraction"]["prompts"] == "prompts"
    assert settings["llm"]["model"] == "m"
    for line in (
        "wrote project/settings.yaml",
        "wrote project/prompts/persona.txt",
        "read 4 chunks of 4 documents",
        DOMAIN,
        PERSONA,
        "entity types: Person, Schiff, Hafen",
        "3 examples of extraction, 0 of claims",
        "tune: 6 calls to m, ",
    ):
        assert line in done.out
    assert "tune: 6 of 6" in done.err
    assert tuned(server, "quiet", "--quiet").err == ""


def test_files_that_are_there_are_kept_without_force(server: FakeServer, tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "persona.txt").write_text("mine", "utf-8")
    done = tuned(server)
    assert (done.status, done.out) == (2, "")
    assert "prompts/persona.txt already exists; --force" in done.err
    assert (tmp_path / "prompts" / "persona.txt").read_text("utf-8") == "mine"
    assert not (tmp_path / "settings.yaml").exists()
    assert server.requests == []
    assert tuned(server, "--force").status == 0
    assert (tmp_path / "prompts" / "persona.txt").read_text("utf-8") == f"{PERSONA}\n"
    assert (tuned(server).status, tuned(server, "--force").status) == (2, 0)


def test_what_cannot_be_written_is_told_before_a_call_is_paid_for(server: FakeServer, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "prompts").write_text("a file", "utf-8")
    (tmp_path / "two" / "prompts" / "persona.txt").mkdir(parents=True)
    (tmp_path / "three").write_text("a file", "utf-8")
    for folder, at_fault in (("one", "one/prompts"), ("two", "two/prompts/persona.txt"), ("three/sub", "three")):
        done = tuned(server, folder, "--force")
        assert (done.status, done.out) == (2, "")
        assert f"conspectus: {at_fault} is a f" in done.err
    assert server.requests == []
    assert sorted(path.name for path in (tmp_path / "two" / "prompts").iterdir()) == ["persona.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_in(server: FakeServer, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    done = tuned(server, "locked")
    assert done.status == 2
    assert "cannot write in locked" in done.err
    assert server.requests == []


def test_what_the_settings_say_is_kept(server: FakeServer, tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text(
        f"llm: {{model: m, base_url: '{server.url}'}}\nchunks: {{chunk_size: 300}}\nextraction: {{claims: true}}\n",
        "utf-8",
    )
    assert conspectus("init", "--tune", "akten", "--force").status == 0
    settings = safe_load((tmp_path / "settings.yaml").read_text("utf-8"))
    assert (settings["chunks"]["chunk_size"], settings["extraction"]["claims"]) == (300, True)
    assert (tmp_path / "prompts" / "claims_examples.txt").is_file()


def test_a_run_that_fails_leaves_nothing(server: FakeServer, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    done = conspectus("init", "project", "--tune", "akten")
    assert (done.status, done.out) == (6, "")
    assert "llm.model" in done.err
    done = tuned(server, "project", "--set", "llm.max_tokens=9000", "--set", "llm.max_output_tokens=200")
    assert (done.status, done.out) == (9, "")
    assert server.requests
    server.change(replies="No.")
    done = tuned(server, "project")
    assert (done.status, done.out) == (8, "")
    assert tuned(server, "project", "--tune", "nowhere").status == 3
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("words", [["--set", "llm.model=m"], ["--sample", "3"], ["--settings", "settings.yaml"]])
def test_options_of_tuning_are_no_use_without_it(words: list[str], tmp_path: Path) -> None:
    done = conspectus("init", *words)
    assert (done.status, done.out) == (2, "")
    assert "--tune" in done.err
    assert not (tmp_path / "settings.yaml").exists()


def test_a_missing_folder_of_prompts_is_one_clear_line(server: FakeServer) -> None:
    done = conspectus("index", "akten", "--set", "llm.model=m", "--set", "extraction.prompts=nowhere")
    assert (done.status, done.out) == (2, "")
    assert "extraction.prompts: there is no folder nowhere" in done.err
