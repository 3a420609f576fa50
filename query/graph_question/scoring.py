"""How well a candidate query accounts for a question: a weighted sum of a few features."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from conspectus.query.graph_question.asked import Asked
from conspectus.query.graph_question.candidates import Candidate, Leg
from conspectus.query.graph_question.lexicon import DATE, NUMBER, stems_of
from conspectus.query.graph_question.meanings import Meanings, Predicates
from conspectus.query.walk.graph import KnowledgeGraph
from conspectus.storage.arrays import Floats, Ints

FEATURES = (
    "explained", "unmet", "unsupported", "steps", "kind", "disorder", "whole", "literal", "conditions", "verdict",
    "crowded",
)  # fmt: skip
WEIGHTS = (4.0, -0.8, -1.0, -0.15, 0.7, -0.5, 0.6, 0.5, 0.3, 0.15, -1.4)
"""The weight of each feature."""
_MET = 0.35
"""A content word that is explained less than this is unmet."""
_ALSO = 0.85
"""A word supports a step if it is this near, relative to the step that it is nearest to."""
_OTHERS = 0.8
"""Support of a step back by "other" or "same"."""
_LEAST = 0.2
"""A word less near than this supports no step."""
_TYPED = 0.55
"""Support of a step by a word that names the things it leads to."""
_SAYS = 0.7
"""Nearness from which a word says a step."""
_OWN = 0.7
"""Support of the first step by an entity all of whose edges are along it ("war movies": War is only ever a genre)."""
_LEAST_OF_RETURN = 0.5
"""Support that every step of a chain needs which returns along a predicate, where the question does not say "other"."""
_NAMED_WORDS = 2.0
"""Weight of the words of a mention at most."""


@dataclass(frozen=True, slots=True)
class Account:
    """What a candidate accounts for: the share explained of each word (t,), and for each step its support and word."""

    explained: Floats
    supports: tuple[float, ...]
    words: tuple[int, ...]


class Scoring:
    """Scores the candidates of one question."""

    def __init__(
        self, predicates: Predicates, asked: Asked, meanings: Meanings, head: Sequence[int],
        weights: Sequence[float] = WEIGHTS,
    ) -> None:  # fmt: skip
        """Prepare the scores of a question; `head` are the places of the nouns that name the kind of the answer."""
        self._predicates = predicates
        self._asked = asked
        self._meanings = meanings
        self._head = tuple(head)
        self._weights = np.asarray(weights)
        self._importance = np.asarray(asked.weights)
        self._parts = asked.parts
        self._shares: dict[tuple[int, tuple[int, bool]], float] = {}
        self._most_whole = float(meanings.whole.max(initial=0.0)) or 1.0

    @property
    def graph(self) -> KnowledgeGraph:
        """The graph that is asked."""
        return self._predicates.graph

    def near(self, places: Sequence[int]) -> Floats:
        """Return for each predicate how near the nearest of some words is, (p,)."""
        near = self._meanings.near[list(places)].max(axis=0, initial=0.0)
        both: Floats = np.maximum(near[0::2], near[1::2])
        return both

    def __call__(self, candidate: Candidate) -> float:
        """Return the score of a candidate."""
        return float(self.features(candidate) @ self._weights)

    def account(self, candidate: Candidate) -> Account:
        """Return what of the question a candidate accounts for."""
        steps = [*candidate.steps]
        if candidate.literal and candidate.literal.step:
            steps.append(candidate.literal.step)
        named = {place for mention in candidate.mentions for place in mention.places}
        free = np.array([place for place in range(len(self._importance)) if place not in named], np.int64)
        explained = np.zeros(len(self._importance))
        if not len(free):
            return Account(explained, (0.0,) * len(steps), (-1,) * len(steps))
        ends = [2 * predicate + outgoing for predicate, outgoing in steps]
        near = self._meanings.near[free][:, ends]
        types = self._meanings.types[free][:, ends + ([candidate.members] if candidate.members >= 0 else [])]
        explained[free] = np.maximum(near.max(axis=1, initial=0.0), 0.9 * types.max(axis=1, initial=0.0))
        if starts := [2 * leg.steps[0][0] + (not leg.steps[0][1]) for leg in candidate.legs if leg.steps]:
            # a noun beside a name may say what it names: "the Discovery team"
            explained[free] = np.maximum(explained[free], 0.8 * self._meanings.types[free][:, starts].max(axis=1))
        supports, words = self._supports(candidate, steps, near, types, free)
        return Account(explained, supports, words)

    def _supports(
        self, candidate: Candidate, steps: Sequence[tuple[int, bool]], near: Floats, types: Floats, free: Ints
    ) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """Return the support of each step and the word that gives it, -1 where none does."""
        best = near.max(axis=1, initial=0.0)
        taken: dict[int, set[int]] = {}
        first = self._first_steps(candidate)
        supports: list[float] = []
        words: list[int] = []
        for number, (predicate, _) in enumerate(steps):
            column = np.where(near[:, number] >= _ALSO * best, near[:, number], 0.0)
            used = taken.setdefault(predicate, set())
            said = (column >= _SAYS) & (self._importance[free] >= 1)  # of "couple of" the noun says it
            ranked = np.lexsort((-column, ~said)).tolist()
            options = [at for at in ranked if at not in used and column[at] > _LEAST]
            value, word = 0.0, -1
            if options:
                value, word = float(column[options[0]]), int(free[options[0]])
                used.add(options[0])
            elif used and self._asked.others:
                value = _OTHERS
            value = max(value, _TYPED * float(types[:, number].max()), _OWN * first.get(number, 0.0))
            supports.append(value)
            words.append(word)
        if candidate.literal and candidate.literal.step:
            supports[-1] = max(supports[-1], candidate.literal.fit)
        for joining in candidate.joining:  # the two steps over an opaque id are one
            supports[joining] = supports[joining + 1] = max(supports[joining], supports[joining + 1])
        return tuple(supports), tuple(words)

    def _first_steps(self, candidate: Candidate) -> dict[int, float]:
        """Return for the first step of each leg which share of the edges of its entity are along it."""
        found, number = {}, 0
        for leg in candidate.legs:
            if leg.steps:
                key = (leg.start, leg.steps[0])
                if key not in self._shares:
                    edges = self.graph.edges_of([leg.start])
                    predicate, outgoing = leg.steps[0]
                    along = (edges.predicate == predicate) & (edges.outgoing == outgoing)
                    along |= (edges.predicate == self._predicates.twins[predicate]) & (edges.outgoing != outgoing)
                    self._shares[key] = float(along.mean()) if len(along) else 0.0
                found[number] = self._shares[key]
            number += len(leg.steps)
        return found

    def features(self, candidate: Candidate) -> Floats:
        """Return the features of a candidate, in the order of `FEATURES`."""
        account = self.account(candidate)
        named = {place for mention in candidate.mentions for place in mention.places}
        weights = self._importance.copy()
        weights[list(named)] = 0.0
        lengths = [min(_NAMED_WORDS, len(mention.places)) for mention in candidate.mentions]
        names = sum(length * mention.likeness for length, mention in zip(lengths, candidate.mentions, strict=True))
        explained = (float((weights * account.explained).sum()) + names) / (float(weights.sum()) + sum(lengths) or 1.0)
        joining = set(candidate.joining)
        whole = [self._meanings.whole[predicate] for predicate, _ in candidate.steps] or [0.0]
        return np.array([
            explained,
            self._unmet(candidate, account, weights),
            sum(1 - support for number, support in enumerate(account.supports) if number not in joining),
            len(account.supports) - len(joining),
            self._kind(candidate),
            self._disorder(candidate, account),
            float(np.mean(whole)) / self._most_whole,
            candidate.literal.fit if candidate.literal else 0.0,
            len(candidate.legs) - 1,
            float(bool(candidate.verdict)),
            self._crowded(candidate, account),
        ])  # fmt: skip

    def _unmet(self, candidate: Candidate, account: Account, weights: Floats) -> float:
        """Return how many content words met nothing; "other" and a way back that nothing says count as one more."""
        unmet = float(((account.explained < _MET) & (weights >= 1)).sum())
        if self._asked.others and candidate.form == "things" and not candidate.returns:
            unmet += 1
        if candidate.returns and not self._asked.others:
            unmet += any(support < _LEAST_OF_RETURN for support in account.supports)
        return unmet

    def _crowded(self, candidate: Candidate, account: Account) -> float:
        """Return how many words say again what a step says, from another part ("parents of parents")."""
        named = {place for mention in candidate.mentions for place in mention.places}
        free = [place for place, weight in enumerate(self._importance) if weight >= 1 and place not in named]
        ends = [2 * predicate + outgoing for predicate, outgoing in candidate.steps]
        if not free or not ends:
            return 0.0
        near = self._meanings.near[free][:, ends]
        found = 0
        for at, place in enumerate(free):
            step = int(near[at].argmax())
            other = account.words[step]
            if (
                near[at, step] >= _SAYS
                and other >= 0
                and self._parts[place] != self._parts[other]
                and place not in account.words
            ):
                own = self._predicates.stems[ends[step] // 2][0]
                stems = {self._asked.stems[place], self._asked.stems[other]}
                found += len(stems) < 2 or not stems <= own
        return float(found)

    def _kind(self, candidate: Candidate) -> float:
        """Return how well the answers fit the kind that is asked for, -1 to 1."""
        end = candidate.end
        if candidate.form in ("yes_no", "compare") or end < 0:
            return 0.0
        named = {place for mention in candidate.mentions for place in mention.places}
        head = [place for place in self._head if place not in named]
        fits = []
        if self._asked.kind and self._asked.form != "count":
            fits.append(self._predicates.kind_of_class(self._asked.kind, end))
        if head:
            classes = [end, candidate.members] if candidate.members >= 0 else [end]
            fits.append(2 * float(self._meanings.types[head][:, classes].max()) - 1)
        if not fits:
            own = self._predicates.kinds[end // 2] if end % 2 else ""
            return _LITERAL_UNASKED if own in (DATE, NUMBER) and self._asked.form != "count" else 0.0
        return max(fits)

    def _disorder(self, candidate: Candidate, account: Account) -> float:
        """Return how many steps are supported by a word nearer to the name than that of the step before."""
        found = number = 0
        for leg in candidate.legs:
            places = [account.words[number + at] for at in range(len(leg.steps))]
            number += len(leg.steps)
            far = self._far(leg, places)
            found += sum(one > other for one, other in pairwise(far))
        return float(found)

    def _far(self, leg: Leg, places: Sequence[int]) -> list[int]:
        """Return how far from its name the words of a leg's steps stand; steps that say the same have the nearer first.

        In "the child of Ada's mother" the words after 's are nearer than all before the name.
        """
        start, end = leg.mention.start, leg.mention.end
        keys = [word.key for word in self._asked.words]
        owns = keys[end : end + 1] == ["'s"] or keys[end - 1 : end] == ["'s"]
        far = [(start - place + owns * len(keys) if place < start else place - end + 1) for place in places]
        for step in set(leg.steps):
            same = [
                at
                for at, (other, place) in enumerate(zip(leg.steps, places, strict=True))
                if other == step and place >= 0
            ]
            for at, distance in zip(same, sorted(far[at] for at in same), strict=True):
                far[at] = distance
        return [distance for distance, place in zip(far, places, strict=True) if place >= 0]


_LITERAL_UNASKED = -0.3
"""Fit of dates and numbers where the question does not say what kind of thing it asks for."""


def dimension_fit(predicates: Predicates, predicate: int, wanted: str, dimensions: dict[str, tuple[str, ...]]) -> float:
    """Return how well a literal predicate fits what an adjective compares, 0 to 1."""
    kind = predicates.kinds[predicate]
    stems = set(stems_of(predicates.texts[predicate]))
    if wanted in (DATE, NUMBER):
        return 0.8 if kind == wanted else 0.0
    if kind != NUMBER:
        return 0.0
    return 1.0 if stems & set(dimensions[wanted]) else 0.0
