"""The score of a path without a model: the share of the question that it matches, less its costs.

What stands at the end of a path counts as far as it is of the kind that the question asks for. Kinds are learned from
the graph itself: by the names of the things that a relation leads to, and by what is stated of them.
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
"""The same where it walks the last relation back, to others that it joins ("films of the same director")."""
_OF_IDS = 0.2
"""Share of that cost for a step to or from things that have only ids: they join what a triple cannot."""
_STEP = 0.04
_INCOMING = 0.12
"""Cost of every step after the first, and of every step against a relation's direction: of two readings that match
alike the simpler one is meant."""
_WHOLE = 0.3
"""Weight of the cosine of a predicate with the question as a whole, relative to the best one at hand."""
_KIND = 0.5
"""Weight of the kind of thing that is asked for."""
_IS_KIND = 0.6
"""From this share on a word that names the kind of things at the end of a step is used up by the step."""
_LEAST_KIND = 0.3
"""Below this share a word is taken to name no kind of thing that has been reached."""
_UNLIKE, _LIKE = 0.25, 0.55
"""Between these cosines the likeness of a word and the names of things rises from 0 to 1."""
_TOPICS_READ = 50

_KINDS = ("person", "place", "date", "thing")
"""What who, where and when ask for, and what is none of these."""
_SAMPLE = 16
"""So many of the things that a relation leads to are read, evenly spaced."""
_SHARPNESS = 0.05
"""Of the softmax over the four kinds."""
_LIKELIEST = 12
"""So many predicates that a word may mean are compared."""
_ENOUGH = 12
"""If so many of the sampled names have stored vectors, the others are not embedded."""


@dataclass(slots=True, eq=False)
class AnswerKinds:
    """The kinds of things that relations lead to; what was found is cached.

    `stored` gives the vectors that the index holds of entities' names, a row of zeros for each that it lacks.
    """

    graph: KnowledgeGraph
    embedder: Embedder
    stored: Callable[[Ints], Floats] | None = None
    _centres: dict[DirectedPredicate, Floats] = field(default_factory=dict)
    _stated: dict[DirectedPredicate, Floats] = field(default_factory=dict)
    _prototypes: Floats | None = None
    _words: dict[str, Floats] = field(default_factory=dict)

    def stated(self, relation: DirectedPredicate) -> Floats:
        """Return for each predicate the share of the things a relation leads to of which it is stated, (p,)."""
        if relation not in self._stated:
            self._stated[relation] = self.stated_of(self._sample(relation))
        return self._stated[relation]

    def stated_of(self, entities: Ints) -> Floats:
        """Return the same of given things."""
        shares = np.zeros(len(self.graph.predicates))
        edges = self.graph.edges_of(entities)
        pairs = np.unique(np.stack([edges.at, edges.predicate.astype(np.int64)])[:, edges.outgoing], axis=1)
        np.add.at(shares, pairs[1], 1 / max(1, len(entities)))
        return shares

    def agreement(self, meaning: Floats, stated: Floats) -> float:
        """Return how far the predicates that a word means are stated of things like those of `stated`, 0 to 1.

        Args:
            meaning: the probability of each predicate, (p,). The twelve likeliest are compared: by the cosine of what
                is stated beside them with `stated`, weighted by their probability.
            stated: the share of some things of which each predicate is stated, (p,).
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
        """Return the cosine of a word with the mean of the names of the things that a relation leads to."""
        if word not in self._words:
            self._words[word] = np.asarray(self.embedder.embed([word])[0], np.float64)
        return float(self._words[word] @ self._centre(relation))

    def probability(self, kind: str, relation: DirectedPredicate) -> float:
        """Return the probability that the things a relation leads to are a person, place or date, by their names."""
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
    """Return the kinds of the index's graph, made on first use."""
    vectors = context.index.vectors("entities")
    return AnswerKinds(
        open_graph(context), context.embedder, lambda rows: np.asarray(vectors.mean_vectors(rows), np.float64)
    )


@dataclass(frozen=True, slots=True, eq=False)
class PathScorer:
    """Scores the paths of one walk.

    `ids` bool (n,) tells which entities have only ids, `whole` float64 (p,) the cosine of predicates with the question
    beside its topics, `topics` the rows where the walk starts, and `consuming` whether a word that a step matched is
    left out of what later steps match (ToG-2's clue) or not (ToG, which compares every step with the whole question).
    """

    question: QuestionPredicates
    kinds: AnswerKinds
    ids: Bools
    whole: Floats
    topics: Ints
    consuming: bool = True

    def start(self) -> Coverage:
        """Return the coverage of the start: a noun before the topic ("the film X") may say what the topic is."""
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
        """Return for each option the coverages after that step, given those that the path may have."""
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
        """Return the score of a path of so many steps, without the kind of its end."""
        return self.question.share(coverage) - coverage.cost - _STEP * max(0, n_steps - 1)

    def answer_score(self, coverage: Coverage, path: BeamPath) -> float:
        """Return the score of a path as an answer: with the kind of what stands at its end."""
        return self.score(coverage, len(path.relations)) + _KIND * self._is_asked_for(path.relations[-1])

    def bound(self, cost: float, n_steps: int) -> float:
        """Return the most that an answer one more step on could score, given the costs of a path of `n_steps`."""
        kind = _KIND if self.question.asks_for or self.question.head >= 0 else 0.0
        return 1.0 - cost - _STEP * n_steps + kind

    def with_kind(self, coverage: Coverage, relation: DirectedPredicate) -> Coverage:
        """Return the coverage with the words that name the kind of things that a relation leads to."""
        used, explained = coverage.used.copy(), coverage.explained.copy()
        for word in np.flatnonzero((self.question.single >= 0) & ~coverage.used).tolist():
            share = self._kind_share(word, relation)
            explained[word] = max(explained[word], share)
            used[word] |= share > _IS_KIND
        return Coverage(used, explained, coverage.cost)

    def _is_asked_for(self, relation: DirectedPredicate) -> float:
        """Return how far what a relation leads to is of the kind that is asked for, 0 to 1."""
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
        """Return how surely a word names the kind of things that a relation leads to: by relations and by names."""
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
