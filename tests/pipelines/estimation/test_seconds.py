"""How long a server will take."""

import pytest
from conspectus.pipelines.estimation.seconds import FIRST_TOKEN, TOKENS_A_SECOND, Pace


def test_calls_share_what_is_allowed_at_once() -> None:
    assert Pace(0.2, 32, None, None).seconds(320, 1e6, 1e5) == pytest.approx(2.0)
    assert Pace(0.2, 32, None, None).seconds(3, 1e3, 1e2) == pytest.approx(0.2)
    assert Pace(0.2, 32, None, None).seconds(0, 0, 0) == 0.0


def test_without_a_latency_it_follows_from_what_is_written() -> None:
    assert Pace(None, 1, None, None).seconds(2, 500, 2 * TOKENS_A_SECOND) == pytest.approx(2 * (FIRST_TOKEN + 1))


def test_limits_a_minute_hold_calls_back() -> None:
    assert Pace(0.1, 32, 60, None).seconds(120, 1000, 10) == pytest.approx(120.0)
    assert Pace(0.1, 32, None, 1000).seconds(2, 3000, 10) == pytest.approx(180.0)
    assert "60 requests a minute" in Pace(0.1, 32, 60, 1000).assumed()
    assert "1,000 tokens a minute" in Pace(0.1, 32, 60, 1000).assumed()
