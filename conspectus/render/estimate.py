"""An estimate as text."""

import shlex
from collections.abc import Mapping
from typing import Any

_HEAD = ("step", "model", "calls", "remembered", "prompt", "completion", "cost", "time")


def estimate(made: Mapping[str, Any]) -> str:
    """Return what indexing would take, as a table of steps with their sum, the range, and what it rests on."""
    lines = [
        f"{shlex.quote(made['index'])}: {made['documents']:,} documents, {made['chunks']:,} chunks; nothing was asked"
    ]
    if made["unchanged"]:
        return f"{shlex.quote(made['index'])}: unchanged, indexing would ask no model"
    if not made["steps"]:
        return f"{lines[0]}, and no server is needed"
    rows = [_HEAD, *(_row(each) for each in (*made["steps"], made["total"]))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    table = [_aligned(row, widths) for row in rows]
    lines += [table[0], "  ".join("-" * width for width in widths), *table[1:-1]]
    lines += ["  ".join("-" * width for width in widths), table[-1]]
    low, high = made["total"]["low"], made["total"]["high"]
    lines.append(
        f"range: {low['calls']:,} to {high['calls']:,} calls, {low['tokens']:,} to {high['tokens']:,} tokens, "
        f"{_dollars(low['cost'])} to {_dollars(high['cost'])}"
    )
    if made["observed"]:
        lines.append(f"length of replies: as the memo holds them for {made['observed']:,} chunks")
    elif made["rehearsed"]:
        lines.append("length of replies: as GPT-4o's to another text; the model's own are not known yet")
    if 0 < made["rehearsed"] < made["chunks"]:
        lines.append(f"from a sample of {made['rehearsed']:,} chunks")
    lines.append(f"time: {made['time_assumes']}; what this machine does itself comes on top")
    return "\n".join([*lines, *made["warnings"]])


def _row(each: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        each["step"],
        each["model"],
        f"{each['calls']:,}",
        f"{each['remembered']:,}",
        f"{each['prompt_tokens']:,}",
        f"{each['completion_tokens']:,}",
        _dollars(each["cost"]),
        _time(each["seconds"]),
    )


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    texts = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
    numbers = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
    return "  ".join([*texts, *numbers])


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:.4f}"


def _time(seconds: float) -> str:
    """Return seconds as people say them.

    >>> _time(7.26), _time(100), _time(7300)
    ('7.3 s', '1 min 40 s', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min"
