"""An extraction as HippoRAG keeps it, in and out; what is read, what is lost, and which chunk gets what."""

import hashlib
import json
from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.build_report import BuildReport
from conspectus.pipelines.exchange.openie.export import write_openie
from conspectus.pipelines.exchange.openie.read import by_chunk, read_open
from conspectus.pipelines.steps.extract.openie import OpenExtraction, OpenTriple
from conspectus.storage.errors import InputError
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Document, Entity, Mention, Relation
from conspectus.storage.settings import load_settings
from conspectus.storage.verify import verify
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import write_rows

CORPUS = [
    {"id": "maule", "title": "Ada Maule", "text": "Ada Maule was born in Mora. She ran the Tarn mill."},
    {"id": "mora", "title": "Mora (town)", "text": "Mora is a town in Dalarna. Ada Maule left Mora in 1871."},
    {"id": "reyes", "text": "Tom Reyes painted Ada Maule in Oxbow. Tom Reyes later moved to Mora."},
]
DOCS = [
    {
        "idx": "chunk-1",
        "passage": "Ada Maule\nAda Maule was born in Mora.  She ran the Tarn mill.",
        "extracted_entities": ["Ada Maule", "Mora", "Tarn mill", "Nils Dahl"],
        "extracted_triples": [["Ada Maule", "was born in", "Mora"], ["Ada Maule", "ran", "the Tarn mill"]],
    },
    {
        "idx": 17,
        "passage": "Mora is a town in Dalarna. Ada Maule left Mora in 1871.",
        "extracted_entities": ["Mora", "Mora (town)", "Dalarna"],
        "extracted_triples": [["Mora", "is a town in", "Dalarna"], ["Mora", "is a", "small town"]],
    },
    {
        "passage": "Tom Reyes\nTom Reyes painted Ada Maule in Oxbow. Tom Reyes later moved to Mora.",
        "extracted_entities": ["Tom Reyes", "Oxbow"],
        "extracted_triples": [["Tom Reyes", "painted", "Ada Maule"]],
    },
]


def written(path: Path, docs: object = DOCS) -> Path:
    path.write_text(json.dumps({"docs": docs, "avg_ent_chars": 6.0, "avg_ent_words": 1.4}, indent=1), "utf-8")
    return path


def build(index: Path, file: Path, *inputs: Path) -> BuildReport:
    extraction = {"pipeline": "regex", "openie": str(file)}
    chosen = load_settings(overrides={"extraction": extraction, "chunks": {"chunk_size": 16, "chunk_overlap": 0}})
    return build_index(list(inputs), index, chosen)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    write_rows(tmp_path / "corpus.jsonl", CORPUS)
    return tmp_path / "corpus.jsonl"


def said(index: Path) -> set[tuple[str, str, str]]:
    opened = StoredIndex.open(index)
    name_of = {each.id: each.name for each in opened.rows(Entity)}
    return {(name_of[each.source_id], each.predicate, name_of[each.target_id]) for each in opened.rows(Relation)}


TRIPLES = {
    ("Ada Maule", "was born in", "Mora"),
    ("Ada Maule", "ran", "the Tarn mill"),
    ("Mora", "is a town in", "Dalarna"),
    ("Mora", "is a", "small town"),
    ("Tom Reyes", "painted", "Ada Maule"),
}


def test_passages_are_documents_by_their_text_with_and_without_a_title(corpus: Path, tmp_path: Path) -> None:
    done = build(tmp_path / "i", written(tmp_path / "openie_results_ner_x.json"), corpus)
    index = StoredIndex.open(tmp_path / "i")
    assert verify(index) == []
    assert done.failures == ()
    assert (
        done.notes[0] == f"{done.rows['chunks']} of {done.rows['chunks']} chunks as openie_results_ner_x.json has them"
    )
    assert done.rows["chunks"] > 3, "they are divided among the chunks"
    assert said(tmp_path / "i") == TRIPLES


