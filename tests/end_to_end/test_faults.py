"""A server that answers nothing at all: one line says so, and the version in force stays.

Errors and malformed replies of every kind on 300 passages are `python -m benchmarks.faults`; what is read of malformed
replies, record by record, is the business of `test_malformed`.
"""

import shutil
from pathlib import Path

import pytest
from conspectus.storage.index import StoredIndex

from benchmarks.fake_server import FakeReply, FakeServer
from tests.command_line import Done, conspectus
from tests.graph_model import reply

TEXT = "Mary Quill taught Otto Brand in Port Alma. Otto Brand met Lena Storm. Lena Storm lived in Old Ferry."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a document and its index."""
    made = tmp_path_factory.mktemp("made")
    (made / "quill.txt").write_text(TEXT, "utf-8")
    with FakeServer(reply) as server:
        assert index(made, made / "index", server.url).status == 0
    return made


def index(folder: Path, index: Path, url: str, **more: str) -> Done:
    chosen = {"llm.model": "m", "llm.base_url": url, "llm.attempts": "1"}
    chosen |= {key.replace("__", "."): value for key, value in more.items()}
    options = [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]
    return conspectus("index", folder / "quill.txt", "--index", index, "--quiet", *options)


@pytest.mark.parametrize("method", ["model", "openie"])
@pytest.mark.parametrize("trouble", ["gone", "wrong key"])
def test_a_server_that_answers_nothing_at_all_leaves_the_version_in_force(
    trouble: str, method: str, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder / "index", tmp_path / "index")
    before = StoredIndex.open(tmp_path / "index").manifest.version
    with FakeServer(reply, api_key="the right one") as strict:
        url = "http://127.0.0.1:9/v1" if trouble == "gone" else strict.url
        done = index(folder, tmp_path / "index", url, llm__model="another", extraction__method=method)
    assert (done.status, done.out) == (8, "")
    assert done.err.count("\n") == 1
    assert {"gone": "nothing listens at", "wrong key": "401"}[trouble] in done.err
    assert StoredIndex.open(tmp_path / "index").manifest.version == before


@pytest.mark.parametrize(
    ("trouble", "server", "says"),
    [
        ("cuts", FakeServer(reply, context=600), "llm.context=600"),
        ("thinks", FakeServer(FakeReply("", reasoning="Who may it be? ")), "all reasoning"),
        ("loops", FakeServer("It rains in the town by the sea. " * 2000), "cut off"),
    ],
)
def test_a_server_that_cuts_prompts_only_thinks_or_loops_gives_no_false_index(
    trouble: str, server: FakeServer, says: str, folder: Path, tmp_path: Path
) -> None:
    with server:
        done = index(folder, tmp_path / "index", server.url)
        sent = len(server.requests)
    if trouble == "cuts":
        assert (done.status, sent) == (8, 1)
        assert says in done.err
        assert not (tmp_path / "index").exists() or not list((tmp_path / "index").glob("versions/*"))
        return
    assert done.status == 5
    assert sent <= 5
    listed = conspectus("status", "--failures", "--index", tmp_path / "index")
    assert says in listed.out
