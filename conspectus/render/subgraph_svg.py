"""Draw the subgraph behind an answer, as SVG or as an HTML page that contains it.

Nodes are in columns by their distance in edges from the node with the highest prize, answers are distinguished by
colour, and lines have labels. Generated without a library; the same subgraph gives the same bytes.
"""

from collections.abc import Sequence

from conspectus.query.types.subgraph import RetrievedSubgraph
from conspectus.query.walk.graph import spoken
from conspectus.render.explanation_svg import INK, LINE, PALE, cut, words_at, xml
from conspectus.render.layered_layout import layered
from conspectus.storage.errors import UsageError

_WIDE, _HIGH, _GAP, _ROW = 210, 40, 190, 58
"""Width and height of a node, the space between columns, and the height of a row."""
_MARGIN, _HEAD = 24, 70
_NAME, _SAID = 28, 26
"""Maximum columns of a name, and of an edge's label; both are complete in a title."""
_ANSWER, _PRIZED = "#b8572f", "#5c7f4f"


def subgraph_svg(found: RetrievedSubgraph, question: str, method: str, answers: Sequence[str] = ()) -> str:
    """Return the drawing of a subgraph; `answers` are names of nodes. UsageError if it has no node."""
    if not found.nodes:
        raise UsageError("there is no subgraph to draw: nothing in the graph is near to the question")
    layers = _layers(found)
    columns = max(layers) + 1
    between = [(min(pair, key=layers.__getitem__), max(pair, key=layers.__getitem__)) for pair in _pairs(found)]
    layout = layered(layers, between)
    middle = _HEAD + layout.extent * _ROW / 2
    at = [
        (_MARGIN + layer * (_WIDE + _GAP), middle + y * _ROW) for layer, y in zip(layers, layout.heights, strict=True)
    ]
    width = max(_MARGIN * 2 + columns * _WIDE + (columns - 1) * _GAP + (_GAP // 2), 640)
    height = _HEAD + layout.extent * _ROW + _MARGIN
    marked = {spoken(answer).casefold() for answer in answers}
    lines = [_line(found, at, one, other) for one, other in _pairs(found)]
    boxes = [_box(found, number, at[number], marked) for number in range(len(found.nodes))]
    told = ", ".join(spoken(answer) for answer in answers[:5]) or "no answer"
    size = f"{len(found.nodes)} nodes and {len(found.relations)} edges of {found.searched[0]} and {found.searched[1]}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" role="img" font-family="Helvetica, Arial, sans-serif">',
            f"<title>{xml(f'The subgraph of {method} for: {question}')}</title>",
            f"<desc>{xml(f'{size}; {told}')}</desc>",
            '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
            f'markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
            f'<path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker></defs>',
            f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
            words_at(_MARGIN, _MARGIN + 6, cut(question, 90), 15, INK, anchor="start", bold=True),
            words_at(_MARGIN, _MARGIN + 24, cut(f"{method}: {told}; {size}", 100), 11.5, PALE, anchor="start"),
            *lines,
            *boxes,
            "</svg>\n",
        ]
    )


def subgraph_html(found: RetrievedSubgraph, question: str, method: str, answers: Sequence[str] = ()) -> str:
    """Return the same drawing in a self-contained HTML page, above the subgraph's two tables."""
    nodes, edges = found.text.tables()
    names = found.text.nodes
    spelled = [(names[edge.source], edge.text, names[edge.target]) for edge in found.text.edges]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f"<title>{xml(question)}</title>",
            "<style>body{font-family:Helvetica,Arial,sans-serif;color:#1c2b3a;margin:1.5rem}svg{max-width:100%;"
            "height:auto}table{border-collapse:collapse;margin:1rem 0}td,th{border:1px solid #c6d0da;"
            "padding:.2rem .6rem;text-align:left}</style>\n</head>\n<body>",
            subgraph_svg(found, question, method, answers),
            _table(nodes.rows),
            _table((edges.rows[0], *spelled)),
            "</body>\n</html>\n",
        ]
    )


