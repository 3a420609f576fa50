"""Dates in a question: of the passages of one document, those of that time come first, by each method."""

import conspectus
import pytest
from conspectus.api import Index
from conspectus.query.question.times import nearness, time_in
from conspectus.storage.settings import load_settings

METHODS = ("bm25", "dense", "hybrid", "ppr", "auto")
TERMS = [(1900 + 10 * n, 1907 + 10 * n) for n in range(6)]
CHAIRS = ("Ada Quill", "Otto Brand", "Mira Stone", "Ivo Lund", "Nell Frey", "Hugo Vale")
FILLER = (
    "The harbour board met in the old customs house, where the chair of the harbour board read the harbour accounts. "
)


def board() -> str:
    """Return pages on who led a board, each time in other words, each as long as a passage."""
    told = zip(CHAIRS, TERMS, strict=True)
    return "\n\n".join(f"From {start} to {end} {name} led it. {FILLER * 2}" for name, (start, end) in told)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    settings = load_settings(
        overrides={"extraction": {"pipeline": "regex"}, "chunks": {"chunk_size": 60, "chunk_overlap": 0}}
    )
    texts = {
        "Harbour board": board(),
        "Minutes of 1954": "\n\n".join(
            (
                f"On 3 May 1954 the minutes of the mill were read. {FILLER * 2}",
                f"Lamps for the mill cost 40. {FILLER * 2}",
            )
        ),
        "Mill": "The mill stood by the harbour in 1925. The chair of the harbour board sold it.",
    }
    return conspectus.build(texts=texts, index=tmp_path_factory.mktemp("times") / "index", settings=settings)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("name", "years"), list(zip(CHAIRS, TERMS, strict=True)))
def test_the_passage_of_that_time_comes_first(index: Index, method: str, name: str, years: tuple[int, int]) -> None:
    for question in (
        f"Who was chair of the harbour board from {years[0] + 1} to {years[1]}?",
        f"Who was chair of the harbour board between May {years[0]} and {years[1] - 1}?",
    ):
        found = index.retrieve(question, method, k=8).passages
        first = next(each for each in found if each.title == "Harbour board")
        assert name in first.text, question


@pytest.mark.parametrize("method", METHODS)
def test_no_document_gains_or_loses_a_place(index: Index, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question = "Who was chair of the harbour board from 1921 to 1926?"
    dated = index.retrieve(question, method, k=20)
    assert [step.detail for step in dated.trace if step.name == "time"] == [
        "passages of one document have exchanged places by how near their dates are to 1921-01-01 to 1926-12-31"
    ]
    monkeypatch.setattr("conspectus.query.question.times.TIME_WEIGHT", 0)
    undated = index.retrieve(question, method, k=20)
    assert [each.title for each in dated.passages] == [each.title for each in undated.passages]
    if method != "hybrid":  # its scores are ranks of the others
        assert [each.score for each in dated.passages] == [each.score for each in undated.passages]
    assert [each.chunk_id for each in dated.passages] != [each.chunk_id for each in undated.passages]
    assert "time" not in {step.name for step in index.retrieve("Who was chair of the board?", method).trace}


@pytest.mark.parametrize("method", ["bm25", "dense", "hybrid"])
def test_an_exchange_of_places_is_explained(index: Index, method: str) -> None:
    question = "Who was chair of the harbour board from 1921 to 1926?"
    told = index.explain(question, method, k=8).passages
    found = index.retrieve(question, method, k=8).passages
    assert [(each.passage.chunk_id, each.passage.score) for each in told] == [
        (one.chunk_id, one.score) for one in found
    ]
    for each in told:
        assert sum(part.value for part in each.parts) == pytest.approx(each.passage.score, rel=1e-5)
    assert any(part.name == "time" and part.value for each in told for part in each.parts) == (method != "hybrid")


def test_a_document_that_is_of_that_time_keeps_its_order(index: Index) -> None:
    (found,) = index.retrieve("What did the lamps of the mill cost in 1954?", "bm25", k=1).passages
    assert found.text.startswith("Lamps")


def test_nearness_is_that_of_the_two_ends() -> None:
    time = time_in("from 1990 to 1993")
    assert time
    assert nearness(time, "Mayor from 1990 to 1993.") == 1
    assert nearness(time, "Mayor from 1990 to 1994.") == pytest.approx((1 + 0.368) / 2, abs=1e-3)
    assert nearness(time, "Mayor until 1993.") == 0.5
    assert nearness(time, "Mayor of the town.") == 0
    before = time_in("before 1998")
    assert before
    assert nearness(before, "Mayor until 1997.") == 1
    assert time_in("Who was mayor?") is None
