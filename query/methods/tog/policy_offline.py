"""Decisions of ToG and ToG-2 without a language model: by what of the question a step matches, and what is then left.

A branch is worth the share of the question that its steps matched, less what they matched out of turn or without any
word of the question; what stands at its end counts as far as it is of the kind that is asked for. ToG-2 matches what
earlier steps have left (its clue); ToG, which has no clue, compares every step with the question as a whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.tog.answer_types import open_kinds
from conspectus.query.methods.tog.beam import Branch, Option, Way, ways_to
from conspectus.query.methods.tog.path_score import Worth
from conspectus.query.methods.tog.policy import Material, Ruling, Verdict
from conspectus.query.methods.tog.question_predicates import read
from conspectus.query.methods.tog.unmatched import Match
from conspectus.query.question.question import span_vectors
from conspectus.query.types.trace import Considered
from conspectus.query.walk.graph import KnowledgeGraph, open_graph, predicate_vectors, predicate_words, spoken
from conspectus.query.walk.ids import all_ids
from conspectus.storage.arrays import Ints
from conspectus.storage.index import per_index
from conspectus.storage.text.names import words

_LOOKED_AT = 4
"""For this many times `width` options the kinds of things behind them are looked at, which takes longer."""
_BUNDLE = 400
"""Most entities that were reached alike and go on together, because nothing tells them apart."""


@dataclass(frozen=True, slots=True, eq=False)
class _Ended:
    """A branch as an answer, its worth, and what it matched."""

    branch: Branch
    worth: float
    match: Match


@dataclass(slots=True, eq=False)
class OfflineDecider:
    """Decides one walk by what its paths are worth."""

    graph: KnowledgeGraph
    weighed: Worth
    _matches: dict[tuple[Way, ...], list[Match]] = field(default_factory=dict)
    _ended: dict[tuple[Way, ...], _Ended] = field(default_factory=dict)

    async def topics(self, question: str, rows: Sequence[int], most: int) -> Ruling:
        """Return all topics: linking has chosen already."""
        names = self.graph.names
        kept = tuple(range(len(rows)))[:most]
        return Ruling(
            kept, considered=tuple(Considered(spoken(names[row]), at in kept, "named") for at, row in enumerate(rows))
        )

    async def relations(
        self, question: str, clue: str, branches: Sequence[Branch], options: Sequence[Sequence[Option]], width: int
    ) -> list[Ruling]:
        """Return for each branch the options worth most: what of the question they and the steps before them match."""
        return [self._prune(branch, each, width) for branch, each in zip(branches, options, strict=True)]

    async def entities(self, question: str, branch: Branch, found: Branch, width: int) -> Ruling:
        """Return all entities that one way leads to: nothing tells them apart."""
        return Ruling(tuple(range(len(found.entities))))

    async def score(
        self, question: str, clue: str, candidates: Sequence[Branch], material: Sequence[Material]
    ) -> list[float]:
        """Return the worth of the branch that each verbalised triple belongs to."""
        return [max(0.0, self.worth(candidates[each.owner])) for each in material]

    async def judge(
        self, question: str, clue: str, branches: Sequence[Branch], material: Sequence[Material], *, last: bool
    ) -> Verdict:
        """Return the answer once no further step could be worth more, whatever it matched."""
        for branch in branches:
            if branch.ways:
                self._end(branch)
        ranked = sorted(
            self._ended.values(), key=lambda each: (-round(each.worth, 9), each.branch.depth, each.branch.ways)
        )
        readable = [each for each in ranked if not self.weighed.ids[each.branch.entities].all()]
        considered = tuple(
            Considered(
                self._spoken(each.branch),
                place == 0,
                f"matches {each.match.coverage(self.weighed.asked):.0%}",
                each.worth,
            )
            for place, each in enumerate(readable[:5])
        )
        if not readable:
            return Verdict(False, clue=self.left(branches), considered=considered, why="nothing has been reached yet")
        best = readable[0]
        open_ = max((self._bound(each) for each in branches if each.ways), default=-np.inf)
        sufficient = last or best.worth >= open_
        why = "" if sufficient else f"worth {best.worth:.2f}, a further step could reach {open_:.2f}"
        names, entities = self._answers(best.branch)
        return Verdict(
            sufficient,
            ", ".join(map(spoken, names)),
            self.left(branches),
            names,
            tuple(entities),
            considered=considered,
            why=why,
        )

    async def clue(self, question: str, clues: str, branches: Sequence[Branch]) -> tuple[str, int, str]:
        """Return what of the question is not matched, and the names that have been reached."""
        return self.left(branches), 0, ""

    def best(self) -> Branch | None:
        """Return the branch that answers best so far."""
        readable = [each for each in self._ended.values() if not self.weighed.ids[each.branch.entities].all()]
        found = min(
            readable, key=lambda each: (-round(each.worth, 9), each.branch.depth, each.branch.ways), default=None
        )
        return found.branch if found else None

    def coverage(self) -> float:
        """Return the share of the question that the best branch matches, 0 where there is none."""
        found = self.best()
        return self._ended[found.ways].match.coverage(self.weighed.asked) if found else 0.0

    def left(self, branches: Sequence[Branch]) -> str:
        """Return the clue: the question's words that the best branch has not matched, and the names at its end."""
        if not branches or not branches[0].ways:
            return ""
        best = max(branches, key=self.worth)
        names = [self.graph.names[int(row)] for row in best.entities[:3] if not self.weighed.ids[row]]
        rest = self.weighed.asked.left(self._matches[best.ways][0].taken)
        return " ".join(part for part in (rest, *map(spoken, names)) if part)

    def worth(self, branch: Branch) -> float:
        """Return the worth of a branch without the kind of its end."""
        return max(
            (self.weighed.worth(match, branch.ways) for match in self._matches.get(branch.ways, ())), default=0.0
        )

    def narrowed(self, branch: Branch) -> Branch:
        """Return the branch with those of its entities that go on: of mere ids those beside what the question names.

        Such things join others in one statement (who, as what, in which film): the question's further topics, and
        words of it that stand in a neighbour's name, tell which statement is meant.
        """
        from conspectus.query.methods.tog.beam import only

        entities = branch.entities[:_BUNDLE]
        if len(entities) > 1 and self.weighed.ids[entities].all():
            named = {word for place, word in enumerate(self.weighed.asked.words) if self.weighed.asked.content[place]}
            counts = np.array([self._named_beside(int(row), named) for row in entities])
            if counts.max() > 0:
                entities = entities[counts == counts.max()]
        return only(branch, entities.tolist()) if len(entities) < len(branch.entities) else branch

    def _named_beside(self, row: int, named: set[str]) -> int:
        near = np.unique(self.graph.edges_of([row]).neighbours)
        topics = int(np.isin(near, self.weighed.started).sum())
        held = {word.key for each in near[:50] for word in words(spoken(self.graph.names[int(each)]))}
        return 2 * topics + len(held & named)

    def _prune(self, branch: Branch, options: Sequence[Option], width: int) -> Ruling:
        if not options:
            return Ruling((), why="no relation leads on")
        before = self._matches.get(branch.ways) or [self.weighed.begin()]
        first = self.weighed.steps(branch, before, options)
        rough = sorted(
            range(len(options)),
            key=lambda place: (
                -max(self.weighed.worth(each, (*branch.ways, options[place].way)) for each in first[place])
            ),
        )
        worths: dict[int, float] = {}
        for place in rough[: _LOOKED_AT * width]:
            ways = (*branch.ways, options[place].way)
            made = [self.weighed.with_kinds(each, options[place].way) for each in first[place]]
            made = _distinct(sorted(made, key=lambda each: -self.weighed.worth(each, ways)))[:4]
            self._matches[ways] = made
            worths[place] = self.weighed.worth(made[0], ways)
        kept = sorted(worths, key=lambda place: (-round(worths[place], 9), place))[:width]
        shown = sorted(worths, key=lambda place: (-round(worths[place], 9), place))
        considered = tuple(
            Considered(
                self._way(options[place].way),
                place in kept,
                "among the best" if place in kept else f"not among the best {width}",
                worths[place],
            )
            for place in shown
        )
        return Ruling(tuple(kept), tuple(max(0.0, worths[place]) for place in kept), considered)

    def _end(self, branch: Branch) -> None:
        if branch.ways in self._ended or branch.ways not in self._matches:
            return
        match = self._matches[branch.ways][0]
        self._ended[branch.ways] = _Ended(branch, self.weighed.ended(match, branch.ways), match)

    def _bound(self, branch: Branch) -> float:
        """Return the most that a branch could be worth after further steps."""
        held = min((each.held for each in self._matches.get(branch.ways, ())), default=0.0)
        return self.weighed.bound(held, len(branch.ways))

    def _answers(self, branch: Branch) -> tuple[tuple[str, ...], list[int]]:
        """Return the names at the end of a branch, and their rows: reached from most topics, then by most paths.

        What is asked about is no answer beside others.
        """
        rows = np.array([row for row in branch.entities.tolist() if not self.weighed.ids[row]], np.int64)
        others = rows[~np.isin(rows, self.weighed.started)]
        rows = others if len(others) else rows
        paths = ways_to(branch, rows)
        topics = self._topics_behind(branch, rows)
        if len(topics) and topics.max() > 1:
            rows, paths = rows[topics == topics.max()], paths[topics == topics.max()]
        order = sorted(range(len(rows)), key=lambda at: (-paths[at], int(rows[at])))
        return tuple(self.graph.names[int(rows[at])] for at in order), [int(rows[at]) for at in order]

    def _topics_behind(self, branch: Branch, rows: Ints) -> Ints:
        found = np.zeros(len(rows), np.int64)
        for topic in self.weighed.started.tolist():
            reached = {topic}
            for edges in branch.steps:
                reached = set(edges.neighbours[np.isin(edges.at, list(reached))].tolist())
            found += np.isin(rows, list(reached))
        return found

    def _way(self, way: Way) -> str:
        said = predicate_words(self.graph.predicates[way.predicate]) or "related to"
        return said if way.outgoing else f"{said} (incoming)"

    def _spoken(self, branch: Branch) -> str:
        return " > ".join(map(self._way, branch.ways))


def open_decider(context: Context, question: str, rows: Sequence[int], *, consuming: bool = True) -> OfflineDecider:
    """Return the decider of one walk over the index's graph from some entities."""
    graph = open_graph(context)
    vectors = predicate_vectors(context)
    said = _predicate_words(context)
    asked = read(question, [graph.names[row] for row in rows], span_vectors(context), vectors, said)
    beside = " ".join(word for place, word in enumerate(asked.words) if not asked.topic[place])
    whole = np.asarray(vectors @ context.embedder.embed_query(beside or question), np.float64)
    started = np.array(sorted(set(rows)), np.int64)
    return OfflineDecider(graph, Worth(asked, open_kinds(context), all_ids(context), whole, started, consuming))


def _distinct(matches: Sequence[Match]) -> list[Match]:
    seen: set[tuple[bytes, float]] = set()
    found = []
    for each in matches:
        key = (each.taken.tobytes(), round(each.held, 6))
        if key not in seen:
            seen.add(key)
            found.append(each)
    return found


@per_index
def _predicate_words(context: Context) -> tuple[str, ...]:
    return tuple(map(predicate_words, open_graph(context).predicates))
