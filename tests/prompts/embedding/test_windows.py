from conspectus.prompts.embedding.windows import estimated_spans
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given
from hypothesis import strategies as st

PIECES = st.one_of(
    st.sampled_from(
        [
            "the ",
            "Wittgenstein's ",
            "北京大学",
            "Ålesund ",
            "x" * 90,
            "9f86d081884c7d65" * 9,
            "👩‍👩‍👧",
            "สวัสดี",
            "\udcff",
        ]
    ),
    st.text(max_size=8),
)


@given(st.lists(PIECES, max_size=30))
def test_spans_lie_in_order_and_are_small(pieces: list[str]) -> None:
    text = "".join(pieces)
    spans = estimated_spans(text)
    last = (0, 0)
    for start, stop in spans:
        assert start < stop
        assert last[1] <= start or (start, stop) == last, "a Korean syllable can be several tokens"
        held = text[start:stop]
        assert len(held.encode("utf-8", "replace")) <= 3 or len(held) == 1 or (held.isascii() and len(held) < 20)
        last = (start, stop)
    assert len(spans) >= count_tokens(text)


def test_what_our_tokenizer_takes_for_one_token_is_many() -> None:
    assert len(estimated_spans("ⴰⵣⵓⵍ" * 5)) == 20  # Tifinagh, which our vocabulary does not know
    assert len(estimated_spans("👍" * 7)) == 7
    assert len(estimated_spans("A plain sentence of eight words, and more.")) == 10
    assert estimated_spans("") == []
