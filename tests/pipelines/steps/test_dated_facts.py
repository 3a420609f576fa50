"""When facts hold: rows of the table `dated_facts`."""

import pytest
from conspectus.pipelines.steps.dated_facts import dated_facts
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.storage.records import Chunk, Claim, DatedFact, Document, Entity, Mention, Qualifier, Relation


def facts_of(
    text: str, source: str, target: str, claims: tuple[Claim, ...] = (), told: str = "", **metadata: str
) -> tuple[list[DatedFact], str]:
    """Return the facts of one sentence that states a relation, and the words of the first date."""
    document = Document("d", "Notes", "notes.txt", f"Intro. {text}", metadata, len(text) + 7, "")
    chunk = Chunk("c", "d", 0, 7, 7 + len(text), text, 9)
    entities = [Entity(each, each, "", ("",), "", 1, 1) for each in (source, target)]
    places = [(each, 7 + text.index(each)) for each in (source, target)]
    mentions = [
        *(Mention(f"m{each}", "c", each, None, at, at + len(each), "exact", each, "") for each, at in places),
        Mention("r", "c", None, "relation", 7, 7 + len(text), "exact", text, told),
    ]
    relation = Relation("relation", source, target, "led", "", 1.0, ("c",))
    found = list(dated_facts([document], [chunk], Knowledge(entities, [relation], mentions), claims))
    stated = next((each for each in found if each.start is not None), None)
    return found, document.text[stated.start : stated.end] if stated else ""


@pytest.mark.parametrize(
    ("text", "source", "target", "first", "last", "words"),
    [
        ("Ada led Oster from 1990 to 1995.", "Ada", "Oster", "1990-01-01", "1995-12-31", "1990 to 1995"),
        ("Ada led Oster from 1990 to 1995 and Vey from 1996 to 1999.", "Ada", "Oster", "1990-01-01", "1995-12-31",
         "1990 to 1995"),
        ("Ada led Oster from 1990 to 1995 and Vey from 1996 to 1999.", "Ada", "Vey", "1996-01-01", "1999-12-31",
         "1996 to 1999"),
        ("In May 1990 Ada led Oster.", "Ada", "Oster", "1990-05-01", "1990-05-31", "May 1990"),
        ("Seit 1990 leitet Ada das Werk Oster.", "Ada", "Oster", "1990-01-01", None, "1990"),
        ("1990年5月起，Ada 领导 Oster。", "Ada", "Oster", "1990-05-01", None, "1990年5月起"),
    ],
)  # fmt: skip
def test_a_relation_has_the_date_of_its_clause(
    text: str, source: str, target: str, first: str, last: str | None, words: str
) -> None:
    (fact,), found = facts_of(text, source, target)
    assert (fact.first, fact.last, fact.basis, found) == (first, last, "stated", words)


def test_without_a_date_of_its_own_a_relation_has_that_of_its_document() -> None:
    (fact,), _ = facts_of("Ada led Oster.", "Ada", "Oster", date="2020-03-04T09:00")
    assert (fact.first, fact.last, fact.precision, fact.basis, fact.start) == (
        "2020-03-04", "2020-03-04", "day", "document", None,
    )  # fmt: skip
    (fact,), _ = facts_of("Ada led Oster.", "Ada", "Oster")
    assert (fact.first, fact.last, fact.precision, fact.basis, fact.start) == (None, None, "", "none", None)
    (fact,), _ = facts_of("Ada, born in 1915, led Oster.", "Ada", "Oster")
    assert fact.basis == "none", "the date is that of Ada's birth"


def test_a_relation_has_the_date_that_a_model_tells() -> None:
    text = "Ada led Oster from 1990 to 1995. Two years later she left it."
    (fact,), words = facts_of(text, "Ada", "Oster", told="Ada led Oster from 1990 to 1995.")
    assert (fact.first, fact.last, words) == ("1990-01-01", "1995-12-31", "1990 to 1995")
    (fact,), words = facts_of(text, "Ada", "Oster", told="Ada left Oster in 1997.")
    assert (fact.first, fact.last, fact.basis, words) == ("1997-01-01", "1997-12-31", "stated", "")


def test_a_claim_has_its_own_dates() -> None:
    def claim(first: str | None, last: str | None) -> Claim:
        return Claim("k", "Ada", "Oster", "OFFICE", "TRUE", "Ada led Oster.", first, last, "c", 7, 30)

    text = "Ada led Oster in 1990."
    for dates, expected, words in (
        (("1990-05-01", "1991"), ("1990-05-01", "1991-12-31", "year", None), "1990"),
        (("1990", "1990"), ("1990-01-01", "1990-12-31", "year", 24), "1990"),
        ((None, None), ("1990-01-01", "1990-12-31", "year", 24), "1990"),
    ):
        facts, found = facts_of(text, "Ada", "Oster", (claim(*dates),))
        of_claim = next(each for each in facts if each.claim_id == "k")
        assert (of_claim.first, of_claim.last, of_claim.precision, of_claim.start) == expected
        assert (of_claim.basis, found) == ("stated", words)


def test_a_graph_has_the_dates_of_its_qualifiers_and_of_its_ends() -> None:
    entities = [Entity(each, each, "", ("",), "", 0, 1) for each in ("Ada", "Oster", "4 May 1990")]
    office = tuple(Qualifier(0, *each) for each in (("start time", "1990"), ("end time", "1995-06"), ("role", "mayor")))
    relations = [
        Relation("a", "Ada", "Oster", "office", "", 1.0, (), qualifiers=(*office, Qualifier(1, "start time", "2001"))),
        Relation("b", "Ada", "4 May 1990", "elected", "", 1.0, ()),
        Relation("c", "Ada", "Oster", "knows", "", 1.0, ()),
    ]
    found = dated_facts([], [], Knowledge(entities, relations, []), [])
    assert sorted((each.relation_id, each.first, each.last, each.precision) for each in found) == [
        ("a", "1990-01-01", "1995-06-30", "year"),
        ("a", "2001-01-01", None, "year"),
        ("b", "1990-05-04", "1990-05-04", "day"),
    ]
    assert {(each.chunk_id, each.basis) for each in found} == {(None, "stated")}
