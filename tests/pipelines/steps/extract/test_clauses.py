"""Statements of plain clauses in languages that no tagger reads."""

import pytest
from conspectus.pipelines.steps.extract.clauses import with_clauses
from conspectus.storage.text.nlp import CONCEPT, Annotation, Phrase, Triple


def stated(text: str, language: str, *names: str) -> list[tuple[str, str, str]]:
    phrases = tuple(Phrase(text.index(name), text.index(name) + len(name), name, CONCEPT) for name in names)
    found = with_clauses(text, Annotation(phrases, ()), language)
    return [(each.subject.text, each.predicate, each.object.text) for each in found.triples]


@pytest.mark.parametrize(
    ("language", "text", "names", "said"),
    [
        ("de", "Das alte Tor besteht aus zwei Flügeln.", ("Tor", "Flügeln"), "besteht aus"),
        ("de", "Der Wärter öffnet das Tor nicht.", ("Wärter", "Tor"), "öffnet"),
        ("fr", "La vanne contient une pompe.", ("vanne", "pompe"), "contient"),
        ("es", "El puerto es una isla.", ("puerto", "isla"), "es"),
        ("it", "La dottoressa Brenna dirige il museo.", ("dottoressa Brenna", "museo"), "dirige"),
        ("pt", "A fábrica pertence ao município.", ("fábrica", "município"), "pertence ao"),
        ("nl", "De sluis bevat een pomp.", ("sluis", "pomp"), "bevat"),
        ("pl", "Nora Lis założyła bibliotekę.", ("Nora Lis", "bibliotekę"), "założyła"),
        ("ru", "Глеб Ветлужский основал завод.", ("Глеб Ветлужский", "завод"), "основал"),
        ("zh", "昨天，曹一诺会见了郑晚舟。", ("曹一诺", "郑晚舟"), "会见了"),
    ],
)
def test_a_plain_clause_states_something(language: str, text: str, names: tuple[str, str], said: str) -> None:
    assert stated(text, language, *names) == [(names[0], said, names[1])]


@pytest.mark.parametrize(
    "text",
    [
        "Zur Hilfe von dem Wärter dient das Tor.",  # the subject does not begin the clause
        "Der Wärter hat das Tor gestrichen.",  # the verb stands elsewhere
        "Der Wärter ist in dem Tor gefangen.",
        "Der Wärter öffnet, wie man sagt, das Tor.",
    ],
)
def test_another_clause_states_nothing(text: str) -> None:
    assert stated(text, "de", "Wärter", "Tor") == []


def test_what_a_tagger_stated_stays() -> None:
    one, other = Phrase(0, 6, "Wärter", CONCEPT), Phrase(18, 21, "Tor", CONCEPT)
    annotation = Annotation((one, other), (Triple(one, "open", other, 0, 22),))
    assert with_clauses("Wärter öffnet das Tor.", annotation, "de") is annotation
