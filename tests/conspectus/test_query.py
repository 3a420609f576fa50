import json
import re
from pathlib import Path

import pytest

from tests.command_line import conspectus

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "graphs.md").read_text("utf-8")
FILMS = ROOT / "examples" / "films" / "kg.tsv"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("films") / "films.index"
    assert conspectus("index", "--kg", str(FILMS), "--index", str(made)).status == 0
    return made


def test_the_example_of_the_guide_prints_what_the_guide_shows(index: Path) -> None:
    [(query, shown)] = re.findall(r"^```sparql\n(.*?)^```\n\n```\n(.*?)^```", GUIDE, re.M | re.S)
    done = conspectus("query", query, "--index", str(index))
    assert (done.status, done.out, done.err) == (0, shown, "")
    schema = conspectus("query", "--schema", "--index", str(index)).out
    for line in re.findall(r"^p:.*  \d.*$", GUIDE, re.M):
        assert line in schema.splitlines()


def test_json_has_terms_and_names(index: Path) -> None:
    query = "SELECT ?film ?year { ?film v:release_year ?year } ORDER BY ?year LIMIT 1"
    found = json.loads(conspectus("query", query, "--json", "--index", str(index)).out)
    assert (found["query"], found["head"], found["complete"]) == (query, {"vars": ["film", "year"]}, True)
    [row] = found["results"]["bindings"]
    assert row["film"]["name"] == "Grey Heron"
    assert row["year"] == {"type": "literal", "value": "1971", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}
    schema = json.loads(conspectus("query", "--schema", "--json", "--index", str(index)).out)
    assert schema["predicates"][0]["term"] == "p:starred_actors"


def test_a_wrong_query_is_one_line_and_an_exit_status(index: Path) -> None:
    for arguments, why in (
        (["DROP ALL"], "would change the graph"),
        (["SELECT ?x {"], "not a SPARQL 1.1 query"),
        ([], "give a query, or --schema"),
    ):
        done = conspectus("query", *arguments, "--index", str(index))
        assert (done.status, done.out) == (2, "")
        assert why in done.err
        assert len(done.err.splitlines()) == 1
