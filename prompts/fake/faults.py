"""What goes wrong, how often, and with which request."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from conspectus.prompts.fake.asked import FakeRequest
from conspectus.prompts.fake.chance import unit
from conspectus.prompts.fake.malformed import MalformedKind
from pydantic import ConfigDict

TransportFault = Literal[
    "429",
    "500",
    "502",
    "503",
    "529",
    "html_502",
    "bad_json",
    "timeout",
    "drop",
    "cut_body",
    "cut_stream",
    "slow",
]
FaultKind = TransportFault | MalformedKind
RetryStyle = Literal["seconds", "date", "ms", "missing"]

TRANSPORT_FAULTS: tuple[TransportFault, ...] = get_args(TransportFault)


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong: `Faults({"429": 0.1, "timeout": 0.01})`, or `Faults(script={"Scrooge": "500"})`.

    rates           the probability of each kind; together at most 1
    script          by request number (from 0; as digits where JSON has no numbers for keys) or by a regular expression
                    on the prompt: a kind, which always strikes, or kinds for the first, second, ... attempt of the
                    same request (None: no fault), after which it succeeds. What the script says goes before the rates.
    by              "number" draws by the number of the request: repeatable where requests come in the same order.
                    "prompt" draws by what is asked and its attempt: repeatable in any order.
    retry_after     seconds, sent with 429, 502, 503 and 529
    retry_style     "seconds" (Retry-After: 2), "date" (an HTTP date, rounded up to a whole second), "ms" (only
                    retry-after-ms) or "missing"
    slow_seconds    how long a slow body takes

    Kinds: 429, 500, 502, 503 and 529 are errors in the API's form; html_502 is a proxy's page; bad_json is a broken
    body with status 200; timeout answers nothing until the client gives up; drop closes the connection before the
    headers; cut_body sends half of what Content-Length promises and cut_stream half of a stream (each does what the
    other does where the reply is of the other sort); slow sends the body in ten parts. Every kind of `MALFORMED`
    spoils the text of a chat completion.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    rates: Mapping[FaultKind, float] = field(default_factory=dict)
    script: Mapping[int | str, FaultKind | Sequence[FaultKind | None]] = field(default_factory=dict)
    by: Literal["number", "prompt"] = "number"
    retry_after: float = 1.0
    retry_style: RetryStyle = "seconds"
    slow_seconds: float = 1.0

    def __post_init__(self) -> None:
        unknown = [kind for kind in self._named() if kind not in KINDS]
        if unknown:
            raise ValueError(f"No fault is called {unknown[0]!r}. There are: {', '.join(KINDS)}.")
        if any(rate < 0 for rate in self.rates.values()) or sum(self.rates.values()) > 1 + 1e-9:
            raise ValueError("Rates of faults are probabilities: none below 0, together at most 1.")

    def _named(self) -> list[str]:
        scripted = [[value] if isinstance(value, str) else value for value in self.script.values()]
        return [*self.rates, *(kind for kinds in scripted for kind in kinds if kind is not None)]

    def draw(self, request: FakeRequest, seed: int) -> FaultKind | None:
        """Return what goes wrong with this request, None where nothing does."""
        for key, kinds in self.script.items():
            if _meant(key, request):
                if isinstance(kinds, str):
                    return kinds
                return kinds[request.attempt] if request.attempt < len(kinds) else None
        if not self.rates:
            return None
        what = request.number if self.by == "number" else (request.path, request.prompt, request.attempt)
        left = unit("fault", seed, what)
        for kind, rate in self.rates.items():
            left -= rate
            if left < 0:
                return kind
        return None


def _meant(key: int | str, request: FakeRequest) -> bool:
    """Whether a key of the script means this request."""
    if isinstance(key, int) or key.isdecimal():
        return int(key) == request.number
    return re.search(key, request.prompt) is not None


KINDS: tuple[str, ...] = (*TRANSPORT_FAULTS, *get_args(MalformedKind))
"""All kinds of faults."""
