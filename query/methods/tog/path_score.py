"""The score of a path without a model: the share of the question that it matches, minus costs.

The score also depends on whether the entities at the end have the type that the question asks for. Types are learned
from the graph: from the names of the entities behind a relation, and from the predicates stated of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import BeamPath, DirectedPredicate, RelationOption
from conspectus.query.walk.graph import KnowledgeGraph, is_id, open_graph, spoken
from conspectus.query.walk.question_predicates import Coverage, QuestionPredicates
from conspectus.storage.arrays import Bools, Floats, Ints
from conspectus.storage.index import per_index

_UNMATCHED = 0.35
"""Cost of a step that matches no word."""
_BACK = 0.1
"""Cost of an unmatched step back along the last relation to other entities ("films of the same director")."""
_OF_IDS = 0.2
"""Share of that cost for a step to or from entities with opaque ids, which join more than two entities."""
_STEP = 0.04
_INCOMING = 0.12
"""Cost of every step after the first and of every step against a relation's direction: prefers the simpler of two
equal matches."""
_WHOLE = 0.3
"""Weight of the cosine of a predicate with the whole question, relative to the best option."""
_KIND = 0.5
"""Weight of the expected answer type."""
_IS_KIND = 0.6
"""A step also matches a word that names the type of its end entities with at least this certainty."""
_LEAST_KIND = 0.3
"""Below this certainty a word names the type of no entity reached."""
_UNLIKE, _LIKE = 0.25, 0.55
"""Range of cosines that is scaled to a similarity of 0 to 1 between a word and entity names."""
_TOPICS_READ = 50

_KINDS = ("person", "place", "date", "thing")
"""The answer types of who, where and when, and others."""
_SAMPLE = 16
"""Number of entities behind a relation that are sampled, evenly spaced."""
_SHARPNESS = 0.05
"""Temperature of the softmax over the four types."""
_LIKELIEST = 12
"""Number of likeliest predicates of a word that are compared."""
_ENOUGH = 12
"""If this many sampled names have stored vectors, the others are not embedded."""


@dataclass(slots=True, eq=False)
class AnswerKinds:
    """The types of the entities behind relations, cached.

    `stored` returns the stored vectors of entity names, with zeros for entities without one.
    """

    graph: KnowledgeGraph
    embedder: Embedder
    stored: Callable[[Ints], Floats] | None = None
    _centres: dict[DirectedPredicate, Floats] = field(default_factory=dict)
    _stated: dict[DirectedPredicate, Floats] = field(default_factory=dict)
    _prototypes: Floats | None = None
    _words: dict[str, Floats] = field(default_factory=dict)

    def stated(self, relation: DirectedPredicate) -> Floats:
        """Return for each predicate the share of the entities behind a relation that have it, (p,)."""
        if relation not in self._stated:
            self._stated[relation] = self.stated_of(self._sample(relation))
        return self._stated[relation]

    def stated_of(self, entities: Ints) -> Floats:
        """Return for each predicate the share of the given entities that have it, (p,)."""
        shares = np.zeros(len(self.graph.predicates))
        edges = self.graph.edges_of(entities)
        pairs = np.unique(np.stack([edges.at, edges.predicate.astype(np.int64)])[:, edges.outgoing], axis=1)
        np.add.at(shares, pairs[1], 1 / max(1, len(entities)))
        return shares

    def agreement(self, meaning: Floats, stated: Floats) -> float:
        """Return how well a word fits entities with the predicates `stated`, 0 to 1.

        It is the expected cosine between `stated` and the co-occurrence profile of the predicates that the word may
        mean, over the twelve likeliest.

        Args:
            meaning: float64 (p,), the probability of each predicate.
            stated: float64 (p,), the share of the entities that have each predicate.
        """
        total, norm = float(meaning.sum()) or 1.0, float(np.linalg.norm(stated))
        if not norm:
            return 0.0
        found = 0.0
        for predicate in np.argsort(-meaning, kind="stable")[:_LIKELIEST].tolist():
            beside = self.stated(DirectedPredicate(predicate, False))
            cosine = float(beside @ stated) / (float(np.linalg.norm(beside)) * norm or 1.0)
            found += float(meaning[predicate]) * cosine
        return found / total

    def likeness(self, word: str, relation: DirectedPredicate) -> float:
        """Return the cosine of a word with the mean name vector of the entities behind a relation."""
        if word not in self._words:
            self._words[word] = np.asarray(self.embedder.embed([word])[0], np.float64)
        return float(self._words[word] @ self._centre(relation))

    def probability(self, kind: str, relation: DirectedPredicate) -> float:
        """Return the probabilities that the entities behind a relation are persons, places, dates or other, by their
        names."""
        if self._prototypes is None:
            self._prototypes = np.asarray(self.embedder.embed(list(_KINDS)), np.float64)
        cosines = self._prototypes @ self._centre(relation)
        shares = np.exp((cosines - cosines.max()) / _SHARPNESS)
        return float(shares[_KINDS.index(kind)] / shares.sum())

    def _centre(self, relation: DirectedPredicate) -> Floats:
        if relation not in self._centres:
            rows = np.array([row for row in self._sample(relation) if not is_id(self.graph.names[int(row)])], np.int64)
            mean = self._vectors(rows).sum(axis=0) if len(rows) else np.zeros(self.embedder.dimension)
            mean /= np.linalg.norm(mean) or 1.0
            self._centres[relation] = mean
        return self._centres[relation]

    def _vectors(self, rows: Ints) -> Floats:
        if self.stored is not None:
            found = self.stored(rows)
            known = found.any(axis=1)
            if known.sum() >= min(_ENOUGH, len(rows)):
                return found[known]
        texts = [self.embedder.windows(spoken(self.graph.names[int(row)]))[0] for row in rows]
        return np.asarray(self.embedder.embed(texts), np.float64)

    def _sample(self, relation: DirectedPredicate) -> Ints:
        rows = np.flatnonzero(self.graph.stated == relation.predicate)
        ends = np.unique((self.graph.targets if relation.outgoing else self.graph.sources)[rows])
        if len(ends) <= _SAMPLE:
            return ends
        return ends[np.linspace(0, len(ends) - 1, _SAMPLE).astype(np.int64)]


@per_index
def open_answer_kinds(context: Context) -> AnswerKinds:
    """Return the types of the index's graph, created on first use."""
    vectors = context.index.vectors("entities")
    return AnswerKinds(
        open_graph(context), context.embedder, lambda rows: np.asarray(vectors.mean_vectors(rows), np.float64)
    )


