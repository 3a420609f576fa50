"""A memo that is only looked into."""

from pathlib import Path

import pytest
from conspectus.storage.errors import IndexUnusable
from conspectus.storage.memo import Memo
from conspectus.storage.memo_reader import MemoReader


def test_it_reads_what_a_memo_holds(tmp_path: Path) -> None:
    Memo(tmp_path / "memo.sqlite").put_many("kind", {"a": b"1", "b": b"2"}, {"a": ["text"]})
    memo = MemoReader(tmp_path / "memo.sqlite")
    assert memo.get_many("kind", ["a", "b", "c"]) == {"a": b"1", "b": b"2"}
    assert memo.missing("kind", ["c", "a", "c"]) == ["c"]
    assert memo.made_from("text") == [("kind", "a")]


def test_it_leaves_no_trace(tmp_path: Path) -> None:
    Memo(tmp_path / "memo.sqlite").put_many("kind", {"a": b"1"})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    memo = MemoReader(tmp_path / "memo.sqlite")
    memo.get_many("kind", ["a"])
    with pytest.raises(IndexUnusable):
        memo.put_many("kind", {"b": b"2"})
    with pytest.raises(IndexUnusable):
        memo.replace_many("kind", {"a": b"2"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_it_sees_what_another_process_has_not_merged_yet(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "memo.sqlite"
    Memo(path)
    writer = sqlite3.connect(path)
    try:
        with writer:
            writer.execute("INSERT INTO results VALUES ('kind', 'a', x'31')")
        assert path.with_name("memo.sqlite-wal").stat().st_size
        assert MemoReader(path).get_many("kind", ["a"]) == {"a": b"1"}
    finally:
        writer.close()


def test_without_a_memo_nothing_is_known_and_none_is_made(tmp_path: Path) -> None:
    memo = MemoReader(tmp_path / "cache" / "memo.sqlite")
    assert memo.get_many("kind", ["a"]) == {}
    assert memo.missing("kind", ["b", "a", "b"]) == ["b", "a"]
    assert memo.made_from("text") == []
    assert not list(tmp_path.iterdir())


def test_a_damaged_memo_is_told(tmp_path: Path) -> None:
    (tmp_path / "memo.sqlite").write_text("not a database" * 100)
    with pytest.raises(IndexUnusable):
        MemoReader(tmp_path / "memo.sqlite").get_many("kind", ["a"])


def test_what_cannot_be_read_now_is_not_to_be_deleted(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "memo.sqlite"
    sqlite3.connect(path).execute("CREATE TABLE begun (it INT)").connection.close()  # its tables are yet to come
    with pytest.raises(IndexUnusable, match="cannot be read now"):
        MemoReader(path).get_many("kind", ["a"])
    path.write_bytes(b"no database" * 100)
    with pytest.raises(IndexUnusable, match="delete it"):
        MemoReader(path).get_many("kind", ["a"])
