"""The page of measurements and the table of the README say what the files of results say."""

from docs.measurements_page import PAGE, README, RESULTS, TABLES, page, readme_table, with_table

WRITE = "write them: python docs/measurements_page.py"


def test_the_page_is_made_of_the_results() -> None:
    assert PAGE.read_text("utf-8") == page(), WRITE
    assert len(page().splitlines()) <= 200


def test_the_table_of_the_readme_is_made_of_the_same_results() -> None:
    readme = README.read_text("utf-8")
    assert readme_table() in readme, WRITE
    assert with_table(readme) == readme
    assert with_table(readme.replace(".985", ".123")) == readme


def test_every_file_of_results_is_shown() -> None:
    shown = {file for tables in TABLES.values() for table in tables for file in table.files.split()}
    assert {path.stem for path in RESULTS.glob("*.json")} == shown
