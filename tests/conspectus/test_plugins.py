"""P4: plug-ins are found by their entry points and hold their contracts; one that fails stops no other."""

import json
from collections.abc import Iterator
from pathlib import Path

import conspectus
import pytest
from conspectus.query.menu import METHODS, find_method, methods
from conspectus.storage.errors import PluginFailed, UnknownMethod
from conspectus.testing import ExporterContract, MethodContract, ReaderContract, small_index

from tests.command_line import conspectus as run
from tests.plugin_packages import installed


@pytest.fixture(scope="module", autouse=True)
def _installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with installed(tmp_path_factory.mktemp("site")):
        yield


class TestReader(ReaderContract):
    suffix = ".notes"

    def samples(self, folder: Path) -> dict[Path, int]:
        (folder / "two.notes").write_text("Ada met Bela.\n---\nBela wrote to Cleo.", "utf-8")
        (folder / "none.notes").write_text("", "utf-8")
        return {folder / "two.notes": 2, folder / "none.notes": 0}


class TestMethod(MethodContract):
    name = "words"


class TestExporter(ExporterContract):
    name = "titles"


class TestFailingReader(ReaderContract):
    """The contract finds what is wrong."""

    suffix = ".never"

    def samples(self, folder: Path) -> dict[Path, int]:
        return {}

    def test_a_damaged_file_is_a_loss(self, tmp_path: Path) -> None:
        with pytest.raises(AssertionError):  # the contract notices a reader that raises what it should not
            super().test_a_damaged_file_is_a_loss(tmp_path)


def test_p4_a_reader_that_raises_is_one_row_and_others_go_on(tmp_path: Path) -> None:
    for name in ("a.notes", "b.never", "c.absent", "d.txt"):
        (tmp_path / name).write_text(f"Ada Quill met Bela Brand. This is {name}. --- More.", "utf-8")
    settings = conspectus.load_settings(overrides={"extraction": {"pipeline": "regex"}})
    index = conspectus.build(tmp_path, tmp_path / "index", settings)
    uris = [row["uri"] for row in index.tables()["documents"].to_pylist()]
    assert sorted(uris) == ["a.notes#1", "a.notes#2", "d.txt"], "our own reader of .txt is not replaced"
    told = {failure.item_id: f"{failure.reason}: {failure.detail}" for failure in index.failures()}
    assert told.keys() == {"b.never", "c.absent"}
    assert "bad-notes 1.2 failed: ValueError: this reader always fails" in told["b.never"]
    assert "bad-notes 1.2 failed: ModuleNotFoundError" in told["c.absent"]
    assert not any("\n" in each for each in told.values())


def test_p4_a_method_that_cannot_be_imported_is_one_line(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = methods()
    assert found.keys() == METHODS.keys() | {"words"}
    lines = [record.getMessage() for record in caplog.records if record.name == "conspectus.plugins"]
    assert len(lines) == 2
    assert all("\n" not in line and "bad-notes 1.2" in line for line in lines)
    for name in ("broken", "wrong"):
        with pytest.raises(PluginFailed, match=r"bad-notes 1\.2"):
            find_method(name)
    assert "words" in json.loads(run("methods", "--json").out)
    monkeypatch.setenv("CONSPECTUS_PLUGINS", "off")
    assert methods() == METHODS
    with pytest.raises(UnknownMethod):
        find_method("words")


def test_p4_an_exporter_that_raises_leaves_nothing(tmp_path: Path) -> None:
    index = small_index(tmp_path)
    with pytest.raises(PluginFailed, match=r"bad-notes 1\.2 failed: KeyError"):
        index.export("failing", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert index.export("titles", tmp_path / "out").files == (tmp_path / "out",)


def test_doctor_lists_plugins() -> None:
    checks = json.loads(run("doctor", "--json", "--no-calls").out)
    shown = {check["detail"]: check["state"] for check in checks if check["name"] == "plug-in"}
    assert sum(state == "ok" for state in shown.values()) == 7
    assert any("bad_notes_absent" in detail and state == "warning" for detail, state in shown.items())
