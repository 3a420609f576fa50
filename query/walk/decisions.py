"""The decisions of walks: a choice among items, and a verdict on what was found."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.replies.choose import choose
from conspectus.prompts.replies.structured import CountedModel
from conspectus.query.step_listeners import tell_step
from conspectus.query.types import Passage, Step
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


@dataclass(frozen=True, slots=True)
class Choice:
    """The items that a policy keeps.

    Attributes:
        kept: Positions of the kept items, best first.
        scores: Their scores, not negative, if they were scored.
        considered: All items, for the trace.
        calls: Calls of a language model.
        why: The reason why nothing is kept, "" otherwise.
        failed: Whether the reason is that a model gave no usable reply.
    """

    kept: tuple[int, ...]
    scores: tuple[float, ...] = ()
    considered: tuple[Considered, ...] = ()
    calls: int = 0
    why: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the results of a walk answer the question.

    Attributes:
        text: The answer, if any.
        clues: The findings so far.
        names: The answer entities, best first.
        relations: Relation rows that support the answer, best first.
        passages: Passages that support it.
        calls: Calls of a language model.
        why: The reason for a failure.
        repeats: The model's answer only repeats itself, the question or the prompt.
    """

    sufficient: bool
    text: str = ""
    clues: str = ""
    names: tuple[str, ...] = ()
    relations: tuple[int, ...] = ()
    passages: tuple[Passage, ...] = ()
    calls: int = 0
    why: str = ""
    repeats: bool = False


def weighed(
    names: Sequence[str], kept: Sequence[int], why: str, scores: Mapping[int, float] | None = None
) -> tuple[Considered, ...]:
    """Return items for a trace: the kept ones with the reason, which is that of all if none is kept."""
    of = {} if scores is None else scores
    return tuple(
        Considered(name, at in kept, why if at in kept or not kept else "not picked", of.get(at))
        for at, name in enumerate(names)
    )


async def chosen(
    model: LanguageModel,
    request: Request,
    items: Sequence[str],
    also: Sequence[str] = (),
    *,
    most: int,
    least: float = 0.0,
) -> Choice:
    """Return up to `most` items that a model chooses with at least the score `least`; after a failure none is kept.

    Args:
        model: The model; it is asked once, and once more if its reply cannot be used.
        request: The request.
        items: The items as the prompt shows them.
        also: Other names of the items, in the same order; those of the trace.
        most: The largest number of items.
        least: The least score, 0 to 1.
    """
    counted, names = CountedModel(model), also or items  # others may ask at the same time
    try:
        scores = await choose(counted, request, items, also)
    except ModelError as error:
        why = failure_reason(error)
        return Choice((), (), weighed(names, (), why), counted.calls, why, failed=True)
    helpful = sorted((at for at, score in scores.items() if score >= least), key=lambda at: -scores[at])
    kept = tuple(helpful[:most])
    why = "" if kept else "the model finds none that helps"
    considered = weighed(names, kept, "chosen by the model" if kept else why, scores)
    return Choice(kept, tuple(scores[at] for at in kept), considered, counted.calls, why)


def log_choice(log: WalkLog, stage: str, depth: int, at: str, choice: Choice) -> None:
    """Log a choice."""
    outcome = f"{len(choice.kept)} of {len(choice.considered)} kept" + (f" ({choice.why})" if choice.why else "")
    log.add(stage, depth, at, choice.considered, outcome, choice.calls)


def log_verdict(log: WalkLog, stage: str, depth: int, verdict: Verdict, at: str = "") -> None:
    """Log a verdict."""
    detail = "; ".join(part for part in (verdict.text[:200], verdict.why) if part)
    outcome = "sufficient" if verdict.sufficient else "not sufficient"
    log.add(stage, depth, at, outcome=f"{outcome}: {detail}" if detail else outcome, calls=verdict.calls)
