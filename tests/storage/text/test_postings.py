from pathlib import Path
from tempfile import TemporaryDirectory

from conspectus.storage.text.postings import Postings
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
