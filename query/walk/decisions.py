"""The decisions of walks: a choice among items, and a verdict on what was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.replies.choose import choose
from conspectus.prompts.replies.structured import CountedModel
from conspectus.query.types import Passage
from conspectus.query.types.trace import Considered
from conspectus.query.walk.log import WalkLog, failure_reason
from conspectus.storage.errors import ModelError


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
        considered: Candidate answers, for the trace.
        calls: Calls of a language model.
        why: The reason for a failure.
        lack: Without a model: what the graph lacks for an answer, "" if unknown.
        repeats: The model's answer only repeats itself, the question or the prompt.
    """

    sufficient: bool
    text: str = ""
    clues: str = ""
    names: tuple[str, ...] = ()
    relations: tuple[int, ...] = ()
    passages: tuple[Passage, ...] = ()
    considered: tuple[Considered, ...] = ()
    calls: int = 0
    why: str = ""
    lack: str = ""
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
    log.add(stage, depth, at, verdict.considered, f"{outcome}: {detail}" if detail else outcome, verdict.calls)
