"""Explanations on the command line and in Python: text, JSON and a picture."""

from math import exp, log
from pathlib import Path

import pytest
from conspectus import open_index
from conspectus.query.explain.types import Explained, Explanation
from conspectus.query.types import Step
from conspectus.render import answers as explaining

from tests.command_line import conspectus
from tests.conspectus.render.test_drawings import NASTY, told

QUESTION = "Who directed the film shot at Marrow, Vey in 1962?"


def test_the_command_tells_the_hops(index_root: Path) -> None:
    done = conspectus("explain", QUESTION, "--index", index_root, "--k", "2")
    assert (done.status, done.err) == (0, "")
    assert "1. Marrow, Vey (" in done.out
    assert "2. Cold Harbour (" in done.out
    assert '(the question names "Marrow, Vey")\n           names "Cold Harbour" -> Cold' in done.out
    assert "score = exp(x - x of the best passage), where x = log(walk + text" in done.out


def test_the_formula_gives_the_score(index_root: Path) -> None:
    explained = open_index(index_root).explain(QUESTION, "ppr", 3)
    _, _, formula = explained.formula.partition("x = ")
    values = []
    for each in explained.passages:
        part = {term.name: term.value for term in each.parts}
        pairs = part["closeness"] + part["gain"] + max(part["joint"], part["alone"])
        pairs += 3 * part["titles"] + 0.5 * part["words"]
        text = 8 * (1 - part["names"]) * part["match"]
        values.append(log(part["walk"] + part["text"] + part["hop"] + 1e-6) + 4 * pairs + text)
    assert formula.startswith("log(walk + text + hop + 1e-06) + 4 * (closeness + gain + max(joint, alone) + 3 * titles")
    assert formula.endswith("0.5 * words) + 8 * (1 - names) * match")
    scores = [each.passage.score for each in explained.passages]
    assert scores == pytest.approx([exp(value - values[0]) for value in values])


def test_the_picture_is_written(index_root: Path, tmp_path: Path) -> None:
    file = tmp_path / "why.svg"
    done = conspectus("explain", QUESTION, "--index", index_root, "--passage", "2", "--svg", file)
    assert done.status == 0
    picture = file.read_text("utf-8")
    assert picture.startswith("<svg ")
    assert ">2. Cold Harbour</text>" in picture
    assert picture.count("the question names &quot;Marrow, Vey&quot;") >= 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "global"), "'global' cannot be explained; those that can: ppr, ppr:hipporag1"),
        (("--method", "bm25", "--svg", "a.svg"), "there is no path to draw: the method 'bm25' walks over no graph"),
        (("--passage", "9"), "there is no passage 9 among the 5 best"),
        (("--chunk", "x"), "the index has no chunk 'x'"), (("--svg", "nowhere/a.svg"), "there is no folder nowhere"),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_line(words: tuple[str, ...], message: str, index_root: Path) -> None:
    done = conspectus("explain", QUESTION, "--index", index_root, *words)
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not Path("a.svg").exists()


def test_what_was_not_ranked_is_told() -> None:
    (passage,) = told().passages
    outside = Explained(None, passage.passage, (), 0.0, note="not among the 3 passages that were ranked")
    text = explaining.explanation_text(Explanation("x", "ppr", "walk", (outside,), ()))
    assert "- Marrow (d, characters 0-1), chunk t\n   not among the 3 passages that were ranked" in text
    nothing = Explanation("x", "ppr", "", (), (Step("ppr", "nothing is near"),))
    assert explaining.explanation_text(nothing) == "nothing found\n  ppr: nothing is near"


def test_texts_of_documents_move_no_cursor() -> None:
    text = explaining.explanation_text(told(NASTY, why=NASTY))
    assert all(sign.isprintable() or sign in "\n\ufffe\u200d" for sign in text)
