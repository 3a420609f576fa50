"""Citations of documents with pages name the page."""

import json

import pytest
from conspectus.api import Index
from conspectus.building import build
from conspectus.render.answers import answer_json, evidence_json, evidence_text, support_text
from conspectus.storage.settings import load_settings
from conspectus.storage.verify import verify
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas

PAGES = (
    "Geography\nThe Vistula is the longest river in Poland. It ends in the Baltic Sea.",
    "Chemistry\nMarie Curie discovered polonium in Paris in 1898.",
    "Physics\nErnest Rutherford found the atomic nucleus in Manchester.",
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("places")
    (folder / "corpus").mkdir()
    sheet = canvas.Canvas(str(folder / "corpus" / "report.pdf"), pagesize=A4, invariant=1)
    sheet.setTitle("Annual report")
    for page in PAGES:
        text = sheet.beginText(50, 800)
        text.textLines(page)
        sheet.drawText(text)
        sheet.bookmarkPage(page[:5])
        sheet.addOutlineEntry(page.split("\n")[0], page[:5], 0)
        sheet.showPage()
    sheet.save()
    (folder / "corpus" / "dams.html").write_text(
        "<title>Dams</title><h1>Dams</h1><p>Dams hold water.</p><h2>Italy</h2>"
        "<p>Gino Rossi built the Fiume dam in 1950.</p>"
    )
    (folder / "corpus" / "plain.txt").write_text("Anders Celsius measured the temperature in Uppsala.")
    settings = load_settings(
        overrides={"extraction": {"pipeline": "regex"}, "chunks": {"chunk_size": 16, "chunk_overlap": 0}}
    )
    return build(folder / "corpus", folder / "index", settings)


def test_the_index_is_sound(index: Index) -> None:
    assert verify(index.context.index) == []


@pytest.mark.parametrize(
    ("question", "place", "pages", "headings"),
    [
        ("Who discovered polonium?", 'page 2, "Chemistry"', ["2"], ["Chemistry"]),
        ("Who found the atomic nucleus?", 'page 3, "Physics"', ["3"], ["Physics"]),
        ("Who built the Fiume dam?", '"Dams > Italy"', [], ["Dams", "Italy"]),
        ("Who measured the temperature in Uppsala?", "", [], []),
    ],
)
def test_the_place_of_an_answer(question: str, place: str, pages: list[str], headings: list[str], index: Index) -> None:
    found = index.ask(question, "ppr")
    first = found.citations[0]
    assert first.place == place
    title, uri = first.title, first.uri
    where = ", ".join(filter(None, (uri, place, f"characters {first.start}-{first.end}")))
    assert f"[1] {title} ({where})" in support_text(found, trace=False)
    shown = json.loads(json.dumps(answer_json(found)))["citations"][0]
    assert (shown["place"], shown["pages"], shown["headings"]) == (place, pages, headings)


def test_the_place_of_a_passage(index: Index) -> None:
    found = index.retrieve("Who discovered polonium?", k=1)
    assert found.passages[0].place == 'pages 2-3, "Chemistry"'
    assert f", {found.passages[0].place}, characters" in evidence_text(found)
    assert evidence_json("", "", found)["passages"][0]["place"] == found.passages[0].place
