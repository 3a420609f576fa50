"""Twenty corrections over the example world: they stay in force through updates, and updates equal builds."""

import json
from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.incremental import change_documents
from conspectus.pipelines.resolution.corrections import read_rules
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Correction, Entity, Merge
from conspectus.storage.settings import load_settings
from conspectus.storage.verify import verify

from tests.end_to_end.test_updates import files_of

WORLD = Path(__file__).parents[2] / "examples" / "world" / "corpus.jsonl"
CORRECTIONS = """\
- merge: [Ilse Varn, Varn]
- merge: [Anselm Roke, Roke]
- merge: [Port Calder, Calder]
- merge: [Exchange Theatre, Exchange]
- same: {de: Rettungsboot, en: lifeboat}
- apart: [Aurel Denholm, Denholm]
- apart: [Skerran Lifeboat Society, SLS]
- rename: Tobias Renn
  to: Captain Tobias Renn
- rename: Tidal Institute
  to: Tidal Institute of Brennick
- split: Marrow
  into: Marrow (Vey)
  document: [vey, marrow-vey, lantern-week]
- split: Grey Petrel
  into: Grey Petrel (1926)
  document: [tidal-institute, edda-marsh, grey-petrel-1926]
- split: Sundry Head
  into: Sundry Head (village)
  words: village
- forbid: inhabitants
- forbid: 1925 to 1960
- forbid: [Hask, is, granddaughter]
- forbid: [dam, bundles]
- fix: [Lowmere, is town among, marshes]
  to: [Lowmere, lies in, marshes]
- type: Josefa Quell
  is: PERSON
- type: Brennick
  is: TOWN
- forbid: Nobody in this world
"""


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, str]]:
    return {row["id"]: row for row in map(json.loads, WORLD.read_text("utf-8").splitlines())}


def test_twenty_corrections_stay_through_updates(tmp_path: Path, rows: dict[str, dict[str, str]]) -> None:
    (tmp_path / "corrections.yaml").write_text(CORRECTIONS, "utf-8")
    (tmp_path / "settings.yaml").write_text("communities:\n  update: exact\n", "utf-8")
    settings, root = load_settings(tmp_path / "settings.yaml"), tmp_path / "index"
    assert len(read_rules(settings.build.corrections)) == 20
    held = {id_: rows[id_] for id_ in sorted(rows)[::2]}
    build_index([], root, settings, texts=list(held.values()))
    changes = [(sorted(rows)[1::2][3 * step :][:3], sorted(held)[step::20][:1]) for step in range(4)]
    for added, removed in changes:
        held = {id_: row for id_, row in held.items() if id_ not in removed} | {id_: rows[id_] for id_ in added}
        change_documents([], removed, root, settings, texts=[rows[id_] for id_ in added])
        places = {row.text: row.places for row in StoredIndex.open(root).rows(Correction)}
        assert len(places) == 20
        assert places['forbid: "Nobody in this world"'] == 0
    build_index([], tmp_path / "fresh", settings, texts=list(held.values()))
    assert files_of(root) == files_of(tmp_path / "fresh")
    build_index([], root, settings, texts=list(rows.values()))
    index = StoredIndex.open(root)
    assert verify(index) == []
    places = {row.text: row.places for row in index.rows(Correction)}
    assert [text for text, count in places.items() if not count] == ['forbid: "Nobody in this world"']
    names = {each.name: each for each in index.rows(Entity)}
    assert {"Captain Tobias Renn", "Denholm", "SLS", "Marrow (Vey)", "Exchange Theatre", "Rettungsboot"} <= names.keys()
    assert not {"Varn", "Roke", "inhabitants", "Tidal Institute", "lifeboats"} & names.keys()
    assert (names["Josefa Quell"].type, names["Brennick"].type) == ("PERSON", "TOWN")
    (tmp_path / "corrections.yaml").unlink()
    without = load_settings(tmp_path / "settings.yaml")
    build_index([], root, without, texts=list(rows.values()))
    index = StoredIndex.open(root)
    assert index.rows(Correction) == []
    assert not any(each.undone or each.reason == "correction" for each in index.rows(Merge))
