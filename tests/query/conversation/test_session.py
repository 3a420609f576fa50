"""A conversation as a file: whole or not at all, bounded, and never trusted."""

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conspectus.query.conversation import session
from conspectus.query.conversation.history import CitedSpan, Conversation, Turn
from conspectus.query.conversation.session import append_turn, read_session
from conspectus.storage.errors import InputError, UsageError

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