def test_without_an_input_the_passages_are_the_documents(tmp_path: Path) -> None:
    done = build(tmp_path / "i", written(tmp_path / "r.json"))
    assert said(tmp_path / "i") == TRIPLES
    documents = StoredIndex.open(tmp_path / "i").rows(Document)
    assert {(each.title, each.uri) for each in documents} == {
        ("Ada Maule", "r.json#0"),
        ("", "r.json#1"),
        ("Tom Reyes", "r.json#2"),
    }
    assert all(each.text.startswith(("Ada Maule was", "Mora is", "Tom Reyes painted")) for each in documents)
    assert build(tmp_path / "i", tmp_path / "r.json").unchanged
    assert done.failures == ()


def test_what_is_exported_and_read_back_is_what_was_there(corpus: Path, tmp_path: Path) -> None:
    build(tmp_path / "i", written(tmp_path / "r.json"), corpus)
    before = StoredIndex.open(tmp_path / "i")
    done = write_openie(before, tmp_path / "out.json")
    assert done.notes == ()
    build(tmp_path / "j", tmp_path / "out.json", corpus)
    after = StoredIndex.open(tmp_path / "j")
    assert after.rows(Document)
    for record in (Entity, Relation, Mention):
        assert after.rows(record) == before.rows(record)
    write_openie(after, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "out.json").read_bytes()


def test_an_export_is_what_hipporag_would_have_written(corpus: Path, tmp_path: Path) -> None:
    build(tmp_path / "i", written(tmp_path / "r.json"), corpus)
    done = write_openie(StoredIndex.open(tmp_path / "i"), tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert found.keys() == {"docs", "avg_ent_chars", "avg_ent_words"}
    assert len(found["docs"]) == done.rows["chunks"]
    first = next(each for each in found["docs"] if each["passage"].startswith("Ada Maule\nAda Maule was born"))
    assert first["idx"] == "chunk-" + hashlib.md5(first["passage"].encode(), usedforsecurity=False).hexdigest()
    assert {"Ada Maule", "Mora"} <= set(first["extracted_entities"])
    assert ["Ada Maule", "was born in", "Mora"] in first["extracted_triples"]
    names = [name for each in found["docs"] for name in each["extracted_entities"]]
    assert found["avg_ent_chars"] == pytest.approx(sum(map(len, names)) / len(names), abs=1e-4)
    assert "small town" not in names, "the end of a triple only"


def test_what_cannot_be_used_is_listed(corpus: Path, tmp_path: Path) -> None:
    docs = [
        DOCS[0],
        DOCS[0],
        {"passage": "Nobody has this text.", "extracted_entities": []},
        {"passage": 3},
        {"passage": "Mora is a town in Dalarna. Ada Maule left Mora in 1871.", "extracted_entities": ["Mora", 7, " "]},
        [],
    ]
    done = build(tmp_path / "i", written(tmp_path / "r.json", docs), corpus)
    assert [(each.item_id, each.reason) for each in done.failures] == [
        ("r.json#1", "a second extraction of one text"),
        ("r.json#2", "no document or chunk has this text"),
        ("r.json#3", "not a passage with its extraction"),
        ("r.json#4", "lost record"),
        ("r.json#4", "lost record"),
        ("r.json#5", "not a passage with its extraction"),
    ]


def test_relations_that_no_passage_has_are_told(tmp_path: Path) -> None:
    from tests.pipelines.exchange.made import entity, index_of, relation

    a, b = entity("a"), entity("b")
    done = write_openie(index_of([a, b], [relation(a, "knows", b)]), tmp_path / "out.json")
    assert done.notes == ("1 relations are left out because no document states them",)
    assert json.loads((tmp_path / "out.json").read_text()) == {"docs": [], "avg_ent_chars": 0.0, "avg_ent_words": 0.0}


@pytest.mark.parametrize("content", ["", '{"docs": []}', '{"id": "a", "entities": ["b"]}\n', "[1]"])
def test_without_passages_and_without_an_input_there_is_nothing_to_index(tmp_path: Path, content: str) -> None:
    (tmp_path / "r.json").write_text(content, "utf-8")
    with pytest.raises(InputError, match="no passages to index"):
        build(tmp_path / "i", tmp_path / "r.json")
    assert not (tmp_path / "i" / "CURRENT").exists()


LINES = (
    '{"id": "a", "entities": ["Mora", ""], "triples": [["Mora", "is in", "Dalarna"], ["Mora", "is"]]}',
    "",
    '{"id": 7, "triples": []}',
    "not JSON",
    '["a"]',
    '{"id": "b", "entities": "Mora"}',
    '{"entities": []}',
    '{"id": "a", "entities": ["Oxbow"]}',
    '{"id": "unknown", "entities": ["Oxbow"]}',
    '{"id": "b"}',
)


def test_every_line_is_used_or_told(tmp_path: Path) -> None:
    file = tmp_path / "found.jsonl"
    file.write_text("\n".join(LINES), "utf-8")
    found, failures = read_open(file, {"a", "b", "7"})
    assert found == {
        "a": OpenExtraction(("Mora",), (OpenTriple("Mora", "is in", "Dalarna"),)),
        "7": OpenExtraction(),
    }
    assert {each.stage for each in failures} == {"extract"}
    assert [(each.item_id, each.reason) for each in failures] == [
        ("found.jsonl:1", "lost record"),
        ("found.jsonl:1", "lost record"),
        ("found.jsonl:4", "the line is not an extraction"),
        ("found.jsonl:5", "the line is not an extraction"),
        ("found.jsonl:6", "the line is not an extraction"),
        ("found.jsonl:7", "the line is not an extraction"),
        ("found.jsonl:8", "a second extraction of one document"),
        ("found.jsonl:9", "no document has this id"),
        ("found.jsonl:10", "the line is not an extraction"),
    ]


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "found.jsonl"
    file.write_bytes(
        b'\xef\xbb\xbf{"id": "a", "entities": ["Mora"]}\r\n{"id": "b", "entities": ["\xff"]}\n' + b"[" * 9999
    )
    found, failures = read_open(file, {"a", "b"})
    assert list(found) == ["a"]
    assert [each.item_id for each in failures] == ["found.jsonl:2", "found.jsonl:3"]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["id", "entities", "triples"]), inner),
    max_leaves=12,
)


