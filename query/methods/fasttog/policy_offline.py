"""FastToG's decisions without a language model: communities by the best route into them, step by step.

A chain keeps the routes through its communities from a subject to each of their entities: sequences of triples, each
matching words of the question that earlier ones left unmatched. The score of a community is that of the best route into
it; a chain ends when no route can exceed its best score. Only communities that survived pruning are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from conspectus.query.context import Context
from conspectus.query.methods.fasttog.fasttog import ChainVerdict, CommunityChain, CommunityPick
from conspectus.query.methods.fasttog.local_search import Candidate, Members
from conspectus.query.types.trace import Considered
from conspectus.query.walk.graph import KnowledgeGraph, is_id, open_graph, predicate_words, spoken
from conspectus.query.walk.question_predicates import Coverage, QuestionPredicates, read_question

_ROUTES = 3
"""Maximum routes to one entity."""
_UNMATCHED = 0.6
"""Cost of a step that matches no word. Higher than in ToG (.35), which also scores the answer type."""
_INCOMING = 0.05
"""Cost of walking a relation against its direction."""
_BACK = 0.15
"""Cost of walking back along the last predicate, to other entities that share a neighbour."""
_ANSWERS_SHOWN = 20
_DIGITS = 6
"""Scores are rounded to this many digits before they are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """A path to an entity: its relations, their kinds (twice the predicate, plus 1 if walked to the target), its score
    and its coverage of the question.
    """

    end: int
    relations: tuple[int, ...]
    kinds: tuple[int, ...]
    score: float
    coverage: Coverage


Routes = dict[int, list[Route]]
"""The best routes to each entity."""


