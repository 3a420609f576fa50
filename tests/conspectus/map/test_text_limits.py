from conspectus.map.reports import Teller, line, shortened

from tests.conspectus.map.samples import ARABIC, CHINESE


def test_a_line_keeps_every_script_and_tells_what_would_steer_it() -> None:
    assert line(f"{ARABIC}\n {CHINESE}\tÅngström") == f"{ARABIC} {CHINESE} Ångström"
    assert line("a\x07b\u2066c\x1b[2J") == r"a\x07b\u2066c\x1b[2J"
    assert line("\u200fشكرا!\u200f") == "\u200fشكرا!\u200f"


def test_what_is_shortened_ends_at_a_word_where_there_is_one() -> None:
    assert shortened("exactly ten", 11) == "exactly ten"
    assert shortened("one two three four", 11) == "one two…"
    assert shortened(CHINESE * 3, 10) == f"{(CHINESE * 3)[:9]}…"
    assert all(len(shortened("word " * 50, most)) <= most for most in range(2, 60))


def test_a_page_that_is_full_tells_no_more() -> None:
    teller = Teller(30)
    assert [teller.told("0123456789", 100), teller.told("01234567890123456789", 12)] == ["0123456789", "01234567890…"]
    assert teller.left == 30 - 10 - 14  # the three dots are one sign of three bytes
    assert teller.told("", 9) == ""
    assert (teller.told(CHINESE, 9), teller.told("x", 5), teller.has(1)) == ("", "", False)
    assert (teller.cut, teller.dropped) == (1, 2)
