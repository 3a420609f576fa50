"""What connects two things: the shortest paths between them, with the triples that they consist of.

The search is bidirectional: it reads the graph from both ends up to half of the longest path, and joins the halves at
the entities where they meet. Edges are followed in both directions; a path visits an entity once.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, product

import numpy as np
from conspectus.query.abstention import no_answer_of_graph
from conspectus.query.answering import Assembly
from conspectus.query.context import Context
from conspectus.query.graph_question.mentions import find_mentions
from conspectus.query.graph_question.question_form import read_asked
from conspectus.query.question.parts import connected_things
from conspectus.query.question.topics import rows_of
from conspectus.query.types import Answer, Evidence
from conspectus.query.types.trace import Chain, Considered, Hop, WalkTrace
from conspectus.query.walk.decisions import WalkLog
from conspectus.query.walk.graph import KnowledgeGraph, around, is_id, open_graph, predicate_words, spoken
from conspectus.query.walk.provenance import open_grounds
from conspectus.storage.arrays import Bools

_STEPS, _PATHS = 4, 5  # at most: with more steps everything is connected, and more paths are not read
_ROWS = 2
"""Number of entities with the same name between which paths are sought."""


def connection(assembly: Assembly, context: Context, given: Sequence[str] | None = None) -> Answer | None:
    """Return the paths between the two things whose connection is asked for; None for any other question.

    Args:
        assembly: Assembles the answer.
        context: The open index.
        given: Names of the two things, to be used instead of those found in the question.
    """
    things = connected_things(assembly.question)
    if things is None:
        return None
    names = tuple(given) if given and len(given) == 2 else things
    rows = [entities_called(context, name) for name in names]
    if missing := [name for name, found in zip(names, rows, strict=True) if not found]:
        lacks = f"The graph has nothing called {', '.join(map(repr, missing))}."
        assembly.step("declined", lacks)
        return assembly.assemble(f"{no_answer_of_graph(assembly.question)} {lacks}")
    graph = open_graph(context)
    found = [
        path
        for one, other in product(*rows)
        for path in connecting_paths(graph, one, other, longest=_STEPS, enough=_PATHS)
    ]
    kept = telling_paths(graph, found)[:_PATHS]
    between = " and ".join(spoken(graph.names[each[0]]) for each in rows)
    assembly.step("paths", f"{len(kept)} of {len(found)} between {between}, at most {_STEPS} steps")
    log = WalkLog()
    log.add("paths", 0, between, paths_considered(graph, kept), f"{len(kept)} of {len(found)} kept")
    log.chains += [Chain(((path[0].start,), *((hop.end,) for hop in path)), path) for path in kept]
    if not kept:
        lacks = f"No path of at most {_STEPS} steps joins {between}."
        nothing = no_answer_of_graph(assembly.question)
        return assembly.assemble(f"{nothing} {lacks}", evidence=Evidence(walk=log.trace()))
    return _told(assembly, context, kept, log.trace())


def entities_called(context: Context, name: str) -> tuple[int, ...]:
    """Return the rows of the entities that a name refers to, likeliest first; empty if no mention covers all words."""
    rows, _ = rows_of(context, [name])
    if rows:
        return rows
    asked = read_asked(name)
    mentions = find_mentions(context, asked, frozenset())
    content = {place for place, weight in enumerate(asked.weights) if weight >= 1}
    whole = [mention for mention in mentions if content <= mention.places]
    return max(whole, key=lambda mention: mention.likeness).rows[:_ROWS] if whole else ()


def _told(assembly: Assembly, context: Context, paths: Sequence[tuple[Hop, ...]], walk: WalkTrace) -> Answer:
    graph, grounds = open_graph(context), open_grounds(context)
    rows = list(dict.fromkeys(hop.relation for path in paths for hop in path))
    number = {row: place for place, row in enumerate(rows, start=1)}
    lines = []
    for path in paths:
        line = spoken(graph.names[path[0].start])
        for hop in path:
            line += f" {arrow(graph, int(graph.stated[hop.relation]), outgoing=hop.outgoing)}"
            line += f" {spoken(graph.names[hop.end])} [{number[hop.relation]}]"
        lines.append(line)
    between = dict.fromkeys(graph.names[hop.end] for path in paths for hop in path[:-1])
    assembly.depth = max(len(path) for path in paths)
    return assembly.assemble(
        "\n".join(lines),
        citations=grounds.citations(rows),
        evidence=Evidence(walk=walk),
        names=tuple(name for name in between if not is_id(name)),
        triples=grounds.triples(rows),
        computed=True,
    )


def telling_paths(graph: KnowledgeGraph, paths: Sequence[tuple[Hop, ...]]) -> list[tuple[Hop, ...]]:
    """Return one path for each sequence of entities, the shortest first; of equal ones, through low-degree entities."""
    degrees = graph.degrees()

    def past(path: tuple[Hop, ...]) -> float:
        return float(sum(np.log(degrees[hop.end]) for hop in path[:-1]))

    found: dict[tuple[int, ...], tuple[Hop, ...]] = {}
    for path in paths:
        found.setdefault((path[0].start, *(hop.end for hop in path)), path)
    return sorted(found.values(), key=lambda path: (len(path), past(path), [hop.relation for hop in path]))


def paths_considered(graph: KnowledgeGraph, paths: Sequence[tuple[Hop, ...]]) -> list[Considered]:
    """Return paths for a decision of a trace."""
    return [
        Considered(
            " - ".join(spoken(graph.names[row]) for row in (path[0].start, *(hop.end for hop in path))), True, ""
        )
        for path in paths
    ]


def arrow(graph: KnowledgeGraph, predicate: int, *, outgoing: bool) -> str:
    """Return a step as text: -[directed by]->, or <-[directed by]- if it is not outgoing."""
    words = predicate_words(graph.predicates[predicate]) or "related to"
    return f"-[{words}]->" if outgoing else f"<-[{words}]-"


_MOST_HALVES = 200
"""Maximum number of path halves, from each end, that are joined at one meeting entity."""
_MOST_PATHS = 2_000
"""Maximum number of paths of one length; meeting entities with few edges come first."""
_ONE_MORE = 1
"""Number of steps by which a path may exceed the shortest one."""


def connecting_paths(
    graph: KnowledgeGraph, one: int, other: int, *, longest: int, enough: int
) -> list[tuple[Hop, ...]]:
    """Return paths from one entity to another.

    Args:
        graph: The graph.
        one: The row of the entity at which paths begin.
        other: The row of the entity at which they end.
        longest: The largest number of steps.
        enough: Longer paths are not sought once this many paths are found.

    Returns:
        The paths as steps, the shortest first, at most 2,000 of each length. The list is empty if no path has at most
        `longest` steps, or if both entities are the same.
    """
    if one == other:
        return []
    near_one = _Distances(graph, one, (longest + 1) // 2)
    near_other = _Distances(graph, other, longest // 2)
    found: list[tuple[Hop, ...]] = []
    last = longest
    for length in range(1, longest + 1):
        if length > last or len(found) >= enough:
            break
        paths = list(islice(_of_length(near_one, near_other, length), _MOST_PATHS))
        if paths and not found:
            last = min(longest, length + _ONE_MORE)
        found += paths
    return found


def _of_length(near_one: "_Distances", near_other: "_Distances", length: int) -> Iterator[tuple[Hop, ...]]:
    """Yield the paths of exactly this length: pairs of halves that share only the entity where they meet."""
    ahead, back = (length + 1) // 2, length // 2
    meeting = np.flatnonzero(near_one.within(ahead) & near_other.within(back))
    degrees = near_one.graph.degrees()[meeting]
    for entity in meeting[np.lexsort((meeting, degrees))].tolist():
        firsts = list(islice(near_one.paths(entity, ahead), _MOST_HALVES))
        for second in islice(near_other.paths(entity, back), _MOST_HALVES) if firsts else ():
            passed = {hop.end for hop in second}
            for first in firsts:
                if not passed & {hop.end for hop in first}:
                    yield (*(_turned(hop) for hop in reversed(first)), *second)


class _Distances:
    """The distance of each entity from a root, up to a maximum, and the paths back to the root."""

    def __init__(self, graph: KnowledgeGraph, root: int, most: int) -> None:
        self.graph = graph
        self._root = root
        _, self._distance = around(graph, [root], most)

    def within(self, steps: int) -> Bools:
        """Return which entities are at most `steps` from the root, bool (n,)."""
        found: Bools = (self._distance >= 0) & (self._distance <= steps)
        return found

    def paths(self, entity: int, steps: int, passed: frozenset[int] = frozenset()) -> Iterator[tuple[Hop, ...]]:
        """Yield the paths of exactly `steps` steps from an entity to the root that visit no entity twice."""
        if steps == 0:
            if entity == self._root:
                yield ()
            return
        if entity == self._root:
            return
        edges = self.graph.edges_of([entity])
        distances = self._distance[edges.neighbours]
        onward = np.flatnonzero((distances >= 0) & (distances < steps))
        passed |= {entity}
        for place in onward.tolist():
            to = int(edges.neighbours[place])
            if to not in passed:
                hop = Hop(int(edges.relation[place]), entity, to, bool(edges.outgoing[place]))
                for rest in self.paths(to, steps - 1, passed):
                    yield (hop, *rest)


def _turned(hop: Hop) -> Hop:
    return Hop(hop.relation, hop.end, hop.start, not hop.outgoing)
