from itertools import pairwise

import pytest
from conspectus.storage.text.names import NameMatcher, in_pieces, word_keys, words
from hypothesis import given
from hypothesis import strategies as st


def found(text: str, *names: str) -> list[tuple[str, str]]:
    """What stands in the text, and the name it was found by."""
    matcher = NameMatcher({name: name for name in names})
    return [(text[match.start : match.end], match.value) for match in matcher.find(text)]


@given(st.text())
def test_words_are_in_order_and_hold_no_space(text: str) -> None:
    spans = words(text)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert all(word.key and not text[word.start : word.end].isspace() for word in spans)


@given(st.text() | st.text(st.sampled_from("ab'’sS+#_ é1.²ß-\u0301北")))
def test_keys_are_those_of_the_words(text: str) -> None:
    assert word_keys(text) == [word.key for word in words(text)]


@given(st.text() | st.text(st.sampled_from("abAB'’sS+#_ é1.²ß-\u0301北")))
def test_pieces_are_the_text_and_its_words(text: str) -> None:
    keys, pieces = in_pieces(text)
    found = words(text)
    assert "".join(pieces) == text
    assert keys == [word.key for word in found]
    assert pieces[1::2] == [text[word.start : word.end] for word in found]


@pytest.mark.parametrize("around", ["{}", "a{}b", "{}+", "+{}", "'s{}", "’S{}", "x{}'s", "1{}#"])
def test_simple_texts_have_the_words_of_the_rule_for_every_script(around: str) -> None:
    """A character of another script beside the text makes the general rule apply."""
    for number in (*range(0x300), *range(0x2000, 0x2070)):
        text = around.format(chr(number))
        assert words(text) == words(f"{text} 北")[:-1], text


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("the Emerald City of Oz", ["Oz", "Emerald City", "Emerald City of Oz"], ["Emerald City of Oz"]),
        ("New York City Hall", ["New York", "York City Hall"], ["New York"]),
        ("C, C++ and C# but no F", ["C", "C#"], ["C", "C#"]),
        ("the Children’s Award", ["Children's Award"], ["Children’s Award"]),
        ("SPIDER-MAN, Spider Man, spider–man", ["Spider-Man"], ["SPIDER-MAN", "Spider Man", "spider–man"]),
        ("by J.K. Rowling, J K Rowling", ["J. K. Rowling"], ["J.K. Rowling", "J K Rowling"]),
        ("St Louis, St. Louis", ["St Louis"], ["St Louis", "St. Louis"]),
        ("in Paris. Texas is. Paris, Texas. Paris Texas", ["Paris, Texas"], ["Paris, Texas", "Paris Texas"]),
        ("in New York, City officials", ["New York City"], []),
        ("New\nYork; New\n\nYork", ["New York"], ["New\nYork"]),
        ("AT&T, at t", ["AT&T"], ["AT&T"]),
        ("the band (Apollo (band)) Apollo", ["Apollo (band)", "Apollo"], ["Apollo (band)", "Apollo"]),
        ("我在北京大学，不在北京", ["北京大学", "北京"], ["北京大学", "北京"]),
        ("北京。大学", ["北京大学"], []),
        ("ประเทศไทยสวย", ["ไทย"], ["ไทย"]),
        ("Rene\u0301 İstanbul René", ["René", "İstanbul"], ["Rene\u0301", "İstanbul", "René"]),
        ("!!! and more", ["!!!", ""], []),
    ],
)
def test_names_in_texts(text: str, names: list[str], expected: list[str]) -> None:
    assert [surface for surface, _ in found(text, *names)] == expected


def test_of_names_with_the_same_words_the_one_written_like_the_text_is_found() -> None:
    names = ("Yahoo", "Yahoo!", "Spider-Man", "spider man", "Help (song)", "Help: song")
    text = "Yahoo! and Yahoo, Spider-Man and Spider Man, Help: song"
    assert [name for _, name in found(text, *names)] == [
        "Yahoo!",
        "Yahoo",
        "Spider-Man",
        "spider man",
        "Help: song",
    ]


SMALL = st.lists(st.sampled_from(["Oz", "oz", "of", "the", "Tin", "man"]), min_size=1, max_size=12).map(" ".join)


@given(SMALL, st.lists(SMALL.map(lambda name: name.casefold()), max_size=8, unique=True))
def test_agrees_with_looking_for_every_name_everywhere(text: str, names: list[str]) -> None:
    padded, expected, at = f" {text.casefold()} ", [], 0
    while at < len(text):
        here = [name for name in names if padded.startswith(f" {name} ", at)]
        if here:
            longest = max(here, key=len)
            expected.append((at, at + len(longest), longest))
            at += len(longest) + 1
        else:
            at = padded.index(" ", at + 1)
    matches = NameMatcher({name: name for name in names}).find(text)
    assert [(match.start, match.end, match.value) for match in matches] == expected
