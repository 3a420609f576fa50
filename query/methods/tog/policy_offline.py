"""The decisions of ToG and ToG-2 without a language model, by the words of the question that a step matches.

A path's score is the share of the question that its steps match, minus costs (path_score.py). In ToG-2 a step matches
only words that earlier steps left unmatched, its clue; ToG has no clue and compares every step with the whole question.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import (
    BeamPath,
    BeamState,
    BeamVerdict,
    Choice,
    DirectedPredicate,
    EvidenceText,
    NextQuery,
    RankedTexts,
    RelationOption,
    count_routes,
    path_label,
    relations_to,
    restrict,
)
from conspectus.query.methods.tog.evidence import rank_texts
from conspectus.query.methods.tog.path_score import PathScorer, open_answer_kinds
from conspectus.query.types.trace import Considered
from conspectus.query.walk.graph import (
    KnowledgeGraph,
    all_ids,
    open_graph,
    predicate_vectors,
    predicate_words,
    spoken,
)
from conspectus.query.walk.passages import has_documents
from conspectus.query.walk.question_predicates import Coverage, read_question
from conspectus.storage.arrays import Ints
from conspectus.storage.settings import TogSettings
from conspectus.storage.text.names import words

_KINDS_READ = 4
"""The entity types behind this many times W options are computed, which is slower."""
_COVERAGES = 4
"""Maximum alternative coverages of one path."""
_TOGETHER = 400
"""Maximum entities reached by the same relations that continue together."""
_NEIGHBOURS_READ = 50
_ANSWERS_SHOWN = 5

Relations = tuple[DirectedPredicate, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredAnswer:
    """A path as an answer, with its score and coverage."""

    path: BeamPath
    score: float
    coverage: Coverage


@dataclass(slots=True, eq=False)
class OfflineBeamPolicy:
    """Decides one walk by the scores of its paths (see `BeamPolicy` for the decisions)."""

    context: Context
    graph: KnowledgeGraph
    scorer: PathScorer
    _coverages: dict[Relations, list[Coverage]] = field(default_factory=dict)
    _answers: dict[Relations, ScoredAnswer] = field(default_factory=dict)

    @property
    def _settings(self) -> TogSettings:
        return self.context.settings.tog

    async def keep_topics(self, rows: Sequence[int]) -> Choice:
        """Keep all topics: entity linking has selected them."""
        considered = tuple(Considered(spoken(self.graph.names[row]), True, "named in the question") for row in rows)
        return Choice(tuple(range(len(rows))), considered=considered)

    def start(self, rows: Sequence[int]) -> list[BeamPath]:
        """Return one path from all topics together."""
        return [BeamPath(np.array(sorted(set(rows)), np.int64))] if rows else []

    async def keep_relations(self, state: BeamState, options: Sequence[Sequence[RelationOption]]) -> list[Choice]:
        """Choose the relations with which a path scores best."""
        return [self._prune(path, offered) for path, offered in zip(state.paths, options, strict=True)]

    def candidates(self, reached: BeamPath) -> list[BeamPath]:
        """Return one candidate with all entities; of entities with opaque ids, those with most neighbours in the
        question. Such entities represent statements with several parts (who, as what, in which film): other topics of
        the question and words in the names of neighbours identify the right one.
        """
        entities = reached.entities[:_TOGETHER]
        if len(entities) > 1 and self.scorer.ids[entities].all():
            question = self.scorer.question
            named = {word for word, content in zip(question.words, question.content, strict=True) if content}
            counts = np.array([self._named_beside(int(row), named) for row in entities])
            if counts.max() > 0:
                entities = entities[counts == counts.max()]
        return [restrict(reached, entities.tolist()) if len(entities) < len(reached.entities) else reached]

    async def keep_entities(self, path: BeamPath, candidates: Sequence[BeamPath]) -> Choice:
        """Keep all entities behind one relation: without a model they are equivalent."""
        why = f"all entities behind the relation from {path_label(self.graph, path)}"
        considered = tuple(Considered(path_label(self.graph, reached), True, why) for reached in candidates)
        return Choice(tuple(range(len(candidates))), (1.0,) * len(candidates), considered)

    async def rank(self, state: BeamState, candidates: Sequence[BeamPath], texts: list[EvidenceText]) -> RankedTexts:
        """Rank texts with `tog.scorer`; without documents, triples by the score of their path."""
        query = f"{state.question} {state.query}".strip()
        scorer = self._settings.scorer
        if has_documents(self.context) and scorer != "model":
            return RankedTexts(rank_texts(self.context, query, texts, scorer))
        scored = [replace(text, score=max(0.0, self.score(candidates[text.owner]))) for text in texts]
        return RankedTexts(sorted(scored, key=lambda text: -text.score))

    async def judge(self, state: BeamState) -> BeamVerdict:
        """Answer as soon as no further step can score higher."""
        for path in state.paths:
            if path.relations not in self._answers and path.relations in self._coverages:
                coverage = self._coverages[path.relations][0]
                score = self.scorer.answer_score(coverage, path)
                self._answers[path.relations] = ScoredAnswer(path, score, coverage)
        ranked = self._ranked_answers()
        if not ranked:
            return BeamVerdict(False, clues=self.clue(state.paths), why="no entity has been reached yet")
        best = ranked[0]
        bound = max((self._bound(path) for path in state.paths if path.relations), default=-np.inf)
        if state.last or best.score >= bound:
            return self._verdict(ranked)
        why = f"scores {best.score:.2f}, a further step could reach {bound:.2f}"
        return replace(self._verdict(ranked), sufficient=False, clues=self.clue(state.paths), why=why)

    async def next_query(self, state: BeamState) -> NextQuery:
        """Return the clue: the unmatched words of the question and the entities reached."""
        return NextQuery(self.clue(state.paths))

    async def finish(self, state: BeamState) -> BeamVerdict:
        """Return the best answer so far."""
        ranked = self._ranked_answers()
        return self._verdict(ranked) if ranked else state.verdict

    def clue(self, paths: Sequence[BeamPath]) -> str:
        """Return the words of the question that the best path has not matched, and the names at its end."""
        if not paths or not paths[0].relations:
            return ""
        best = max(paths, key=self.score)
        names = [spoken(self.graph.names[int(row)]) for row in best.entities[:3] if not self.scorer.ids[row]]
        return " ".join(part for part in (self.unmatched(best), *names) if part)

    def unmatched(self, path: BeamPath) -> str:
        """Return the words of the question that a path has not matched; "" for a path without steps."""
        coverages = self._coverages.get(path.relations)
        return self.scorer.question.unmatched(coverages[0]) if path.relations and coverages else ""

    def score(self, path: BeamPath) -> float:
        """Return the score of a path without the type of its end."""
        coverages = self._coverages.get(path.relations, ())
        return max((self.scorer.score(coverage, len(path.relations)) for coverage in coverages), default=0.0)

    def _prune(self, path: BeamPath, options: Sequence[RelationOption]) -> Choice:
        if not options:
            return Choice((), why="there is no further relation")
        width, n_steps = self._settings.width, len(path.relations) + 1
        before = self._coverages.get(path.relations) or [self.scorer.start()]
        after = self.scorer.extend(path, before, options)

        def best_first(coverages: Sequence[Coverage]) -> list[Coverage]:
            return sorted(coverages, key=lambda coverage: -self.scorer.score(coverage, n_steps))

        rough = [self.scorer.score(best_first(coverages)[0], n_steps) for coverages in after]
        scores: dict[int, float] = {}
        for place in sorted(range(len(options)), key=lambda at: -rough[at])[: _KINDS_READ * width]:
            relation = options[place].relation
            coverages = [self.scorer.with_kind(coverage, relation) for coverage in after[place]]
            coverages = _distinct(best_first(coverages))[:_COVERAGES]
            self._coverages[(*path.relations, relation)] = coverages
            scores[place] = round(self.scorer.score(coverages[0], n_steps), 9)
        ranked = sorted(scores, key=lambda place: (-scores[place], place))
        kept = ranked[:width]
        considered = tuple(
            Considered(
                self._relation(options[place].relation),
                place in kept,
                "among the best" if place in kept else f"not among the best {width}",
                scores[place],
            )
            for place in ranked
        )
        return Choice(tuple(kept), tuple(max(0.0, scores[place]) for place in kept), considered)

    def _ranked_answers(self) -> list[ScoredAnswer]:
        """Return the answers with a readable name, best first; ties go to the shorter path."""
        named = [answer for answer in self._answers.values() if not self.scorer.ids[answer.path.entities].all()]
        return sorted(
            named, key=lambda answer: (-round(answer.score, 9), len(answer.path.relations), answer.path.relations)
        )

    def _verdict(self, ranked: Sequence[ScoredAnswer]) -> BeamVerdict:
        best = ranked[0]
        entities = self._entities_at_end(best.path)
        names = tuple(self.graph.names[row] for row in entities)
        considered = tuple(
            Considered(
                " > ".join(map(self._relation, answer.path.relations)),
                answer is best,
                f"matches {self.scorer.question.share(answer.coverage):.0%}",
                answer.score,
            )
            for answer in ranked[:_ANSWERS_SHOWN]
        )
        return BeamVerdict(
            True,
            ", ".join(map(spoken, names)),
            names=names,
            relations=relations_to(best.path, entities),
            considered=considered,
            path=best.path,
            coverage=self.scorer.question.share(best.coverage),
        )

    def _entities_at_end(self, path: BeamPath) -> list[int]:
        """Return the answer entities at the end of a path: those reached from most topics, then by most routes.

        Opaque ids are excluded, and topics if there are other entities.
        """
        rows = path.entities[~self.scorer.ids[path.entities]]
        others = rows[~np.isin(rows, self.scorer.topics)]
        rows = others if len(others) else rows
        routes, n_topics = count_routes(path, rows), self._count_topics(path, rows)
        if len(rows) and n_topics.max() > 1:
            most = n_topics == n_topics.max()
            rows, routes = rows[most], routes[most]
        return [int(row) for row in rows[np.lexsort((rows, -routes))]]

    def _count_topics(self, path: BeamPath, rows: Ints) -> Ints:
        """Return the number of topics from which the path reaches each entity."""
        found = np.zeros(len(rows), np.int64)
        for topic in self.scorer.topics.tolist():
            reached: Ints = np.array([topic], np.int64)
            for edges in path.edges:
                reached = edges.neighbours[np.isin(edges.at, reached)]
            found += np.isin(rows, reached)
        return found

    def _bound(self, path: BeamPath) -> float:
        """Return an upper bound on the score of an answer after further steps."""
        cost = min((coverage.cost for coverage in self._coverages.get(path.relations, ())), default=0.0)
        return self.scorer.bound(cost, len(path.relations))

    def _named_beside(self, row: int, named: set[str]) -> int:
        near = np.unique(self.graph.edges_of([row]).neighbours)
        topics = int(np.isin(near, self.scorer.topics).sum())
        names = [spoken(self.graph.names[int(neighbour)]) for neighbour in near[:_NEIGHBOURS_READ]]
        return 2 * topics + len({word.key for name in names for word in words(name)} & named)

    def _relation(self, relation: DirectedPredicate) -> str:
        name = predicate_words(self.graph.predicates[relation.predicate]) or "related to"
        return name if relation.outgoing else f"{name} (incoming)"


def open_offline_policy(
    context: Context, question: str, topics: Sequence[int], *, consuming: bool
) -> OfflineBeamPolicy:
    """Return the policy of one walk.

    Args:
        context: The open index.
        question: The question.
        topics: Entity rows where the walk starts.
        consuming: Whether later steps cannot match the same words (see `PathScorer`).
    """
    read = read_question(context, question, topics)
    beside_topics = " ".join(word for word, topic in zip(read.words, read.topic, strict=True) if not topic)
    vector = context.embedder.embed_query(beside_topics or question)
    whole = np.asarray(predicate_vectors(context) @ vector, np.float64)
    rows = np.array(sorted(set(topics)), np.int64)
    scorer = PathScorer(read, open_answer_kinds(context), all_ids(context), whole, rows, consuming)
    return OfflineBeamPolicy(context, open_graph(context), scorer)


def _distinct(coverages: Sequence[Coverage]) -> list[Coverage]:
    found: dict[tuple[bytes, float], Coverage] = {}
    for coverage in coverages:
        found.setdefault((coverage.used.tobytes(), round(coverage.cost, 6)), coverage)
    return list(found.values())
