"""Untrusted text on a terminal."""

import re

from conspectus.query.types import CitedTriple
from conspectus.render.answers import quote_text, triple_lines
from conspectus.render.builds import failure_text
from conspectus.render.terminal import one_line, safe_lines
from conspectus.storage.records import Failure


def test_control_signs_are_written_out() -> None:
    lost = Failure("read", "a\x1b[31m\nread: b", "binary\u202e", "x\x9b1m")
    assert failure_text(lost) == "read: a\\x1b[31m\\x0aread: b: binary\\u202e (x\\x9b1m)"
    assert one_line("a\n b\x1b]0;c\x07\u2066") == "a b\\x1b]0;c\\x07\\u2066"
    assert one_line("naïve 北京 عربي") == "naïve 北京 عربي"


def test_what_is_said_cannot_move_the_cursor() -> None:
    assert safe_lines("one\n\x1b[31mtwo") == "one\n\\x1b[31mtwo"


def test_a_triple_without_a_predicate_is_told_by_its_ends() -> None:
    assert triple_lines(CitedTriple(2, "r", "Roke", "", "Renn")) == ["", "[2] Roke | Renn"]
    assert triple_lines(CitedTriple(1, "r", "Ada", "born_in", "Tarn")) == ["", "[1] Ada | born_in | Tarn"]


def test_of_a_long_quote_both_ends_are_printed() -> None:
    assert quote_text("word " * 100) == "word " * 100
    cut = quote_text("first " + "word " * 1000 + "last")
    assert cut.startswith("first word ")
    assert cut.endswith(" word last")
    assert len(cut) < 950
    told = re.search(r" \[([\d,]+) characters\] ", cut)
    assert told
    assert len(cut) - len(told[0]) + int(told[1].replace(",", "")) == len("first " + "word " * 1000 + "last")
    assert len(quote_text("x" * 5000)) < 950
