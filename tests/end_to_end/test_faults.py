"""A server that fails as servers do: a build ends, every loss is a row that can be seen, and asking again heals it.

Ten per cent of errors and ten of malformed replies on 300 passages are `python -m benchmarks.faults`. What is read of
replies that are malformed, record by record, is the business of `test_malformed`.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from conspectus.pipelines.steps import descriptions
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Community, Entity, Failure, Mention, Relation, Report
from conspectus.storage.verify import verify

from benchmarks.fake_server import FakeRequest, FakeServer, Faults
from tests.command_line import Done, conspectus
from tests.conftest import ISLES
from tests.graph_model import reply
from tests.malformed_json import MALFORMED

N_DOCUMENTS = 20
KG_LINES = "Ada Quill\tknows\tBela Brand\nno triple\nBela Brand\tknows\tCleo Marsh\n"
TRANSPORT = ("429", "500", "502", "503", "529", "html_502", "bad_json", "timeout", "drop", "cut")

Run = Callable[..., Done]


@pytest.fixture(scope="module", autouse=True)
def _short_descriptions() -> Iterator[None]:
    """Descriptions of a few words are long enough to be summarised."""
    with patch.object(descriptions, "DESCRIPTION_TOKENS", 20):
        yield


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(differing) as running:
        yield running


def differing(request: FakeRequest) -> str:
    """Return what the rules give, but descriptions of one thing that are not all alike, so that they are summed up."""
    return reply(request).replace("is named in it.", f"is named in a text of {len(request.last)} letters.")


@pytest.fixture(scope="module")
def embedding() -> Iterator[FakeServer]:
    """A server of its own, which never fails."""
    with FakeServer() as running:
        yield running


@pytest.fixture(scope="module")
def run(server: FakeServer, embedding: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Makes an index of some documents, one that cannot be read, and a small graph with a line that is none."""
    folder = tmp_path_factory.mktemp("input")
    docs = folder / "docs"
    docs.mkdir()
    lines = (ISLES / "corpus.jsonl").read_text("utf-8").splitlines()[:N_DOCUMENTS]
    (docs / "corpus.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (docs / "broken.pdf").write_text("no PDF", "utf-8")
    (folder / "kg.tsv").write_text(KG_LINES, "utf-8")
    settings = {
        "llm.model": "m", "llm.base_url": server.url, "llm.attempts": 2,
        "reports.min_size": 2, "communities.update": "exact",
        "embedding.provider": "endpoint", "embedding.model": "e",
        "embedding_server.base_url": embedding.url,
    }  # fmt: skip
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]

    def index(folder_of_index: Path, *words: str) -> Done:
        given = ("--kg", folder / "kg.tsv", "--index", folder_of_index, "--json", "--quiet", *options, *words)
        return conspectus("index", docs, *given)

    return index


