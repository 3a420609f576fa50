"""The decisions of ToG and ToG-2 without a language model: the walk follows the readings of the question.

The question is read as queries of the graph (`query/graph_question`). A relation is kept if the best readings continue
along it, and the walk suffices when it has reached the end of the best reading.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from conspectus.query.context import Context
from conspectus.query.graph_question.answer import said
from conspectus.query.graph_question.candidates import Candidate, Leg
from conspectus.query.graph_question.mentions import EntityMention
from conspectus.query.graph_question.reader import GraphReading, read_graph_question
from conspectus.query.methods.tog.beam import (
    BeamPath,
    BeamState,
    EvidenceText,
    NextQuery,
    RankedTexts,
    RelationOption,
    path_label,
)
from conspectus.query.methods.tog.evidence import rank_texts
from conspectus.query.question.topics import find_topics
from conspectus.query.types import Step, Topics
from conspectus.query.types.trace import Considered
from conspectus.query.walk.decisions import Choice, Verdict
from conspectus.query.walk.graph import KnowledgeGraph, all_ids, open_graph, predicate_words, spoken
from conspectus.query.walk.passages import has_documents

_READINGS = 40
"""Number of best readings that a walk may follow."""
_CITED = 20
_UNMATCHED = 0.5
"""A word explained by a path to a smaller degree is part of the clue."""


@dataclass(slots=True, eq=False)
class OfflineBeamPolicy:
    """Decides one walk by the readings of its question."""

    context: Context
    graph: KnowledgeGraph
    reading: GraphReading

    async def keep_topics(self, rows: Sequence[int]) -> Choice:
        """Keep all topics: the best reading starts from them."""
        considered = tuple(Considered(spoken(self.graph.names[row]), True, "named in the question") for row in rows)
        return Choice(tuple(range(len(rows))), considered=considered)

    def start(self, rows: Sequence[int]) -> list[BeamPath]:
        """Return one path from each topic."""
        return [BeamPath(np.array([row], np.int64)) for row in dict.fromkeys(rows)]

    async def keep_relations(self, state: BeamState, options: Sequence[Sequence[RelationOption]]) -> list[Choice]:
        """Keep the relations along which the best readings continue."""
        return [self._prune(path, offered) for path, offered in zip(state.paths, options, strict=True)]

    def candidates(self, reached: BeamPath) -> list[BeamPath]:
        """Return all entities behind a relation as one candidate."""
        return [reached]

    async def keep_entities(self, path: BeamPath, candidates: Sequence[BeamPath]) -> Choice:
        """Keep all entities behind one relation: without a model, they are equivalent."""
        why = f"all entities behind the relation from {path_label(self.graph, path)}"
        considered = tuple(Considered(path_label(self.graph, reached), True, why) for reached in candidates)
        return Choice(tuple(range(len(candidates))), (1.0,) * len(candidates), considered)

    async def rank(self, state: BeamState, candidates: Sequence[BeamPath], texts: list[EvidenceText]) -> RankedTexts:
        """Rank texts with `tog.scorer`; without documents, rank triples by the readings that follow their path."""
        query = f"{state.question} {state.query}".strip()
        scorer = self.context.settings.tog.scorer
        if has_documents(self.context) and scorer != "model":
            return RankedTexts(rank_texts(self.context, query, texts, scorer))
        scored = [replace(text, score=max(0.0, self._worth(candidates[text.owner]))) for text in texts]
        return RankedTexts(sorted(scored, key=lambda text: -text.score))

    async def judge(self, state: BeamState) -> Verdict:
        """Answer as soon as the walk has reached the end of the best reading."""
        best = self.reading.best
        if best is None or not any(path.relations for path in state.paths):
            return Verdict(False, clues=self.clue(state.paths), why="no entity has been reached yet")
        far = max((len(leg.steps) for leg in best.legs), default=0) + len(best.tail)
        if self.reading.answered and (state.depth >= far or state.last):
            return self._verdict(sufficient=True)
        why = self.reading.declined or f"the best reading takes {far} steps"
        return Verdict(False, clues=self.clue(state.paths), why=why)

    async def next_query(self, state: BeamState) -> NextQuery:
        """Return the clue: the unexplained words of the question, and the entities reached."""
        return NextQuery(self.clue(state.paths))

    async def finish(self, state: BeamState) -> Verdict:
        """Return the answer of the best reading, as a best effort if it leaves words unexplained."""
        if self.reading.answered:
            return self._verdict(sufficient=True)
        if self.reading.best_effort:
            return replace(self._verdict(sufficient=False), why=self.reading.declined)
        return replace(state.verdict, why=self.reading.declined, lack=self.reading.declined)

    def clue(self, paths: Sequence[BeamPath]) -> str:
        """Return the words of the question that the best path has not matched, and the names at its end."""
        walked = [path for path in paths if path.relations]
        if not walked:
            return ""
        best = max(walked, key=self._worth)
        ids = all_ids(self.context)
        names = [spoken(self.graph.names[int(row)]) for row in best.entities[:3] if not ids[row]]
        return " ".join(part for part in (self.unmatched(best), *names) if part)

    def unmatched(self, path: BeamPath) -> str:
        """Return the content words of the question that a path does not explain."""
        candidate, asked = self._along(path), self.reading.asked
        explained = self.reading.scoring.account(candidate).explained
        named = {place for mention in candidate.mentions for place in mention.places}
        return " ".join(
            word.key
            for place, word in enumerate(asked.words)
            if asked.weights[place] >= 1 and place not in named and explained[place] < _UNMATCHED
        )

    def score(self, path: BeamPath) -> float:
        """Return the share of the question that a path explains, 0 to 1."""
        return float(self.reading.scoring.features(self._along(path))[0])

    def _along(self, path: BeamPath) -> Candidate:
        root = int(path.edges[0].at[0]) if path.edges else int(path.entities[0])
        mention = next((item for item in self.reading.mentions if root in item.rows), EntityMention(0, 0, (root,), 1.0))
        steps = tuple((relation.predicate, relation.outgoing) for relation in path.relations)
        return Candidate("things", (Leg(mention, root, steps),), path.entities)

    def _worth(self, path: BeamPath) -> float:
        """Return the score of the best reading that follows a path."""
        leg = self._along(path).legs[0]
        along = [
            candidate.score
            for candidate in self.reading.candidates[:_READINGS]
            for other in candidate.legs
            if other.start == leg.start and (*other.steps, *candidate.tail)[: len(leg.steps)] == leg.steps
        ]
        return max(along, default=-1.0)

    def _prune(self, path: BeamPath, options: Sequence[RelationOption]) -> Choice:
        if not options:
            return Choice((), why="there is no further relation")
        scores = [
            self._worth(BeamPath(path.entities, (*path.relations, option.relation), (*path.edges, option.edges)))
            for option in options
        ]
        ranked = sorted(range(len(options)), key=lambda place: (-scores[place], place))
        kept = [place for place in ranked[: self.context.settings.tog.width] if scores[place] >= 0]
        considered = tuple(
            Considered(
                self._relation(options[place]),
                place in kept,
                "a reading goes on along it" if place in kept else "no better reading goes on along it",
                scores[place] if scores[place] >= 0 else None,
            )
            for place in ranked
        )
        return Choice(tuple(kept), tuple(scores[place] for place in kept), considered)

    def _verdict(self, *, sufficient: bool) -> Verdict:
        answer = self.reading.answer
        assert answer is not None, "there is an answer"
        text, names = said(self.context, self.reading)
        return Verdict(sufficient, text, names=names, relations=answer.relations[:_CITED])

    def _relation(self, option: RelationOption) -> str:
        name = predicate_words(self.graph.predicates[option.relation.predicate]) or "related to"
        return name if option.relation.outgoing else f"{name} (incoming)"


def open_offline_policy(
    context: Context, question: str, given: Sequence[str] | None = None
) -> tuple[OfflineBeamPolicy, Topics]:
    """Return the policy of one walk, and the topics where it starts: those of the best reading.

    Args:
        context: The open index.
        question: The question.
        given: Names of the things that it is about; None to find them in its words.
    """
    topics = find_topics(context, question, given) if given is not None else None
    reading = read_graph_question(context, question, topics.rows if topics else None)
    policy = OfflineBeamPolicy(context, open_graph(context), reading)
    if topics:
        return policy, topics
    starts = tuple(dict.fromkeys(leg.start for leg in reading.best.legs)) if reading.best else ()
    names = ", ".join(spoken(policy.graph.names[row]) for row in starts)
    return policy, Topics(starts, Step("topics", f"{names or 'nothing'} of the graph is named"))
