"""Documents and questions in other languages than English, and questions in another language than the documents."""

import asyncio
import json
from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.query.context import Context
from conspectus.query.explain.explain import explain
from conspectus.query.menu import find_retriever
from conspectus.query.question.question import open_question
from conspectus.storage.index import StoredIndex
from conspectus.storage.settings import Settings

from tests.command_line import conspectus
from tests.conftest import write_rows

TEXTS = {
    "tax": "Die Stadt senkte die Steuer auf Fahrräder im Frühjahr. Der Rat stimmte mit großer Mehrheit dafür.",
    "salt": "Salz wurde im Mittelalter aus den Bergwerken der Alpen gewonnen. Händler brachten es mit Karren zum Meer.",
    "owl": "Eulen jagen nachts und hören ihre Beute unter dem Schnee. Ihre Federn machen beim Flug kein Geräusch.",
    "bread": "Das Brot ruht eine Nacht im Kühlschrank, bevor es gebacken wird. So wird die Kruste dunkel und knusprig.",
    "bridge": "Die Brücke über den Fluss stürzte bei der Flut ein. Niemand wurde verletzt.",
}
ASKED = {
    "tax": "Which tax did the council lower?",
    "salt": "Where did people get salt in the Middle Ages?",
    "owl": "How do owls hear their prey?",
    "bread": "Why does the bread have a dark crust?",
    "bridge": "When did the bridge collapse?",
}


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("german")
    write_rows(folder / "corpus.jsonl", [{"id": id_, "text": text} for id_, text in TEXTS.items()])
    rows = [{"id": id_, "question": "Worum geht es?", "supporting": [id_]} for id_ in TEXTS]
    write_rows(folder / "questions.jsonl", rows)
    write_rows(folder / "english.jsonl", [{**row, "question": ASKED[row["id"]]} for row in rows])
    build_index([folder / "corpus.jsonl"], folder / "index", Settings())
    return folder


@pytest.fixture(scope="module")
def context(suite: Path) -> Context:
    return Context(StoredIndex.open(suite / "index"), Settings())


@pytest.mark.parametrize("method", ["dense", "ppr"])
def test_an_english_question_finds_the_german_passage(context: Context, method: str) -> None:
    retriever = find_retriever(method, context)
    for id_, question in ASKED.items():
        (best,) = asyncio.run(retriever.retrieve(question, 1)).passages
        assert best.document_id == id_, question


def test_a_question_is_foreign_if_no_document_is_in_its_language(context: Context) -> None:
    said = {text: open_question(context, text).is_foreign for text in (*ASKED.values(), "Welche Steuer wurde gesenkt?")}
    assert [text for text, foreign in said.items() if not foreign] == ["Welche Steuer wurde gesenkt?"]


@pytest.mark.parametrize("question", [ASKED["owl"], "Wie hören Eulen ihre Beute?"])
def test_the_parts_of_a_fused_score_add_up(context: Context, question: str) -> None:
    for each in asyncio.run(explain(context, question, "hybrid", 5)).passages:
        assert sum(part.value for part in each.parts) == pytest.approx(each.passage.score)


def test_evaluate_takes_questions_of_a_parallel_set(suite: Path) -> None:
    words = f"evaluate {suite} --index {suite / 'index'} --methods ppr --k 1 --json {suite / 'found.json'}".split()
    done = conspectus(*words, "--questions-from", suite / "english.jsonl")
    assert done.status == 0, done.err
    found = json.loads((suite / "found.json").read_text("utf-8"))
    assert found["methods"]["ppr"]["recall@1"]["mean"] == 1.0
