"""Conversations: what a turn keeps, what a question refers to, and files of turns."""

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from conspectus.query.conversation import session
from conspectus.query.conversation.anaphora import wording
from conspectus.query.conversation.history import CitedSpan, Conversation, Turn, first_tokens, turn_of
from conspectus.query.conversation.session import append_turn, read_session
from conspectus.query.types import Answer, Citation, Evidence, Passage
from conspectus.storage.errors import InputError, UsageError
from conspectus.storage.hashing import digest
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given
from hypothesis import strategies as st

TEXTS = st.text(max_size=200) | st.sampled_from(["Who directed it?", "北京大学在哪里？", "x" * 500, "a " * 300])
TURNS = st.builds(Turn, question=TEXTS, standalone=TEXTS, answer=TEXTS, method=st.just("ppr"))


def turn(number: int) -> Turn:
    return Turn(f"Question {number}?", f"Question {number}?", f"Answer {number}.", "ppr")


def test_a_turn_keeps_what_an_answer_rests_on() -> None:
    citation = Citation(1, "d1", "Oxford", "oxford.txt", 3, 9, "a city")
    passage = Passage("d1", "c1", 0, 20, 1.0, "It is a city in England", "Oxford")
    answer = Answer(
        "Where is it?",
        "ppr",
        "In England [1].",
        (citation, citation),
        Evidence((passage,)),
        standalone="Where is Oxford?",
    )
    made = turn_of(answer)
    assert made == Turn(
        "Where is it?",
        "Where is Oxford?",
        "In England [1].",
        "ppr",
        (CitedSpan("d1", 3, 9),),
        (digest("It is a city in England"),),
    )
    assert turn_of(replace(answer, standalone="")).standalone == "Where is it?"


def test_what_does_not_fit_is_left_out_from_the_oldest_on() -> None:
    whole = Conversation(tuple(turn(number) for number in range(5)))
    two = turn(3).tokens + turn(4).tokens
    assert whole.latest(9, two).turns == (turn(3), turn(4))
    assert whole.latest(9, two - 1).turns == (turn(4),)


def test_the_last_turn_is_cut_where_it_is_too_long_by_itself() -> None:
    long = Turn("What does it say?", "What does the book say?", "word " * 1000, "ppr")
    (kept,) = Conversation((turn(0), long)).latest(9, 50).turns
    assert (kept.question, kept.standalone) == (long.question, long.standalone)
    assert kept.answer
    assert long.answer.startswith(kept.answer)


@given(st.lists(TURNS, max_size=4), st.integers(0, 5), st.integers(0, 200))
def test_bounds_always_hold(turns: list[Turn], most: int, tokens: int) -> None:
    kept = Conversation(tuple(turns)).latest(most, tokens).turns
    assert len(kept) <= most
    assert sum(each.tokens for each in kept) <= tokens
    assert len(kept) >= min(1, most, len(turns))


@given(TEXTS, st.integers(0, 60))
def test_a_beginning_has_no_more_tokens_than_allowed(text: str, count: int) -> None:
    cut = first_tokens(text, count)
    assert text.startswith(cut)
    assert count_tokens(cut) <= count


TURN = Turn(
    "Who directed it?", "Who directed Jaws?", "北京\nSpielberg [1].\u2028", "ppr", (CitedSpan("d", 3, 7),), ("0" * 64,)
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    assert read_session(path) == Conversation()
    append_turn(path, TURN)
    append_turn(path, TURN)
    assert read_session(path) == Conversation((TURN, TURN))
    assert len(path.read_bytes().splitlines()) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_and_rights_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "talk.jsonl", tmp_path / "link"
    append_turn(path, TURN)
    path.chmod(0o640)
    link.symlink_to(path)
    append_turn(link, TURN)
    assert link.is_symlink()
    assert len(read_session(path).turns) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_several_may_append_at_once(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: append_turn(path, Turn(f"{number}?", f"{number}?", "", "ppr")), range(24)))
    assert {each.question for each in read_session(path).turns} == {f"{number}?" for number in range(24)}


def test_the_oldest_turns_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "MOST_BYTES", 1000)
    path = tmp_path / "talk.jsonl"
    for number in range(20):
        append_turn(path, Turn(f"Question {number}?", f"Question {number}?", "word " * 10, "ppr"))
    assert path.stat().st_size <= 1000
    kept = [each.question for each in read_session(path).turns]
    assert kept == [f"Question {number}?" for number in range(20 - len(kept), 20)]
    assert kept


