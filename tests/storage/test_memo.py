import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conspectus.storage.errors import IndexUnusable
from conspectus.storage.memo import Memo, MemoReader
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=20)
@given(st.dictionaries(st.text(min_size=1).filter(lambda key: "\x00" not in key and key.isprintable()), st.binary()))
def test_any_result_comes_back(tmp_path_factory: pytest.TempPathFactory, results: dict[str, bytes]) -> None:
    memo = Memo(tmp_path_factory.mktemp("memo") / "memo.sqlite")
    memo.put_many("kind", results)
    assert memo.get_many("kind", results) == results


def test_many_writers_at_once(tmp_path: Path) -> None:
    path = tmp_path / "memo.sqlite"

    def write(worker: int) -> None:
        Memo(path).put_many("kind", {f"{worker}-{number}": b"x" for number in range(50)})

    with ThreadPoolExecutor(8) as workers:
        list(workers.map(write, range(16)))
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM results").fetchone() == (800,)


def test_a_long_log_is_emptied_once_no_reader_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conspectus.storage.memo._LONGEST_LOG", 100_000)
    memo, log = Memo(tmp_path / "memo.sqlite"), tmp_path / "memo.sqlite-wal"
    reader = sqlite3.connect(memo.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM results").fetchall()
    memo.put_many("kind", {"a": b"r" * 200_000})
    assert log.stat().st_size > 100_000
    reader.execute("COMMIT")
    memo.put_many("kind", {"b": b"s"})
    assert log.stat().st_size == 0
    assert reader.execute("SELECT count(*) FROM results").fetchone() == (2,)
    reader.close()


def test_a_damaged_memo_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "memo.sqlite"
    path.write_bytes(b"this is no database" * 1000)
    with pytest.raises(IndexUnusable, match="delete it to continue"):
        Memo(path)


def test_what_is_not_among_the_keys_is_forgotten(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.sqlite")
    memo.put_many("kind", {"a": b"1", "b": b"2"}, {"a": ["text"], "b": ["text"]})
    memo.put_many("other", {"b": b"3"}, {"b": ["text"]})
    assert memo.kinds() == ["kind", "other"]
    assert memo.forget_all_but("kind", ["a", "c"]) == 1
    assert memo.get_many("kind", "ab") == {"a": b"1"}
    assert memo.made_from("text") == [("kind", "a"), ("other", "b")]


def test_what_was_made_from_other_texts_is_forgotten(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.sqlite")
    sources = {
        "held": ["one"], "both": ["one", "two"], "partly": ["one", "gone"], "gone": ["gone"], "unknown": [],
        "marked": ["two", "mark"], "other mark": ["two", "other"], "only marked": ["mark"],
    }  # fmt: skip
    results = {key: key.encode() for key in sources}
    memo.put_many("kind", results, sources)
    memo.put_many("other", results, sources)
    assert memo.forget_made_from_others("kind", ["one", "two"]) == 6
    assert set(memo.get_many("kind", sources)) == {"held", "both"}
    assert memo.forget_made_from_others("other", ["one", "two"], ["mark"]) == 7
    assert set(memo.get_many("other", sources)) == {"marked"}
    assert memo.made_from("gone") == []
    assert memo.made_from("mark") == [("other", "marked")]


def test_no_byte_stays_of_what_was_forgotten(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.sqlite")
    memo.put_many("kind", {"a": b"canary" * 5000, "b": b"kept" * 1000}, {"a": ["gone"], "b": ["one"]})
    memo.forget_made_from_others("kind", ["one"])
    before = memo.path.stat().st_size
    memo.compact()
    assert memo.path.stat().st_size < before
    assert b"kept" in memo.path.read_bytes()
    assert not any(b"canary" in each.read_bytes() for each in tmp_path.iterdir())
    assert memo.get_many("kind", ["b"]) == {"b": b"kept" * 1000}


def test_a_reader_leaves_no_trace(tmp_path: Path) -> None:
    Memo(tmp_path / "memo.sqlite").put_many("kind", {"a": b"1"})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    memo = MemoReader(tmp_path / "memo.sqlite")
    memo.get_many("kind", ["a"])
    with pytest.raises(IndexUnusable):
        memo.put_many("kind", {"b": b"2"})
    with pytest.raises(IndexUnusable):
        memo.replace_many("kind", {"a": b"2"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_reader_sees_what_another_process_has_not_merged_yet(tmp_path: Path) -> None:
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


def test_what_cannot_be_read_now_is_not_to_be_deleted(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "memo.sqlite"
    sqlite3.connect(path).execute("CREATE TABLE begun (it INT)").connection.close()  # its tables are yet to come
    with pytest.raises(IndexUnusable, match="cannot be used now"):
        MemoReader(path).get_many("kind", ["a"])
    path.write_bytes(b"no database" * 100)
    with pytest.raises(IndexUnusable, match="delete it"):
        MemoReader(path).get_many("kind", ["a"])


def test_a_memo_that_is_kept_open_is_whole_afterwards(tmp_path: Path) -> None:
    memo, log = Memo(tmp_path / "memo.sqlite"), tmp_path / "memo.sqlite-wal"
    with memo.open():
        memo.put_many("reply", {"a": b"1"})
        assert log.stat().st_size > 0
        assert memo.get_many("reply", ["a"]) == {"a": b"1"}
    assert not log.exists()
    assert memo.get_many("reply", ["a"]) == {"a": b"1"}
