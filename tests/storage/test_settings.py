"""Settings, and the prompts that were tuned for a corpus."""

import re
from pathlib import Path

import pytest
from conspectus.storage.errors import SettingsError
from conspectus.storage.settings import (
    EmbeddingSettings,
    ExtractionSettings,
    Settings,
    TunedPrompts,
    as_yaml,
    load_settings,
    parse_override,
    read_tuned,
)

ROOT = Path(__file__).parent.parent.parent


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "settings.yaml"
    path.write_text(text, "utf-8")
    return path


def test_the_repository_file_is_what_init_writes() -> None:
    assert (ROOT / "settings.yaml").read_text("utf-8") == as_yaml()


def test_sources_outweigh_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, "chunks:\n  chunk_size: 300\n  chunk_overlap: 30\nppr:\n  damping: 0.4\n")
    monkeypatch.setenv("CONSPECTUS__CHUNKS__CHUNK_SIZE", "200")
    found = load_settings(file, {"ppr": {"damping": "0.7"}})
    assert (found.chunks.chunk_size, found.chunks.chunk_overlap, found.ppr.damping) == (200, 30, 0.7)


@pytest.mark.parametrize(
    ("text", "key", "guess"),
    [
        ("chunk:\n  chunk_size: 3\n", "chunk", "chunks"),
        ("chunks:\n  chunk_sizes: 300\n", "chunks.chunk_sizes", "chunks.chunk_size"),
        ("ppr:\n  dampening: 0.5\n", "ppr.dampening", "ppr.damping"),
    ],
)
def test_an_unknown_key_is_named_with_its_nearest(tmp_path: Path, text: str, key: str, guess: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(f"unknown setting {key}; did you mean {guess}?")):
        load_settings(write(tmp_path, text))


def test_an_index_of_before_is_read_without_its_removed_keys() -> None:
    recorded = {**EmbeddingSettings().model_dump(), "gone": 1}
    assert EmbeddingSettings.of_manifest(recorded) == EmbeddingSettings()


def test_the_environment_can_give_lists_mappings_and_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSPECTUS__CHUNKS", '{"chunk_size": 300, "chunk_overlap": 20}')
    monkeypatch.setenv("conspectus__chunks__chunk_overlap", "30")
    monkeypatch.setenv("CONSPECTUS__ENDPOINT__LANGUAGES", '["de", "en"]')
    monkeypatch.setenv("CONSPECTUS__ENDPOINT__LABELS", "urn:a, urn:b")
    monkeypatch.setenv("CONSPECTUS__LLM__PRICES__SMALL__INPUT", "1")
    monkeypatch.setenv("CONSPECTUS__LLM__PRICES__SMALL__OUTPUT", "2.5")
    found = load_settings()
    assert (found.chunks.chunk_size, found.chunks.chunk_overlap) == (300, 30)
    assert (found.endpoint.languages, found.endpoint.labels) == (("de", "en"), ("urn:a", "urn:b"))
    assert found.llm.prices["small"].output == 2.5
    monkeypatch.setenv("CONSPECTUS__LLM__STEP_MODELS", "{broken")
    with pytest.raises(SettingsError, match=r"llm\.step_models: it must be YAML"):
        load_settings()
    monkeypatch.setenv("CONSPECTUS__CHUNKS", "{broken")
    with pytest.raises(SettingsError, match="CONSPECTUS__CHUNKS: it must be YAML"):
        load_settings()