@given(rows=st.lists(ANY, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_stands_in_it_is_used_or_told(rows: list[object], tmp_path: Path) -> None:
    file = tmp_path / "any.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found, failures = read_open(file, {"0", "1", ""})
    told = {each.item_id for each in failures}
    for number, row in enumerate(rows, start=1):
        used = isinstance(row, dict) and str(row.get("id")) in found
        assert used or f"any.jsonl:{number}" in told
    for extraction in found.values():
        assert all(name.strip() for name in extraction.entities)
        assert all(part.strip() for each in extraction.triples for part in (each.subject, each.predicate, each.object))


def chunk(number: int, text: str) -> Chunk:
    return Chunk(str(number), "d", number, 0, len(text), text, 5)


def test_a_triple_goes_to_the_chunks_that_hold_its_words() -> None:
    chunks = [chunk(0, "Ada was born in Mora."), chunk(1, "Mora lies in Dalarna. Ada left."), chunk(2, "Tom stayed.")]
    born, lies = OpenTriple("Ada", "was born in", "Mora"), OpenTriple("Mora", "lies in", "Dalarna")
    stayed, moved = OpenTriple("Tom Reyes", "stayed", "there"), OpenTriple("Zed", "moved", "away")
    first, second, third = by_chunk(OpenExtraction(("Ada", "Mora", "Tom", "Zed"), (born, lies, stayed, moved)), chunks)
    assert first == OpenExtraction(("Ada", "Mora", "Zed"), (born, moved))  # what stands nowhere goes to the first
    assert second == OpenExtraction(("Ada", "Mora"), (lies,))
    assert third == OpenExtraction(("Tom",), (stayed,))
