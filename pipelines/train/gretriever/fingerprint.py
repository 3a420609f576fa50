"""What a folder was begun with: a training goes on only where it is the same."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conspectus.pipelines.evaluation.graphqa.types import GraphQa
from conspectus.pipelines.train.gretriever.plan import Plan
from conspectus.pipelines.train.gretriever.state import write_json
from conspectus.query.methods.gretriever.soft.checkpoint import Made, as_rows
from conspectus.storage.errors import UsageError
from conspectus.storage.hashing import digest
from pydantic import TypeAdapter, ValidationError

BEGUN = "training.json"
_MOST_NAMED = 3


def begin(out: Path, made: Made, plan: Plan, data: GraphQa) -> None:
    """Write down what is trained in a folder; UsageError names what was otherwise where another training is there."""
    questions = digest(
        *(
            f"{part} {each.id} {each.graph.to_text()} {each.question} {each.answers}"
            for part in ("training", "validation", "test")
            for each in getattr(data, part)
        )
    )
    now: Any = {"made": as_rows(made), "plan": asdict(plan), "data": data.name, "questions": questions}
    file = out / BEGUN
    out.mkdir(parents=True, exist_ok=True)
    if file.is_file():
        told = ", ".join(_changes(_read(file), now))
        if told:
            raise UsageError(f"{out} holds another training ({told}): name a folder that is new")
    write_json(file, now)


def _read(file: Path) -> Any:  # noqa: ANN401  (any JSON value may stand in a file)
    try:
        return TypeAdapter(Any).validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        told = " ".join(str(error).split())[:200]
        raise UsageError(f"{file} cannot be read: {told}; name a folder that is new") from error


def _changes(then: Any, now: Any) -> list[str]:  # noqa: ANN401
    """Return what differs between two values, a few names with what they were and are."""
    before, after = dict(_leaves(then)), dict(_leaves(now))
    names = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    told = [f"{name} was {_short(before.get(name))} and is {_short(after.get(name))}" for name in names]
    return told[:_MOST_NAMED] + (["..."] if len(told) > _MOST_NAMED else [])


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Yield (name, value) for what is no object; the name is that of the innermost key."""
    if not isinstance(value, dict):
        yield name, value
        return
    for key, each in value.items():
        yield from _leaves(each, key)


def _short(value: object) -> str:
    return f"{value!s:.40}"
