"""An extraction made elsewhere: what is read, what is lost, and which chunk gets what."""

import json
from pathlib import Path

from conspectus.pipelines.exchange.openie.read import by_chunk, read_open
from conspectus.pipelines.steps.extract.openie import OpenExtraction, OpenTriple
from conspectus.storage.records import Chunk
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
