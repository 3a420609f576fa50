"""Bytes that somebody else made: documents, graphs and other files of users; see test_fuzz.py.

It is a file of its own because another worker may then run it.
"""

from pathlib import Path

from tests.fuzz import documents
from tests.fuzz.target import found

BY_LIBRARIES = ("read .docx", "read .epub", "read .html", "read .pdf", "read .pptx")
"""Targets of which libraries read most: they have more cases."""


def test_documents_graphs_and_other_files_of_users(tmp_path: Path) -> None:
    for target in documents.targets(tmp_path):
        assert found([target], 40 if target.name in BY_LIBRARIES else 12) == []
