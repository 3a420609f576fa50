from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from conspectus.storage.text import postings
from conspectus.storage.text.postings import Postings, PostingsMaker
from hypothesis import given
from hypothesis import strategies as st


@given(st.dictionaries(st.text(max_size=6), st.lists(st.integers(0, 99), min_size=1, max_size=4), max_size=30))
def test_mapped_postings_give_what_those_in_memory_give(rows: dict[str, list[int]]) -> None:
    with TemporaryDirectory() as folder:
        check(rows, Path(folder, "made.arrow"))


def check(rows: dict[str, list[int]], path: Path) -> None:
    made = Postings.of(rows)
    made.save(path)
    mapped = Postings.load(path)
    for found in (made, mapped):
        assert {key: found.get(key) for key in rows} == rows
        assert all(type(row) is int for key in rows for row in found.get(key))
        assert found.starting("") == sorted(rows)
        for key in [*rows, "a", "nothing else"]:
            assert (key in found) == (key in rows)
            assert found.count(key) == len(rows.get(key, ()))
            assert found.starting(key[:2]) == sorted(each for each in rows if each.startswith(key[:2]))
    made.save(path.with_name("again.arrow"))
    assert path.read_bytes() == path.with_name("again.arrow").read_bytes()


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(0, 99)), max_size=30))
def test_postings_of_pairs_are_those_of_a_dictionary(pairs: list[tuple[str, int]]) -> None:
    expected: dict[str, list[int]] = {}
    for key, row in pairs:
        expected.setdefault(key, []).append(row)
    with TemporaryDirectory() as folder, patch.object(postings, "_BLOCK", 7):
        made = PostingsMaker()
        for key, row in pairs:
            made.add(key, row)
        made.postings().save(Path(folder, "ours"))
        Postings.of(expected).save(Path(folder, "expected"))
        found = Postings.load(Path(folder, "ours"))
        assert {key: found.get(key) for key in expected} == expected
        assert found.starting("") == sorted(expected)
        assert Path(folder, "ours").read_bytes() == Path(folder, "expected").read_bytes()
