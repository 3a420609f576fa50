"""Languages: of documents, of questions, and of texts without one."""

import pytest
from conspectus.storage.text.language import (
    detect,
    function_words,
    language_of,
    language_of_question,
    unknown_to_encoder,
)

SENTENCES = {
    "en": "The keeper writes the height of the tide in the log every evening.",
    "de": "Jeden Abend schreibt der Wärter die Höhe der Flut in das Logbuch.",
    "fr": "Chaque soir, le gardien écrit la hauteur de la marée dans le journal.",
    "es": "Cada noche el guardián escribe en el diario la altura de la marea.",
    "nl": "Elke avond schrijft de wachter de hoogte van het tij in het logboek.",
    "zh": "看守人每天晚上把潮水的高度写在日志里。",
    "ja": "灯台守は毎晩、潮の高さを日誌に書きます。",
    "th": "ผู้ดูแลประภาคารเขียนความสูงของน้ำในสมุดบันทึกทุกเย็น",
}


@pytest.mark.parametrize(("language", "sentence"), SENTENCES.items())
def test_a_sentence_has_its_language(language: str, sentence: str) -> None:
    assert detect(sentence) == detect(sentence, ("en", language)) == language


@pytest.mark.parametrize("text", ["", "Ada", "0x3f 12 0x40 13 0x41 14", "a=1; b=2; c=3; d=4;", "| 12 | 30 | 14 |"])
def test_names_code_and_numbers_have_none(text: str) -> None:
    assert detect(text) == ""


def test_of_a_long_text_the_greater_part_counts() -> None:
    assert detect(SENTENCES["en"] + "\n" + f"{SENTENCES['de']} " * 400) == "de"


def test_text_outweighs_what_a_document_declares_but_not_what_the_user_says() -> None:
    assert language_of(SENTENCES["en"], {"language": "de-DE"}) == "en"
    assert language_of(SENTENCES["en"], {"lang": "de"}) == "de"


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("de", "Was ist das?"), ("en", "What was it?"), ("fr", "Qui est Ivo ?"), ("es", "¿Quién es Ivo?"),
        ("", "Ivo Marek"), ("", ""),
    ],
)  # fmt: skip
def test_short_questions_by_their_function_words(language: str, question: str) -> None:
    assert language_of_question(question, ("en", "de", "fr", "es")) == language


def test_function_words_of_many_languages() -> None:
    assert {"où", "quels"} <= function_words("fr")
    assert function_words("../en") == frozenset()


def test_texts_in_other_languages_than_the_packaged_encoders_are_told() -> None:
    told = unknown_to_encoder("all-MiniLM-L6-v2", ["de", "fr", "de", "en", ""])
    assert told.startswith("75% of the texts are in languages that the encoder all-MiniLM-L6-v2 does not know (most:")
    assert told.endswith("embedding.model=universal-sentence-encoder-multilingual-3")
    assert not unknown_to_encoder("all-MiniLM-L6-v2", ["en"] * 9 + ["de"])
    assert not unknown_to_encoder("universal-sentence-encoder-multilingual-3", ["de", "en", "zh", "el"])
    assert "for another encoder" in unknown_to_encoder("universal-sentence-encoder-multilingual-3", ["el", "hi"])
    assert not unknown_to_encoder("all-MiniLM-L6-v2", [])
    assert not unknown_to_encoder("/models/multilingual", ["de"])
