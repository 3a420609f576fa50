"""Draw a walk over the graph as SVG: its chains side by side, the nodes of each step, and the edges between them.

Each chain is a row of frames from left to right, each frame a community (or a single entity) with its members, and
below them the relations inside it; lines between frames are the relations walked. The start of a walk is drawn once for
all chains that begin there. Generated without a library; the same walk gives the same bytes.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from conspectus.query.types.trace import Chain, Hop, WalkTrace
from conspectus.query.walk.graph import spoken
from conspectus.query.walk.graph_protocol import ReadableGraph
from conspectus.render.explanation_svg import HEADING, INK, LINE, PALE, cut, heading, words_at, wrapped, xml
from conspectus.storage.errors import UsageError

_WIDE, _GAP = 210, 170
"""Width of a frame, and the space between columns."""
_PILL, _BETWEEN, _PAD, _FACT = 24, 6, 10, 14
"""Height of a member, the space between two, the margin in a frame, and the height of a line of facts."""
_MARGIN, _HEAD, _ROW = 24, 64, 46
_NAME, _BOLD_NAME, _FACTS = 25, 22, 34
"""Maximum columns of a member's name, of one that answers, and of a fact."""
_ENDED, _ENDED_LINES, _SMALL = 36, 2, 10.5
"""Maximum columns and lines of the reason why a chain ended, and its font size."""
_LEAST_WIDTH = 640
_FACTS_SHOWN = 6
_ANSWER = "#b8572f"


@dataclass(frozen=True, slots=True)
class _Frame:
    """A community in the drawing: its upper left corner, its members, and the facts below them."""

    members: tuple[int, ...]
    facts: tuple[str, ...]
    x: float
    y: float

    @property
    def height(self) -> float:
        return _height(len(self.members), len(self.facts))

    def middle_of(self, member: int) -> float:
        return self.y + _PAD + self.members.index(member) * (_PILL + _BETWEEN) + _PILL / 2


def walk_svg(walk: WalkTrace, graph: ReadableGraph, question: str, method: str, answers: Sequence[str] = ()) -> str:
    """Return the drawing of a walk, with `answers` distinguished by colour; UsageError if it has no chain."""
    if not walk.chains:
        raise UsageError("there is no walk to draw: it found nothing to start from")
    rows = [_row(chain, graph) for chain in walk.chains]
    width = max(*(frames[-1].x + _WIDE + _MARGIN for frames in rows), float(_LEAST_WIDTH))
    asked = heading(_MARGIN, _MARGIN + 6, question, width - 2 * _MARGIN)
    below = (len(asked) - 1) * HEADING
    tops: list[float] = []
    top = float(_HEAD + below)
    for frames in rows:
        tops.append(top)
        top += max(frame.height for frame in frames) + _ROW
    placed = [
        [_Frame(frame.members, frame.facts, frame.x, y) for frame in frames]
        for frames, y in zip(rows, tops, strict=True)
    ]
    starts: dict[tuple[int, ...], list[int]] = {}
    for number, frames in enumerate(placed):
        starts.setdefault(frames[0].members, []).append(number)
    for numbers in starts.values():  # one frame for all chains with the same start, centred
        first, last = placed[numbers[0]][0], placed[numbers[-1]][0]
        shared = _Frame(first.members, first.facts, first.x, (first.y + last.y) / 2)
        for number in numbers:
            placed[number][0] = shared
    height = top - _ROW + _MARGIN + _ENDED_LINES * (_SMALL + 2)
    drawn = [
        _chain(number, chain, frames, graph, set(answers))
        for number, (chain, frames) in enumerate(zip(walk.chains, placed, strict=True), start=1)
    ]
    heads = {frames[0]: None for frames in placed}
    boxes = [_box(head, "#f4efe2") for head in heads]
    boxes += [_box(frame, "#eef4fa") for frames in placed for frame in frames[1:]]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" role="img" font-family="Helvetica, Arial, sans-serif">',
            f"<title>{xml(f'How {method} walked: {question}')}</title>",
            f"<desc>{xml('; '.join(decision.outcome for decision in walk.decisions if decision.outcome))}</desc>",
            '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
            f'markerUnits="userSpaceOnUse" orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/>'
            "</marker></defs>",
            f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
            *asked,
            words_at(_MARGIN, _MARGIN + 24 + below, _told(method, answers, width), 11.5, PALE, anchor="start"),
            *boxes,
            *drawn,
            *(_members(head, graph, set(answers)) for head in heads),
            "</svg>\n",
        ]
    )


def _told(method: str, answers: Sequence[str], width: float) -> str:
    more = f" and {len(answers) - 5} more" if len(answers) > 5 else ""
    named = f"{', '.join(spoken(answer) for answer in answers[:5])}{more}" if answers else "no answer"
    return cut(f"{method}: {named}", int((width - 2 * _MARGIN) / (11.5 * 0.56)))


def _row(chain: Chain, graph: ReadableGraph) -> list[_Frame]:
    """Return the frames of a chain at their columns, each with the facts inside it."""
    frames = []
    for column, members in enumerate(chain.communities):
        inside = [hop for hop in chain.hops if hop.start in members and hop.end in members and column != 0]
        facts = [_fact(item, graph) for item in inside]
        if len(facts) > _FACTS_SHOWN:
            facts = [*facts[: _FACTS_SHOWN - 1], f"and {len(facts) - _FACTS_SHOWN + 1} more"]
        frames.append(_Frame(members, tuple(facts), _MARGIN + column * (_WIDE + _GAP), 0.0))
    return frames


