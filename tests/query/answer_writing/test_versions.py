"""The date of a document, and statements that change others."""

import pytest
from conspectus.query.answer_writing.versions import date_of
from conspectus.storage.records import Document


@pytest.mark.parametrize(
    ("title", "uri", "text", "metadata", "later_than"),
    [
        ("Minutes, 6 March 2025", "a.txt", "x", {}, "2025-03-05"),
        ("Minutes", "2025-03-06.md", "x", {}, "2025-03-05"),
        ("Minutes", "a.md", "Of 6 March 2025.", {}, "2025-03-05"),
        ("Rules of 1999", "a.md", "x", {"date": "2025-03-06T09:00:00"}, "2025-03-05"),
    ],
)
def test_date_of(title: str, uri: str, text: str, metadata: dict[str, str], later_than: str) -> None:
    def dated(*fields: object) -> float | None:
        return date_of(Document(*fields))  # type: ignore[arg-type]

    own = dated("d", title, uri, text, metadata, len(text), "0")
    other = dated("d", later_than, "a", "x", {}, 1, "0")
    assert own is not None
    assert other is not None
    assert own == other + 1
