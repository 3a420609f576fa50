"""Decisions stay short enough to be read, and the index leads to each."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted((DOCS / "decisions").glob("*.md"))


def test_pages_are_few_and_short_and_say_what_holds() -> None:
    assert len(PAGES) <= 40
    for page in PAGES:
        text = page.read_text("utf-8")
        assert len(text.splitlines()) <= 60, page.name
        assert page.stem == "index" or "# What holds\n" in text, page.name


def test_the_index_leads_to_each_page() -> None:
    index = (DOCS / "decisions" / "index.md").read_text("utf-8")
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", index)) == {page.name for page in PAGES} - {"index.md"}


def test_an_experiment_of_the_log_has_five_lines_at_most_and_the_newest_is_first() -> None:
    entries = re.split(r"^## ", (DOCS / "log.md").read_text("utf-8"), flags=re.M)[1:]
    assert all(len(entry.strip().splitlines()) <= 6 for entry in entries)
    dates = [entry[:10] for entry in entries]
    assert dates == sorted(dates, reverse=True)
