"""The log of one walk: every decision in order, and the final paths."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from conspectus.query.step_listeners import tell_step
from conspectus.query.types import Step
from conspectus.query.types.trace import Chain, Considered, Decision, WalkTrace
from conspectus.storage.errors import BadAnswer, ModelError


@dataclass(slots=True, eq=False)
class WalkLog:
    """Collects decisions; the time of a decision is the time since the previous one."""

    decisions: list[Decision] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)
    _last: float = field(default_factory=time.perf_counter)

    def add(
        self,
        stage: str,
        depth: int,
        at: str = "",
        considered: Sequence[Considered] = (),
        outcome: str = "",
        calls: int = 0,
    ) -> None:
        """Append a decision (see `Decision` for the fields)."""
        now = time.perf_counter()
        decision = Decision(stage, depth, at, tuple(considered), outcome, now - self._last, calls)
        self.decisions.append(decision)
        tell_step(_step(decision))
        self._last = now

    def steps(self) -> tuple[Step, ...]:
        """Return the decisions as steps of a trace."""
        return tuple(map(_step, self.decisions))

    def trace(self) -> WalkTrace:
        """Return the decisions and the chains."""
        return WalkTrace(tuple(self.decisions), tuple(self.chains))


def failure_reason(error: ModelError) -> str:
    """Return the reason why a model's decision failed."""
    if isinstance(error, BadAnswer):
        return f"the reply cannot be used ({error.reason})"
    return f"no reply ({error})"


def _step(decision: Decision) -> Step:
    when = f"round {decision.depth}" if decision.depth else "start"
    return Step(decision.stage, f"{when}{f', {decision.at}' if decision.at else ''}: {decision.outcome}")
