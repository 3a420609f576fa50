"""Draw how retrieval reached passages as SVG: the question, its seeds, and the nodes reached hop by hop.

Generated without a library: for each passage a panel with a column for each hop, boxes for passages, round ones for
entities, and lines as thick as the mass that they carry. The same explanation gives the same bytes.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from conspectus.pipelines.readers.filenames import visible
from conspectus.query.explain.types import Explained, Explanation, LayeredNode, path_graph
from conspectus.render.layered_layout import layered
from conspectus.storage.errors import UsageError

_BOX, _HEIGHT, _GAP, _ROW = 250, 46, 180, 78
"""Width and height of a box, the space between columns, the height of a row."""
_MARGIN, _HEAD, _BETWEEN = 24, 60, 30
"""The margin, the space for the question at the top, and the space between panels."""
_NAME, _SMALL = 30, 40
"""Maximum columns of a name, and of a line below it; a Chinese character takes two."""
_THIN, _THICK = 1.2, 8.0
INK, PALE, LINE, _ASKED = "#1c2b3a", "#51616f", "#4a6785", "#8a7a4d"


@dataclass(frozen=True, slots=True)
class _Point:
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class _DrawnEdge:
    """An edge to draw: source and target node, label, title, width, and whether it begins at the question."""

    source: int
    end: int
    words: str
    title: str
    width: float
    asked: bool


def svg(found: Explanation) -> str:
    """Return the drawing of an explanation; UsageError if no walk was made, or it reached none of the passages."""
    shown = [passage for passage in found.passages if passage.paths]
    if not shown:
        raise UsageError(f"there is no path to draw: {_reason(found)}")
    width, top, panels = 0.0, float(_HEAD), []
    for entry in shown:
        panel, right, bottom = _panel(entry, top)
        panels.append(panel)
        width, top = max(width, right), bottom + _BETWEEN
    width, height = width + _MARGIN, top - _BETWEEN + _MARGIN
    asked = heading(_MARGIN, _MARGIN + 10, found.question, width - 2 * _MARGIN)
    lower = (len(asked) - 1) * HEADING
    height += lower
    title = "; ".join(item.passage.title or item.passage.text[:40] for item in shown)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" role="img" font-family="Helvetica, Arial, sans-serif">',
            f"<title>{xml(f'How the walk came to: {title}')}</title>",
            f"<desc>{xml(f'Paths of {found.method} for the question: {found.question}')}</desc>",
            '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="10" markerHeight="10" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker></defs>',
            f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
            *asked,
            *([f'<g transform="translate(0 {lower:g})">', *panels, "</g>"] if lower else panels),
            "</svg>\n",
        ]
    )


def _reason(found: Explanation) -> str:
    if found.method != "ppr":
        return f"the method {found.method!r} walks over no graph; ask with ppr"
    return "the walk did not reach the passage" if found.passages else found.trace[-1].detail


def _panel(passage: Explained, top: float) -> tuple[str, float, float]:
    """Return the drawing of one passage that begins at a height, its right edge and its lower edge."""
    graph = path_graph(passage)
    names = [node.node.name for node in graph.nodes]
    most = max((edge.mass for edge in graph.edges), default=1.0)
    # The question is in the first column, as node 0.
    lines = [_DrawnEdge(0, at, "", node.why, _THIN, True) for at, node in enumerate(graph.nodes, start=1) if node.why]
    for edge in graph.edges:
        title = f"{names[edge.source]} {edge.words} {names[edge.end]}"
        width = _THIN + (_THICK - _THIN) * edge.mass / most
        lines.append(_DrawnEdge(edge.source + 1, edge.end + 1, edge.words, title, width, False))
    layers = [0, *(node.layer + 1 for node in graph.nodes)]
    layout = layered(layers, [(line.source, line.end) for line in lines])
    middle = top + layout.extent * _ROW / 2
    lefts = [
        _Point(_MARGIN + x * (_BOX + _GAP), middle + y * _ROW) for x, y in zip(layers, layout.heights, strict=True)
    ]
    drawn = []
    for line, heights in zip(lines, layout.through, strict=True):
        passed = [
            _Point(_MARGIN + (layers[line.source] + place) * (_BOX + _GAP), middle + y * _ROW)
            for place, y in enumerate(heights, start=1)
        ]
        drawn.append(_drawn(line, lefts[line.source], passed, lefts[line.end]))
    target = len(graph.nodes) - 1
    boxes = [
        _box(item, at, passage.rank if place == target else None, place == target)
        for place, (item, at) in enumerate(zip(graph.nodes, lefts[1:], strict=True))
    ]
    question = _frame(lefts[0], 4, "#f4efe2", _ASKED, 1.2) + words_at(
        lefts[0].x + _BOX / 2, lefts[0].y + 5, "the question", 13, INK
    )
    right = _MARGIN + max(layers) * (_BOX + _GAP) + _BOX
    return "\n".join(["<g>", *drawn, question, *boxes, "</g>"]), right, top + layout.extent * _ROW


def _drawn(line: _DrawnEdge, source: _Point, passed: Sequence[_Point], end: _Point) -> str:
    """Return an edge: curves from column to column, straight across a column that it passes."""
    start = _Point(source.x + _BOX, source.y)
    if end.x > source.x:
        path = [f"M{start.x:g} {start.y:g}"]
        stops = [start, *(stop for at in passed for stop in (at, _Point(at.x + _BOX, at.y))), end]
        for number, (a, b) in enumerate(pairwise(stops)):
            straight = number % 2 == 1
            bend = (b.x - a.x) / 2
            path.append(
                f"L{b.x:g} {b.y:g}" if straight else f"C{a.x + bend:g} {a.y:g} {b.x - bend:g} {b.y:g} {b.x:g} {b.y:g}"
            )
        label = _Point((stops[-2].x + end.x) / 2, (stops[-2].y + end.y) / 2)
    else:  # two paths pass a pair of nodes in both orders
        finish = _Point(end.x + _BOX, end.y)
        out = max(start.x, finish.x) + _GAP / 2
        path = [f"M{start.x:g} {start.y:g}C{out:g} {start.y:g} {out:g} {finish.y:g} {finish.x:g} {finish.y:g}"]
        label = _Point(out - _GAP / 8, (start.y + finish.y) / 2)
    look = f'stroke="{_ASKED}" stroke-dasharray="4 4"' if line.asked else f'stroke="{LINE}" stroke-opacity="0.65"'
    tip = "" if line.asked else ' marker-end="url(#end)"'
    said = words_at(label.x, label.y - 5, cut(line.words, _NAME), 10.5, INK, halo=True) if line.words else ""
    return (
        f'<g><title>{xml(line.title)}</title><path d="{"".join(path)}" fill="none" {look} '
        f'stroke-width="{line.width:.2f}"{tip}/>{said}</g>'
    )


def _box(placed: LayeredNode, at: _Point, rank: int | None, explained: bool) -> str:
    name = f"{rank}. {placed.node.name}" if rank else placed.node.name
    is_passage = placed.node.kind == "passage"
    below = placed.why or placed.node.kind
    fill, stroke = ("#dcebf7", LINE) if is_passage else ("#e8f3e4", "#5c7f4f")
    middle = at.x + _BOX / 2
    return (
        f"<g><title>{xml(f'{name} ({below})')}</title>"
        f"{_frame(at, 6 if is_passage else _HEIGHT / 2, fill, stroke, 3 if explained else 1.2)}"
        f"{words_at(middle, at.y - 3, _shortened(name), 13, INK, bold=True)}"
        f"{words_at(middle, at.y + 13, cut(below, _SMALL), 10.5, PALE)}</g>"
    )


def _shortened(name: str) -> str:
    """Return a name that fits into a box; of a path of headings its end, which distinguishes passages."""
    if " > " not in name or sum(map(_columns, name)) <= _NAME:
        return cut(name, _NAME)
    return f"…{cut(name[::-1], _NAME - 1).rstrip('…')[::-1]}"


def _frame(at: _Point, corner: float, fill: str, stroke: str, width: float) -> str:
    return (
        f'<rect x="{at.x:g}" y="{at.y - _HEIGHT / 2:g}" width="{_BOX}" height="{_HEIGHT}" rx="{corner:g}" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="{width:g}"/>'
    )


def words_at(
    x: float,
    y: float,
    text: str,
    size: float,
    fill: str,
    *,
    anchor: str = "middle",
    bold: bool = False,
    halo: bool = False,
) -> str:
    """Return a line of text; a halo, a pale background, keeps it readable across lines."""
    ground = ""
    if halo:
        wide = wide_of(text, size)
        ground = (
            f'<rect class="ground" x="{x - wide / 2 - 2:.1f}" y="{y - size:.1f}" width="{wide + 4:.1f}" '
            f'height="{size * 1.35:.1f}" rx="3" fill="#ffffff" fill-opacity="0.85"/>'
        )
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'{ground}<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size:g}"{weight} '
        f'fill="{fill}">{xml(text)}</text>'
    )


HEADING = 20
"""Height of a line of a heading."""
_MOST_LINES = 4


def heading(x: float, y: float, text: str, width: float) -> list[str]:
    """Return a heading in lines that fit a width; a longer one is truncated to the maximum number of lines."""
    lines = wrapped(text, max(int(width / (15 * _BOLD)), 10))
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1][:-1].rstrip()}…"]
    return [
        words_at(x, y + place * HEADING, line, 15, INK, anchor="start", bold=True) for place, line in enumerate(lines)
    ]


_REGULAR, _BOLD = 0.54, 0.6
"""Width of a column relative to the font size, in most sans-serif fonts."""


def wide_of(text: str, size: float) -> float:
    """Return the approximate width of a text."""
    return sum(map(_columns, text)) * size * _REGULAR


def _columns(sign: str) -> int:
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def wrapped(text: str, columns: int) -> list[str]:
    """Return a text in lines of at most `columns`, broken between words if possible.

    >>> wrapped("where was she born", 9)
    ['where was', 'she born']
    """
    lines, line, taken = list[str](), "", 0
    for word in text.split():
        need = sum(map(_columns, word))
        if line and taken + 1 + need > columns:
            lines.append(line)
            line, taken = "", 0
        line, taken = (f"{line} {word}", taken + 1 + need) if line else (word, need)
        while taken > columns:  # a word, or a text without spaces, that is longer than a line
            place, held = 0, 0
            while held + _columns(line[place]) <= columns:
                held += _columns(line[place])
                place += 1
            lines.append(line[:place])
            line, taken = line[place:], taken - held
    return [*lines, line] if line or not lines else lines


def cut(text: str, columns: int) -> str:
    """Return a text on one line, truncated to `columns`."""
    line = " ".join(text.split())
    taken = 0
    for place, sign in enumerate(line):
        taken += _columns(sign)
        if taken > columns:
            return f"{line[: max(place - 1, 0)].rstrip()}…"
    return line


def xml(text: str) -> str:
    """Return a text for XML: on one line, with special characters escaped, and those that XML forbids written out."""
    line = visible(" ".join(text.split()))
    return escape("".join(sign if sign.isprintable() else "\ufffd" for sign in line))