@pytest.fixture(scope="module")
def whole(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index made without disturbance: only what cannot be read is lost."""
    index = tmp_path_factory.mktemp("whole") / "index"
    assert run(index).status in {0, 5}
    assert {each.stage for each in failures(index)} == {"read", "kg"}
    return index


@pytest.fixture(scope="module")
def disturbed(run: Run, server: FakeServer, whole: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """An index of a server that fails in every way, and never answers one question of each step."""
    index = tmp_path_factory.mktemp("disturbed") / "index"
    errors = {**dict.fromkeys(TRANSPORT, 0.01), **dict.fromkeys(MALFORMED, 0.1 / len(MALFORMED))}
    first = StoredIndex.open(whole).rows(Chunk)[0].text
    never = {
        f"(?s)Now the passage to read.*Types: .*{re.escape(first)}": "500",
        r"(?s)You merge several descriptions.*Thing: [A-M]": "drop",
        r"(?s)You write a report on.*\[E5\]": "timeout",
    }
    server.change(faults=Faults(errors, script=never, by="prompt", retry_after=0.01, spoilers=MALFORMED))
    done = run(index, "--set", "llm.timeout=1")
    server.change(faults=Faults())
    return index, done


def failures(index: Path) -> list[Failure]:
    return StoredIndex.open(index).rows(Failure)


def version(index: Path) -> str:
    return StoredIndex.open(index).manifest.version


def test_the_build_ends_and_says_what_was_lost(disturbed: tuple[Path, Done]) -> None:
    index, done = disturbed
    assert done.status == 5, done.err
    told = json.loads(done.out)
    assert {each["stage"] for each in told["lost"]} == {"read", "kg", "extract", "summarise", "report"}
    assert told["failures"] == len(failures(index))
    worst = max(each["lost"] / each["items"] for each in told["lost"])
    assert told["failed_share"] == round(worst, 6)
    assert "build.failure_threshold (5.0%)" in done.err
    assert verify(StoredIndex.open(index)) == []


def test_nothing_is_missing_without_a_row(disturbed: tuple[Path, Done], whole: Path) -> None:
    index, meant = StoredIndex.open(disturbed[0]), StoredIndex.open(whole)
    rows: dict[str, set[str]] = {}
    for each in index.rows(Failure):
        assert each.reason
        rows.setdefault(each.stage, set()).add(each.item_id)
    short = set()
    for chunk in meant.rows(Chunk):
        found, wanted = (
            {(each.entity_id or each.relation_id, each.description) for each in of if each.description}
            for of in ([each for each in one.rows(Mention) if each.chunk_id == chunk.id] for one in (index, meant))
        )
        assert found <= wanted, "nothing is invented"
        if wanted - found:
            short.add(chunk.id)
    assert StoredIndex.open(whole).rows(Chunk)[0].id in short
    assert short <= rows["extract"]
    things = {each.id for kind in (Entity, Relation) for each in index.rows(kind)}
    assert rows["summarise"] <= things
    assert rows["report"] <= {each.id for each in index.rows(Community)}
    standing_in = {each.community_id for each in index.rows(Report) if each.title != "A group"}
    assert standing_in
    assert standing_in <= rows["report"]


def test_every_row_can_be_seen(disturbed: tuple[Path, Done]) -> None:
    index, _ = disturbed
    listed = conspectus("status", "--failures", "--index", index).out
    as_json = json.loads(conspectus("status", "--json", "--index", index).out)["failures"]
    for each in failures(index):
        assert f"{each.stage}: {each.item_id}: {each.reason}" in listed
        assert {"stage": each.stage, "item_id": each.item_id, "reason": each.reason, "detail": each.detail} in as_json


def test_the_threshold_decides_the_exit_status(disturbed: tuple[Path, Done], run: Run) -> None:
    index, done = disturbed
    share = json.loads(done.out)["failed_share"]
    for threshold, status in ((share - 0.001, 5), (share + 0.001, 0), (1, 0)):
        assert run(index, "--set", f"build.failure_threshold={threshold}").status == status


def test_asking_again_ends_where_an_undisturbed_build_does(
    disturbed: tuple[Path, Done], whole: Path, run: Run, server: FakeServer, tmp_path: Path
) -> None:
    index = tmp_path / "index"
    shutil.copytree(disturbed[0], index)
    assert version(index) != version(whole)
    server.change(faults=Faults({"500": 0.2, "drop": 0.2}, by="prompt", retry_after=0.01))
    better = run(index, "--retry-failed")
    assert json.loads(better.out)["failures"] <= len(failures(disturbed[0]))
    server.change(faults=Faults())
    assert run(index, "--retry-failed").status in {0, 5}
    assert failures(index) == failures(whole)
    assert version(index) == version(whole)


@pytest.mark.parametrize("method", ["model", "openie"])
@pytest.mark.parametrize("trouble", ["gone", "wrong key"])
def test_a_server_that_answers_nothing_at_all_leaves_the_version_in_force(
    trouble: str, method: str, whole: Path, run: Run, tmp_path: Path
) -> None:
    index = tmp_path / "index"
    shutil.copytree(whole, index)
    before = version(index)
    words = ["--set", "llm.model=another", "--set", "llm.attempts=1", "--set", f"extraction.method={method}"]
    with FakeServer(reply, api_key="the right one") as strict:
        url = "http://127.0.0.1:9/v1" if trouble == "gone" else strict.url
        done = run(index, *words, "--set", f"llm.base_url={url}")
    assert (done.status, done.out) == (8, "")
    assert done.err.count("\n") == 1
    assert {"gone": "nothing listens at", "wrong key": "401"}[trouble] in done.err
    assert version(index) == before
