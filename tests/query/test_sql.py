"""SQL over the tables of an index: what it gives, and what it refuses."""

import csv
import io
import json
from pathlib import Path

import conspectus
import pytest
from conspectus.query.sql import select
from conspectus.storage.errors import UsageError
from conspectus.storage.tables import TABLES

from tests.command_line import conspectus as run


@pytest.fixture(scope="module")
def index(index_root: Path) -> conspectus.Index:
    return conspectus.open(index_root)


def test_tables_are_arrow_and_queries_see_them(index: conspectus.Index) -> None:
    tables = index.tables()
    assert {name: table.num_rows for name, table in tables.items()} == {
        name: index.manifest.rows[name] for name in TABLES
    }
    joined = "SELECT d.id, count(*) AS n FROM Chunks c JOIN documents d ON c.document_id = d.id GROUP BY d.id"
    found = select(index.context, joined)
    assert found.complete
    assert sum(row["n"] for row in found.dicts()) == index.manifest.rows["chunks"]
    assert not select(index.context, "FROM chunks", rows=1).complete


def test_a_view_has_rows_of_its_documents_only(index: conspectus.Index) -> None:
    title = index.tables()["documents"].to_pylist()[0]["title"]
    view = index.filter(f'title = "{title}"')
    assert {row[0] for row in select(view.context, "SELECT title FROM documents").rows} == {title}
    assert view.tables()["documents"].num_rows == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM '/etc/passwd'", "SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM glob('/*')",
        "SELECT * FROM read_parquet('http://127.0.0.1/x')", "SELECT * FROM sniff_csv('/etc/passwd')",
        "COPY documents TO '{here}/out.csv'", "EXPORT DATABASE '{here}/out'", "ATTACH '{here}/out.db'",
        "INSTALL httpfs", "LOAD httpfs", "SET enable_external_access = true", "CREATE TABLE x (i INT)",
        "DROP VIEW documents", "SELECT 1; SELECT 2", "PRAGMA database_list", "SELECT * FROM hidden",
        "SELECT getenv('HOME')",
        "SELECT * FROM duckdb_secrets()", "CALL pragma_version()",
        "SELECT * FROM query('COPY documents TO ''{here}/x''')",
        "WITH gone AS (DELETE FROM documents RETURNING *) SELECT * FROM gone", "", "SELEC 1", "SELECT (",
    ],
)  # fmt: skip
def test_nothing_else_is_read_and_nothing_changed(index: conspectus.Index, tmp_path: Path, text: str) -> None:
    hidden = index.tables()["documents"]  # a variable is no table
    with pytest.raises(UsageError) as refused:
        select(index.context, text.replace("{here}", str(tmp_path)))
    assert "\n" not in str(refused.value)
    assert hidden.num_rows
    assert not list(tmp_path.iterdir())


def test_a_query_that_never_ends_is_ended(index: conspectus.Index) -> None:
    forever = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range * b.range = 7"
    with pytest.raises(UsageError, match=r"longer than 0\.3 s"):
        select(index.context, forever, seconds=0.3)


def test_the_command_prints_csv_and_json(index_root: Path) -> None:
    query = "SELECT id, title, metadata FROM documents ORDER BY id"
    printed = run("sql", query, "--index", index_root)
    assert (printed.status, printed.err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    found = json.loads(run("sql", query, "--index", index_root, "--json").out)
    assert [row["id"] for row in rows] == [row[0] for row in found["rows"]]
    some = run("sql", query, "--index", index_root, "--rows", "1")
    assert len(some.out.splitlines()) == 2
    assert "there are more" in some.err
    assert run("sql", "DROP TABLE documents", "--index", index_root).status == 2
    assert "documents(id string" in run("sql", "--schema").out
