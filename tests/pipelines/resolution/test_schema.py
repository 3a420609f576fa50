"""The schema of a domain: its file, the prompts that tell it, and what happens to what does not fit."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.build_report import BuildReport
from conspectus.pipelines.steps.extract.schema import RelationType, Schema, read_schema
from conspectus.storage.errors import SettingsError
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Failure, Relation
from conspectus.storage.settings import load_settings
from conspectus.storage.verify import verify

from benchmarks.fake_server import FakeRequest, FakeServer
from tests.graph_model import reply
from tests.pipelines.resolution.test_built import overrides
from tests.tags import prompt_of

TEXTS = {"Grey Heron.txt": "Anna Berg directed Grey Heron. Otto Brand liked Grey Heron and met Anna Berg in Port Alma."}
YAML = """
entities:
  person: a named human being
  film:
relations:
  directed: {from: person, to: film, description: who made it}
  met: {from: [person], to: [person]}
"""
RECORDS = """
("entity"<|>"Anna Berg"<|>"person"<|>"She directed Grey Heron.")##
("entity"<|>"Grey Heron"<|>"Film"<|>"A film.")##
("entity"<|>"Otto Brand"<|>"person"<|>"He liked it.")##
("entity"<|>"Port Alma"<|>"harbour"<|>"A town.")##
("relationship"<|>"Anna Berg"<|>"Grey Heron"<|>"directed"<|>"She directed it."<|>9)##
("relationship"<|>"Otto Brand"<|>"Grey Heron"<|>"liked"<|>"He liked it."<|>5)##
("relationship"<|>"Otto Brand"<|>"Anna Berg"<|>"met"<|>"They met."<|>5)##
("relationship"<|>"Anna Berg"<|>"Otto Brand"<|>"avoided"<|>"She avoided him."<|>2)##
("relationship"<|>"Anna Berg"<|>"Port Alma"<|>"met"<|>"They met there."<|>3)##
<|COMPLETE|>
"""


def model(request: FakeRequest) -> str:
    return RECORDS if "Records:" in request.last and "<|>" in request.prompt else reply(request)


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(model) as running:
        yield running


def built(place: Path, server: FakeServer, outside: str, schema: str = YAML) -> tuple[StoredIndex, BuildReport]:
    (place / "schema.yaml").write_text(schema)
    extraction = {"schema": str(place / "schema.yaml"), "outside_schema": outside}
    llm = {"model": "m", "base_url": server.url}
    settings = load_settings(overrides={**overrides(server), "llm": llm, "extraction": extraction})
    report = build_index([], place / "index", settings, texts=TEXTS)
    index = StoredIndex.open(place / "index")
    assert verify(index) == []
    return index, report


def told(index: StoredIndex) -> tuple[set[str], set[tuple[str, str, str]], set[str]]:
    name_of = {each.id: each.name for each in index.rows(Entity)}
    relations = {(name_of[each.source_id], each.predicate, name_of[each.target_id]) for each in index.rows(Relation)}
    return set(name_of.values()), relations, {each.item_id for each in index.rows(Failure)}


ALL = {"Anna Berg", "Grey Heron", "Otto Brand", "Port Alma"}
MISFITS = {"Port Alma", "Otto Brand liked Grey Heron", "Anna Berg met Port Alma"}


@pytest.mark.parametrize(
    ("outside", "names", "n_relations", "failures"),
    [
        ("keep", ALL, 4, set[str]()),
        ("mark", ALL, 4, MISFITS),
        ("drop", ALL - {"Port Alma"}, 2, MISFITS - {"Anna Berg met Port Alma"}),
    ],
)
def test_what_does_not_fit_is_kept_marked_or_dropped(
    tmp_path: Path, server: FakeServer, outside: str, names: set[str], n_relations: int, failures: set[str]
) -> None:
    index, report = built(tmp_path, server, outside)
    found, relations, listed = told(index)
    assert (found, len(relations), listed) == (names, n_relations, failures)
    assert any(note.startswith("1 of 4 entities and 2 of 4 relations do not fit") for note in report.notes)
    assert report.failed_share == 0, "it is no loss"
    assert ("Anna Berg", "directed", "Grey Heron") in relations
    if outside == "drop":
        assert {said for _, said, _ in relations} == {"directed", "met"}, "the other statement about the pair is gone"


def test_the_prompt_tells_the_schema_and_a_changed_one_builds_again(tmp_path: Path, server: FakeServer) -> None:
    before = len(server.requests)
    built(tmp_path, server, "keep")
    asked = [prompt_of(each.body) for each in server.requests[before:] if "messages" in (each.body or {})]
    prompts = [text for text in asked if "Records:" in text]
    assert prompts
    for prompt in prompts:
        assert "- person: a named human being\n- film\n" in prompt
        assert "- directed, from person to film: who made it\n- met, from person to person\n" in prompt
        assert "Types: person, film" in prompt
    changed = YAML.replace("a named human being", "somebody")
    assert not built(tmp_path, server, "keep", changed)[1].unchanged
    assert built(tmp_path, server, "keep", changed)[1].unchanged


def test_without_a_model_types_of_the_tagger_are_compared(tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text("entities: [person, place]")
    extraction = {"schema": str(tmp_path / "schema.yaml"), "outside_schema": "drop"}
    settings = load_settings(overrides={"extraction": extraction})
    text = "Anna Berg worked for the European Commission in Vienna. She met Otto Brand in Vienna."
    report = build_index([], tmp_path / "index", settings, texts={"a.txt": text})
    names = told(StoredIndex.open(tmp_path / "index"))[0]
    assert {"Anna Berg", "Otto Brand", "Vienna"} <= names
    assert not any("Commission" in name for name in names)
    assert any("extraction.schema (dropped)" in note for note in report.notes)


ONTOLOGY = """
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix x: <http://example.org/film#> .
x:Person a owl:Class ; rdfs:comment "A human being." .
x:MotionPicture a owl:Class ; rdfs:label "film" .
x:directedBy a owl:ObjectProperty ; rdfs:domain x:MotionPicture ; rdfs:range x:Person .
[] a owl:Class ; owl:unionOf (x:Person x:MotionPicture) .
"""


def test_an_ontology_is_a_schema(tmp_path: Path) -> None:
    (tmp_path / "film.ttl").write_text(ONTOLOGY)
    wanted = RelationType("directed by", ("film",), ("person",))
    assert read_schema(str(tmp_path / "film.ttl")) == Schema({"person": "A human being.", "film": ""}, (wanted,))


def test_a_schema_is_written_and_read_again(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(YAML)
    schema = read_schema(str(tmp_path / "one.yaml"))
    assert schema
    (tmp_path / "two.yaml").write_text(schema.as_yaml())
    assert read_schema(str(tmp_path / "two.yaml")) == schema
    assert read_schema("") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("entities: [", "not YAML"),
        ("[person]", "valid dictionary"),
        ("entities: {}", "no types of entities"),
        ("entities: {person: [a]}", "entities.person: .*valid string"),
        ("entities: [person]\nrelations: {met: {who: person}}", "relations.met.who: Extra inputs"),
        ("entities: [person]\nrelations: {met: {from: [[person]]}}", "relations.met.from.0: .*valid string"),
        ("types: [person]", "entities: Field required"),
        (f"entities: {{person: {'x' * 301}}}", "at most 300"),
    ],
)
def test_a_wrong_schema_is_one_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "schema.yaml").write_text(text)
    with pytest.raises(SettingsError, match=message):
        read_schema(str(tmp_path / "schema.yaml"))
