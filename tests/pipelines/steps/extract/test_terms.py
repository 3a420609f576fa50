"""Phrases of a corpus: which are terms, which are names, and what clauses state of them."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from conspectus.pipelines.steps.extract.candidates import candidates
from conspectus.pipelines.steps.extract.clauses import with_clauses
from conspectus.pipelines.steps.extract.find_names import known_names
from conspectus.pipelines.steps.extract.seen_phrases import SeenPhrases
from conspectus.pipelines.steps.extract.termhood import WordStatistics
from conspectus.pipelines.steps.extract.terms import choose_terms
from conspectus.pipelines.steps.extract.word_counts import WordCounts, folded
from conspectus.storage.records import Chunk, Document, Place
from conspectus.storage.text.identifiers import identifiers
from conspectus.storage.text.names import is_capitalised, is_worth_looking_for, words
from conspectus.storage.text.nlp import CONCEPT, NAME, Annotation, Annotations, Phrase, Triple
from conspectus.storage.text.normalise import entity_key, title_names
from conspectus.storage.text.regex_annotator import RegexAnnotator
from hypothesis import given
from hypothesis import strategies as st


def chunk(id_: str, text: str) -> Chunk:
    return Chunk(id_, id_, 0, 0, len(text), text, len(text.split()))


def seen(text: str, *phrases: tuple[str, str]) -> Annotation:
    """Return an annotation of every place where the phrases stand."""
    found = [
        Phrase(at, at + len(phrase), phrase, kind)
        for phrase, kind in phrases
        for at in range(len(text))
        if text.startswith(phrase, at)
    ]
    return Annotation(tuple(sorted(found, key=lambda each: each.start)), ())


def chosen(texts: list[str], *phrases: tuple[str, str], documents: tuple[Document, ...] = ()) -> dict[str, str]:
    """Return the types of the terms of English texts by their names."""
    chunks = [chunk(str(number), text) for number, text in enumerate(texts)]
    found = choose_terms(chunks, [seen(text, *phrases) for text in texts], ["en"] * len(texts), documents)
    return {phrase.text: phrase.type for annotation in found for phrase in annotation.phrases}


LOCKS = [
    "The lock keeper opens the sluice gate. The log names the sluice gate.",
    "A sluice gate leaks. The lock keeper writes it down. A different number stands in the log.",
    "The sluice gate of Port Alma is new.",
]


def test_a_phrase_is_a_term_that_is_said_often_here_and_seldom_elsewhere() -> None:
    phrases = (("sluice gate", CONCEPT), ("different number", CONCEPT), ("Port Alma", "GPE"))
    assert chosen(LOCKS, *phrases) == {"sluice gate": CONCEPT, "Port Alma": "GPE"}


def test_a_heading_makes_a_term_of_a_phrase_that_is_said_once() -> None:
    texts = ["The number of the boat is painted on its stern."]
    page = Document("0", "", "0", texts[0], {}, len(texts[0]), "", (Place(0, "heading", "2.1 Stern", 1),))
    assert chosen(texts, ("stern", CONCEPT), ("number", CONCEPT)) == {}
    assert chosen(texts, ("stern", CONCEPT), ("number", CONCEPT), documents=(page,)) == {"stern": CONCEPT}


def test_a_known_word_with_a_type_is_a_name_where_none_is_capitalised() -> None:
    texts = ["سافر بلال إلى القاهرة."]
    annotations = [RegexAnnotator("ar").annotate(text) for text in texts]
    found = choose_terms([chunk("c", text) for text in texts], annotations, ["ar"])
    assert ("القاهرة", "GPE") in {(phrase.text, phrase.type) for phrase in found[0].phrases}


def test_plural_and_singular_are_one_term_in_each_language() -> None:
    texts = ["The sluice gates leak. A sluice gate leaks.", "Sluice gates are painted.", "The sluice gate."]
    phrases = (("sluice gates", CONCEPT), ("Sluice gates", CONCEPT), ("sluice gate", CONCEPT))
    assert set(chosen(texts, *phrases)) == {"sluice gate"}
    german = ["Die Schleuse leckt. Schleusen lecken.", "Der Wärter streicht die Schleuse."]
    chunks = [chunk(str(number), text) for number, text in enumerate(german)]
    annotations = [seen(text, ("Schleusen", CONCEPT), ("Schleuse", CONCEPT)) for text in german]
    found = choose_terms(chunks, annotations, ["de"] * 2)
    assert {phrase.text.casefold() for each in found for phrase in each.phrases} == {"schleuse"}


def test_words_of_form_are_no_terms_not_even_as_headings() -> None:
    texts = ["The default value of a section stands in this section. See section 2."] * 4
    page = Document("0", "", "0", texts[0], {}, len(texts[0]), "", (Place(0, "heading", "Default value", 1),))
    assert chosen(texts, ("section", CONCEPT), ("default value", CONCEPT), documents=(page,)) == {}


def test_a_common_word_that_is_spread_evenly_is_not_what_a_corpus_is_about() -> None:
    even = [f"The boat number {at} has a rope." for at in range(40)]
    uneven = ["The barge tows a barge, and that barge a barge." if at < 12 else "Nothing was seen." for at in range(40)]
    texts = [f"{one} {other}" for one, other in zip(even, uneven, strict=True)]
    assert chosen(texts, ("rope", CONCEPT), ("barge", CONCEPT)) == {"barge": CONCEPT}
    words = WordStatistics()
    for text in texts:
        words.add(text, "en")
    assert words.unevenness("rope", "en") == 0


def test_in_a_technical_corpus_a_person_needs_evidence() -> None:
    texts = [
        "The tool Winch runs winch_start() and winch_stop(). Sluice waits.",
        "Merle Osk wrote Winch. Merle maintains it. Sluice and sluice are one.",
        "Then Winch reads winch_config(). Sluice stops.",
    ]
    kinds = chosen(texts, ("Winch", "PERSON"), ("Sluice", "ORG"), ("Merle Osk", "PERSON"), ("Merle", "PERSON"))
    assert (kinds["Winch"], kinds["Sluice"], kinds["Merle Osk"]) == (NAME, NAME, "PERSON")


def test_a_phrase_about_one_identifier_is_the_identifier_also_in_triples() -> None:
    text = "The --open-gate option moves the sluice."
    option, sluice = Phrase(0, 22, "The --open-gate option", CONCEPT), Phrase(29, 39, "the sluice", CONCEPT)
    found = candidates(text, Annotation((option, sluice), (Triple(option, "move", sluice, 0, 40),)), "en", frozenset())
    (triple,) = found.triples
    assert (triple.subject.text, triple.subject.type, triple.object.text) == ("--open-gate", "OPTION", "sluice")


def test_identifiers_are_told_from_words_and_pieces_of_addresses_are_none() -> None:
    text = "Call gate_open() or sluiceGate with --all; see lock.conf, GATE_DIR, http://gate.example/a_b.html, YouTube."
    assert [(each.text, each.type) for each in identifiers(text) if each.type] == [
        ("gate_open", "FUNCTION"),
        ("sluiceGate", "FUNCTION"),
        ("--all", "OPTION"),
        ("lock.conf", "FILE"),
        ("GATE_DIR", "VARIABLE"),
    ]


_TEXTS = st.sampled_from(["Oil", "oil", "OIL", "Pump", "pump", "Hale"])
_KINDS = st.sampled_from([CONCEPT, "PERSON", "ORG", "DATE"])
_PHRASES = st.builds(
    lambda start, text, kind: Phrase(start, start + len(text), text, kind), st.integers(0, 6), _TEXTS, _KINDS
)
_PASSAGES = st.tuples(
    st.sampled_from("ab"), st.integers(0, 5), st.lists(_PHRASES, max_size=6), st.sampled_from(["", "en", "de"])
)
_MOST = 3


@given(st.lists(_PASSAGES, max_size=8))
def test_phrases_are_counted_once_at_each_place(
    passages: list[tuple[str, int, list[Phrase], str]],
) -> None:
    chunks = [Chunk(str(row), of, row, start, start + 10, "", 0) for row, (of, start, *_) in enumerate(passages)]
    annotations = [Annotation(tuple(sorted(set(phrases))), ()) for _, _, phrases, _ in passages]
    languages = [language for *_, language in passages]
    said: defaultdict[str, list[tuple[Phrase, str, int]]] = defaultdict(list)
    held: set[tuple[str, str, int]] = set()
    for row, (chunk, annotation, language) in enumerate(zip(chunks, annotations, languages, strict=True)):
        for phrase in annotation.phrases:
            place = (entity_key(phrase.text), chunk.document_id, chunk.start + phrase.start)
            if place not in held:
                held.add(place)
                said[place[0]].append((phrase, language, row))

    seen = SeenPhrases(chunks, Annotations(annotations), languages)
    assert sorted(seen.keys) == sorted(said)
    rows, within, ends = seen.first_places(np.ones(len(seen.keys), np.bool_), _MOST)
    assert within.tolist() == sorted(within.tolist())
    for row, key in enumerate(seen.keys):
        found = said[key]
        kinds = Counter(phrase.type for phrase, *_ in found)
        named = {kind: times for kind, times in kinds.items() if kind != CONCEPT}
        kind = CONCEPT if 2 * sum(named.values()) < len(found) else _first(named)
        assert (seen.counts[row], seen.kinds[row], seen.agreeing[row]) == (len(found), kind, kinds[kind])
        assert seen.languages[row] == _first(Counter(language for _, language, _ in found))
        assert seen.surface(row) == _first(Counter(phrase.text for phrase, *_ in found))
        of_row = zip(within[rows == row].tolist(), ends[rows == row].tolist(), strict=True)
        assert list(of_row) == [(passage, phrase.end) for phrase, _, passage in found[:_MOST]]


def _first(times: dict[str, int]) -> str:
    """Return what is most frequent, ties in alphabetical order."""
    return min(times, key=lambda each: (-times[each], each))


@given(st.lists(st.text(st.sampled_from("abAB sS'. \n,北é")), max_size=5))
def test_words_are_counted_with_their_capitals_and_stems(texts: list[str]) -> None:
    counts = WordCounts("en")
    said, capital, named, stems, passages = (Counter[str]() for _ in range(5))
    for text in texts:
        found = words(text)
        assert counts.add(text) == len(found)
        said.update(word.key for word in found)
        stems.update(folded(word.key, "en") for word in found)
        passages.update({folded(word.key, "en") for word in found})
        for place, word in enumerate(found):
            if text[word.start].isupper():
                capital[word.key] += 1
                before = text[found[place - 1].end : word.start]
                named[word.key] += place > 0 and not set(before) & set(".\n")
    assert counts.size == said.total()
    for word in {*said, *stems, "absent"}:
        assert counts.of(word) == (said[word], capital[word], named[word])
        assert (counts.said_of_stem(word), counts.passages_of_stem(word)) == (stems[word], passages[word])


_NAMES = st.sampled_from(
    ["Apollo (band)", "Apollo (god)", "Apollo", "apollo", "APOLLO (band)", "Oz", "C", " ", "A (b)"]
)


@given(st.lists(_NAMES, max_size=5), st.lists(_NAMES, max_size=5))
def test_a_name_stands_for_itself_and_for_titles_that_begin_with_it(titles: list[str], found: list[str]) -> None:
    exact: defaultdict[str, set[str]] = defaultdict(set)
    alias: defaultdict[str, set[str]] = defaultdict(set)
    surfaces: defaultdict[str, set[str]] = defaultdict(set)
    for title in filter(str.strip, titles):
        for name in title_names(title):
            (exact if name == title else alias)[entity_key(name)].add(entity_key(title))
            surfaces[entity_key(name)].add(name)
    for name in found:
        exact[entity_key(name)].add(entity_key(name))
        surfaces[entity_key(name)].add(name)

    documents = [Document(str(row), title, "", "", {}, 0, "") for row, title in enumerate(titles)]
    known = known_names(documents, found)
    worth = {key for key in surfaces if is_worth_looking_for(key)}
    assert known.keys() == worth
    for key, name in known.items():
        as_exact = [(own, "exact") for own in sorted(exact[key])]
        assert list(name.keys) == as_exact + [(title, "alias") for title in sorted(alias[key] - exact[key])]
        assert name.capitalised == is_capitalised(surfaces[key])


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
