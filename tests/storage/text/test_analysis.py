"""Terms of texts by language: stems, parts of compounds, pairs of characters; and what is read from a file."""

import json

import pytest
from conspectus.storage.text.analysis import Analysis
from conspectus.storage.text.bm25 import Bm25
from conspectus.storage.text.names import words

GERMAN = ["Die Leuchtturmwärter warten den Leuchtturm.", *["Der Turm hat ein Licht: das Leuchtfeuer. Leucht Turm"] * 3]
ENGLISH = ["The keepers of the lighthouse wrote letters.", "A keeper writes a letter."]
CHINESE = ["看守人写日志。", "日志在塔里。"]


def bm25(texts: list[str], language: str) -> Bm25:
    return Bm25.of(texts, [language] * len(texts))


def test_forms_of_a_word_have_one_term_in_its_language() -> None:
    index = bm25([*ENGLISH, "Nothing else."], "en")
    assert (index.scores("letter keeping").astype(bool)).tolist() == [True, True, False]
    german = bm25(["In den Häusern", "Das Haus", "Der Hof"], "de")
    assert german.scores("Hauses").astype(bool).tolist() == [True, True, False]


def test_korean_words_are_found_with_other_particles_and_endings() -> None:
    index = bm25(["견학은 토요일에만 할 수 있다.", "창고를 다시 지었다."], "ko")
    assert index.scores("견학이").astype(bool).tolist() == [True, False]
    assert index.scores("창고는 지었나요?").astype(bool).tolist() == [False, True]


def test_each_text_has_the_stems_of_its_own_language() -> None:
    index = Bm25.of(["The tides", "Die Tiden", "Les marées"], ["en", "de", "fr"])
    assert index.scores("tide", "en").argmax() == 0
    assert index.scores("marée", "fr").argmax() == index.scores("marée", "de").argmax() == 2


def test_compounds_are_found_by_their_parts_and_parts_in_compounds() -> None:
    texts = ["Der Befehl.", "Die Zeile.", "Die Befehlszeile ist lang.", *["Befehl Zeile"] * 3, "Ein Haus."]
    index = bm25(texts, "de")
    assert index.scores("Zeile")[2] > 0
    assert index.scores("Befehlszeilen")[6] == 0 < index.scores("Befehlszeile")[0]
    assert bm25(texts, "en").scores("Zeile")[2] == 0


def test_characters_of_unspaced_scripts_count_alone_and_in_pairs() -> None:
    index = bm25(CHINESE, "zh")
    assert "日志" in index.vocabulary
    assert index.scores("志日").max() < index.scores("日志").max()


def test_an_analysis_is_what_was_packed() -> None:
    made = Analysis.of([*GERMAN, *ENGLISH], ["de"] * len(GERMAN) + ["en", ""])
    read = Analysis.unpacked(made.packed())
    assert read.known == ("de", "en")
    text = " ".join(GERMAN)
    assert read.terms(text, 0) == made.terms(text, 0) != [word.key for word in words(text)]


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", json.dumps({"languages": ["de"], "rows": [1], "counts": {}}).encode(),
     json.dumps({"languages": ["de"], "rows": [0], "counts": {"de": {"turm": "x"}}}).encode()],
)  # fmt: skip
def test_other_content_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (json's own and ours)
        Analysis.unpacked(content)