@pytest.mark.parametrize(
    "text",
    [
        "chunks:\n  chunk_size: many\n",
        "chunks:\n  chunk_size: 50\n  chunk_overlap: 50\n",
        "chunks: 5\n",
        "- a\n- b\n",
        "chunks: [unclosed\n",
        "ppr:\n  solver: magic\n",
        "ppr:\n  damping: 1\n",
    ],
)
def test_a_bad_value_or_file_is_a_settings_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError):
        load_settings(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("chunks:\n  chunk_size: 50", "chunks.chunk_overlap 100 must be below chunks.chunk_size 50 (in "),
        ("chunks: {chunk_size: many}", "chunks.chunk_size must be a whole number, not 'many' (in "),
        ("chunks: {chunk_size: 1}", "chunks.chunk_size must be at least "),
        ("embedding: {provider: x}", "embedding.provider must be one of 'local' or 'endpoint', not 'x' (in "),
        ("llm: {base_url: here}", "llm.base_url: it must begin with http:// or https://, not 'here' (in "),
        ("chunks:\n  chunk_size: [1,\nllm: x", "settings.yaml, line 3: not a settings file: "),
        ("chunks: {colour: red}", "unknown setting chunks.colour; there are: chunk_size, chunk_overlap (in "),
    ],
)
def test_messages_are_in_our_own_words(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "settings.yaml").write_text(text, "utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "settings.yaml")
    assert says in str(caught.value)
    assert "Input should" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.yaml"):
        load_settings(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("text", ["chunk_size=3", "chunks.=3", "chunks.chunk_size", ".x=1"])
def test_an_override_must_name_section_and_key(text: str) -> None:
    with pytest.raises(SettingsError, match=r"section\.key=value"):
        parse_override(text)


def test_every_key_says_what_it_does() -> None:
    for name in Settings.model_fields:
        for key, field in type(getattr(load_settings(), name)).model_fields.items():
            assert field.description, f"{name}.{key}"


def test_every_setting_is_read_somewhere() -> None:
    layers = ("storage", "prompts", "query", "pipelines", "conspectus")
    code = "\n".join(
        path.read_text("utf-8")
        for layer in layers
        for path in (ROOT / layer).rglob("*.py")
        if path.parent.name != "settings"
    )
    for name in Settings.model_fields:
        for key in type(getattr(load_settings(), name)).model_fields:
            assert f".{key}" in code or f'"{key}"' in code, f"{name}.{key} is read nowhere"


def test_text_with_signs_is_written_so_that_it_reads_back(tmp_path: Path) -> None:
    for prefix in ("query: ", " # x", "true", "1.5", "null", "a\nb", "- x", "北京: ", "[", "plain"):
        chosen = load_settings(overrides={"embedding": {"query_prefix": prefix}})
        assert load_settings(write(tmp_path, as_yaml(chosen))) == chosen


@pytest.mark.parametrize("given", ["人物, 地点", '["人物", "地点"]', ("人物", "地点")])
def test_a_list_can_be_given_as_text(given: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = load_settings(overrides={"extraction": {"entity_types": given}})
    assert chosen.extraction.entity_types == ("人物", "地点")
    assert load_settings(write(tmp_path, as_yaml(chosen))) == chosen
    monkeypatch.setenv("CONSPECTUS__EXTRACTION__ENTITY_TYPES", "a,b")
    assert load_settings().extraction.entity_types == ("a", "b")
    with pytest.raises(SettingsError, match="entity_types"):
        load_settings(overrides={"extraction": {"entity_types": " , "}})


@pytest.mark.parametrize("section", ["llm", "embedding_server"])
def test_an_address_with_a_password_is_refused_unseen(section: str) -> None:
    with pytest.raises(SettingsError, match="it contains a password") as caught:
        load_settings(overrides={section: {"base_url": "https://me:pa55w0rd@example.org/v1"}})
    assert "pa55w0rd" not in str(caught.value)


def test_a_graph_s_files_lie_beside_the_settings_and_shape_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("kg:\n  files: [a.tsv, b.tsv]\n  labels: names.tsv\n", "utf-8")
    found = load_settings(file)
    assert found.kg.files == (str(tmp_path / "a.tsv"), str(tmp_path / "b.tsv"))
    assert found.kg.labels == (str(tmp_path / "names.tsv"),)
    with pytest.raises(SettingsError, match=r"kg\.files: .*a\.tsv cannot be read"):
        found.of_the_index()
    for name, text in (("a.tsv", "x\ty\tz\n"), ("b.tsv", "u\tv\tw\n"), ("names.tsv", "x\tname\n")):
        (tmp_path / name).write_text(text, "utf-8")
    shaping = found.of_the_index()
    swapped = load_settings(overrides={"kg": {"files": found.kg.files[::-1], "labels": found.kg.labels}})
    assert swapped.of_the_index() == shaping
    (tmp_path / "a.tsv").write_text("x\ty\tZ\n", "utf-8")
    assert found.of_the_index() != shaping
    monkeypatch.setenv("CONSPECTUS__KG__FILES", "one.tsv, two.tsv")
    assert load_settings().kg.files == ("one.tsv", "two.tsv")


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
