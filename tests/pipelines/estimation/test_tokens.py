"""The tokens that a server is expected to count."""

import pytest
from conspectus.pipelines.estimation.replies import server_tokens
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.text(), max_size=5))
def test_the_tokens_of_lines_add_up(lines: list[str]) -> None:
    parts = [part for line in lines for part in line.split("\n")]
    assert server_tokens("\n".join(lines)) == pytest.approx(sum(map(server_tokens, parts)), abs=1e-3)


@given(st.text(), st.text())
def test_more_text_has_no_fewer_tokens(one: str, more: str) -> None:
    assert server_tokens(one + "\n" + more) >= server_tokens(one) - 1e-9


@pytest.mark.parametrize(
    ("text", "o200k"),
    [
        ("According to a notice of 10 January 2022, Corvell Ltd was fined for rigging bids in tenders.", 25),
        ('("entity"<|>"Piet Lund"<|>"person"<|>"Piet Lund leaves as director of the Harwell Observatory.")##', 28),
        ("北京大学创办于一八九八年，初名京师大学堂，是中国近代第一所国立综合性大学。", 29),
    ],
)
def test_it_is_near_the_encoding_of_a_real_model(text: str, o200k: int) -> None:
    # Counted with the o200k encoding (bpe-openai 0.1.4).
    assert server_tokens(text) == pytest.approx(o200k, rel=0.25)
