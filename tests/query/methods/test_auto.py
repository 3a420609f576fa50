"""Which method `auto` chooses, in several languages, where a model answers."""

import asyncio
from dataclasses import replace

import pytest
from conspectus.query.context import Context
from conspectus.query.methods.auto import Auto
from conspectus.query.types import Answer
from conspectus.storage.settings import LlmSettings

from tests.conftest import Build

GERMAN = [
    (
        "Helene",
        "Die Bark Helene fuhr 1854 unter dem Befehl von Emil Thode nach Valparaíso und kam im Nebel vom Kurs ab.",
    ),
    ("Fortuna", "Am 3. November 1861 sank die Brigg Fortuna nach einem Zusammenstoß vor der Elbmündung."),
    ("Thode", "Das Seeamt entzog Kapitän Thode für zwei Jahre das Patent, weil er die Lichter nicht gesetzt hatte."),
]
CHINESE = [
    ("海伦号", "海伦号于1854年由李明指挥，从上海驶往旧金山，在大雾中偏离了航线。"),
    ("福星号", "1861年11月3日，福星号在长江口相撞后沉没。"),
    ("李明", "海事法庭因为船长李明没有点灯，吊销了他的执照两年。"),
]


class Named:
    """Answers with its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def answer(self, question: str) -> Answer:
        return Answer(question, self._name, self._name)


def chosen(context: Context, question: str) -> str:
    answer = asyncio.run(Auto(context, lambda: Named("whole"), lambda: Named("parts")).answer(question))
    assert answer.trace[0].name == "auto"
    return answer.method


@pytest.fixture(scope="module")
def german(build: Build) -> Context:
    return build(GERMAN)


@pytest.fixture(scope="module")
def chinese(build: Build) -> Context:
    return build(CHINESE)


def with_a_model(context: Context) -> Context:
    return replace(context, settings=context.settings.model_copy(update={"llm": LlmSettings(model="m")}))


@pytest.mark.parametrize(
    ("language", "question", "method", "model"),
    [
        ("german", "Welche Themen ziehen sich durch alle Texte?", "whole", True),
        ("german", "Wer befehligte die Bark Helene?", "parts", True),
        ("german", "Nenne die fünf wichtigsten Punkte aus allen Unterlagen.", "whole", False),
        ("german", "Was zieht sich wie ein roter Faden durch alles?", "whole", False),
        ("german", "Wer befehligte die Bark Helene?", "parts", False),
        ("chinese", "贯穿所有文本的主题有哪些？", "whole", True),
        ("chinese", "福星号是什么时候沉没的？", "parts", True),
    ],
)
def test_a_question_about_the_whole_is_known_in_other_languages(
    language: str, question: str, method: str, model: bool, request: pytest.FixtureRequest
) -> None:
    context: Context = request.getfixturevalue(language)
    assert chosen(with_a_model(context) if model else context, question) == method


@pytest.mark.parametrize(
    ("question", "method"),
    [("what did tomas order and why", "parts"), ("What did Tomas order?", "parts"), ("what are these about", "whole")],
)
def test_a_word_of_a_single_passage_asks_for_it_among_few(question: str, method: str, build: Build) -> None:
    notes = build(
        [
            ("April", "Marta returned the kiln with a cracked shelf. Tomas ordered a new one from Hadley & Sons."),
            ("spare key", "I found the spare key under the workbench, next to the glaze buckets."),
        ]
    )
    assert chosen(notes, question) == method
