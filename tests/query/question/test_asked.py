"""What questions ask for: their kind, task, scope, spelling and time."""

import conspectus
import numpy as np
import pytest
from conspectus.api import Index
from conspectus.query.context import Context
from conspectus.query.question.kinds import kind_of, thing_described, without_courtesy
from conspectus.query.question.question import open_question
from conspectus.query.question.scope import corpus_coverage
from conspectus.query.question.spelling import spelling_steps
from conspectus.query.question.times import nearness, time_in
from conspectus.storage.settings import load_settings

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


ABOUT = "Which films are based on novels?"


def test_support_is_the_nearest_passage_and_half_the_words_that_the_five_nearest_hold(context: Context) -> None:
    for question in (ABOUT, "Where was Albert Einstein born?", "How deep is a borehole in the Antarctic ice?"):
        vector = context.embedder.embed_query(question)
        cosines, rows = context.chunk_vectors.search(vector[np.newaxis], 5)
        terms = open_question(context, question).terms
        held = [bool(set(holders.tolist()) & set(rows[0].tolist())) for holders in terms.chunks]
        covered = sum(weight for weight, each in zip(terms.weights, held, strict=True) if each)
        assert corpus_coverage(context, question) == pytest.approx(float(cosines[0][0]) + covered / 2)


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("which novle did he write", "which novel did he write"),
        ("who has writen it in Oxford?", "who has written it in Oxford?"),
        ("which novel did he write", "which novel did he write"),
        ("what does Pauul write?", "what does Pauul write?"),  # a name
        ("what about the giraffe?", "what about the giraffe?"),  # a word, though no document has it
        ("what is nov3l?", "what is nov3l?"),
        ("wich novel shoud I read", "which novel should I read"),  # words that any text may have
    ],
)
def test_what_is_read(question: str, read: str, sample_context: Context) -> None:
    asked = open_question(sample_context, question)
    assert asked.text == read
    assert bool(asked.mended) == (question != read) == bool(spelling_steps(asked.mended))
    assert all(asked.text[word.start : word.end].casefold() == word.key for word in asked.words)


METHODS = ("bm25", "dense", "hybrid", "ppr", "auto")
TERMS = [(1900 + 10 * n, 1907 + 10 * n) for n in range(6)]
CHAIRS = ("Ada Quill", "Otto Brand", "Mira Stone", "Ivo Lund", "Nell Frey", "Hugo Vale")
FILLER = (
    "The harbour board met in the old customs house, where the chair of the harbour board read the harbour accounts. "
)


def board() -> str:
    """Return pages on who led a board, each time in other words, each as long as a passage."""
    told = zip(CHAIRS, TERMS, strict=True)
    return "\n\n".join(f"From {start} to {end} {name} led it. {FILLER * 2}" for name, (start, end) in told)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    settings = load_settings(
        overrides={"extraction": {"pipeline": "regex"}, "chunks": {"chunk_size": 60, "chunk_overlap": 0}}
    )
    texts = {
        "Harbour board": board(),
        "Minutes of 1954": "\n\n".join(
            (
                f"On 3 May 1954 the minutes of the mill were read. {FILLER * 2}",
                f"Lamps for the mill cost 40. {FILLER * 2}",
            )
        ),
        "Mill": "The mill stood by the harbour in 1925. The chair of the harbour board sold it.",
    }
    return conspectus.build(texts=texts, index=tmp_path_factory.mktemp("times") / "index", settings=settings)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("name", "years"), list(zip(CHAIRS, TERMS, strict=True)))
def test_the_passage_of_that_time_comes_first(index: Index, method: str, name: str, years: tuple[int, int]) -> None:
    for question in (
        f"Who was chair of the harbour board from {years[0] + 1} to {years[1]}?",
        f"Who was chair of the harbour board between May {years[0]} and {years[1] - 1}?",
    ):
        found = index.retrieve(question, method, k=8).passages
        first = next(each for each in found if each.title == "Harbour board")
        assert name in first.text, question


@pytest.mark.parametrize("method", METHODS)
def test_no_document_gains_or_loses_a_place(index: Index, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question = "Who was chair of the harbour board from 1921 to 1926?"
    dated = index.retrieve(question, method, k=20)
    assert [step.detail for step in dated.trace if step.name == "time"] == [
        "passages of one document have exchanged places by how near their dates are to 1921-01-01 to 1926-12-31"
    ]
    monkeypatch.setattr("conspectus.query.question.times.TIME_WEIGHT", 0)
    undated = index.retrieve(question, method, k=20)
    assert [each.title for each in dated.passages] == [each.title for each in undated.passages]
    if method != "hybrid":  # its scores are ranks of the others
        assert [each.score for each in dated.passages] == [each.score for each in undated.passages]
    assert [each.chunk_id for each in dated.passages] != [each.chunk_id for each in undated.passages]
    assert "time" not in {step.name for step in index.retrieve("Who was chair of the board?", method).trace}


def test_a_document_that_is_of_that_time_keeps_its_order(index: Index) -> None:
    (found,) = index.retrieve("What did the lamps of the mill cost in 1954?", "bm25", k=1).passages
    assert found.text.startswith("Lamps")


def test_nearness_is_that_of_the_two_ends() -> None:
    time = time_in("from 1990 to 1993")
    assert time
    assert nearness(time, "Mayor from 1990 to 1993.") == 1
    assert nearness(time, "Mayor from 1990 to 1994.") == pytest.approx((1 + 0.368) / 2, abs=1e-3)
    assert nearness(time, "Mayor until 1993.") == 0.5
    assert nearness(time, "Mayor of the town.") == 0
    before = time_in("before 1998")
    assert before
    assert nearness(before, "Mayor until 1997.") == 1
    assert time_in("Who was mayor?") is None


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
