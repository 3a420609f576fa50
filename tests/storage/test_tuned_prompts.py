from pathlib import Path

import pytest
from conspectus.storage.errors import SettingsError
from conspectus.storage.settings import ExtractionSettings, Settings, TunedPrompts, load_settings, read_tuned

TEXTS = {
    "domain": "Akten.\n(Deutsch)",
    "persona": "Du bist Archivarin.",
    "report_persona": "Du schreibst.",
    "extract_examples": "Example 1.",
    "claims_examples": "Example 2.",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tuned"
    made.mkdir()
    for name, text in TEXTS.items():
        (made / f"{name}.txt").write_text(f"\n{text}\n\n", "utf-8")
    return made


def extraction(folder: Path, claims: bool = False) -> ExtractionSettings:
    return ExtractionSettings(prompts=str(folder), claims=claims)


def settings(folder: Path | str, **more: object) -> Settings:
    return load_settings(overrides={"llm": {"model": "m"}, "extraction": {"prompts": str(folder), **more}})


def test_the_files_are_read_and_put_together(folder: Path) -> None:
    assert read_tuned(ExtractionSettings()) == TunedPrompts()
    found = read_tuned(extraction(folder, claims=True))
    assert found == TunedPrompts(**TEXTS)
    assert found.extracts_as() == "Du bist Archivarin.\n\nAkten.\n(Deutsch)"
    assert found.reports_as() == "Du schreibst.\n\nAkten.\n(Deutsch)"
    assert TunedPrompts(domain="Akten.").extracts_as() == "Akten."
    assert TunedPrompts().reports_as() == ""


def test_what_is_missing_or_no_text_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"extraction\.prompts: there is no folder .*nowhere"):
        read_tuned(extraction(tmp_path / "nowhere"))
    with pytest.raises(SettingsError, match=r"there is no folder .*persona\.txt"):
        read_tuned(extraction(folder / "persona.txt"))
    (folder / "persona.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match=r"persona\.txt is not UTF-8 text"):
        read_tuned(extraction(folder))
    (folder / "persona.txt").unlink()
    with pytest.raises(SettingsError, match=r"persona\.txt is missing"):
        read_tuned(extraction(folder))
    (folder / "persona.txt").mkdir()
    with pytest.raises(SettingsError, match=r"persona\.txt cannot be read"):
        read_tuned(extraction(folder))


def test_examples_of_claims_are_needed_for_claims_only(folder: Path) -> None:
    (folder / "claims_examples.txt").unlink()
    assert read_tuned(extraction(folder)).extract_examples == "Example 1."
    with pytest.raises(SettingsError, match=r"claims_examples\.txt is missing"):
        read_tuned(extraction(folder, claims=True))


@pytest.mark.parametrize("name", ["domain", "persona", "report_persona", "extract_examples"])
def test_an_index_depends_on_what_the_files_say(folder: Path, name: str) -> None:
    before = settings(folder).of_the_index()
    assert before["extraction"]["prompts"] == {**TEXTS, "claims_examples": ""}
    (folder / f"{name}.txt").write_text("changed", "utf-8")
    assert settings(folder).of_the_index() != before


def test_an_index_does_not_depend_on_where_the_files_lie_nor_on_what_is_not_read(folder: Path) -> None:
    before = settings(folder).of_the_index()
    (folder / "claims_examples.txt").write_text("changed", "utf-8")
    moved = folder.rename(folder.with_name("elsewhere"))
    assert settings(moved).of_the_index() == before
    claims = settings(moved, claims=True).of_the_index()
    assert claims["extraction"]["prompts"]["claims_examples"] == "changed"
    without_a_model = settings("nowhere", method="nlp").of_the_index()
    assert without_a_model["extraction"]["prompts"] == {}