def _chain(number: int, chain: Chain, frames: Sequence[_Frame], graph: ReadableGraph, answers: set[str]) -> str:
    lines: list[str] = []
    for left, right in itertools.pairwise(frames):
        together: dict[tuple[int, int], list[Hop]] = {}
        for hop in chain.hops:
            if (ends := _ends(hop, left, right)) is not None:
                together.setdefault(ends, []).append(hop)
        lines += [
            _line(hops, _Span(left, one, right, other), place, graph)
            for place, ((one, other), hops) in enumerate(together.items())
        ]
    inside = [_members(frame, graph, answers) for frame in frames[1:]]
    last = frames[-1]
    said = wrapped(f"ended: {chain.ended}", _ENDED) if chain.ended else []
    if len(said) > _ENDED_LINES:
        said = [*said[: _ENDED_LINES - 1], f"{said[_ENDED_LINES - 1][: _ENDED - 1].rstrip()}…"]
    below = last.y + last.height + 4
    ended = [
        words_at(last.x, below + place * (_SMALL + 2), line, _SMALL, PALE, anchor="start")
        for place, line in enumerate(said, start=1)
    ]
    return "\n".join([f"<g><title>{xml(f'chain {number}')}</title>", *lines, *inside, *ended, "</g>"])


def _ends(hop: Hop, left: _Frame, right: _Frame) -> tuple[int, int] | None:
    """Return the ends of a relation in the left and in the right frame, None if it does not join them."""
    if hop.start in left.members and hop.end in right.members:
        return hop.start, hop.end
    if hop.end in left.members and hop.start in right.members:
        return hop.end, hop.start
    return None


@dataclass(frozen=True, slots=True)
class _Span:
    """A member of a frame, and a joined member of the next frame."""

    left: _Frame
    one: int
    right: _Frame
    other: int


def _line(hops: Sequence[Hop], span: _Span, place: int, graph: ReadableGraph) -> str:
    """Return the relations of two members of neighbouring frames as one line, its arrows towards their targets."""
    x1, x2 = span.left.x + _WIDE - _PAD, span.right.x + _PAD
    y1, y2 = span.left.middle_of(span.one), span.right.middle_of(span.other)
    bend = (x2 - x1) / 2
    targets = {int(graph.targets[hop.relation]) for hop in hops}
    tips = ' marker-end="url(#end)"' * (span.other in targets) + ' marker-start="url(#end)"' * (span.one in targets)
    said = list(dict.fromkeys(_short(graph.predicates[graph.stated[hop.relation]]) for hop in hops))
    # Labels of lines with the same origin are stacked, so that they do not overlap.
    share = 0.5 + 0.12 * ((place % 3) - 1)
    label = words_at(x1 + (x2 - x1) * share, y1 + (y2 - y1) * share - 4, cut(", ".join(said), 24), 10.5, INK, halo=True)
    return (
        f"<g><title>{xml('; '.join(_fact(hop, graph) for hop in hops))}</title>"
        f'<path d="M{x1:g} {y1:g}C{x1 + bend:g} {y1:g} {x2 - bend:g} {y2:g} {x2:g} {y2:g}" fill="none" '
        f'stroke="{LINE}" stroke-opacity="0.7" stroke-width="1.4"{tips}/>{label}</g>'
    )


def _box(frame: _Frame, fill: str) -> str:
    return (
        f'<rect x="{frame.x:g}" y="{frame.y:g}" width="{_WIDE}" height="{frame.height:g}" rx="8" fill="{fill}" '
        f'stroke="{LINE}" stroke-width="1"/>'
    )


def _members(frame: _Frame, graph: ReadableGraph, answers: set[str]) -> str:
    """Return the contents of a frame; its box is drawn before the lines, which end at its members."""
    parts = []
    for member in frame.members:
        name = graph.names[member]
        answer = name in answers
        y = frame.middle_of(member)
        shown = cut(spoken(name), _BOLD_NAME if answer else _NAME)
        parts.append(
            f"<g><title>{xml(spoken(name))}</title>"
            f'<rect x="{frame.x + _PAD:g}" y="{y - _PILL / 2:g}" width="{_WIDE - 2 * _PAD}" height="{_PILL}" rx="12" '
            f'fill="{"#fbe9e0" if answer else "#ffffff"}" stroke="{_ANSWER if answer else "#9fb2c4"}" '
            f'stroke-width="{2.2 if answer else 1}"/>'
            f"{words_at(frame.x + _WIDE / 2, y + 4, shown, 12, INK, bold=answer)}</g>"
        )
    below = frame.y + _PAD + len(frame.members) * (_PILL + _BETWEEN) + 6
    parts += [
        words_at(frame.x + _PAD, below + number * _FACT, cut(fact, _FACTS), 9.5, PALE, anchor="start")
        for number, fact in enumerate(frame.facts)
    ]
    return "\n".join(["<g>", *parts, "</g>"])


def _fact(hop: Hop, graph: ReadableGraph) -> str:
    source, target = (hop.start, hop.end) if hop.outgoing else (hop.end, hop.start)
    said = _short(graph.predicates[graph.stated[hop.relation]])
    return f"{spoken(graph.names[source])} {said} {spoken(graph.names[target])}"


def _short(predicate: str) -> str:
    return predicate.rsplit(".", 1)[-1].replace("_", " ")


def _height(members: int, facts: int) -> float:
    return 2 * _PAD + members * (_PILL + _BETWEEN) - _BETWEEN + facts * _FACT + (4 if facts else 0)
