"""Bytes that a model or a folder holds: whatever they are, they end in our own errors, soon and in little memory.

Ten thousand cases of each are `python -m benchmarks.fuzzing`; here are a few.
"""

from pathlib import Path

from tests.fuzz import graphrag, index_files, replies
from tests.fuzz.target import found

CASES = 40


def test_tables_of_graphrag(tmp_path: Path) -> None:
    assert found(graphrag.targets(tmp_path), CASES) == []


def test_replies_of_models() -> None:
    assert found(replies.targets(), CASES) == []


def test_files_of_an_index_whose_manifest_vouches_for_them(sample_root: Path, tmp_path: Path) -> None:
    assert found(index_files.targets(sample_root, tmp_path), CASES) == []
