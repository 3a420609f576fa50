"""Prompts fitted to a German corpus, and the index that is made with them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from conspectus.prompts.render import prompt_text
from conspectus.storage.index import StoredIndex
from conspectus.storage.verify import verify

from benchmarks.fake_server import FakeServer
from tests.command_line import conspectus
from tests.tags import prompt_of
from tests.tuning_model import DOMAIN, PERSONA, REPORTER, reply, write_corpus


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply) as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FakeServer) -> Path:
    """A folder of a corpus whose prompts are tuned, in which commands are run."""
    write_corpus(tmp_path / "akten")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    overrides = ("llm.model=m", f"llm.base_url={server.url}", "extraction.claims=true", "reports.min_size=2")
    done = conspectus("init", "--tune", "akten", *(word for each in overrides for word in ("--set", each)))
    assert done.status == 0, done.err
    return tmp_path


def asked(server: FakeServer, since: int) -> list[str]:
    """Return the first message of each chat request."""
    return [prompt_of(each.body) for each in server.requests[since:] if each.body]


def test_indexing_says_who_the_model_is_what_to_look_for_and_how(project: Path, server: FakeServer) -> None:
    tuned = len(server.requests)
    assert conspectus("index", "akten").status == 0
    prompts = asked(server, tuned)
    example = (project / "prompts" / "extract_examples.txt").read_text("utf-8").strip()
    claims_example = (project / "prompts" / "claims_examples.txt").read_text("utf-8").strip()
    extract = [each for each in prompts if "You extract information." in each]
    claims = [each for each in prompts if "These count as claims" in each]
    reports = [each for each in prompts if "You write a report on one group" in each]
    assert len(extract) >= 12
    assert len(claims) == 24, "and what was missed is asked for once"
    assert reports
    for prompt in (*extract, *claims):
        assert prompt.startswith(f"{PERSONA}\n\n{DOMAIN}\n(Deutsch)\n\nThe types of entities")
        assert "- führt, from Person to Schiff or Hafen: Befehl." in prompt
        assert ": Person, Schiff, Hafen." in prompt
    assert all(example in each and prompt_text("index/extract_examples") not in each for each in extract)
    assert all(claims_example in each and prompt_text("index/claims_examples") not in each for each in claims)
    assert all(each.startswith(f"{REPORTER}\n\n{DOMAIN}\n(Deutsch)\n\nYou write a report") for each in reports)
    index = StoredIndex.open(project / ".conspectus" / "index")
    assert verify(index) == []
    assert index.manifest.settings["extraction"]["prompts"]["persona"] == PERSONA


@pytest.mark.parametrize("name", ["persona.txt", "report_persona.txt"])
def test_a_text_that_is_edited_makes_the_next_build_look_again(name: str, project: Path, server: FakeServer) -> None:
    assert "published" in conspectus("index", "akten").out
    before = len(server.requests)
    assert "unchanged" in conspectus("index", "akten").out
    assert len(server.requests) == before
    file = project / "prompts" / name
    written = file.read_text("utf-8")
    file.write_text(f"{written}Achte auf Lichter.\n", "utf-8")
    assert "published" in conspectus("index", "akten").out
    again = asked(server, before)
    assert again
    assert all("Achte auf Lichter." in each for each in again), "and only what the text stands in is asked again"
    paid = len(server.requests)
    file.write_text(written, "utf-8")
    assert "published" in conspectus("index", "akten").out
    assert len(server.requests) == paid, "what was paid for once is remembered"
    assert "unchanged" in conspectus("index", "akten").out


def test_a_file_that_is_lost_is_named_and_the_index_stays(project: Path) -> None:
    assert conspectus("index", "akten").status == 0
    (project / "prompts" / "persona.txt").unlink()
    done = conspectus("index", "akten")
    assert (done.status, done.out) == (2, "")
    assert "prompts/persona.txt is missing" in done.err
    assert conspectus("verify").status == 0