def _table(rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{xml(row)}</th>" for row in rows[0])
    body = "\n".join(f"<tr>{''.join(f'<td>{xml(item)}</td>' for item in row)}</tr>" for row in rows[1:])
    return f"<table>\n<tr>{head}</tr>\n{body}\n</table>"


def _pairs(found: RetrievedSubgraph) -> list[tuple[int, int]]:
    """Return the distinct pairs of nodes that edges join; loops are pairs of one node."""
    return list(dict.fromkeys((min(e.source, e.target), max(e.source, e.target)) for e in found.text.edges))


def _layers(found: RetrievedSubgraph) -> list[int]:
    """Return the distance in edges of each node from the first of its component."""
    beside: dict[int, list[int]] = {}
    for one, other in _pairs(found):
        beside.setdefault(one, []).append(other)
        beside.setdefault(other, []).append(one)
    layer: dict[int, int] = {}
    for start in range(len(found.nodes)):
        waiting = [start] if start not in layer else []
        layer.setdefault(start, 0)
        for node in waiting:
            for other in beside.get(node, ()):
                if other not in layer:
                    layer[other] = layer[node] + 1
                    waiting.append(other)
    return [layer[node] for node in range(len(found.nodes))]


def _line(found: RetrievedSubgraph, at: Sequence[tuple[float, float]], one: int, other: int) -> str:
    """Return the edges between two nodes as one line, with an arrow at each end that is a target."""
    edges = [edge for edge in found.text.edges if {edge.source, edge.target} == {one, other}]
    left, right = sorted((one, other), key=lambda node: at[node])
    (x1, y1), (x2, y2) = at[left], at[right]
    if x1 == x2:  # in one column, or a loop: around the right side
        out = x1 + _WIDE + _GAP * 0.4
        y2 = y2 + 10 if left == right else y2
        path = f"M{x1 + _WIDE:g} {y1:g}C{out:g} {y1:g} {out:g} {y2:g} {x2 + _WIDE:g} {y2:g}"
        where = (x1 + _WIDE + _GAP * 0.32, (y1 + y2) / 2)
    else:
        start, bend = x1 + _WIDE, (x2 - x1 - _WIDE) / 2
        path = f"M{start:g} {y1:g}C{start + bend:g} {y1:g} {x2 - bend:g} {y2:g} {x2:g} {y2:g}"
        where = (start + (x2 - start) * 0.56, y1 + (y2 - y1) * 0.62)
    targets = {edge.target for edge in edges}
    tips = ' marker-end="url(#end)"' * (right in targets) + ' marker-start="url(#end)"' * (left in targets)
    said = ", ".join(dict.fromkeys(edge.text for edge in edges))
    names = found.text.nodes
    title = "; ".join(f"{names[edge.source]} {edge.text} {names[edge.target]}" for edge in edges)
    return (
        f'<g><title>{xml(title)}</title><path d="{path}" fill="none" stroke="{LINE}" stroke-opacity="0.7" '
        f'stroke-width="1.4"{tips}/>{words_at(where[0], where[1] - 4, cut(said, _SAID), 10.5, INK, halo=True)}</g>'
    )


def _box(found: RetrievedSubgraph, number: int, at: tuple[float, float], marked: set[str]) -> str:
    name, prize = found.text.nodes[number], found.node_prizes[number]
    answers = name.casefold() in marked
    fill, stroke = ("#fbe9e0", _ANSWER) if answers else ("#e8f3e4", _PRIZED) if prize else ("#ffffff", "#9fb2c4")
    below = " · ".join(["answer"] * answers + [f"prize {prize:g}"] * bool(prize))
    x, y = at
    return (
        f"<g><title>{xml(f'{number}: {name}')}</title>"
        f'<rect x="{x:g}" y="{y - _HIGH / 2:g}" width="{_WIDE}" height="{_HIGH}" rx="{_HIGH / 2:g}" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="{2.2 if answers else 1.2}"/>'
        f"{words_at(x + _WIDE / 2, y - 1 if below else y + 4, cut(name, _NAME), 12.5, INK, bold=answers)}"
        f"{words_at(x + _WIDE / 2, y + 13, below, 9.5, PALE) if below else ''}</g>"
    )
