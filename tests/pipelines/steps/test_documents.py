import csv
import datetime
import hashlib
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conspectus.pipelines.build_report import lost_shares
from conspectus.pipelines.steps.documents import ALSO_AT, once_each, read_documents
from conspectus.storage.hashing import short_id
from conspectus.storage.records import SKIP, Document, Failure
from conspectus.storage.settings import InputSettings
from conspectus.storage.spilled import spilling_to
from conspectus.storage.tables import read_table, write_table
from hypothesis import given, settings
from hypothesis import strategies as st

SETTINGS = InputSettings()


def put(root: Path, name: str, content: str | bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path


def read(*inputs: Path, settings: InputSettings = SETTINGS) -> tuple[dict[str, Document], dict[str, Failure]]:
    """Documents by uri, failures by item."""
    documents, failures = read_documents(inputs, settings)
    assert [each.id for each in documents] == sorted({each.id for each in documents})
    assert {failure.stage for failure in failures} <= {"read", SKIP}
    return {each.uri: each for each in documents}, {each.item_id: each for each in failures}


def only(path: Path) -> Document:
    documents, failures = read(path)
    assert failures == {}
    (document,) = documents.values()
    return document


def test_a_text_file(tmp_path: Path) -> None:
    document = only(put(tmp_path, "the_tin-woodman.txt", "He was made\r\nof tin.\r\rRusted."))
    text = "He was made\nof tin.\n\nRusted."
    assert document == Document(
        id=short_id("the_tin-woodman.txt"),
        title="the tin woodman",
        uri="the_tin-woodman.txt",
        text=text,
        metadata={"lang": "en"},
        n_chars=len(text),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
    )


def test_titles_of_files(tmp_path: Path) -> None:
    gutenberg = "The Project Gutenberg eBook\n\nTitle: The Wonderful  Wizard of Oz\nAuthor: L. Frank Baum\n"
    assert only(put(tmp_path, "pg55.txt", gutenberg)).title == "The Wonderful Wizard of Oz"
    assert only(put(tmp_path, "late.txt", "\n" * 40 + "Title: Too late\n")).title == "late"
    markdown = "Intro\n\n## Not this\n```\n# nor this\n```\n#hashtag\n# The  Heading #\n# Another\n"
    assert only(put(tmp_path, "m.md", markdown)).title == "The Heading"
    assert only(put(tmp_path, "some_notes.MARKDOWN", "No heading.")).title == "some notes"


@pytest.mark.parametrize(
    "front",
    [
        "---\nunclosed: [\n---\n",
        "---\njust a line\n---\n",
        "---\nno: end\n",
        "---\nwhen: 2020-13-45\n---\n",
        "---\n? {2020-01-01: [1]}\n: x\n---\n",
        "---\n" + "[" * 5_000 + "\n---\n",
        "---\nx: !!python/object/apply:os.getcwd []\n---\n",
    ],
)
def test_what_is_no_front_matter_is_text(tmp_path: Path, front: str) -> None:
    document = only(put(tmp_path, "a.md", front + "Text.\n"))
    assert document.metadata == {}
    assert "".join(document.text.split()) == "".join(front.replace("---", "").split()) + "Text."


def test_lines_that_cannot_be_used_are_failures_and_the_others_are_read(tmp_path: Path) -> None:
    lines = [
        '{"text": "Good."}',
        '{"text": "cut',
        "[1, 2]",
        '{"title": "no text"}',
        '{"text": " "}',
        '{"text": null}',
        '{"text": 5}',
        "[" * 100_000,
        '{"text": "Also good.", "n": ' + "9" * 5_000 + "}",
        '{"text": "Good too."}',
    ]
    documents, failures = read(put(tmp_path, "c.ndjson", "\n".join(lines)))
    assert sorted(documents) == ["c.ndjson#1", "c.ndjson#10"]
    assert {uri.split("#")[1]: failure.reason for uri, failure in failures.items()} == {
        "2": "line 2 is not JSON",
        "3": "line 3 is not a JSON object",
        "4": "no text column 'text' (input.text_column)",
        "5": "empty",
        "6": "empty",
        "7": "the text is not a string",
        "8": "line 8 is not JSON",
        "9": "line 9 is not JSON",
    }
    assert failures["c.ndjson#4"].detail == "columns: title"


def test_csv(tmp_path: Path) -> None:
    rows = 'id,title,text,year\r\n1,One,"A ""quoted"", long\r\ntext",1900\r\n\r\n2,,Two,\r\n'
    documents, failures = read(put(tmp_path, "c.csv", b"\xef\xbb\xbf" + rows.encode()))
    assert failures == {}
    assert {uri: (each.id, each.title, each.text, each.metadata) for uri, each in documents.items()} == {
        "c.csv#1": ("1", "One", 'A "quoted", long\ntext', {"year": "1900"}),
        "c.csv#2": ("2", "", "Two", {"year": ""}),
    }
    assert only(put(tmp_path, "s.csv", "id;text\n1;a, b\n")).text == "a, b"
    assert only(put(tmp_path, "t.csv", "id\ttext\n1\ta, b; c\n")).text == "a, b; c"


def test_malformed_csv_rows_are_failures_and_the_others_are_read(tmp_path: Path) -> None:
    rows = 'id,text\n1,good\n2,too,many\n3\n4,"bad" quotes\n5,good\n6,"never closed\n7,swallowed\n'
    documents, failures = read(put(tmp_path, "c.csv", rows))
    assert sorted(document.id for document in documents.values()) == ["1", "5"]
    assert {uri: failure.reason for uri, failure in failures.items()} == {
        "c.csv#2": "not CSV",
        "c.csv#3": "no text column 'text' (input.text_column)",
        "c.csv#4": "not CSV",
        "c.csv#6": "not CSV",
    }
    assert failures["c.csv#6"].detail == "lines 7 to 8: unexpected end of data"


def test_long_csv_fields_are_read_up_to_the_limit(tmp_path: Path) -> None:
    usual = csv.field_size_limit()
    path = put(tmp_path, "c.csv", f"id,text\n1,{'x' * 300_000}\n2,{'y' * 400_001}\n3,z\n")
    documents, failures = read(path, settings=InputSettings(max_characters=400_000))
    assert {document.id: document.n_chars for document in documents.values()} == {"1": 300_000, "3": 1}
    assert list(failures) == ["c.csv#2"]
    assert csv.field_size_limit() == usual
    endless = put(tmp_path, "e.csv", 'id,text\n1,good\n2,"' + "never closed\n" * 40_000)
    documents, failures = read(endless, settings=InputSettings(max_characters=400_000))
    assert [document.id for document in documents.values()] == ["1"]
    assert failures["e.csv"].reason == "row 2 does not end"


def test_parquet(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array([3, None, 3]),
            "text": ["Three.", "None.", "Again."],
            "when": [datetime.date(1900, 5, 17), None, None],
            "score": [0.5, float("nan"), 1.0],
            "tags": [["a"], [], None],
            "raw": [b"\xff", None, None],
        }
    )
    pq.write_table(table, tmp_path / "p.parquet")
    documents, failures = read(tmp_path / "p.parquet")
    assert {uri: (each.id, each.text, each.metadata) for uri, each in documents.items()} == {
        "p.parquet#1": (
            "3",
            "Three.",
            {"when": "1900-05-17", "score": "0.5", "tags": '["a"]', "raw": "\ufffd"},
        ),
        "p.parquet#2": (short_id("p.parquet#2"), "None.", {"tags": "[]"}),
    }
    assert failures["p.parquet#3"].reason == "the id '3' is taken"


