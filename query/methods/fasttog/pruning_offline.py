"""FastToG's decisions without a language model: communities that contain the triples of the question's best reading.

The question is read as a query of the graph (`query/graph_question`). A chain continues to the community with most
of the triples that prove the answer; the walk ends when its chains contain all of them, or when no chain continues.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from conspectus.query.context import Context
from conspectus.query.graph_question.answer import decision_of, said
from conspectus.query.graph_question.reader import GraphReading
from conspectus.query.methods.fasttog.fasttog import CommunityChain
from conspectus.query.methods.fasttog.local_search import CommunityCandidate
from conspectus.query.walk.decisions import Choice, Verdict


@dataclass(slots=True)
class OfflineCommunityPolicy:
    """Chooses communities by the best reading of a question (see `CommunityPolicy`)."""

    context: Context
    reading: GraphReading
    _wanted: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        answer = self.reading.answer if self.reading.answered else None
        self._wanted = frozenset(answer.relations) if answer else frozenset()

    async def pick(
        self, chain: Sequence[CommunityCandidate], candidates: Sequence[CommunityCandidate], most: int
    ) -> Choice:
        """Choose the candidates with most triples of the answer that the chain lacks."""
        held = {row for step in chain for row in step.relations}
        missing = self._wanted - held
        scores = tuple(float(len(missing.intersection(candidate.relations))) for candidate in candidates)
        ranked = sorted(range(len(candidates)), key=lambda place: (-scores[place], place))
        picked = tuple(place for place in ranked if scores[place] > 0)[:most]
        why = "" if picked else "no community holds a triple of the best reading"
        return Choice(picked, tuple(scores[place] for place in picked), why=why)

    async def reason(self, chains: Sequence[CommunityChain]) -> Verdict:
        """Answer as soon as the chains contain all triples of the answer."""
        left = len(self._wanted - _held(chains))
        if self._wanted and not left:
            return await self.finish(chains, Verdict(False))
        return Verdict(False, why=self.reading.declined or f"{left} triples of the best reading are not held yet")

    async def finish(self, chains: Sequence[CommunityChain], verdict: Verdict, /) -> Verdict:
        """Return the answer of the reading: the entities whose triples are in the chains, or all if none is."""
        answer, considered = self.reading.answer, decision_of(self.context, self.reading).considered
        if not self.reading.answered or answer is None:
            return replace(verdict, why=self.reading.declined, considered=considered)
        held = _held(chains)
        found = tuple(each for each in answer.found if set(each.relations) <= held) or answer.found
        query = self.reading.query
        if query is None or query.form != "things" or query.things.order:
            found = answer.found
        shown = replace(answer, found=found)
        relations = tuple(row for row in answer.relations if row in held) if found != answer.found else answer.relations
        text, names = said(self.context, replace(self.reading, answer=shown))
        return Verdict(True, text, names=names, relations=relations, considered=considered)


def _held(chains: Sequence[CommunityChain]) -> set[int]:
    """Return the relations in the chains."""
    return {row for chain in chains for step in chain.steps for row in step.relations}
