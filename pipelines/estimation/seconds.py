"""How long a server will take, from the calls, their latency, and what is allowed at once and a minute."""

from dataclasses import dataclass

FIRST_TOKEN, TOKENS_A_SECOND = 0.7, 60.0
"""Without a word on latency: seconds until a reply begins, and how fast it is written. Hosted models of the size of
GPT-4o write 50 to 100 tokens a second."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a server may be asked. `latency` is seconds a call, None where it follows from what is written."""

    latency: float | None
    concurrency: int
    requests_per_minute: int | None
    tokens_per_minute: int | None

    def seconds(self, calls: float, tokens: float, written: float) -> float:
        """Return how long so many calls take that use so many tokens, of which `written` are in the replies."""
        if calls <= 0:
            return 0.0
        latency = FIRST_TOKEN + written / calls / TOKENS_A_SECOND if self.latency is None else self.latency
        in_turn = calls * latency / min(self.concurrency, calls) if calls >= 1 else latency
        by_requests = 60 * calls / self.requests_per_minute if self.requests_per_minute else 0.0
        by_tokens = 60 * tokens / self.tokens_per_minute if self.tokens_per_minute else 0.0
        return max(in_turn, by_requests, by_tokens)

    def assumed(self) -> str:
        """Say what the time rests on."""
        if self.latency is None:
            latency = f"a call takes {FIRST_TOKEN:g} s and 1 s for {TOKENS_A_SECOND:.0f} tokens of reply (--latency)"
        else:
            latency = f"a call takes {self.latency:g} s (--latency)"
        limits = [f"{self.concurrency} calls at once"]
        if self.requests_per_minute:
            limits.append(f"{self.requests_per_minute:,} requests a minute")
        if self.tokens_per_minute:
            limits.append(f"{self.tokens_per_minute:,} tokens a minute")
        return f"{latency}; {', '.join(limits)}"
