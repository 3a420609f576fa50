"""What questions ask for, in four languages."""

import pytest
from conspectus.query.question.kinds import frame_of, kind_of, thing_described, without_courtesy

QUESTIONS = {
    "global": [
        "What are the main topics of this manual?", "What are these documents about?", "Give me an overview.",
        "Worum geht es in diesen Dokumenten?", "Welche Gebiete deckt das Handbuch ab?", "Fasse das Buch zusammen.",
        "Quels sont les principaux sujets de ce manuel ?", "De quoi parlent ces documents ?",
        "¿De qué trata este libro?", "¿Cuáles son los temas principales?",
    ],
    "compare": [
        "What is the difference between a sloop and a ketch?", "Should I take the ferry or the bridge?",
        "Wie unterscheiden sich Ebbe und Flut?", "Quelle est la différence entre un phare et une balise ?",
        "¿Qué diferencia hay entre un faro y una boya?",
    ],
    "how to": [
        "How do I reset the gauge?", "The gauge is stuck. What do I need?", "Which command prints the log?",
        "Wie setze ich den Pegel zurück?", "Comment remettre la jauge à zéro ?", "¿Cómo se enciende el faro?",
    ],
    "why": ["Why did the lamp fail?", "Warum ist die Lampe erloschen?", "Pourquoi le phare est-il éteint ?"],
    "how many": ["How many steps has the tower?", "Wie viele Stufen hat der Turm?", "¿Cuántos barcos se hundieron?"],
    "when": ["When did the Halcyon sink?", "Wann sank die Halcyon?", "Quand le navire a-t-il coulé ?"],
    "who": ["Who keeps the light?", "Wer pflegt das Licht?", "Qui garde le phare ?", "¿Quién cuida el faro?"],
    "where": ["Where is the log kept?", "Wo liegt das Logbuch?", "Où est le journal ?", "¿Dónde está el diario?"],
    "definition": ["What is a spring tide?", "Was ist eine Springflut?", "Wofür steht MSL?", "¿Qué es una boya?"],
    "yes or no": ["Can the lamp be seen from Tarn?", "When the lamp fails, is the horn sounded?", "Ist die Lampe an?"],
    "what": ["What happens when the lamp fails?", "Which paint is used?", "Welche Farbe hat der Turm?"],
    "other": ["The tower has ninety steps.", "Halcyon", ""],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "question"), [(kind, text) for kind, texts in QUESTIONS.items() for text in texts])
def test_kinds(kind: str, question: str) -> None:
    assert kind_of(question) == kind


def test_a_language_without_patterns_has_no_kinds() -> None:
    assert kind_of("Hvem passer lyset?", "da") == "other"


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("Hi, could you please tell me why the lamp failed?", "why the lamp failed?"),
        ("who keeps the light, please?", "who keeps the light?"),
        ("Können Sie mir bitte sagen, wann der Turm öffnet?", "wann der Turm öffnet?"),
        ("Pourriez-vous me dire qui garde le phare, s'il vous plaît ?", "qui garde le phare?"),
        ("¿Me puede decir cuándo abre el faro, por favor?", "cuándo abre el faro?"),
        ("Mi può dire quando apre il faro, per favore?", "quando apre il faro?"),
        ("Weet u wanneer de toren opengaat?", "wanneer de toren opengaat?"),
        ("Подскажите, пожалуйста, кто построил маяк?", "кто построил маяк?"),
        ("请问灯塔是谁建的？", "灯塔是谁建的？"),
        ("灯台の高さを教えてください。", "灯台の高さ"),
        ("등대 높이 좀 알려 주세요.", "등대 높이"),
        ("كم ارتفاع المنارة من فضلك؟", "كم ارتفاع المنارة"),
        ("Please tell me about the tower.", "Please tell me about the tower."),
        ("Do you know the way?", "Do you know the way?"),
        ("Thanks!", "Thanks!"),
    ],
)
def test_courtesies_are_no_part_of_a_question(question: str, read: str) -> None:
    assert without_courtesy(question) == read
    assert without_courtesy(read) == read


def test_further_kinds_of_answers() -> None:
    assert kind_of("What does a ticket for the ferry cost?") == kind_of("What is the fee for dogs?") == "how many"
    assert kind_of("What is the deadline?") == "when"
    assert kind_of('what "slack water" means') == "definition"
    assert frame_of("Define slack.") == ((0, 6),)


@pytest.mark.parametrize(
    "question",
    [
        "Tell me about Pelluci.", "What do you know about Pelluci?", "What is known about Pelluci?",
        "Erzähl mir von Pelluci.", "Was weißt du über Pelluci?", "Que sais-tu de Pelluci ?", "Háblame de Pelluci.",
        "¿Qué sabes de Pelluci?", "Parlami di Pelluci.", "Cosa sai di Pelluci?", "Fale-me de Pelluci.",
        "O que sabes de Pelluci?", "Vertel me over Pelluci.", "Wat weet je over Pelluci?", "Opowiedz mi o Pelluci.",
        "Co wiesz o Pelluci?", "Pelluci hakkında ne biliyorsun?", "Расскажи о Pelluci.", "Что ты знаешь о Pelluci?",
        "Πες μου για Pelluci.", "Τι ξέρεις για Pelluci;", "介绍一下Pelluci", "Pelluciについて教えて",
        "Pelluci에 대해 알려", "บอกเกี่ยวกับPelluci", "أخبرني عن Pelluci", "Pelluci के बारे में बता",
    ],
)  # fmt: skip
def test_questions_for_all_about_a_thing_name_it(question: str) -> None:
    assert thing_described(question) == "Pelluci"


def test_questions_for_facts_describe_no_thing() -> None:
    asked = ("Who directed Grey Heron?", "Can you tell me when it was made?", "What do the films about Ada show?")
    assert [thing_described(each) for each in asked] == ["", "", ""]