def test_supplied_ids_hold_once_in_the_order_of_files_and_rows(tmp_path: Path) -> None:
    put(tmp_path, "b.jsonl", '{"id": "x", "text": "second"}\n{"id": "y", "text": "third"}\n')
    put(tmp_path, "a.jsonl", '{"id": " x ", "text": "first"}\n')
    for inputs in ([tmp_path], [tmp_path / "b.jsonl", tmp_path / "a.jsonl"]):
        documents, failures = read(*inputs)
        assert {each.id: each.text for each in documents.values()} == {"x": "first", "y": "third"}
        assert failures["b.jsonl#1"] == Failure("read", "b.jsonl#1", "the id 'x' is taken", "by a.jsonl#1")


BINARY = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20


def test_each_bad_file_of_a_folder_is_a_failure(tmp_path: Path) -> None:
    put(tmp_path, "good.txt", "Text.")
    put(tmp_path, "image.txt", BINARY)
    put(tmp_path, "noise.md", bytes(range(256)) * 20)
    put(tmp_path, "page.xyz", "<p>Text.</p>")
    put(tmp_path, "zero.txt", "")
    put(tmp_path, "blank.txt", " \n\t\n")
    put(tmp_path, "blank.csv", "\n\n")
    put(tmp_path, "header.csv", "id,text\n")
    put(tmp_path, "zero.jsonl", "")
    put(tmp_path, "front.md", "---\na: b\n---\n\n")
    put(tmp_path, "zero.parquet", "")
    put(tmp_path, "fake.parquet", "not parquet at all")
    put(tmp_path, "doubles.csv", "text,a,a\n1,2,3\n")
    os.mkfifo(tmp_path / "pipe.txt")
    documents, failures = read(tmp_path)
    assert {name: each.metadata for name, each in documents.items()} == {
        "doubles.csv#1": {"a": "2", "a (2)": "3"},
        "good.txt": {},
    }
    assert {name: failure.reason for name, failure in failures.items()} == {
        "image.txt": "binary data",
        "noise.md": "binary data",
        "page.xyz": "unsupported format .xyz",
        "zero.txt": "empty",
        "blank.txt": "empty",
        "blank.csv": "empty",
        "header.csv": "empty",
        "zero.jsonl": "empty",
        "front.md": "empty",
        "zero.parquet": "empty",
        "fake.parquet": "cannot be read: not Parquet",
        "pipe.txt": "not a regular file",
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_a_failure(tmp_path: Path) -> None:
    put(tmp_path, "good.txt", "Text.")
    put(tmp_path, "closed.txt", "Text.").chmod(0)
    put(tmp_path, "folder/in.txt", "Text.").parent.chmod(0)
    _, failures = read(tmp_path)
    (tmp_path / "folder").chmod(0o700)
    assert {(name, each.reason, each.detail) for name, each in failures.items()} == {
        ("closed.txt", "cannot be read", "Permission denied"),
        ("folder", "cannot be read", "Permission denied"),
    }


def test_whatever_was_read_can_be_written(tmp_path: Path) -> None:
    strange = r'{"id": "\ud800", "title": "\u0000t\udfff", "text": "a\ud800\u0000b\r\n", "\udc00k": "\ud800"}'
    put(tmp_path, "in/a.jsonl", strange + '\n{"\\ud800": 1}\n')
    put(tmp_path, "in/b.txt", "x" * 1_000 + "\0y")
    (tmp_path / "in" / os.fsdecode(b"\xff.xyz")).write_text("x")
    documents, failures = read_documents([tmp_path / "in"], SETTINGS)
    assert [document.text for document in documents if "#" in document.uri] == ["a\ufffdb\n"]
    assert len(failures) == 2
    write_table(tmp_path / "d.parquet", Document, documents)
    write_table(tmp_path / "f.parquet", Failure, failures)
    assert read_table(tmp_path / "d.parquet", Document) == documents
    assert read_table(tmp_path / "f.parquet", Failure) == failures


def test_files_of_other_formats_are_skipped_and_not_lost(tmp_path: Path) -> None:
    files = {"a.txt": "Text.", "README": "Read me.", "b.gif": BINARY, "c.xyz": "x", "tool": BINARY}
    for name, content in files.items():
        put(tmp_path, name, content)
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr("e.txt", "Text.")
        archive.writestr("f.ico", "x")
    documents, failures = read_documents([tmp_path], SETTINGS)
    assert sorted(document.uri for document in documents) == ["README", "a.txt", "d.zip/e.txt"]
    assert {(each.stage, each.item_id) for each in failures} == {
        (SKIP, "b.gif"), (SKIP, "c.xyz"), (SKIP, "tool"), (SKIP, "d.zip/f.ico"),
    }  # fmt: skip
    assert lost_shares({"documents": 3}, failures) == ()


def test_files_with_the_same_text_are_one_document_with_all_names(tmp_path: Path) -> None:
    page = f"<p>{'The pump moves water. ' * 20}"
    files = {
        "a.html": page,
        "b/a.html": page,
        "c.html": '<a href="b/a.html">it</a>',
        "d.html": "Short.",
        "e.html": "Short.",
    }
    for name, text in files.items():
        put(tmp_path, name, text)
    put(tmp_path, "f.jsonl", f'{{"text": "{"x" * 300}"}}\n' * 2)
    documents, failures = read(tmp_path)
    assert (sorted(documents), failures) == (["a.html", "c.html", "d.html", "e.html", "f.jsonl#1", "f.jsonl#2"], {})
    assert documents["a.html"].metadata[ALSO_AT] == "b/a.html"
    assert [link.target for link in documents["c.html"].hyperlinks] == ["a.html"]
    again = once_each(iter([*documents.values(), replace(documents["a.html"], id=short_id("z.html"), uri="z.html")]))
    assert {each.uri: each.metadata.get(ALSO_AT) for each in again}["a.html"] == "b/a.html; z.html"


PAGE = f"<p>{'The pump moves water. ' * 20}"
PAGES = [PAGE, PAGE.replace("water", "sand"), '<a href="b/a.html">it</a>', f'<a href="a.html">it</a>{PAGE}', "Short."]


@settings(max_examples=25)
@given(files=st.dictionaries(st.sampled_from(["a", "b/a", "c", "d", "e", "f/g"]), st.sampled_from(PAGES), min_size=1))
def test_documents_in_many_blocks_are_read_like_those_in_one(files: dict[str, str]) -> None:
    with TemporaryDirectory() as folder:
        for name, text in files.items():
            put(Path(folder), f"{name}.html", text)
        few = read_documents([Path(folder)], SETTINGS)
        with (
            patch("conspectus.pipelines.steps.documents.ROWS_AT_ONCE", 2),
            spilling_to(Path(folder)),
        ):
            documents, failures = read_documents([Path(folder)], SETTINGS)
    assert (list(documents), failures) == (list(few[0]), few[1])
