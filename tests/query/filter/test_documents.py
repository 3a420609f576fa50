"""Documents that a view has: what may be read, their metadata, and names that are merged."""

import json
from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.query.filter.documents import Filter, asked, permitted_documents, tags_of
from conspectus.query.filter.view import view_of
from conspectus.storage.errors import UsageError
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Document, Entity, Mention, Merge
from conspectus.storage.settings import AccessSettings, load_settings

from tests.conftest import write_rows

ROWS = [
    {"id": "a", "title": "A", "text": "Anna met Otto.", "access": "team-a", "year": 2019},
    {"id": "ab", "title": "B", "text": "Otto met Mary.", "access": ["team-a", "team-b"], "year": 2021, "title_of": "x"},
    {"id": "b", "text": "Mary met Anna.", "access": "team-b, team-c", "year": 2022},
    {"id": "open", "text": "Anna met Mary.", "access": "", "year": 2023},
    {"id": "bare", "text": "Otto met Anna.", "group": "team-a"},
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> StoredIndex:
    folder = tmp_path_factory.mktemp("documents")
    write_rows(folder / "rows.jsonl", ROWS)
    settings = load_settings(overrides={"extraction": {"pipeline": "regex"}})
    build_index([folder / "rows.jsonl"], folder / "index", settings)
    return StoredIndex.open(folder / "index")


PUBLIC = {"open", "bare"}
EVERY = {str(each["id"]) for each in ROWS}


@pytest.mark.parametrize(
    ("narrowed", "settings", "found"),
    [
        (Filter(), {}, EVERY),
        (Filter(), {"untagged": "denied"}, EVERY),
        (Filter(), {"unasked": "untagged", "untagged": "denied"}, set()),
        (Filter("", ()), {}, PUBLIC),
        (Filter("", ("team-a",)), {}, {"a", "ab"} | PUBLIC),
        (Filter("", ("team-a",)), {"untagged": "denied"}, {"a", "ab"}),
        (Filter("", ("team",)), {}, PUBLIC),
        (Filter("", ("team-a",)), {"key": "group"}, {"a", "ab", "b", "open", "bare"}),
        (Filter("year >= 2021", ("team-a",)), {}, {"ab", "open"}),
        (Filter("id = b or title = A"), {}, {"a", "b"}),
        (Filter("not year >= 2021"), {}, {"a"}),
    ],
)
def test_what_may_be_read(index: StoredIndex, narrowed: Filter, settings: dict[str, str], found: set[str]) -> None:
    assert permitted_documents(index, narrowed, AccessSettings.model_validate(settings)) == found


def test_a_key_that_no_document_has_is_an_error(index: StoredIndex) -> None:
    settings = AccessSettings()
    with pytest.raises(UsageError, match="no document has the key 'yaer'; did you mean 'year'") as caught:
        permitted_documents(index, Filter("year > 2020 or not yaer = 3"), settings)
    assert caught.value.exit_status == 2
    with pytest.raises(UsageError, match="no document has the key 'colour'; the keys are: access, "):
        permitted_documents(index, Filter("colour = red"), settings)
    with pytest.raises(UsageError, match="no document has the key 'title_of'; did you mean 'title'"):
        permitted_documents(
            index, Filter("title_of = x", ("team-c",)), settings
        )  # a hidden document's key stays hidden
    assert permitted_documents(index, Filter("colour = red", ()), AccessSettings(untagged="denied")) == set()


def test_tags_that_are_no_list_stay_one_that_nobody_holds() -> None:
    assert tags_of('["a", "b"') == {'["a"', '"b"'}
    assert tags_of('{"a": 1}') == {'{"a": 1}'}
    assert tags_of("[]") == tags_of(",") == frozenset()
    assert tags_of(json.dumps([["a"], 1])) == {'["a"]', "1"}


def test_what_is_no_filter_is_refused() -> None:
    for where, access in (("", None), ("year >", None), (None, [""]), (None, "team-a")):
        with pytest.raises(UsageError):
            asked(where, access)
    assert asked(None, None) == Filter()
    assert asked(None, [" a", "a"]) == Filter("", ("a",))
    assert str(asked("year  > 1", [])) == "where year > 1; access without a tag"


def test_columns_of_tables_and_front_matter_are_metadata(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text('id,text,access,year\n1,"Anna met Otto.",team-a,2020\n', "utf-8")
    (tmp_path / "page.md").write_text(
        "---\ntitle: Page\naccess: [team-b, team-c]\nyear: 2021\n---\nMary met.\n", "utf-8"
    )
    settings = load_settings(overrides={"extraction": {"pipeline": "regex"}})
    build_index([tmp_path / "table.csv", tmp_path / "page.md"], tmp_path / "index", settings)
    index = StoredIndex.open(tmp_path / "index")
    assert permitted_documents(index, Filter("", ("team-a",)), settings.access) == {"1"}
    assert len(permitted_documents(index, Filter("", ("team-c",)), settings.access)) == 1
    assert permitted_documents(index, Filter("year = 2020"), settings.access) == {"1"}


TEXTS = {
    "open.txt": "Holt sailed to Port Alma. Renee Holt met Mary Quill there.",
    "secret.txt": "Renée Holt hid. Renée Holt fled from Port Alma to Old Ferry.",
    "hidden.txt": "Renée Holt lied.",
}


def test_a_merged_name_stays_without_the_name_that_others_give_it(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, "utf-8")
    settings = load_settings(overrides={"extraction": {"pipeline": "regex"}})
    build_index([tmp_path / name for name in TEXTS], tmp_path / "index", settings)
    index = StoredIndex.open(tmp_path / "index")
    assert ("Renee Holt", "Renée Holt") in {(each.alias, each.name) for each in index.rows(Merge)}
    (document,) = [each.id for each in index.rows(Document) if each.text == TEXTS["open.txt"]]
    view = view_of(index, {document}, open_embedder(settings.embedding, settings.embedding_server), graph=False)
    names = {each.name for each in view.rows(Entity)}
    assert "Renee Holt" in names
    assert "Renée Holt" not in names
    assert view.rows(Merge) == []
    surfaces = {each.surface for each in view.rows(Mention) if each.entity_id}
    assert "Renee Holt" in surfaces
    assert "Renée Holt" not in surfaces
