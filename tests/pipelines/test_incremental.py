"""Documents added and removed give the index that all of them together, or the others alone, give."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.diff import Changes, preview
from conspectus.pipelines.incremental import change_documents
from conspectus.storage.errors import IndexNotFound, InputError, UsageError
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Document, Failure
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.verify import verify

from benchmarks.fake_server import FakeServer
from tests.command_line import conspectus as run
from tests.graph_model import reply

TEXTS = {
    "a.txt": "Mary Quill met Otto Brand in Port Alma.",
    "sub/b.md": "# Brand\n\nOtto Brand lived in Old Ferry. Lena Storm met Otto Brand.",
    "sub/c.txt": "Paul Reed painted Ida Moss in Port Alma.",
    "broken.json": "{",
    "rows.jsonl": '{"id": "x1", "title": "Vale", "text": "Hugo Vale taught Ida Moss.", "year": "1999", "lang": "en"}\n'
    '{"id": "x2", "title": "Lind", "text": "Nora Lind met Hugo Vale."}\n',
}


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(reply) as running:
        yield running


@pytest.fixture
def settings(server: FakeServer) -> Settings:
    return load_settings(overrides=overrides(server))


def overrides(server: FakeServer) -> dict[str, dict[str, object]]:
    return {
        "extraction": {"pipeline": "regex"},
        "embedding": {"provider": "endpoint", "model": "e"},
        "embedding_server": {"base_url": server.url},
        "communities": {"update": "exact"},
    }


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(TEXTS[name], "utf-8")
    return folder


def test_adding_gives_the_index_of_all_together(tmp_path: Path, settings: Settings) -> None:
    docs = write(tmp_path / "docs", "a.txt", "broken.json")
    build_index([docs], tmp_path / "index", settings)
    for path in docs.rglob("*.*"):
        path.unlink()  # what is in the index is taken from there
    added = change_documents(
        [write(tmp_path / "more", "sub/b.md", "sub/c.txt", "rows.jsonl")], (), tmp_path / "index", settings
    )
    whole = build_index([write(tmp_path / "whole", *TEXTS)], tmp_path / "other", settings)
    assert added.version == whole.version
    assert added.failures == whole.failures
    assert len(added.failures) == 1
    assert verify(StoredIndex.open(tmp_path / "index")) == []


def test_what_is_added_takes_the_place_of_what_has_its_name(tmp_path: Path, settings: Settings) -> None:
    build_index([write(tmp_path / "docs", *TEXTS)], tmp_path / "index", settings)
    (tmp_path / "docs" / "a.txt").write_text("Mary Quill met nobody.", "utf-8")
    (tmp_path / "docs" / "broken.json").write_text('{"text": "Emil Frost lived in Port Alma."}', "utf-8")
    again = tmp_path / "again"
    again.mkdir()
    for name in ("a.txt", "broken.json"):
        (again / name).write_text((tmp_path / "docs" / name).read_text("utf-8"), "utf-8")
    added = change_documents([again], (), tmp_path / "index", settings)
    assert added.version == build_index([tmp_path / "docs"], tmp_path / "other", settings).version
    assert added.failures == (), "what could not be read is read now"
    assert change_documents([again], (), tmp_path / "index", settings).unchanged


def test_two_files_of_one_name_do_not_push_each_other_out(tmp_path: Path, settings: Settings) -> None:
    build_index([write(tmp_path / "docs", "rows.jsonl")], tmp_path / "index", settings)
    (tmp_path / "rows.jsonl").write_text('{"id": "y1", "text": "Emil Frost met Ida Moss."}\n', "utf-8")
    change_documents([tmp_path / "rows.jsonl"], (), tmp_path / "index", settings)
    assert [each.id for each in StoredIndex.open(tmp_path / "index").rows(Document)] == ["x1", "x2", "y1"]


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (["x1", "a.txt"], {"sub/b.md", "sub/c.txt", "rows.jsonl#2"}),
        (["sub"], {"a.txt", "rows.jsonl#1", "rows.jsonl#2"}),
        (["sub/", "rows.jsonl"], {"a.txt"}),
        (["rows.jsonl#2", "broken.json"], {"a.txt", "sub/b.md", "sub/c.txt", "rows.jsonl#1"}),
    ],
)
def test_removing_gives_the_index_of_the_others(
    names: list[str], left: set[str], tmp_path: Path, settings: Settings
) -> None:
    docs = write(tmp_path / "docs", *TEXTS)
    build_index([docs], tmp_path / "index", settings)
    removed = change_documents((), names, tmp_path / "index", settings)
    index = StoredIndex.open(tmp_path / "index")
    assert {each.uri for each in index.rows(Document)} == left
    assert len(index.rows(Failure)) == ("broken.json" not in names)
    for name in TEXTS:
        if (name not in left and name not in {"broken.json", "rows.jsonl"}) or name in names:
            (docs / name).unlink()
    rows = [line for at, line in enumerate(TEXTS["rows.jsonl"].splitlines(), 1) if f"rows.jsonl#{at}" in left]
    if len(rows) == 2 or rows == TEXTS["rows.jsonl"].splitlines()[:1]:  # else the number of a row is another
        (docs / "rows.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
        assert removed.version == build_index([docs], tmp_path / "other", settings).version


def test_what_cannot_be_done_is_one_clear_line(tmp_path: Path, settings: Settings) -> None:
    index = tmp_path / "index"
    build_index([write(tmp_path / "docs", "a.txt", "sub/b.md")], index, settings)
    before = (index / "CURRENT").read_text()
    with pytest.raises(UsageError, match=r"no document of .* is called 'a.tx'; did you mean 'a.txt'\?"):
        change_documents((), ["sub", "a.tx"], index, settings)
    with pytest.raises(UsageError, match="this would leave no document; to remove the index, delete the folder"):
        change_documents((), ["sub", "a.txt"], index, settings)
    other = settings.model_copy(update={"chunks": settings.chunks.model_copy(update={"chunk_size": 90})})
    with pytest.raises(UsageError, match=r"built with other settings \(chunks.chunk_size was \d+ and is 90\)"):
        change_documents([tmp_path / "docs"], (), index, other)
    with_model = settings.model_copy(update={"llm": settings.llm.model_copy(update={"model": "m"})})
    with pytest.raises(UsageError, match=r"no language model was asked, and llm\.model is 'm'"):
        change_documents((), ["a.txt"], index, with_model)
    with pytest.raises(InputError):
        change_documents([tmp_path / "nothing"], (), index, settings)
    with pytest.raises(IndexNotFound):
        change_documents((), ["a.txt"], tmp_path / "none", settings)
    assert not (tmp_path / "none").exists()
    assert (index / "CURRENT").read_text() == before


def test_a_preview_says_what_an_update_then_does(tmp_path: Path, settings: Settings, server: FakeServer) -> None:
    docs = write(tmp_path / "docs", *TEXTS)
    index = tmp_path / "index"
    begun = preview([docs], index, settings)
    assert (begun.new.count, begun.same, begun.extract, begun.other_settings) == (5, 0, 5, False)
    assert not index.exists()
    build_index([docs], index, settings)
    assert preview([docs], index, settings).unchanged
    (docs / "a.txt").write_text("Mary Quill met nobody.", "utf-8")
    (docs / "sub" / "c.txt").rename(docs / "sub" / "d.txt")
    found = preview([docs], index, settings)
    assert found.new == Changes(1, ("sub/d.txt",))
    assert found.gone == Changes(1, ("sub/c.txt",))
    assert found.changed == Changes(1, ("a.txt",))
    assert (found.same, found.unreadable, found.chunks, found.extract, found.unchanged) == (3, 1, 5, 1, False)
    assert found.embed == 2, "a file's name is its title, and stands above its chunks"
    assert found.estimate is not None
    asked = len(server.requests)
    shown = run("status", docs, "--index", index, "--json", *_set(server))
    assert json.loads(shown.out)["changed"] == {"count": 1, "uris": ["a.txt"]}
    text = run("status", docs, "--index", index, *_set(server)).out
    assert "3 documents unchanged, 1 new, 1 changed, 1 gone" in text
    assert "of 5 chunks 1 to be extracted from, 2 texts to be embedded" in text
    assert len(server.requests) == asked, "nobody was asked"
    assert preview(
        [docs], index, settings.model_copy(update={"chunks": settings.chunks.model_copy(update={"chunk_size": 90})})
    ).other_settings
    build_index([docs], index, settings)
    embedded = [text for each in server.requests[asked:] for text in each.body["input"]]
    assert sum("\n" in text for text in embedded) == found.embed


def _set(server: FakeServer) -> list[str]:
    values = [f"{section}.{key}={value}" for section, keys in overrides(server).items() for key, value in keys.items()]
    return [word for value in values for word in ("--set", value)]


def test_with_a_model_a_preview_counts_its_calls(tmp_path: Path, server: FakeServer) -> None:
    settings = load_settings(overrides={**overrides(server), "llm": {"model": "m", "base_url": server.url}})
    docs = write(tmp_path / "docs", "a.txt", "sub/b.md")
    build_index([docs], tmp_path / "index", settings)
    write(docs, "sub/c.txt")
    found = preview([docs], tmp_path / "index", settings)
    assert found.extract is None
    assert found.estimate is not None
    assert {each.step: each.calls for each in found.estimate.steps}["extract"] == 1
