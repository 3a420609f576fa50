"""A claim is doubted if it says something else than its source, in several languages."""

import json

import numpy as np
import pytest
from conspectus.query.citations.claim_check import FEATURES, REASONS, doubt, features
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.claims import WEIGHTS, doubted, fit, read_claims, shares

MAIL = "From: Ruth Amsel. The meeting on Thursday is moved to Friday. Bring the figures. Tomas takes the minutes."


@pytest.mark.parametrize(
    ("claim", "source", "sign"),
    [
        ("The lamp costs 45 euros.", "The lamp costs 54 euros.", "number missing"),
        ("The shop opens on Tuesday.", "The shop opens on Monday.", "word missing"),
        ("Hunde dürfen in den Garten.", "Hunde dürfen nicht in den Garten.", "negation"),
        ("所有会员都可以投票。", "大多数会员可以投票。", "quantifier"),
        ("Ines Moor paid Karl Senn.", "Karl Senn paid Ines Moor.", "exchanged"),
        ("Ines Moor was paid by Karl Senn.", "Ines Moor paid Karl Senn.", "exchanged"),
        ("La moto cuesta 90 euros.", "La bicicleta cuesta 90 euros y la moto cuesta 70 euros.", "another value"),
    ],
)
def test_a_change_has_its_sign(claim: str, source: str, sign: str) -> None:
    assert features(claim, source)[FEATURES.index(sign)] > 0
    assert doubt(claim, source) in REASONS


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Karl Senn was paid by Ines Moor.", "Ines Moor paid Karl Senn in 1921."),
        ("Der Plan wurde am 14. März 2017 abgelehnt.", "Der Rat lehnte am 14. März 2017 den Plan ab."),
        ("Tomas takes the minutes.", MAIL),
        ("灯塔是欧阳静设计的。", "灯塔由欧阳静设计，1904年建成。"),
        ("Nobody was hurt.", "The tram stopped, and nobody was hurt."),
        ("Children may not be given Dremol.", "Dremol lowers the pulse. It may not be given to children."),
    ],
)
def test_the_same_in_other_words_is_not_doubted(claim: str, source: str) -> None:
    assert doubt(claim, source) == ""


def test_the_stored_weights_are_those_of_the_command_and_find_claims_that_they_have_not_seen() -> None:
    claims = read_claims()
    rows = np.array([features(each.text, each.source) for each in claims])
    wrong = np.array([float(bool(each.change)) for each in claims])
    known = np.array([each.passage % 2 == 1 for each in claims])
    weights = fit(rows[known], wrong[known])
    stored = json.loads(WEIGHTS.read_text("utf-8"))
    assert [*(stored["weights"][name] for name in FEATURES), stored["constant"]] == pytest.approx(
        weights.tolist(), abs=0.02
    )
    told = shares([each for each in claims if each.passage % 2 == 0], doubted(weights, rows[~known]))
    assert told["wrong"] >= 0.9
    assert told["right"] <= 0.13


@given(st.text(st.sampled_from("Ada Bo 12,.;是三个的不 und all not\n"), max_size=60), st.text(max_size=120))
def test_any_texts_can_be_compared(claim: str, source: str) -> None:
    assert all(0 <= value <= 2 for value in features(claim, source))
