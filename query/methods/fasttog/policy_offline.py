"""FastToG's decisions without a language model: communities by their best way on, step by step.

A chain keeps the ways that lead through its communities from a subject to each of their entities: triples one behind
the other, each matching a part of the question that the ones before it left. A community is worth what the best way
into it is worth; a chain ends where none is worth more than its best so far. Only triples of communities that the
pruning left over are looked at, and only those of the picked ones are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from conspectus.query.methods.fasttog.chains import Grown, Outcome, Picked
from conspectus.query.methods.fasttog.local_search import Candidate, Members
from conspectus.query.methods.fasttog.question_reading import Reading
from conspectus.query.types.trace import Considered
from conspectus.query.walk.graph import KnowledgeGraph, spoken
from conspectus.query.walk.ids import is_id

_WAYS = 3
"""Most ways kept to one entity."""
_AGAINST = 0.05
"""What it costs to walk a relation against its direction."""
_BACK = 0.15
"""What it costs to walk back along the predicate that was just walked: to others that share something."""


@dataclass(frozen=True, slots=True)
class Way:
    """A path to an entity: its relations, their kinds (twice the predicate, 1 more where it is walked to its target),
    what it is worth, and the words of the question that it matched.
    """

    end: int
    relations: tuple[int, ...]
    kinds: tuple[int, ...]
    worth: float
    used: int


Ways = dict[int, list[Way]]


@dataclass(slots=True, eq=False)
class NearestDecider:
    """Picks by closeness to what of the question is unmatched."""

    graph: KnowledgeGraph
    reading: Reading
    subjects: tuple[int, ...]

    _grown: dict[tuple[Members, ...], Ways] = field(default_factory=dict)

    async def pick(
        self, question: str, chain: Sequence[Candidate], candidates: Sequence[Candidate], most: int
    ) -> Picked:
        """Return the candidates into which the best ways lead, the best first; none where a chain's best is better."""
        ways = self._ways(chain)
        here = _best(ways)
        predicates = tuple(sorted({int(self.graph.stated[row]) for each in candidates for row in each.relations}))
        onward = [self._onward(ways, each, predicates) for each in candidates]
        scores = tuple(_best(each) for each in onward)
        ranked = sorted(range(len(candidates)), key=lambda place: (-round(scores[place], 6), place))
        chosen = tuple(place for place in ranked if not chain or self._promises(onward[place], here))[:most]
        for place in chosen:
            self._grown[(*(each.nodes for each in chain), candidates[place].nodes)] = onward[place]
        return Picked(chosen, "" if chosen else "no community matches more of the question", scores)

    async def reason(self, question: str, subjects: Sequence[int], chains: Sequence[Grown]) -> Outcome:
        """Return no answer: it is taken of all chains when they have ended."""
        return Outcome(False, why="chains may go on")

    def answer(self, chains: Sequence[Grown]) -> Outcome:
        """Return the entities to which the best ways of all chains lead; ways along other predicates are no part."""
        found: dict[tuple[int, tuple[int, ...]], Way] = {}
        for chain in chains:
            steps = [each.nodes for each in chain.steps]
            for length in range(1, len(steps) + 1):
                for ways in self._grown.get(tuple(steps[:length]), {}).values():
                    for way in ways:
                        found.setdefault((way.end, way.kinds), way)
        ranked = sorted(found.values(), key=lambda way: (-round(way.worth, 6), len(way.relations), way.relations))
        # An id joins what is known of one event, and says nothing to a reader: it is no answer.
        ranked = [each for each in ranked if each.relations and not is_id(self.graph.names[each.end])]
        if not ranked:
            return Outcome(False, why="nothing in the chains matches the question")
        best = ranked[0]
        same = [each for each in ranked if each.kinds == best.kinds and each.worth >= best.worth - 1e-6]
        ends: dict[int, list[Way]] = {}
        for each in same:
            ends.setdefault(each.end, []).append(each)
        if len(ends) > 1:
            ends = {end: each for end, each in ends.items() if end not in self.subjects}
        order = sorted(ends, key=lambda end: (-len(ends[end]), self.graph.names[end]))
        names = tuple(self.graph.names[each] for each in order)
        relations = tuple(dict.fromkeys(row for end in order for row in ends[end][0].relations))
        considered = tuple(
            Considered(spoken(self.graph.names[each.end]), each.end in ends, self._told(each), each.worth)
            for each in ranked[:20]
        )
        return Outcome(True, ", ".join(map(spoken, names)), names, relations, considered=considered)

    def _promises(self, ways: Ways, here: float) -> bool:
        """Tell whether a way may come to be worth more than the best one so far."""
        return any(way.worth + self.reading.left(way.used) > here + 1e-6 for each in ways.values() for way in each)

    def _ways(self, chain: Sequence[Candidate]) -> Ways:
        if chain:
            return self._grown[tuple(each.nodes for each in chain)]
        return {each: [Way(each, (), (), 0.0, 0)] for each in self.subjects}

    def _told(self, way: Way) -> str:
        return " > ".join(self.graph.predicates[kind // 2] for kind in way.kinds)

    def _onward(self, ways: Ways, candidate: Candidate, predicates: tuple[int, ...]) -> Ways:
        """Return the best ways to the candidate's entities, over its own triples and those that lead to it."""
        graph = self.graph
        edges: dict[int, list[tuple[int, int, int, bool]]] = {}
        for row in candidate.relations:
            source, target, said = int(graph.sources[row]), int(graph.targets[row]), int(graph.stated[row])
            edges.setdefault(source, []).append((target, row, said, True))
            edges.setdefault(target, []).append((source, row, said, False))
        place = {said: number for number, said in enumerate(predicates)}
        found: Ways = {}
        inside = set(candidate.nodes)
        frontier = [way for node in candidate.origin for way in ways.get(node, ())]
        while frontier:
            reached: list[Way] = []
            for way in frontier:
                matches = self.reading.steps(way.used, predicates) if way.end in edges else []
                for end, row, said, outgoing in edges.get(way.end, ()):
                    if end not in inside or row in way.relations:
                        continue
                    match = matches[place[said]]
                    kind = 2 * said + outgoing
                    cost = (0.0 if outgoing else _AGAINST) + (_BACK if way.kinds and way.kinds[-1] == kind ^ 1 else 0.0)
                    worth = way.worth + match.gain - cost
                    made = Way(end, (*way.relations, row), (*way.kinds, kind), worth, way.used | match.words)
                    if _kept(found, made):
                        reached.append(made)
            frontier = reached
        return found


def _kept(found: Ways, way: Way) -> bool:
    """Put a way among the best to its end; return whether it is one of them."""
    held = found.setdefault(way.end, [])
    if any(each.kinds == way.kinds and each.worth >= way.worth for each in held):
        return False
    held.append(way)
    held.sort(key=lambda each: (-each.worth, len(each.relations), each.relations))
    del held[_WAYS:]
    return way in held


def _best(ways: Ways) -> float:
    return max((way.worth for each in ways.values() for way in each), default=0.0)
