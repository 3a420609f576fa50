import time
from itertools import pairwise

import pytest
from conspectus.storage.text.sentences import LONGEST, sentence_spans
from hypothesis import given
from hypothesis import strategies as st


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


PIECES = [
    "Mr",
    "J",
    "U.S",
    "He",
    "said",
    "3",
    "14",
    "北京",
    "است",
    "।",
    "。",
    ".",
    "!",
    "?",
    "…",
    "”",
    "(",
    ")",
    "[1]",
]
SPACES = [" ", "  ", "\n", "\n\n", "\t", "\r\n", "\u2028", "\x1c", "- ", "# ", "A: ", "x" * 90, "word " * 30]
TEXTS = st.lists(st.sampled_from(PIECES + SPACES) | st.characters(), max_size=60).map("".join)


@given(TEXTS)
def test_spans_cover_what_is_visible_once_and_in_order(text: str) -> None:
    spans = sentence_spans(text)
    assert all(0 < end - start <= LONGEST for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@given(TEXTS)
def test_no_sentence_holds_a_blank_line(text: str) -> None:
    assert not any("\n\n" in sentence for sentence in sentences(text))


@pytest.mark.parametrize(
    "expected",
    [
        ["Nell slept.", "Ounce purred!", "Why?", "Nobody knows…"],
        ["“Run!” cried June.", "“Make for the bridge!”", "She ran."],
        ["He paid 3.14 dollars to Mr. and Mrs. Smith of St. Louis.", "They smiled."],
        ["The U.S. Army came.", "It lies in the U.S.", "The rest does not."],
        ["See No. 5 and fig. 12.", "No.", "Yes."],
        ["Acme Inc. Chairman Jones left.", "He ran Acme Inc.", "The board stayed."],
        ["Fruit, e.g. Apples, i.e. Food etc. and so on.", "Done."],
        ["He earned Ph.D. and M.D. degrees.", "She did too."],
        ["The rate rose.[12][a]", "Then it fell. [3]", "It rose."],
        ["1. Eat at 5 p.m. every day.", "2. Sleep."],
        ["¿Qué es?", "¡Nada!", "Él se fue."],
        ["هل هذا صحيح؟", "نعم.", "یہ ایک جملہ ہے۔", "دوسرا۔"],
        ["यह एक वाक्य है।", "यह दूसरा है॥"],
        ["ここは東京です。", "大きい！", "そうか？」", "はい。"],
        ["So .", "OK .", "It 's fine ."],
    ],
)
def test_sentences_on_one_line(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


WRAPPED = """Nell came down to Vantry in the first week of March on a cart, with
Wick, who was nine, and a sack, which was all that they owned. The
cheese was a pound, but it had been weighed in its paper, said Mr.
Quist, and cut. He had a key, a walnut and a pen, which he put
in a row.
  When Nell took the walnut in her hand and closed her eyes, she could
feel nothing but the whole weight of it on her palm. Not a grain

Chapter II
The Sisters"""


@pytest.mark.parametrize(
    "text",
    [
        "Ab dem 1. Januar kostet es zwei Euro.",
        "Am 19. November zwischen 8 und 13 Uhr.",
        "Im 19. Jahrhundert lag es im 3. Stock.",
        "Den 5. Mai 1930 åpnet skolen.",
    ],
)
def test_an_ordinal_ends_no_sentence(text: str) -> None:
    assert sentence_spans(text) == [(0, len(text))]
    assert len(sentence_spans(f"He is 12. {text}")) == 2


def test_hard_wrapped_lines_are_one_text_and_short_lines_are_not() -> None:
    assert [" ".join(each.split()) for each in sentences(WRAPPED)] == [
        "Nell came down to Vantry in the first week of March on a cart, "
        "with Wick, who was nine, and a sack, which was all that they owned.",
        "The cheese was a pound, but it had been weighed in its paper, said Mr. Quist, and cut.",
        "He had a key, a walnut and a pen, which he put in a row.",
        "When Nell took the walnut in her hand and closed her eyes, "
        "she could feel nothing but the whole weight of it on her palm.",
        "Not a grain",
        "Chapter II",
        "The Sisters",
    ]


def test_turns_lists_and_headings_begin_on_their_own_line() -> None:
    lines = [
        "# The long causeway and the town at its end, for everyone",
        "Keeper Q: we ought to weigh each of them in both of the pans",
        "Clerk N: the beam has moved by a hair and I do not know where",
        "- the second item of the list, which is as long as the others",
        "3) the third item of the list, also as long as all the others",
        "[00:12:03] and here a line with the time at which it was said",
        "Nov  4 22:43:57 strongroom upsd: mains lost, and on battery for now",
    ]
    assert sentences("\n".join(lines)) == lines


def test_what_is_too_long_is_cut_at_whitespace() -> None:
    text = "lorem ipsum " * 1_000
    pieces = sentences(text)
    assert all(piece.startswith(("lorem", "ipsum")) and piece.endswith(("lorem", "ipsum")) for piece in pieces)
    assert min(map(len, pieces[:-1])) > LONGEST - 10
    assert [len(piece) for piece in sentences("x" * (2 * LONGEST + 1))] == [LONGEST, LONGEST, 1]


@pytest.mark.parametrize(
    "sign", ["x", "word ", ".", "A. ", '."', '"', "[", " \n", "\n", "a:\n", "。", ". ", "1. ", "[1]", "x.[a]"]
)
def test_no_text_takes_more_than_linear_time(sign: str) -> None:
    text = sign * (100_000 // len(sign))
    started = time.process_time()
    sentence_spans(text)
    assert time.process_time() - started < 2