@dataclass(frozen=True, slots=True, eq=False)
class PathScorer:
    """Scores the paths of one walk.

    Attributes:
        ids: bool (n,), entities with an opaque id as name.
        whole: float64 (p,), cosine of each predicate with the question without its topics.
        topics: Entity rows where the walk starts.
        consuming: Whether a matched word is removed for later steps (ToG-2's clue) or not (ToG compares every step with
            the whole question).
    """

    question: QuestionPredicates
    kinds: AnswerKinds
    ids: Bools
    whole: Floats
    topics: Ints
    consuming: bool = True

    def start(self) -> Coverage:
        """Return the initial coverage: a noun before the topic ("the film X") may name the type of the topic."""
        coverage, question = self.question.nothing_matched(), self.question
        places = np.flatnonzero(question.topic)
        at = int(places[0]) - 1 if len(places) else -1
        if at >= 0 and question.single[at] >= 0:
            stated = self.kinds.stated_of(self.topics[:_TOPICS_READ])
            share = self.kinds.agreement(question.meaning[at], stated)
            if share > _IS_KIND:
                coverage.explained[at] = min(1.0, share)
                coverage.used[at] = question.names_kind(at)
        return coverage

    def extend(
        self, path: BeamPath, before: Sequence[Coverage], options: Sequence[RelationOption]
    ) -> list[list[Coverage]]:
        """Return for each option the possible coverages after it, given those of the path."""
        predicates = [option.relation.predicate for option in options]
        nearest = float(self.whole[predicates].max())
        unmatched = [self._unmatched_cost(path, option) for option in options]
        costs = [self._step_cost(path, option, nearest) for option in options]
        found: list[list[Coverage]] = [[] for _ in options]
        for coverage in before:
            open_ = coverage
            if not self.consuming:
                open_ = replace(coverage, used=np.zeros_like(coverage.used))
            after = self.question.after_step(open_, predicates, unmatched)
            for place, (coverages, cost) in enumerate(zip(after, costs, strict=True)):
                for made in coverages:
                    used = coverage.used if made.used is open_.used else made.used
                    found[place].append(Coverage(used, made.explained, made.cost + cost))
        return found

    def score(self, coverage: Coverage, n_steps: int) -> float:
        """Return the score of a path of `n_steps` steps without the type of its end."""
        return self.question.share(coverage) - coverage.cost - _STEP * max(0, n_steps - 1)

    def answer_score(self, coverage: Coverage, path: BeamPath) -> float:
        """Return the score of a path as an answer, including the type of its end."""
        return self.score(coverage, len(path.relations)) + _KIND * self._is_asked_for(path.relations[-1])

    def bound(self, cost: float, n_steps: int) -> float:
        """Return an upper bound on the score of an answer one step further, given a path of `n_steps` steps."""
        kind = _KIND if self.question.asks_for or self.question.head >= 0 else 0.0
        return 1.0 - cost - _STEP * n_steps + kind

    def with_kind(self, coverage: Coverage, relation: DirectedPredicate) -> Coverage:
        """Return the coverage including words that name the type of the entities behind a relation."""
        used, explained = coverage.used.copy(), coverage.explained.copy()
        for word in np.flatnonzero((self.question.single >= 0) & ~coverage.used).tolist():
            share = self._kind_share(word, relation)
            explained[word] = max(explained[word], share)
            used[word] |= share > _IS_KIND
        return Coverage(used, explained, coverage.cost)

    def _is_asked_for(self, relation: DirectedPredicate) -> float:
        """Return how well the entities behind a relation fit the expected answer type, 0 to 1."""
        question = self.question
        if question.asks_for:
            return self.kinds.probability(question.asks_for, relation)
        head = question.head
        if head < 0 or question.single[head] < 0:
            return 0.0
        span = question.single[head]
        share = float(question.relative[span, relation.predicate] * question.similarity[span, relation.predicate])
        if question.names_kind(head):
            share *= float(question.meaning[head].max())
        return max(share, self._kind_share(head, relation))

    def _kind_share(self, word: int, relation: DirectedPredicate) -> float:
        """Return the certainty that a word names the type of the entities behind a relation, 0 to 1."""
        if not self.question.names_kind(word):
            return 0.0
        share = self.kinds.agreement(self.question.meaning[word], self.kinds.stated(relation))
        if share < _LEAST_KIND:
            return 0.0
        likeness = self.kinds.likeness(self.question.words[word], relation)
        return share * min(1.0, max(0.0, (likeness - _UNLIKE) / (_LIKE - _UNLIKE)))

    def _unmatched_cost(self, path: BeamPath, option: RelationOption) -> float:
        last = path.relations[-1] if path.relations else None
        relation = option.relation
        back = last is not None and last.predicate == relation.predicate and last.outgoing != relation.outgoing
        cost = _BACK if back else _UNMATCHED
        from_ids = bool(path.relations) and bool(self.ids[path.entities].all())
        return cost * _OF_IDS if from_ids or bool(self.ids[option.edges.neighbours].all()) else cost

    def _step_cost(self, path: BeamPath, option: RelationOption, nearest: float) -> float:
        farther = nearest - float(self.whole[option.relation.predicate])
        whole = _WHOLE * farther / max(1, 2 * len(path.relations))
        return whole + (0.0 if option.relation.outgoing else _INCOMING)