def test_a_turn_without_end_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    append_turn(path, Turn("Who?", "Who?", "x" * 5_000_000, "ppr"))
    (read,) = read_session(path).turns
    assert len(read.answer) == session.MOST_CHARACTERS


LINE = {"question": "q", "standalone": "q", "answer": "a", "method": "ppr", "citations": [], "sources": []}


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"\x00" * 40,
        b"[" * 100_000,
        *(json.dumps(LINE | change).encode() for change in (
            {"question": ""},
            {"question": 3},
            {"answer": None},
            {"answer": "x" * 60_000},
            {"surprise": 1},
            {"citations": [{"document_id": "d", "start": -1, "end": 3}]},
            {"citations": [{"document_id": "d", "start": "0", "end": 3}]},
            {"sources": ["../../etc/passwd"]},
        )),
        json.dumps({key: value for key, value in LINE.items() if key != "method"}).encode(),
    ],
)  # fmt: skip
def test_a_damaged_line_is_one_clear_error(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    append_turn(path, TURN)
    path.write_bytes(path.read_bytes() + b"\n" + line + b"\n")
    with pytest.raises(InputError, match=r"talk\.jsonl, line 3, is not a turn of a conversation: ") as caught:
        read_session(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_what_is_no_file_of_turns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a file"):
        read_session(tmp_path)
    with pytest.raises(InputError, match="is not a file"):
        read_session(Path("/dev/zero"))
    with pytest.raises(UsageError, match="there is no folder"):
        read_session(tmp_path / "nowhere" / "talk.jsonl")
    long = tmp_path / "long"
    long.write_bytes(b" " * 2_000_000)
    with pytest.raises(InputError, match="1,000,000 bytes"):
        read_session(long)


@pytest.mark.parametrize(
    ("question", "refers"),
    [
        ("Who directed it?", "thing"),
        ("When did she marry Pierre Curie?", "person"),
        ("Who Directed It?", "thing"),
        ("What is their population?", "any"),
        ("Who wrote that?", "any"),
        ("Wann wurde er geboren?", "any"),
        ("¿Quién lo dirigió?", "any"),
        ("Кто его снял?", "any"),
        ("他在哪里出生？", "person"),
        ("彼はどこで生まれましたか？", "person"),
    ],
)
def test_pronouns_refer_back(question: str, refers: str) -> None:
    assert wording(question, ()).refers == refers


@pytest.mark.parametrize(
    "question",
    [
        "When did Marie Curie say that she was born?",
        "Is it true that Mara grew taller?",
        "Why did the user interface designer think it was important?",
        "What is photosynthesis?",
        "其他的大学在哪里？",
        "What does Ann's sister say of the seven long and winding roads near her old oak house?",
        "",
    ],
)
def test_what_can_be_meant_within_the_question_does_not(question: str) -> None:
    assert wording(question, ()).refers is None


@pytest.mark.parametrize(
    ("question", "telling", "named", "goes_on", "asks"),
    [
        ("Why?", (), False, False, True),
        ("What about the second one?", (), False, True, False),
        ("And the budget?", ("budget",), False, True, False),
        ("And Pierre Curie?", (), True, True, False),
        ("那他呢？", (), False, True, False),
        ("Und warum?", (), False, True, True),
        ("How do bees make honey?", ("bees", "make", "honey"), False, False, True),
    ],
)
def test_what_a_question_says(question: str, telling: tuple[str, ...], named: bool, goes_on: bool, asks: bool) -> None:
    found = wording(question, ())
    assert (found.telling, found.named, found.goes_on, found.asks) == (telling, named, goes_on, asks)


def test_a_known_name_is_no_pronoun_where_it_is_written_as_a_name() -> None:
    assert wording("Who directed It?", [(13, 15)]).refers is None
    assert wording("Who directed it?", [(13, 15)]).refers == "thing"
    assert wording("who directed jaws", [(13, 17)]).named


def test_capitals_name_nothing_in_german() -> None:
    assert not wording("Wer hat den Film gedreht?", ()).named
    assert wording("Who made the Film?", ()).named
