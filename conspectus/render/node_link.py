"""Draw node-link diagrams as SVG: nodes in columns, lines with labels between them, a heading and a legend.

Generated without a library; the same input gives the same bytes, and texts from documents and models are escaped.
The layout is that of Sugiyama, Tagawa and Toda (1981) in its simplest form: an edge that skips columns takes a place in
each of them, and a column is ordered by the places of its nodes' neighbours in the column before, once from left to
right.
"""

import textwrap
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from html import escape
from itertools import accumulate, pairwise, zip_longest
from math import fsum
from typing import Any
from unicodedata import east_asian_width
from xml.etree.ElementTree import Element, fromstring

from conspectus.render.terminal import one_line

_WIDE, _GAP, _BETWEEN = 250.0, 190.0, 26
"""Width of a node, the space between columns, and the space between nodes and between panels."""
_NARROWEST, _WIDEST = 96.0, 190.0
"""Width of a node in a page."""
_GAPS = 0.8
"""Space between columns in a page, as a share of a node."""
_PAD, _ROW, _LINE_OF_NOTE, _PASSING = 6, 22, 13, 26
"""The margin in a node, the height of a row and of a note, and the height that an edge takes in a column it passes."""
_MARGIN, _LEADING, _LEAST_WIDTH, _SWATCH, _ITEM = 24, 20, 640, 14, 150
NOTE = 42
"""Maximum columns of a note, where a Chinese character takes two."""
_OF_NAME, _OF_NOTE, _OF_LABEL, _HEADING_LINES = 8.2, 5.9, 7.2, 4
"""Width of a column of a row, a note and a label, and maximum lines of the heading."""
_LEFT, _CENTRED, _BOLD = 'text-anchor="start"', 'text-anchor="middle"', 'font-weight="bold"'
_HALO = 'paint-order="stroke" stroke="#ffffff" stroke-width="4" stroke-linejoin="round"'
"""A pale outline, which keeps a label readable across lines."""
_INK, _PALE, _LINE, _DASHED = "#1c2b3a", "#51616f", "#4a6785", "#8a7a4d"


class Kind(Enum):
    """The kind of a node: its name in the legend, fill, stroke, width of the stroke, and radius of the corners."""

    QUESTION = ("the question", "#f4efe2", _DASHED, 1.2, 4)
    START = ("start", "#f4efe2", _LINE, 1.2, 8)
    STEP = ("step", "#eef4fa", _LINE, 1.2, 8)
    PASSAGE = ("passage", "#dcebf7", _LINE, 1.2, 6)
    EXPLAINED = ("explained passage", "#dcebf7", _LINE, 3, 6)
    ENTITY = ("entity", "#e8f3e4", "#5c7f4f", 1.2, 17)
    PRIZED = ("node with a prize", "#e8f3e4", "#5c7f4f", 1.2, 17)
    OTHER = ("node", "#ffffff", "#9fb2c4", 1.2, 17)
    ANSWER = ("answer", "#fbe9e0", "#b8572f", 2.2, 17)


