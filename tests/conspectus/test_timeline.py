"""When the facts about an entity hold, with their sources."""

from pathlib import Path

import conspectus
import pytest
from conspectus.api import Index
from conspectus.pipelines.build_index import build_index
from conspectus.storage.errors import NotThere
from conspectus.storage.settings import load_settings

from tests.command_line import conspectus as run
from tests.conftest import write_rows

TEXTS = {
    "Oster Works": ("Ada Quill led Oster Works from 1990 to 1995. Otto Brand led Oster Works in May 1998.", {}),
    "Minutes": ("Mary Frey led Oster Works.", {"date": "2003-02-01"}),
    "Secret": ("Zora Flint led Oster Works in 2009.", {"access": "team-b"}),
    "Later": ("Nina Roth has led Oster Works since 2005.", {}),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("timeline")
    rows = [{"id": title, "title": title, "text": text, **metadata} for title, (text, metadata) in TEXTS.items()]
    write_rows(folder / "in.jsonl", rows)
    build_index([folder / "in.jsonl"], folder / "index", load_settings())
    return conspectus.open(folder / "index")


def test_facts_come_in_order_with_the_sentence_that_states_them(index: Index) -> None:
    rows = [row for row in index.timeline("Oster Works") if " lead " in row.statement]
    assert [(row.when, row.statement, row.basis) for row in rows] == [
        ("1990 to 1995", "Ada Quill lead Oster Works", "stated"),
        ("1998-05", "Otto Brand lead Oster Works", "stated"),
        ("2003-02-01", "Mary Frey lead Oster Works", "document"),
        ("since 2005", "Nina Roth lead Oster Works", "stated"),
        ("2009", "Zora Flint lead Oster Works", "stated"),
    ]
    for row in rows:
        assert row.quote == TEXTS[row.document_id][0][row.start : row.end]
        assert row.statement.split()[0] in row.quote


def test_a_hidden_fact_is_in_no_timeline(index: Index) -> None:
    seen = index.filter(access=["team-a"]).timeline("Oster Works")
    assert len(seen) == len(index.timeline("Oster Works")) - 1
    assert "Zora" not in repr(seen)
    with pytest.raises(NotThere):
        index.filter(access=["team-a"]).timeline("Zora Flint")


def test_the_command_line_prints_dates_and_sources(index: Index) -> None:
    place: Path = index.context.index.root
    done = run("timeline", "Mary Frey", "--index", place)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        "2003-02-01 (the document's date): Mary Frey lead Oster Works",
        '    "Mary Frey led Oster Works." (Minutes, 0 to 26)',
    ]
