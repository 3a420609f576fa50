"""Untrusted text on a terminal."""

from conspectus import show
from storage.records import Failure


def test_control_signs_are_written_out() -> None:
    lost = Failure("read", "a\x1b[31m\nread: b", "binary\u202e", "x\x9b1m")
    assert show._failure(lost) == "read: a\\x1b[31m\\x0aread: b: binary\\u202e (x\\x9b1m)"
    assert show._one_line("a\n b\x1b]0;c\x07\u2066") == "a b\\x1b]0;c\\x07\\u2066"
    assert show._one_line("naïve 北京 عربي") == "naïve 北京 عربي"


def test_what_is_said_cannot_move_the_cursor() -> None:
    assert show.said("one\n\x1b[31mtwo") == "one\n\\x1b[31mtwo"
