import json
from pathlib import Path

import pytest
from conspectus.storage.settings import InputSettings

from tests.pipelines.readers.reading import read, texts


def put(folder: Path, value: object) -> Path:
    path = folder / "a.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


def test_an_object_with_a_text_is_a_document(tmp_path: Path) -> None:
    rows, lost = read(put(tmp_path, {"id": 7, "title": "T", "text": "Text.", "tags": ["x"], "data": [{"text": "no"}]}))
    assert lost == {}
    row = rows[""]
    assert (row.id, row.title, row.text) == ("7", "T", "Text.")
    assert row.metadata == {"tags": '["x"]', "data": '[{"text": "no"}]'}


@pytest.mark.parametrize("key", [None, "data"])
def test_a_list_of_objects_is_many_documents(tmp_path: Path, key: str | None) -> None:
    records = [{"text": "One."}, 5, {"title": "none"}, {"text": ""}, {"text": "Five.", "id": "five"}]
    value = {"version": 1, key: records, "other": [1, 2], "more": [{"x": 1}]} if key else records
    rows, lost = read(put(tmp_path, value))
    assert texts(rows) == {"#1": "One.", "#5": "Five."}
    assert lost == {
        "#2": "value 2 is not a JSON object",
        "#3": "no text column 'text' (input.text_column)",
        "#4": "empty",
    }


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"a": [{"text": "x"}], "b": [{"text": "y"}]}, "several lists of texts"),
        ([], "empty"),
        ("", "empty"),
        ("5", "no JSON object"),
        ('{"text": "cut', "not JSON"),
        ('{"text": "x"} {"text": "y"}', "not JSON"),
        ('{"text": "x", "n": ' + "9" * 5_000 + "}", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"text": "' + "x" * 70_000 + '"}', "longer than input.max_characters (1000)"),
    ],
)
def test_other_json_is_a_failure(tmp_path: Path, value: object, reason: str) -> None:
    rows, lost = read(put(tmp_path, value), InputSettings(max_characters=1_000))
    assert (rows, list(lost.values())) == ({}, [reason])


@pytest.mark.parametrize("value", [{"body": "x", "n": 1}, [{"body": "x"}], [1, 2]])
def test_json_without_texts_is_one_text(tmp_path: Path, value: object) -> None:
    rows, lost = read(put(tmp_path, value))
    assert (json.loads(rows[""].text), lost) == (value, {})


def test_values_that_are_nested_deeply_do_no_harm(tmp_path: Path) -> None:
    for depth in (500, 900, 940, 960, 970, 980, 990, 1000):
        rows, lost = read(put(tmp_path, '{"text": "Text.", "n": ' + "[" * depth + "]" * depth + "}"))
        assert rows or set(lost.values()) == {"nested too deeply"}
