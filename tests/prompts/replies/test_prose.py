"""Scores, triples, lists and comparisons where models write no JSON."""

import pytest
from conspectus.prompts.replies.prose import (
    as_score,
    comparison_in_words,
    list_in_words,
    read_chosen,
    triples_in_words,
)

OFFERED = ["film.director", "film.writer", "person.born in"]


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        ('{"relations": [{"number": 2, "score": 7}]}', {1: 7.0}),
        ('{"film.writer": 0.7, "film.producer": 0.3}', {1: 0.7}),
        ('[{"relation": "film.writer", "score": "7/10"}]', {1: 7.0}),
        (
            "1. {film.writer (Score: 0.6)}: the writer (of two).\n2. {film.director (Score: 0.4)}",
            {1: 0.6, 0: 0.4},
        ),
        ("**film.writer** (Score: 0.6)\n\n`film.director` (0.4)", {1: 0.6, 0: 0.4}),
        ("film.director; film.writer (Score: 0.5; 0.3)", {0: 0.5, 1: 0.3}),
        ("film.director; film.writer; (Score: 0.9)", {0: 0.9, 1: 0.9}),
        ("- film.writer: 0.9\n- Score for film.director: 0.1", {1: 0.9, 0: 0.1}),
        ("Score: 0.0, 1.0, 0.0\n\nThe writer is asked for.", {0: 0.0, 1: 1.0, 2: 0.0}),
        ("2: (Score: 8)\n[3] (Score: 1)", {1: 8.0, 2: 1.0}),
        ("{writer of it (Score: 0.6)}", {}),
        ("<think>film.writer (Score: 1)</think>I cannot tell.", {}),
    ],
)
def test_scores_are_read_by_name_number_or_order(reply: str, scores: dict[int, float]) -> None:
    assert read_chosen(reply, OFFERED) == (scores or None)


def test_numbers_as_models_write_them() -> None:
    assert [as_score(value) for value in ("8", "8/10", "85%", "Eight", 84.5, 7, "much")] == [8, 8, 85, 8, 84, 7, "much"]


@pytest.mark.parametrize(
    "reply",
    [
        "Here are the triples:\n\n* built\\_by(Tarn Mill, Ivo Brandt),\n* located_in(Tarn Mill (old), Tarn)",
        "built by(Tarn Mill,Ivo Brandt)".replace("built by", "built_by") + ", located_in(Tarn Mill (old),Tarn)",
        "Text: M\nOutput:\nbuilt_by(Tarn Mill, Ivo Brandt)\nlocated_in(Tarn Mill (old), Tarn)\n\nText: b\na(b, c)",
        "(Tarn Mill, built by, Ivo Brandt)\n(Tarn Mill old, located in, Tarn)",
        "Tarn Mill | built by | Ivo Brandt\nTarn Mill (old) | located in | Tarn",
    ],
)
def test_triples_in_lines(reply: str) -> None:
    first, second = triples_in_words(reply) or []
    assert first == ["Tarn Mill", "built by", "Ivo Brandt"]
    assert second[1:] == ["located in", "Tarn"]


def test_lists() -> None:
    assert list_in_words("Sure!\n\n1. **Who built it?**\n   - Think of the mill.\n2) When?\n") == [
        "Who built it?",
        "When?",
    ]
    assert list_in_words("- Ada\n- Ivo") == ["Ada", "Ivo"]
    assert list_in_words("None.") is None


@pytest.mark.parametrize(
    ("reply", "better"),
    [
        ("8 9\nBoth are good.", "2"),
        ("9.5, 9.5", "tie"),
        ("Assistant 1 is short. In all, Assistant 2 performed better, though both are wrong.", "2"),
        ("Better: 1", "1"),
        ("Both are fine; it is a tie.", "tie"),
        ("Both are fine.", None),
    ],
)
def test_which_answer_is_better(reply: str, better: str | None) -> None:
    assert comparison_in_words(reply) == better


@pytest.mark.parametrize(
    ("reply", "places"),
    [
        ('{"1": "Ada Mirren"}', [0]),
        ('{"Grey Heron": "2"}', [1]),
        ('["2", "Ada Mirren"]', [1, 0]),
        ('{"chosen": [{"number": 2, "why": "Ada Mirren directed it."}]}', [1]),
        ("1. Ada Mirren\n2. Grey Heron", [0, 1]),
        ("One should begin from Grey Heron.", [1]),
        ("{}", []),
        ('{"chosen": [{"number": 2, "why": "It is named.", "score": 9}]}', [1]),
        ('{"picks": [2]}', [1]),
        ('{"reason": "Neither helps.", "facts": []}', []),
        ('{"answer": "none"}', []),
        ("None of them.", []),
        ("A nice question!", None),
    ],
)
def test_which_items_are_chosen(reply: str, places: list[int] | None) -> None:
    read = read_chosen(reply, ["Ada Mirren", "Grey Heron"])
    assert (read if read is None else list(read)) == places
