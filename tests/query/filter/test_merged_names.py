"""What an index narrowed to some documents says of names that were merged."""

from pathlib import Path

from conspectus.pipelines.build_index import build_index
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.query.filter.view import view_of
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Document, Entity, Mention, Merge
from conspectus.storage.settings import load_settings

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
