"""Headings of documents."""

import json
from pathlib import Path

import pytest
from conspectus.api import open_index
from conspectus.outline import outlined
from conspectus.pipelines.build_index import build_index
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Place
from conspectus.storage.settings import load_settings
from conspectus.storage.structure.outline import outline, section_spans
from conspectus.storage.verify import verify
from hypothesis import given
from hypothesis import strategies as st

from tests.command_line import conspectus

GUIDE = """# Ferry guide

Read [the rules](rules.md#on-board) first.

## Tickets

Tickets are sold on board. See section "Fares" of the rules.

## Cars

Cars are put below. Slack water is best.
"""
RULES = """# Rules

## On board

Children stay with their parents. Sail at slack water.

## Slack water

The tide turns, and the stream stands still.
"""


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("harbour")
    (folder / "docs").mkdir()
    (folder / "docs" / "guide.md").write_text(GUIDE, "utf-8")
    (folder / "docs" / "rules.md").write_text(RULES, "utf-8")
    chosen = {
        "extraction": {"pipeline": "regex"},
        "chunks": {"chunk_size": 16, "chunk_overlap": 0},
    }
    build_index([folder / "docs"], folder / "index", load_settings(overrides=chosen))
    return folder / "index"


def test_sections_are_nested_and_hold_their_chunks(harbour: Path) -> None:
    index = StoredIndex.open(harbour)
    assert verify(index) == []
    guide, rules = outline(index)
    assert [(len(above), section.title) for above, section in guide.walk()] == [
        (0, "Ferry guide"), (1, "Tickets"), (1, "Cars"),
    ]  # fmt: skip
    texts = [chunk.text for chunk in index.rows(Chunk)]
    tickets = guide.sections[0].sections[0]
    assert "sold on board" in " ".join(texts[row] for row in tickets.chunk_rows)
    assert set(tickets.chunk_rows) < set(guide.sections[0].chunk_rows) <= set(guide.chunk_rows)
    assert [section.title for section in rules.sections] == ["Rules"]


def test_the_command_shows_them_with_their_links(harbour: Path) -> None:
    done = conspectus("outline", "--index", harbour)
    assert done.status == 0, done.err
    assert "guide.md  Ferry guide" in done.out
    assert "\n    Tickets\n    Cars\n" in done.out
    shown = json.loads(conspectus("outline", "guide.md", "--index", harbour, "--json").out)["documents"]
    assert [each["uri"] for each in shown] == ["guide.md"]
    assert shown[0]["links_out"]["hyperlink"] == 1
    assert "Cars" not in conspectus("outline", "Ferry guide", "--index", harbour, "--depth", "1").out
    lost = conspectus("outline", "guide", "--index", harbour)
    assert (lost.status, "did you mean 'guide.md'" in lost.err) == (2, True)


def test_a_filtered_view_has_the_links_of_its_documents(harbour: Path) -> None:
    whole = open_index(harbour)
    view = whole.filter("uri = 'guide.md'")
    kept = {row.id for row in view.context.index.rows(Chunk)}
    assert {link.id for link in view.links()} <= {link.id for link in whole.links()}
    assert view.links()
    assert all({link.source_id, link.target_id} <= kept for link in view.links())
    assert [each.document.uri for each in outlined(view.context.index)] == ["guide.md"]


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(1, 40)), max_size=40))
def test_whatever_levels_say_sections_lie_within_one_another(rows: list[tuple[int, int]]) -> None:
    spans = section_spans([Place(start, "heading", "x", level) for start, level in sorted(rows)], 100)
    assert len(spans) == len(rows)
    for number, span in enumerate(spans):
        assert span.place.start <= span.end <= 100
        if span.parent is not None:
            around = spans[span.parent]
            assert span.parent < number
            assert around.place.level < span.place.level
            assert around.place.start <= span.place.start <= span.end <= around.end
