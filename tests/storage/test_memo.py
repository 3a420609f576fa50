import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.errors import IndexUnusable
from storage.memo import Memo


def test_what_was_put_is_got_and_the_rest_is_missing(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "deep" / "memo.sqlite")
    memo.put_many("vector", {"a": b"1", "b": b""})
    assert memo.get_many("vector", ["b", "a", "c"]) == {"a": b"1", "b": b""}
    assert memo.missing("vector", ["c", "a", "d", "c"]) == ["c", "d"]


def test_kinds_are_apart(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.sqlite")
    memo.put_many("one", {"a": b"1"})
    assert memo.get_many("two", ["a"]) == {}


def test_the_first_result_stays(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.sqlite")
    memo.put_many("kind", {"a": b"first"})
    memo.put_many("kind", {"a": b"second"})
    assert memo.get_many("kind", ["a"]) == {"a": b"first"}


def test_a_replaced_result_is_the_last_and_keeps_its_sources(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.sqlite")
    memo.put_many("kind", {"a": b"first", "b": b"b"}, {"a": ["text"]})
    memo.replace_many("kind", {"a": b"second", "c": b"c"}, {"a": ["text"]})
    assert memo.get_many("kind", "abc") == {"a": b"second", "b": b"b", "c": b"c"}
    assert memo.made_from("text") == [("kind", "a")]


@settings(max_examples=20, deadline=None)
@given(st.dictionaries(st.text(min_size=1).filter(lambda key: "\x00" not in key and key.isprintable()), st.binary()))
def test_any_result_comes_back(tmp_path_factory: pytest.TempPathFactory, results: dict[str, bytes]) -> None:
    memo = Memo(tmp_path_factory.mktemp("memo") / "memo.sqlite")
    memo.put_many("kind", results)
    assert memo.get_many("kind", results) == results


def test_more_keys_than_a_statement_holds(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.sqlite")
    results = {f"{number:05}": b"x" for number in range(3000)}
    memo.put_many("kind", results)
    assert memo.get_many("kind", results) == results
    assert memo.missing("kind", [*results, "new"]) == ["new"]


def test_many_writers_at_once(tmp_path: Path) -> None:
    path = tmp_path / "memo.sqlite"

    def write(worker: int) -> None:
        Memo(path).put_many("kind", {f"{worker}-{number}": b"x" for number in range(50)})

    with ThreadPoolExecutor(8) as workers:
        list(workers.map(write, range(16)))
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM results").fetchone() == (800,)


def test_a_damaged_memo_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "memo.sqlite"
    path.write_bytes(b"this is no database" * 1000)
    with pytest.raises(IndexUnusable, match="delete it to go on"):
        Memo(path)
