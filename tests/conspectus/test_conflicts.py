"""Pairs of statements that cannot both hold: those that are found, and false alarms, over a set made for it."""

from pathlib import Path

import conspectus
import pytest
from conspectus.api import Index
from conspectus.pipelines.build_index import build_index
from conspectus.storage.settings import load_settings

from tests.command_line import conspectus as run
from tests.conftest import write_rows

CONFLICTS = {
    "Oster Works": ("Ada Quill led Oster Works from 1990 to 1998.", "Otto Brand led Oster Works from 1993 to 2001."),
    "Vey Bank": (
        "Nina Roth is director of Vey Bank since 2001.",
        "Carl Stone was director of Vey Bank from 2003 to 2007.",
    ),
    "Mary Frey": ("Mary Frey was born in Port Alma.", "Mary Frey was born in Kestrel Town."),
    "John Tarn": ("John Tarn died in North Bay in 1951.", "John Tarn died in Brennick in 1953."),
    "Hale Museum": (
        "Peter Hale was head of Hale Museum from 1980 to 1990.",
        "Lena Fisk was head of Hale Museum in 1985.",
    ),
    "Gull Press": (
        "Zora Flint was editor of Gull Press from 1970 to 1979.",
        "Hugo Wren was editor of Gull Press in the 1970s.",
    ),
    "Tidal Club": (
        "Tomas Reyle chaired Tidal Club from 2000 to 2010.",
        "Karla Vint chaired Tidal Club from 2004 to 2006.",
    ),
    "Salt Company": (
        "Salt Company is based in Lowmere since 1990.",
        "Salt Company was based in Quillan from 1995 to 2002.",
    ),
    "Lamp School": (
        "Anna Berg was principal of Lamp School from 1960 to 1970.",
        "Rufus Calder was principal of Lamp School from 1966 to 1975.",
    ),
    "Bell Theatre": (
        "Jan Voss owned Bell Theatre from 1900 to 1920.",
        "Magnus Hask owned Bell Theatre from 1910 to 1915.",
    ),
    "Vera Lund": ("Vera Lund was born in Aster in 1950.", "Vera Lund was born in Aster in March 1952."),
}
"""Two documents about one thing, which contradict each other."""
OTHERS = {
    "succession": ("Ida Marsh led Cold Works from 1990 to 1998.", "Olaf Brand led Cold Works from 1998 to 2001"),
    "same year": ("Ida Moss was director of Fern Bank until 1998.", "Olaf Lund became director of Fern Bank in 1998"),
    "undated": ("Ida Stern led Pine Works.", "Olaf Stern led Pine Works."),
    "two at once": ("Sven Ahl and Tove Ahl led Reed Works from 1990 to 1998.", "Tove Ahl led Reed Works in 1995."),
    "a part of the other": ("Greta Lind was born in Marrow.", "Greta Lind was born in Marrow Village."),
    "inside": ("Piet Aas was born in Tern Bay. Tern Bay lies in Oak County.", "Piet Aas was born in Oak County."),
    "many at once": ("Ulla Berg wrote Red Book in 1990.", "Ulla Berg wrote Blue Book in 1990."),
    "many met": ("Ulla Dahl met Nils Dahl in 1990.", "Ulla Dahl met Lars Dahl in 1990."),
    "two offices": ("Iris Falk headed Mint Bank from 1990 to 1999.", "Iris Falk headed Opal Bank in 1992."),
    "the same": ("Rolf Hult led Iron Works from 1990 to 1998.", "Rolf Hult led Iron Works in 1995."),
    "founders": ("Copper Works was founded by Knut Vik in 1900.", "Copper Works was founded by Alma Vik in 1900."),
    "works of one": ("Bo Lie directed Grey Film in 1990.", "Bo Lie directed Dark Film in 1990."),
    "deputies": ("Eva Nord was director of Silk Bank in 1990.", "Ove Nord was director of Silk Bank in 1991."),
    "owners of parts": ("Tora Holm owned Jade Mill until 1950.", "Gunnar Holm owned Jade Mill since 1950."),
    "a date and its year": ("Jon Ek was born in Sel in 1950.", "Jon Ek was born in Sel on 3 May 1950."),
    "born and raised": ("Liv Sand was born in Elm Town.", "Liv Sand lived in Oak Town from 1990 to 1995."),
}  # fmt: skip
"""Two documents that do not contradict each other, by what misleads."""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("conflicts")
    texts = [text for pair in (*CONFLICTS.values(), *OTHERS.values()) for text in pair]
    write_rows(
        folder / "in.jsonl",
        [{"id": f"{row:02}", "title": f"Note {row}", "text": text} for row, text in enumerate(texts)],
    )
    build_index([folder / "in.jsonl"], folder / "index", load_settings())
    return conspectus.open(folder / "index")


def test_conflicts_are_found_and_few_false_alarms(index: Index) -> None:
    found = index.conflicts()
    true = {
        row.about for row in found if any({row.one.quote, row.other.quote} == set(pair) for pair in CONFLICTS.values())
    }
    false = [row for row in found if all({row.one.quote, row.other.quote} != set(pair) for pair in CONFLICTS.values())]
    assert true == CONFLICTS.keys()
    assert false == [], "at most one in five may be, over any set"


def test_both_sides_are_cited(index: Index) -> None:
    for row in index.conflicts():
        for side in (row.one, row.other):
            assert side.quote == index.document(side.document_id, side.start, side.end).text
        assert row.one.document_id != row.other.document_id


def test_a_hidden_side_is_no_conflict(index: Index) -> None:
    about = {row.about for row in index.conflicts()}
    assert "Oster Works" in about
    hidden = next(row for row in index.conflicts() if row.about == "Oster Works").other.document_id
    view = index.filter(f'id != "{hidden}"')
    assert {row.about for row in view.conflicts()} == about - {"Oster Works"}


def test_the_command_line_prints_both(index: Index) -> None:
    place: Path = index.context.index.root
    out = run("conflicts", "--index", place).out
    first, second = CONFLICTS["Oster Works"]
    assert f'"{first}" (Note 0, 0 to {len(first)})' in out
    assert f'"{second}" (Note 1, 0 to {len(second)})' in out
