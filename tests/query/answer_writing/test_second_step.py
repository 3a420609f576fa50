"""Questions that describe a thing which another document names."""

from pathlib import Path

import conspectus
import pytest
from conspectus.api import Index

DOCUMENTS = {
    "ridge.md": "# The Ridge tent\n\nThe Ridge weighs 2.4 kg. The Ridge was designed by Mael Corrigan.\n",
    "people.md": "# People\n\nMael Corrigan learned sewing from Agnes Loder. Dilys Okoro keeps the books.\n",
    "kessel.md": "# Der Kessel von Aubach\n\nDer Kessel von Aubach wurde von Petra Lindner gebaut.\n",
    "leute.md": "# Leute\n\nPetra Lindner lernte das Schmieden bei Horst Brandt.\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Index:
    place: Path = tmp_path_factory.mktemp("steps")
    (place / "documents").mkdir()
    for name, text in DOCUMENTS.items():
        (place / "documents" / name).write_text(text, "utf-8")
    return conspectus.build(place / "documents", place / "index")


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        ("Who taught the designer of the Ridge to sew?", "designed by Mael Corrigan", "from Agnes Loder"),
        ("Bei wem lernte der Erbauer des Kessels von Aubach schmieden?", "Petra Lindner gebaut", "bei Horst Brandt"),
    ],
)
def test_a_description_is_read_as_what_it_names(folder: Index, question: str, first: str, second: str) -> None:
    text = folder.ask(question).text
    assert first in text
    assert second in text


def test_what_is_not_said_of_the_thing_described_is_declined(folder: Index) -> None:
    assert "I do not know" in folder.ask("Where was the designer of the Ridge born?").text
