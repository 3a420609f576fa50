"""Bytes that somebody else made: whatever they are, they end in our own errors, soon and in little memory.

Ten thousand cases of each are `python -m benchmarks.fuzzing`; here are a few.
"""

from pathlib import Path

import pytest

from tests.fuzz import documents, graphrag, index_files, replies
from tests.fuzz.mutations import cases
from tests.fuzz.target import Found, Target, fuzz

CASES = 50


def found(targets: list[Target]) -> list[Found]:
    return [each for target in targets for each in fuzz(target, cases(target.seeds, CASES, seed=len(target.name)))]


def test_documents_graphs_and_other_files_of_users(tmp_path: Path) -> None:
    assert found(list(documents.targets(tmp_path))) == []


def test_tables_of_graphrag(tmp_path: Path) -> None:
    assert found(list(graphrag.targets(tmp_path))) == []


def test_replies_of_models() -> None:
    assert found(list(replies.targets())) == []


def test_files_of_an_index_whose_manifest_vouches_for_them(sample_root: Path, tmp_path: Path) -> None:
    assert found(list(index_files.targets(sample_root, tmp_path))) == []


def test_a_case_that_does_what_none_may_do_is_found() -> None:
    def run(content: bytes) -> None:
        if content[:1] == b"a":
            raise KeyError("a")

    assert [each.what for each in fuzz(Target("x", (), run), iter([b"b", b"a", b"c"]))] == ["KeyError: 'a'"]


@pytest.mark.parametrize("seeds", [(b"",), (b"one", b"two")])
def test_cases_are_the_same_each_time(seeds: tuple[bytes, ...]) -> None:
    assert list(cases(seeds, 40, 1)) == list(cases(seeds, 40, 1)) != list(cases(seeds, 40, 2))