@dataclass(slots=True, eq=False)
class OfflineCommunityPolicy:
    """Chooses communities whose triples match words of the question (see `CommunityPolicy`)."""

    graph: KnowledgeGraph
    question: QuestionPredicates
    subjects: tuple[int, ...]
    _routes: dict[tuple[Members, ...], Routes] = field(default_factory=dict)
    _steps: dict[tuple[bytes, bytes, tuple[int, ...]], list[Coverage]] = field(default_factory=dict)

    async def pick(self, chain: Sequence[Candidate], candidates: Sequence[Candidate], most: int) -> CommunityPick:
        """Choose the candidates with the best routes; none if none can exceed the score of the chain."""
        routes = self._routes_of(chain)
        here = _best_score(routes)
        predicates = tuple(
            sorted({int(self.graph.stated[row]) for candidate in candidates for row in candidate.relations})
        )
        onward = [self._into(candidate, routes, predicates) for candidate in candidates]
        scores = tuple(_best_score(reached) for reached in onward)
        ranked = sorted(range(len(candidates)), key=lambda place: (-round(scores[place], _DIGITS), place))
        picked = tuple(place for place in ranked if not chain or self._promises(onward[place], here))[:most]
        for place in picked:
            self._routes[(*(step.nodes for step in chain), candidates[place].nodes)] = onward[place]
        return CommunityPick(picked, "" if picked else "no community matches more of the question", scores)

    async def reason(self, chains: Sequence[CommunityChain]) -> ChainVerdict:
        """Return no answer while chains can be extended."""
        return ChainVerdict(False, why=f"{sum(not chain.ended for chain in chains)} chains can be extended")

    async def finish(self, chains: Sequence[CommunityChain], verdict: ChainVerdict) -> ChainVerdict:
        """Answer with the ends of the best routes of all chains along the same predicates."""
        ranked = self._ranked(chains)
        if not ranked:
            return replace(verdict, why=f"nothing in the chains matches the question ({verdict.why})")
        best = ranked[0]
        ends: dict[int, list[Route]] = {}
        for route in ranked:
            if route.kinds == best.kinds and round(route.score - best.score, _DIGITS) >= 0:
                ends.setdefault(route.end, []).append(route)
        if len(ends) > 1:
            ends = {end: routes for end, routes in ends.items() if end not in self.subjects}
        order = sorted(ends, key=lambda end: (-len(ends[end]), self.graph.names[end]))
        names = tuple(self.graph.names[end] for end in order)
        relations = tuple(dict.fromkeys(row for end in order for row in ends[end][0].relations))
        considered = tuple(
            Considered(spoken(self.graph.names[route.end]), route.end in ends, self._in_words(route), route.score)
            for route in ranked[:_ANSWERS_SHOWN]
        )
        return ChainVerdict(True, ", ".join(map(spoken, names)), names, relations, considered=considered)

    def _ranked(self, chains: Sequence[CommunityChain]) -> list[Route]:
        """Return the routes of all chains, best first, without those that end at an opaque id."""
        found: dict[tuple[int, tuple[int, ...]], Route] = {}
        for chain in chains:
            steps = [step.nodes for step in chain.steps]
            for length in range(1, len(steps) + 1):
                for routes in self._routes.get(tuple(steps[:length]), {}).values():
                    for route in routes:
                        found.setdefault((route.end, route.kinds), route)
        named = [route for route in found.values() if route.relations and not is_id(self.graph.names[route.end])]
        return sorted(named, key=lambda route: (-round(route.score, _DIGITS), len(route.relations), route.relations))

    def _promises(self, routes: Routes, here: float) -> bool:
        """Return whether a route may exceed the best score so far."""
        return any(
            round(route.score + self._left(route.coverage) - here, _DIGITS) > 0
            for reached in routes.values()
            for route in reached
        )

    def _left(self, coverage: Coverage) -> float:
        """Return an upper bound on the gain of further steps: the unmatched share of the question."""
        question = self.question
        return float((question.weight * (1 - coverage.explained) * ~coverage.used).sum()) / question.total

    def _routes_of(self, chain: Sequence[Candidate]) -> Routes:
        if chain:
            return self._routes[tuple(step.nodes for step in chain)]
        return {row: [Route(row, (), (), 0.0, self.question.nothing_matched())] for row in self.subjects}

    def _into(self, candidate: Candidate, routes: Routes, predicates: tuple[int, ...]) -> Routes:
        """Return the best routes to the candidate's entities, over its own triples and its bridges."""
        graph = self.graph
        edges: dict[int, list[tuple[int, int, int, bool]]] = {}
        for row in candidate.relations:
            source, target, predicate = int(graph.sources[row]), int(graph.targets[row]), int(graph.stated[row])
            edges.setdefault(source, []).append((target, row, predicate, True))
            edges.setdefault(target, []).append((source, row, predicate, False))
        place = {predicate: number for number, predicate in enumerate(predicates)}
        found: Routes = {}
        inside = set(candidate.nodes)
        frontier = [route for node in candidate.origin for route in routes.get(node, ())]
        while frontier:
            reached: list[Route] = []
            for route in frontier:
                after = self._after_step(route.coverage, predicates) if route.end in edges else []
                for end, row, predicate, outgoing in edges.get(route.end, ()):
                    if end not in inside or row in route.relations:
                        continue
                    coverage, kind = after[place[predicate]], 2 * predicate + outgoing
                    gain = self.question.share(coverage) - self.question.share(route.coverage)
                    cost = coverage.cost - route.coverage.cost + (0.0 if outgoing else _INCOMING)
                    cost += _BACK if route.kinds and route.kinds[-1] == kind ^ 1 else 0.0
                    made = Route(
                        end, (*route.relations, row), (*route.kinds, kind), route.score + gain - cost, coverage
                    )
                    if _is_kept(found, made):
                        reached.append(made)
            frontier = reached
        return found

    def _after_step(self, coverage: Coverage, predicates: tuple[int, ...]) -> list[Coverage]:
        key = (coverage.used.tobytes(), coverage.explained.tobytes(), predicates)
        if key not in self._steps:
            after = self.question.after_step(
                Coverage(coverage.used, coverage.explained), predicates, [_UNMATCHED] * len(predicates)
            )
            self._steps[key] = [coverages[0] for coverages in after]
        return [Coverage(made.used, made.explained, made.cost + coverage.cost) for made in self._steps[key]]

    def _in_words(self, route: Route) -> str:
        return " > ".join(predicate_words(self.graph.predicates[kind // 2]) for kind in route.kinds)


def open_offline_policy(context: Context, question: str, subjects: tuple[int, ...]) -> OfflineCommunityPolicy:
    """Return the policy of one walk from subjects, given as entity rows."""
    return OfflineCommunityPolicy(open_graph(context), read_question(context, question, subjects), subjects)


def _is_kept(found: Routes, route: Route) -> bool:
    """Add a route to the best ones to its end; return whether it is among them."""
    routes = found.setdefault(route.end, [])
    if any(other.kinds == route.kinds and other.score >= route.score for other in routes):
        return False
    routes.append(route)
    routes.sort(key=lambda other: (-other.score, len(other.relations), other.relations))
    del routes[_ROUTES:]
    return route in routes


def _best_score(routes: Routes) -> float:
    return max((route.score for reached in routes.values() for route in reached), default=0.0)
