from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from conspectus.storage.text import postings
from conspectus.storage.text.postings import Postings, PostingsMaker
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.tuples(st.text(max_size=4), st.integers(0, 99)), max_size=30))
def test_postings_in_memory_and_mapped_are_those_of_a_dictionary(pairs: list[tuple[str, int]]) -> None:
    rows: dict[str, list[int]] = {}
    with TemporaryDirectory() as folder, patch.object(postings, "_BLOCK", 7):
        maker = PostingsMaker()
        for key, row in pairs:
            rows.setdefault(key, []).append(row)
            maker.add(key, row)
        made = maker.postings()
        path, again = Path(folder, "made.arrow"), Path(folder, "again.arrow")
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
            shared = sorted(own for own in rows.values() if 2 <= len(own) <= 3)
            assert found.shared(3) == shared
            assert found.begins("a") == any(key.startswith("a") for key in rows)
            assert found.with_keys_of(made) == sorted({row for own in rows.values() for row in own})
        mapped.save(again)
        assert path.read_bytes() == again.read_bytes()
