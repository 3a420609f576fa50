"""The overview of documents with headings, of many documents, and of named ones; what may be told of them."""

import asyncio
from pathlib import Path

import pytest
from conspectus import build, load_settings
from conspectus.query.answer_writing.full_sentence import is_well_formed
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.overview.focus import focused_themes, is_focused
from conspectus.query.methods.graphrag.overview.themes import themes

CHAPTERS = {
    "Lamps": "The lamp of the tower is a burner with five wicks. See the section on oil. It burns whale oil.",
    "Tides": "The tide table gives the height of the water for every hour of the year. Which hour is meant?",
    "Boats": "A boat is kept in the shed below the tower for rescues in the bay.\n\noar, rope, hook\n\n",
    "Index": "Every word of the manual is listed here with the numbers of its pages and its lines.",
}
FILLING = "The keepers have written of it in the log for many years, and nobody has read what they wrote there. " * 3


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Context:
    folder = tmp_path_factory.mktemp("manual")
    text = "\n\n".join(f"## {title}\n\n{text} {FILLING}" for title, text in CHAPTERS.items())
    (folder / "manual.md").write_text(f"# Manual of the Light\n\n{text}\n", encoding="utf-8")
    return build(folder / "manual.md", folder / "index", load_settings()).context


def test_the_chapters_of_a_document_are_told_in_order_with_their_sentences(manual: Context) -> None:
    told = themes(manual, "What is this manual about?", 1)
    assert [theme.title for theme in told] == ["Lamps", "Tides", "Boats"]
    (*said,) = (statement for theme in told for statement in theme.statements)
    assert [statement.text for statement in said] == [
        CHAPTERS[name].split(".")[0] + "." for name in ("Lamps", "Tides", "Boats")
    ]
    for statement in said:
        chunk, span = manual.chunks[manual.chunk_rows[statement.passage.chunk_id]], statement.span
        assert chunk.text[span.start - chunk.start : span.end - chunk.start] == statement.text


def test_a_question_may_ask_for_less(manual: Context) -> None:
    assert len(themes(manual, "Briefly, what is this manual about?", 0)) == 3


def test_every_theme_of_the_answer_is_cited(manual: Context) -> None:
    from conspectus.query.menu import find_method

    answer = asyncio.run(find_method("global").answerer(manual).answer("What is this manual about?"))
    assert answer.text.startswith("- Lamps.\n  The lamp of the tower is a burner with five wicks. [1]\n- Tides.\n")
    assert [citation.quote for citation in answer.citations] == [
        line.strip()[:-4] for line in answer.text.split("\n")[1::2]
    ]


def test_documents_are_grouped_where_there_are_many(tmp_path: Path) -> None:
    subjects = {"lamp": "wick burner oil glass", "boat": "oar hull rope sail", "tide": "water height moon hour"}
    for subject, terms in subjects.items():
        for number in range(12):
            (tmp_path / f"{subject} {number}.txt").write_text(
                f"The {subject} number {number} has its {' and '.join(terms.split())} in the log. {terms}.",
                encoding="utf-8",
            )
    context = build(tmp_path, tmp_path / "index", load_settings()).context
    told = themes(context, "What are these documents about?", 0)
    assert 3 <= len(told) <= 8
    assert {theme.title.split()[0] for theme in told} == set(subjects)
    for theme in told:
        assert {part.split()[0] for part in theme.parts if part[0] != "+"} <= {theme.title.split()[0]}


MAILS = {
    "1": ("Rope in the shed", "Ida Osk <ida@quay.example>", "", "Hello all,\n\nWhich rope shall we buy for the shed?"),
    "2": ("Re: Rope in the shed", "Per Varn <per@quay.example>", "1", "Hemp is too heavy for the boat when it is wet."),
    "3": ("Re: Rope in the shed", "Ida Osk <ida@quay.example>", "2", "We decided to buy forty metres of cotton rope."),
    "4": ("Paint", "Per Varn <per@quay.example>", "", "The tower should be painted white before the winter comes."),
}


@pytest.fixture(scope="module")
def quay(tmp_path_factory: pytest.TempPathFactory) -> Context:
    folder = tmp_path_factory.mktemp("quay")
    for number, (subject, sender, answered, text) in MAILS.items():
        head = f"From: {sender}\nTo: all@quay.example\nSubject: {subject}\nMessage-ID: <{number}@quay.example>\n"
        head += f"Date: Tue, {number} Mar 2022 10:00:00 +0000\n"
        head += f"In-Reply-To: <{answered}@quay.example>\n" if answered else ""
        (folder / f"{number}.eml").write_text(f"{head}\n{text}\n", encoding="utf-8")
    for year in range(1901, 1915):
        text = (
            f"The log of {year} is a list of the {year - 1900} ships that the keeper saw. The lamp burned each night."
        )
        (folder / f"log {year}.txt").write_text(text, encoding="utf-8")
    return build(folder, folder / "index", load_settings()).context


def test_messages_are_told_by_what_their_conversation_asks_and_decides_and_a_series_as_one(quay: Context) -> None:
    told = {theme.title: theme for theme in themes(quay, "What are these documents about?", 0)}
    assert list(told) == ["log 1901 to log 1914", "Rope in the shed", "Paint"]
    rope = told["Rope in the shed"]
    assert rope.parts == ("3 messages of Ida Osk, Per Varn",)
    assert [each.text for each in rope.statements] == [
        "Which rope shall we buy for the shed?", "We decided to buy forty metres of cotton rope."
    ]  # fmt: skip


def test_a_question_about_something_is_answered_by_the_parts_that_speak_of_it(quay: Context) -> None:
    assert is_focused("What do the documents say about rope?")
    assert not is_focused("What are the documents about?")
    told = focused_themes(quay, "What do the documents say about rope?", 0)
    assert told[0].title == "Rope in the shed"
    assert "rope" in told[0].statements[0].text
    assert len({theme.heading for theme in told}) == len(told)
    assert focused_themes(quay, "Was steht in diesen Dokumenten über die Seile?", 0) == []


@pytest.mark.parametrize(
    "text",
    [
        "Lamps and tides", "See the section on oil for the rest of it.", "It burns the oil of whales in five wicks.",
        "Which of the lamps of the tower burns the oil of whales?", "oar, rope, hook, sail, anchor, chain, bell, lamp.",
        "The call is made(x, y) with the two of them in the loop.", "1. The tides of the year ..... 12",
    ],
)  # fmt: skip
def test_what_cannot_stand_alone(text: str) -> None:
    assert not is_well_formed(text)


def test_sentences_of_other_languages_stand_alone_too() -> None:
    assert is_well_formed("Der Wärter schreibt jeden Abend die Höhe der Flut in das Buch.", "de")
    assert is_well_formed("看守人每天晚上把潮水的高度写在日志里。", "zh")