@dataclass(frozen=True, slots=True)
class Node:
    """A node in a column, from 0: its names, one a row, and notes below them. Rows among `answers` have a colour.

    The title of a node or an edge has the complete text, for a pointer or a screen reader. `entities` are the ids of
    the entities of the rows, which a page links to.
    """

    column: int
    kind: Kind
    title: str
    rows: tuple[str, ...]
    notes: tuple[str, ...] = ()
    answers: frozenset[str] = frozenset()
    entities: tuple[str, ...] = ()

    @property
    def height(self) -> float:
        """The height of the box."""
        return 2 * _PAD + _ROW * len(self.rows) + _LINE_OF_NOTE * len(self.notes)

    @property
    def look(self) -> Kind:
        """The kind that is drawn: that of an answer if one of the rows is an answer."""
        return Kind.ANSWER if self.answers.intersection(self.rows) else self.kind


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between rows of nodes, each given as the numbers of the node and the row. A dashed one has no arrow."""

    source: tuple[int, int]
    target: tuple[int, int]
    label: str
    title: str
    width: float = 1.4
    dashed: bool = False


def layered(
    columns: Sequence[int], heights: Sequence[float], edges: Iterable[tuple[int, int]]
) -> tuple[list[float], list[range]]:
    """Return the centres of nodes in their columns, and for each edge the places of what it takes in columns it passes.

    Ties go to the earlier node, which is placed higher. The columns are centred around 0.

    >>> layered([0, 1, 1, 2], [10, 10, 30, 10], [(0, 1), (0, 2), (0, 3)])
    ([0.0, -28.0, -8.0, 0.0, 20.0], [range(4, 4), range(4, 4), range(4, 5)])
    """
    members: list[list[int]] = [[] for _ in range(max(columns) + 1)]
    for node, column in enumerate(columns):
        members[column].append(node)
    sizes, before, passing = [*heights], defaultdict[int, list[int]](list), list[range]()
    for source, target in edges:
        between = range(columns[source] + 1, columns[target])
        passing.append(range(len(sizes), len(sizes) + len(between)))
        sizes += [_PASSING] * len(between)
        for column, place in zip(between, passing[-1], strict=True):
            members[column].append(place)
        if columns[source] < columns[target]:
            for left, right in pairwise([source, *passing[-1], target]):
                before[right].append(left)
    centres = [0.0] * len(sizes)
    for items in members:
        items.sort(key=lambda item: fsum(centres[left] for left in before[item]) / max(len(before[item]), 1))
        top = -fsum(sizes[item] for item in items) / 2
        for item in items:
            centres[item] = top + sizes[item] / 2
            top += sizes[item]
    return centres, passing


def drawing(
    panels: Sequence[tuple[Sequence[Node], Sequence[Edge]]],
    question: str,
    told: str,
    title: str,
    description: str,
    width: int | None = None,
) -> str:
    """Return graphs, one below the other, as SVG.

    Args:
        panels: The nodes and edges of each graph.
        question: The heading; a long one is broken into lines, and truncated after four.
        told: The line below the heading.
        title: The title for screen readers.
        description: The description for screen readers.
        width: For a page: the pixels that it has. Then there is no heading and no legend, and the columns fit, if they
            need not be narrower than words are.
    """
    nodes = [node for panel, _ in panels for node in panel]
    beside = any(panel[e.source[0]].column == panel[e.target[0]].column for panel, edges in panels for e in edges)
    columns = max(node.column for node in nodes) + 1
    margin, wide, gap = _MARGIN, _WIDE, _GAP
    if width is not None:
        margin, wide = _PAD, (width - 2 * _PAD) / (columns + (columns - (not beside)) * _GAPS)
        wide = int(min(max(wide, _NARROWEST), _WIDEST))
        gap = int(wide * _GAPS)
    full = 2 * margin + columns * (wide + gap) - (0 if beside else gap)
    full = full if width else max(full, _LEAST_WIDTH)
    drawn = _heading(question, told, full) if width is None else []
    top = margin + (6.0 + _LEADING * len(drawn) if drawn else 0.0)
    for panel, edges in panels:
        parts, height = _panel(panel, edges, top, margin, wide, gap)
        drawn += ["<g>", *parts, "</g>"]
        top += height + _BETWEEN
    kinds = {node.look for node in nodes} if width is None else ()
    for place, kind in enumerate(kind for kind in Kind if kind in kinds):
        x = margin + place * _ITEM
        drawn.append(_frame(x, top, _SWATCH, _SWATCH, kind))
        drawn.append(_words(x + 20, top + 11, kind.value[0], 10.5, _PALE, _LEFT))
    height = top + (_SWATCH + margin if kinds else margin - _BETWEEN)
    ground = [f'<rect width="{full:g}" height="{height:g}" fill="#ffffff"/>'] if width is None else []
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {full:g} {height:g}" width="{full:g}" '
            f'height="{height:g}" role="img" font-family="Helvetica, Arial, sans-serif">',
            f"<title>{xml(title)}</title>\n<desc>{xml(description)}</desc>",
            '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
            'markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
            f'<path d="M0 0 L8 4 L0 8 z" fill="{_LINE}"/></marker></defs>',
            *ground,
            *drawn,
            "</svg>\n",
        ]
    )


def _heading(question: str, told: str, width: float) -> list[str]:
    """Return the lines above a drawing."""
    room = width - 2 * _MARGIN
    lines = [
        (line, 15.0, _INK, f"{_LEFT} {_BOLD}") for line in wrapped(question, int(room / (15 * 0.6)), _HEADING_LINES)
    ]
    lines.append((cut(told, int(room / (11.5 * 0.56))), 11.5, _PALE, _LEFT))
    return [_words(_MARGIN, _MARGIN + 6 + _LEADING * at, *line) for at, line in enumerate(lines)]


def elements(svg: str) -> list[Any]:
    """Return one of our drawings as lists of a tag, its attributes, and what is inside: a page makes elements of them.

    >>> elements('<svg><text x="1">a</text></svg>')
    ['svg', {}, ['text', {'x': '1'}, 'a']]
    """

    def listed(element: Element) -> list[Any]:
        text = [element.text] if (element.text or "").strip() else []
        return [element.tag.rpartition("}")[2], dict(element.attrib), *text, *map(listed, element)]

    return listed(fromstring(svg))  # noqa: S314  (a text that `drawing` wrote)


def _panel(
    nodes: Sequence[Node], edges: Sequence[Edge], top: float, margin: float, wide: float, gap: float
) -> tuple[list[str], float]:
    """Return the lines and boxes of one graph that begins at a height, and its own height."""
    together: dict[tuple[tuple[int, int], tuple[int, int]], list[Edge]] = {}
    for edge in edges:
        left, right = sorted((edge.source, edge.target), key=lambda end: (nodes[end[0]].column, end))
        together.setdefault((left, right), []).append(edge)
    columns, heights = [node.column for node in nodes], [node.height + _BETWEEN for node in nodes]
    centres, passing = layered(columns, heights, [(left[0], right[0]) for left, right in together])
    reach = max(abs(centre) + h / 2 for centre, h in zip_longest(centres, heights, fillvalue=_PASSING)) - _BETWEEN / 2
    middle = top + reach
    lefts = [margin + column * (wide + gap) for column in columns]
    at = [(x, middle + centre - node.height / 2) for x, centre, node in zip(lefts, centres, nodes, strict=False)]
    drawn = []
    for ((left, right), joined), through in zip(together.items(), passing, strict=True):
        (x1, y1), (x2, y2) = ((at[node][0], at[node][1] + _PAD + _ROW * (row + 0.5)) for node, row in (left, right))
        path = [(x1 + wide, y1)]
        for place, item in enumerate(through, start=1):
            x = x1 + place * (wide + gap)
            path += [(x, middle + centres[item]), (x + wide, middle + centres[item])]
        # In one column, or a loop: around the right side.
        path.append((x2, y2) if x1 < x2 else (x2 + wide, y2 + 8 * (left == right)))
        drawn.append(_line(path, joined, left, right, gap))
    return [*drawn, *(_box(node, *place, wide) for node, place in zip(nodes, at, strict=True))], 2 * reach


def _line(
    path: Sequence[tuple[float, float]],
    edges: Sequence[Edge],
    left: tuple[int, int],
    right: tuple[int, int],
    gap: float,
) -> str:
    """Return the edges between two nodes as one line: curves between columns, straight across one that it passes."""
    (x1, y1), (x2, y2) = path[-2:]
    if x1 == x2:
        out = x1 + gap * 0.4
        curve, label = f"M{x1:g} {y1:g}C{out:g} {y1:g} {out:g} {y2:g} {x2:g} {y2:g}", (x1 + gap * 0.45, (y1 + y2) / 2)
    else:
        curve, label = f"M{path[0][0]:g} {path[0][1]:g}", (x1 + (x2 - x1) * 0.56, y1 + (y2 - y1) * 0.62)
        for place, ((a, b), (c, d)) in enumerate(pairwise(path)):
            curve += f"L{c:g} {d:g}" if place % 2 else f"C{(a + c) / 2:g} {b:g} {(a + c) / 2:g} {d:g} {c:g} {d:g}"
    targets = {edge.target for edge in edges if not edge.dashed}
    tips = ' marker-end="url(#end)"' * (right in targets) + ' marker-start="url(#end)"' * (left in targets - {right})
    look = f'stroke="{_LINE}" stroke-opacity="0.7"' if targets else f'stroke="{_DASHED}" stroke-dasharray="4 4"'
    said = cut(", ".join(dict.fromkeys(edge.label for edge in edges)), int(gap / _OF_LABEL))
    title = "; ".join(dict.fromkeys(edge.title for edge in edges))
    return (
        f'<g><title>{xml(title)}</title><path d="{curve}" fill="none" {look} '
        f'stroke-width="{max(edge.width for edge in edges):.2f}"{tips}/>'
        f"{_words(label[0], label[1] - 4, said, 10.5, _INK, f'{_CENTRED} {_HALO}') if said else ''}</g>"
    )


def _box(node: Node, x: float, y: float, wide: float) -> str:
    parts = [_frame(x, y, wide, node.height, node.look)]
    for place, row in enumerate(node.rows):
        fill = Kind.ANSWER.value[2] if row in node.answers else _INK
        look = f"{_CENTRED} {_BOLD}"
        if place < len(node.entities):
            look += f' data-entity="{xml(node.entities[place])}"'
        name = cut(row, int(wide / _OF_NAME))
        parts.append(_words(x + wide / 2, y + _PAD + _ROW * place + 15, name, 12.5, fill, look))
    below = y + _PAD + _ROW * len(node.rows)
    for place, note in enumerate(node.notes):
        parts.append(
            _words(x + wide / 2, below + _LINE_OF_NOTE * place + 9, cut(note, int(wide / _OF_NOTE)), 10, _PALE)
        )
    return f'<g class="node"><title>{xml(node.title)}</title>{"".join(parts)}</g>'


def _frame(x: float, y: float, width: float, height: float, kind: Kind) -> str:
    _, fill, stroke, thickness, corner = kind.value
    return (
        f'<rect class="{kind.name.lower()}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
        f'rx="{min(corner, height / 2):g}" fill="{fill}" stroke="{stroke}" stroke-width="{thickness:g}"/>'
    )


def _words(x: float, y: float, text: str, size: float, fill: str = _INK, look: str = _CENTRED) -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{fill}" {look}>{xml(text)}</text>'


def _columns(sign: str) -> int:
    return 2 if east_asian_width(sign) in "WF" else 1


def wrapped(text: str, columns: int, lines: int) -> list[str]:
    """Return a text in lines of about `columns`, broken between words if possible, truncated after some lines.

    >>> wrapped("where was she born", 9, 4)
    ['where was', 'she born']
    """
    # A filler after each wide character gives it its two columns; texts contain no control characters here.
    wide = "".join(sign + "\0" * (_columns(sign) - 1) for sign in _plain(text))
    found = textwrap.wrap(wide, columns, max_lines=lines, placeholder="…", break_on_hyphens=False)
    return [line.replace("\0", "") for line in found]


def cut(text: str, columns: int) -> str:
    """Return a text on one line, truncated to `columns`; of a path of headings the end, which distinguishes passages.

    >>> cut("where was she born", 10), cut("Films > Grey Heron", 10)
    ('where was…', '…rey Heron')
    """
    line = _plain(text)
    step = -1 if " > " in line else 1
    ends = list(accumulate(map(_columns, line[::step])))
    if not ends or ends[-1] <= columns:
        return line
    return f"{line[::step][: bisect_right(ends, columns - 1)].rstrip()}…"[::step]


def _plain(text: str) -> str:
    """Return a text on one line, with the characters that XML forbids or that nobody sees written out."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in one_line(text))


def xml(text: str) -> str:
    """Return a text for XML: on one line, with its special characters escaped."""
    return escape(_plain(text))
