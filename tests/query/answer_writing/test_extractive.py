"""The extractive reader: which excerpts of the passages it quotes."""

from pathlib import Path

import conspectus
import pytest
from conspectus.api import Index


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("office")
    documents = folder / "documents"
    documents.mkdir()
    write(documents / "berths.csv", "ship,berth,master\nTern,North quay,Ada Holm\nGull,South quay,Bo Lind\n")
    write(
        documents / "people.md",
        "# People\n\n| Action | Owner |\n| --- | --- |\n| Paint the gate | Ada Holm |\n\n"
        "| Name | Telephone |\n| --- | --- |\n| Ada Holm | 4411 |\n| Bo Lind | 4412 |\n",
    )
    write(
        documents / "crane.md",
        "# Crane\n\n1. Greatest load of the crane\nThe greatest load of the crane is painted on its arm. It is nine "
        "tons in calm air.\n\nThe crane was built for the Harbour Company, founded by Carla Voss.\n",
    )
    return conspectus.build(documents, folder / "index")


def write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def test_of_a_table_only_the_rows_that_say_most_are_quoted(office: Index) -> None:
    answer = office.ask("Which berth has the Tern?").text
    assert "North quay" in answer
    assert "South quay" not in answer


def test_a_row_stands_below_the_header_of_its_own_table(office: Index) -> None:
    answer = office.ask("What is the telephone of Bo Lind?", "ppr")
    lines = [line.partition(" [")[0] for line in answer.text.splitlines()]
    assert lines.index("| Bo Lind | 4412 |") == lines.index("| Name | Telephone |") + 1
    assert not answer.unsupported


@pytest.mark.parametrize(
    ("question", "short"),
    [("Who founded the Harbour Company?", "Carla Voss"), ("Who leads the Harbour Company?", "")],
)
def test_who_did_it_is_said_for_what_was_asked_alone(question: str, short: str, office: Index) -> None:
    assert office.ask(question).span == short
