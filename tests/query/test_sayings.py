"""What the program says itself, in the language of a question."""

from string import Formatter

import pytest
from conspectus.query.abstention import is_no_answer, no_answer
from conspectus.query.sayings import _table, saying, says


def test_each_sentence_has_the_same_places_in_every_language() -> None:
    for key, sentences in _table().items():
        places = {language: sum(1 for _, name, *_ in Formatter().parse(text) if name is not None)
                  for language, text in sentences.items()}  # fmt: skip
        assert set(places.values()) == {places["en"]}, key
        assert sentences.keys() == _table()["name"].keys(), key


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        ("Wer hat die Hütte gebaut?", "Das weiß ich nicht"), ("Qui est le gardien du phare ?", "Je ne sais pas"),
        ("Quem construiu a casa?", "Não sei"), ("Kto zbudował dom?", "Nie wiem"), ("谁建了这座房子？", "不知道"),
        ("誰が家を建てましたか？", "分かりません"), ("누가 집을 지었습니까?", "모르겠습니다"),
        ("Who built it?", "I do not know"),
        ("ใครเป็นเจ้าของตลาด", "ไม่ทราบ"), ("من هو صاحب المطبعة؟", "لا أعرف"), ("Evi kim yaptı?", "Bilmiyorum"),
    ],
)  # fmt: skip
def test_an_abstention_is_in_the_language_of_the_question(question: str, beginning: str) -> None:
    text = no_answer(question, ["Roofs"], "The roof leaks.")
    assert text.startswith(beginning)
    assert "Roofs" in text
    assert is_no_answer(text)


def test_a_sentence_is_known_again() -> None:
    assert says("no answer of the graph", saying("no answer of the graph", "Qui est Ivo ?"))
    assert not is_no_answer("The roof leaks.")
