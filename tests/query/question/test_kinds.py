"""What questions ask for, in four languages."""

import pytest
from conspectus.query.question.kinds import kind_of

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
