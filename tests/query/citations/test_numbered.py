"""Citations resolve to the documents' own words, and claims that say something else are doubted."""

import asyncio
import json
import re

import numpy as np
import pytest
from conspectus.query.citations.claim_check import FEATURES, REASONS, doubt, features
from conspectus.query.citations.entailment import CitedText, closeness, missing
from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.storage.records import Chunk, Document, Span
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.claims import WEIGHTS, doubted, fit, read_claims, shares

QUESTIONS = (
    "Who wrote the novel The Oak House?",
    "Who directed the film shot at Marrow, Vey in 1962",
    "What are the main themes of these documents?",
)


@pytest.mark.parametrize("method", ["auto", "ppr", "global:c0"])
def test_citations_of_answers_resolve(method: str, context: Context) -> None:
    text_of = {each.id: each.text for each in context.index.rows(Document)}
    answerer = METHODS[method].answerer(context)
    cited = 0
    for question in QUESTIONS:
        answer = asyncio.run(answerer.answer(question))
        assert answer.dropped_citations == 0
        assert [each.number for each in answer.citations] == list(range(1, len(answer.citations) + 1))
        assert answer.known == bool(answer.citations)
        used = {int(number) for number in re.findall(r" \[(\d+)\](?=$|[ \n])", answer.text, re.M)}
        assert {each.number for each in answer.citations} <= used
        for each in answer.citations:
            assert each.quote
            assert text_of[each.document_id][each.start : each.end] == each.quote
            assert " ".join(each.quote.split()) in answer.text
            cited += 1
    assert cited


def whole(chunk: Chunk) -> Span:
    return Span(chunk.document_id, chunk.id, chunk.start, chunk.end)


def test_numbers_in_the_order_of_first_use_and_one_a_span(context: Context) -> None:
    citations = Citations(context)
    first, second, third = (whole(chunk) for chunk in context.chunks[:3])
    assert [citations.cite("x", each) for each in (second, first, second, third)] == [
        "x [1]",
        "x [2]",
        "x [1]",
        "x [3]",
    ]
    assert [(each.number, each.document_id) for each in citations.made()] == [
        (1, second.document_id),
        (2, first.document_id),
        (3, third.document_id),
    ]
    assert citations.dropped == 0


@given(st.integers(-3, 700), st.integers(-3, 700), st.sampled_from(["d1", "nowhere", ""]))
@example(0, 10**9, "d1")
@example(5, 5, "d1")
def test_what_does_not_resolve_is_dropped_and_counted(context: Context, start: int, end: int, document_id: str) -> None:
    document = {each.id: each for each in context.index.rows(Document)}.get(document_id)
    citations = Citations(context)
    said = [citations.cite("Marlow wrote it.", Span(document_id, "any", start, end)) for _ in range(2)]
    if document is not None and 0 <= start < end <= len(document.text):
        assert said == ["Marlow wrote it. [1]"] * 2
        (made,) = citations.made()
        assert made.quote == document.text[start:end]
        assert (made.title, made.uri) == (document.title, document.uri)
        assert citations.dropped == 0
    else:
        assert said == [None, None]
        assert citations.made() == ()
        assert citations.dropped == 2


JAWS = CitedText(
    "Jaws is a 1975 film that Steven Spielberg directed; it cost 9,000,000 dollars, with two sequels.", "Jaws"
)


@pytest.mark.parametrize(
    ("sentence", "lost"),
    [
        ("Steven Spielberg directed Jaws in 1975.", ()),
        ("George Lucas directed Jaws.", ("George Lucas",)),
        ("Jaws is from 1977.", ("1977",)),
        ("It has 2 sequels.", ()),
        ("It has 3 sequels.", ("3",)),
        ("Stéven Spielberg made the first of the 2 sequels.", ()),
        ("Although Jaws was loved, the film had a rival in Star Wars of 1977.", ("Star Wars", "1977")),
        ("", ()),
    ],
)
def test_names_and_numbers_stand_in_the_source(sentence: str, lost: tuple[str, ...]) -> None:
    assert missing(sentence, [JAWS]) == lost


def test_what_means_the_same_is_nearer_than_what_is_about_the_same() -> None:
    near = closeness("Spielberg made the film Jaws in 1975.", [JAWS])
    far = closeness("Sequels seldom earn what the first film did.", [JAWS])
    assert near > 0.6 > far
    assert closeness("9,000,000.", [JAWS], "What did the film Jaws cost in dollars?") > closeness("9,000,000.", [JAWS])


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
