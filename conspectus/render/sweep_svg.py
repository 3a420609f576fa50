"""Plot a sweep as SVG: one panel per metric, one line per method, with its 95 % confidence interval.

Generated without a library, like the other drawings: the same result gives the same bytes.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from conspectus.pipelines.readers.filenames import visible

_WIDTH, _HEIGHT, _LEFT, _TOP, _BELOW, _RIGHT = 420, 240, 64, 44, 52, 24
"""Width and height of a panel's plot area, and the space around it."""
_ACROSS = 2
_COLOURS = ("#1f5f8b", "#b3541e", "#4a7c45", "#7a4b8c", "#8a6d1d", "#2d7f83")
_INK, _PALE, _GRID = "#1c2b3a", "#51616f", "#dfe5ea"
_LEGEND = 22
_BAND = "bands: 95 % bootstrap intervals"


def sweep_svg(result: Mapping[str, Any]) -> str:
    """Return the plot of the result of `conspectus evaluate --sweep`; values are in the given order."""
    sweep = result["sweep"]
    values = list(sweep["values"])
    runs = [sweep["values"][value]["methods"] for value in values]
    methods = list(dict.fromkeys(name for run in runs for name in run))
    metrics = list(
        dict.fromkeys(
            metric
            for run in runs
            for scores in run.values()
            for metric, found in scores.items()
            if isinstance(found, dict) and "mean" in found
        )
    )
    panels = [(metric, [_series(runs, name, metric) for name in methods]) for metric in metrics]
    panels.append(("median seconds", [_seconds(runs, name) for name in methods]))
    across = min(_ACROSS, len(panels))
    down = -(-len(panels) // across)
    step_x, step_y = _LEFT + _WIDTH + _RIGHT, _TOP + _HEIGHT + _BELOW
    first = _LEGEND * (len(methods) + 2) + 16
    width, height = across * step_x, first + down * step_y
    title = f"{result['suite']}: {sweep['key']}"
    drawn = [_words(_LEFT, 26, title, 15, _INK, "start", bold=True)]
    for place, name in enumerate(methods):
        y = 26 + _LEGEND * (place + 1)
        drawn.append(f'<line x1="{_LEFT}" y1="{y - 4}" x2="{_LEFT + 24}" y2="{y - 4}" {_stroke(place, 3)}/>')
        drawn.append(_words(_LEFT + 32, y, name, 12, _INK, "start"))
    drawn.append(_words(_LEFT, 26 + _LEGEND * (len(methods) + 1), _BAND, 11, _PALE, "start"))
    for place, (metric, lines) in enumerate(panels):
        x, y = place % across * step_x + _LEFT, first + place // across * step_y + _TOP
        drawn += _panel(metric, sweep["key"], values, lines, x, y)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" font-family="Helvetica, Arial, sans-serif">',
            f"<title>{_xml(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *drawn,
            "</svg>\n",
        ]
    )


_Point = tuple[float, float, float]
"""A mean with the ends of its interval."""


def _series(runs: Sequence[Mapping[str, Any]], name: str, metric: str) -> list[_Point | None]:
    found = [run.get(name, {}).get(metric) for run in runs]
    return [(result["mean"], result["low"], result["high"]) if result else None for result in found]


def _seconds(runs: Sequence[Mapping[str, Any]], name: str) -> list[_Point | None]:
    return [(run[name]["median_seconds"],) * 3 if name in run else None for run in runs]


def _panel(
    metric: str, key: str, values: Sequence[str], lines: Sequence[Sequence[_Point | None]], left: float, top: float
) -> list[str]:
    """Return one metric: its axes, and the lines of the methods."""
    highest = max((high for line in lines for point in line if point for high in (point[2],)), default=1.0)
    scale = _round_up(highest)
    bottom = top + _HEIGHT

    def x(place: int) -> float:
        return left + _WIDTH * (place + 0.5) / len(values)

    def y(value: float) -> float:
        return bottom - _HEIGHT * value / scale

    drawn = [_words(left, top - 10, metric, 13, _INK, "start", bold=True)]
    steps = _steps(scale)
    for step in range(steps + 1):
        value = scale * step / steps
        drawn.append(
            f'<line x1="{left:g}" y1="{y(value):g}" x2="{left + _WIDTH:g}" y2="{y(value):g}" stroke="{_GRID}"/>'
        )
        drawn.append(_words(left - 8, y(value) + 4, f"{value:g}", 11, _PALE, "end"))
    for place, value_given in enumerate(values):
        drawn.append(_words(x(place), bottom + 18, value_given, 11, _PALE))
    drawn.append(_words(left + _WIDTH / 2, bottom + 36, key, 11, _PALE))
    for number, line in enumerate(lines):
        points = [(x(place), point) for place, point in enumerate(line) if point]
        if not points:
            continue
        upper = [f"{at:.1f},{y(high):.1f}" for at, (_, _, high) in points]
        lower = [f"{at:.1f},{y(low):.1f}" for at, (_, low, _) in reversed(points)]
        middle = " ".join(f"{at:.1f},{y(mean):.1f}" for at, (mean, _, _) in points)
        colour = _colour(number)
        drawn.append(f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" fill-opacity="0.15"/>')
        drawn.append(f'<polyline points="{middle}" fill="none" {_stroke(number, 2)}/>')
        drawn += [
            f'<circle cx="{at:.1f}" cy="{y(mean):.1f}" r="3.5" fill="{colour}"><title>{mean:.3f}</title></circle>'
            for at, (mean, _, _) in points
        ]
    return drawn


def _round_up(value: float) -> float:
    """Return the least of 1, 2, 4, 5 and 8 times a power of ten that is not below a value.

    >>> [_round_up(value) for value in (0.73, 0.012, 3.0, 0.0)]
    [0.8, 0.02, 4.0, 1.0]
    """
    if value <= 0:
        return 1.0
    power = 1.0
    while power > value:
        power /= 10
    while power * 10 <= value:
        power *= 10
    return next((round(power * item, 12) for item in (1, 2, 4, 5, 8) if power * item >= value), round(power * 10, 12))


def _steps(scale: float) -> int:
    """Return the number of round steps of an axis up to 1, 2, 4, 5 or 8 times a power of ten.

    >>> [_steps(scale) for scale in (0.5, 1.0, 0.02, 4.0)]
    [5, 5, 4, 4]
    """
    return 5 if f"{scale:e}"[0] in "15" else 4


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _stroke(number: int, width: int) -> str:
    """Return the line style of a method: dashed if its colour is used twice."""
    dashes = ' stroke-dasharray="7 4"' if number >= len(_COLOURS) else ""
    return f'stroke="{_colour(number)}" stroke-width="{width}"{dashes}'


def _words(x: float, y: float, text: str, size: float, fill: str, anchor: str = "middle", *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
    return f'<text {place} font-size="{size:g}"{weight} fill="{fill}">{_xml(text)}</text>'


def _xml(text: str) -> str:
    return escape(visible(" ".join(text.split())))
