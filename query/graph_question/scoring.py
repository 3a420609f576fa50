"""How well a candidate query accounts for a question: a weighted sum of a few features.

`python -m benchmarks.train_graph_ranking` learns the weights (`ranking.json`) from questions with known answers: a
softmax over the candidates of a question is to choose those whose answers are right.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from conspectus.query.graph_question.candidates import Candidate, Leg
from conspectus.query.graph_question.lexicon import CLASS, DATE, NUMBER, PERSON, TEXT, relations
from conspectus.query.graph_question.meanings import Meanings, Predicates
from conspectus.query.graph_question.mentions import EntityMention
from conspectus.query.graph_question.question_form import ReadQuestion
from conspectus.query.logistic import Logistic, stored_weights
from conspectus.query.walk.graph import KnowledgeGraph
from conspectus.storage.arrays import Floats, Ints

FEATURES = (
    "explained", "unmet", "unsupported", "steps", "kind", "disorder", "whole", "literal", "conditions", "verdict",
    "crowded", "least", "found", "names",
)  # fmt: skip
COMPARED = ("likeness", "said", "unstarted", "turned", "upward")
"""Features of the best candidates only, whose paths are compared with the question as a text."""
_MET = 0.35
"""A content word that is explained less than this is unmatched."""
_ALSO = 0.85
"""A word supports a step if its nearness is at least this share of its nearness to its nearest step."""
_OTHERS = 0.8
"""Support of a step back by "other" or "same"."""
_LEAST = 0.2
"""A word less near than this supports no step."""
_TYPED = 0.55
"""Support of a step by a word that names the things it leads to."""
_SAYS = 0.7
"""Nearness from which a word expresses a step."""
_MEMBERS = 0.9
"""Support of a step from a class to its members, and from a thing to a text about it if no relation is asked for."""
_OWN = 0.7
"""Support of the first step by an entity all of whose edges follow it ("war movies": War is only ever a genre)."""
_LEAST_OF_RETURN = 0.5
"""Support required of every step of a chain that goes back along a predicate if the question does not say "other"."""
_NAMED_WORDS = 2.0
"""Maximum weight of the words of a mention."""


@dataclass(frozen=True, slots=True)
class Account:
    """The explained share of each word (t,), and for each step its support and the word that supports it (-1: none)."""

    explained: Floats
    supports: tuple[float, ...]
    words: tuple[int, ...]


class Scoring:
    """Scores the candidates of one question."""

    def __init__(self, predicates: Predicates, asked: ReadQuestion, meanings: Meanings, head: Sequence[int]) -> None:
        """Prepare to score candidates; `head` has the places of the nouns that name the kind of answer."""
        self._predicates = predicates
        self._asked = asked
        self._meanings = meanings
        self._head = tuple(head)
        self._importance = np.asarray(asked.weights)
        self._parts = asked.parts
        self._share = cache(self._share_of)
        self._most_whole = float(meanings.whole.max(initial=0.0)) or 1.0

    @property
    def graph(self) -> KnowledgeGraph:
        """The graph that the question is about."""
        return self._predicates.graph

    def near(self, places: Sequence[int]) -> Floats:
        """Return the nearness of each predicate to the nearest of the words at `places`, (p,)."""
        near = self._meanings.near[list(places)].max(axis=0, initial=0.0)
        both: Floats = np.maximum(near[0::2], near[1::2])
        return both

    def __call__(self, candidate: Candidate) -> float:
        """Return the score of a candidate."""
        return float(_learned("search").logits(self.features(candidate)))

    def compared(self, candidate: Candidate) -> float:
        """Return the score of a candidate whose path was compared with the question as a text."""
        features = np.append(self.features(candidate), self.compared_features(candidate))
        return float(_learned("compared").logits(features))

    def account(self, candidate: Candidate) -> Account:
        """Return how much of each word a candidate explains, and what supports its steps."""
        steps = [*candidate.steps]
        if candidate.literal and candidate.literal.step:
            steps.append(candidate.literal.step)
        free = np.array([place for place in range(len(self._importance)) if place not in candidate.named], np.int64)
        explained = np.zeros(len(self._importance))
        if not len(free):
            return Account(explained, (0.0,) * len(steps), (-1,) * len(steps))
        ends = [2 * predicate + outgoing for predicate, outgoing in steps]
        near = self._meanings.near[free][:, ends]
        types = self._meanings.types[free][:, ends + ([candidate.members] if candidate.members >= 0 else [])]
        explained[free] = np.maximum(near.max(axis=1, initial=0.0), 0.9 * types.max(axis=1, initial=0.0))
        if starts := [2 * leg.steps[0][0] + (not leg.steps[0][1]) for leg in candidate.legs if leg.steps]:
            # a noun next to a name may give its type: "the Discovery team"
            explained[free] = np.maximum(explained[free], 0.8 * self._meanings.types[free][:, starts].max(axis=1))
        if candidate.subjects and candidate.literal and candidate.literal.step:
            predicate, outgoing = candidate.literal.step  # "which film is older": a film is what has a year
            stated = self._meanings.types[free][:, 2 * predicate + (not outgoing)]
            explained[free] = np.maximum(explained[free], stated)
        supports, words = self._supports(candidate, steps, near, types, free)
        return Account(explained, supports, words)

    def _supports(
        self, candidate: Candidate, steps: Sequence[tuple[int, bool]], near: Floats, types: Floats, free: Ints
    ) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """Return the support of each step and the place of the word that gives it, -1 for none."""
        best = near.max(axis=1, initial=0.0)
        taken: dict[int, set[int]] = {}
        classes = self.members(candidate)
        first = {number: self._share(leg.start, leg.steps[0]) for number, leg in candidate.numbered if leg.steps}
        supports: list[float] = []
        words: list[int] = []
        for number, (predicate, _) in enumerate(steps):
            column = np.where(near[:, number] >= _ALSO * best, near[:, number], 0.0)
            used = taken.setdefault(predicate, set())
            said = (column >= _SAYS) & (self._importance[free] >= 1)  # in "couple of", the noun expresses the step
            ranked = np.lexsort((-column, ~said))
            at = next((at for at in ranked[column[ranked] > _LEAST].tolist() if at not in used), -1)
            value, word = 0.0, -1
            if at >= 0:
                value, word = float(column[at]), int(free[at])
                used.add(at)
            elif used and self._asked.others:
                value = _OTHERS
            value = max(value, _TYPED * float(types[:, number].max()), _OWN * first.get(number, 0.0))
            if number in classes or (self._bare(candidate) and self._predicates.kinds[predicate] == TEXT):
                value = max(value, _MEMBERS)
            supports.append(value)
            words.append(word)
        if candidate.literal and candidate.literal.step:
            supports[-1] = max(supports[-1], candidate.literal.fit)
        for joining in candidate.joining:  # the two steps over an opaque id count as one
            supports[joining] = supports[joining + 1] = max(supports[joining], supports[joining + 1])
        return tuple(supports), tuple(words)

    def _bare(self, candidate: Candidate) -> bool:
        """Return whether the question only asks what something is or means."""
        return all(self._asked.stems[place] == "mean" for place in self._content(candidate))

    def _content(self, candidate: Candidate) -> list[int]:
        """Return the places of the content words that name nothing of a candidate."""
        return [place for place, weight in enumerate(self._importance) if weight >= 1 and place not in candidate.named]

    def members(self, candidate: Candidate) -> set[int]:
        """Return the positions of steps from a class to its members, where the question names it as a kind of things.

        "Which taverns are there?", "is the Boar a tavern": a class is its members unless its own relations are asked.
        """
        found = set()
        for number, leg in candidate.numbered:
            for predicate, outgoing in leg.steps[:1]:
                kinds = {relations()[relation].kind for relation in self._predicates.relations[predicate]}
                up = candidate.form == "yes_no" and leg.mention.start < candidate.subjects[0][0].start
                if CLASS in kinds and not self._predicates.transitive[predicate] and outgoing == up:
                    found.add(number)
        return found

    def _share_of(self, start: int, step: tuple[int, bool]) -> float:
        """Return the share of an entity's edges that a step follows."""
        (predicate, outgoing), edges = step, self.graph.edges_of([start])
        along = (edges.predicate == predicate) & (edges.outgoing == outgoing)
        along |= (edges.predicate == self._predicates.twins[predicate]) & (edges.outgoing != outgoing)
        return float(along.mean()) if len(along) else 0.0

    def features(self, candidate: Candidate) -> Floats:
        """Return the features of a candidate, in the order of `FEATURES`."""
        account = self.account(candidate)
        weights = self._importance.copy()
        weights[list(candidate.named)] = 0.0
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
            min(account.supports, default=1.0),
            float(np.log1p(len(candidate.rows))),
            min((mention.likeness for mention in candidate.mentions), default=1.0),
        ])  # fmt: skip

    def compared_features(self, candidate: Candidate) -> Floats:
        """Return the features that follow from the text of a candidate's path, in the order of `COMPARED`."""
        turned, upward = self.turned(candidate)
        started = bool(candidate.legs)  # no text is like the question where it lacks the names in it
        likeness = candidate.likeness if started else 0.0
        return np.array([likeness, candidate.said, not started, turned, upward], np.float64)

    def _unmet(self, candidate: Candidate, account: Account, weights: Floats) -> float:
        """Return the number of unmatched content words; an unused "other" or an unsupported way back counts as one."""
        unmet = float(((account.explained < _MET) & (weights >= 1)).sum())
        if self._asked.others and candidate.form == "things" and not candidate.returns:
            unmet += 1
        if candidate.returns and not self._asked.others:
            unmet += any(support < _LEAST_OF_RETURN for support in account.supports)
        return unmet

    def _crowded(self, candidate: Candidate, account: Account) -> float:
        """Return how many words repeat what a step expresses, from another part ("parents of parents")."""
        free = self._content(candidate)
        ends = [2 * predicate + outgoing for predicate, outgoing in candidate.steps]
        if not free or not ends:
            return 0.0
        near = self._meanings.near[free][:, ends]
        found = 0
        for at in np.flatnonzero(near.max(axis=1) >= _SAYS).tolist():
            place, step = free[at], int(near[at].argmax())
            other = account.words[step]
            if other >= 0 and self._parts[place] != self._parts[other] and place not in account.words:
                own = self._predicates.stems[ends[step] // 2][0]
                stems = {self._asked.stems[place], self._asked.stems[other]}
                found += len(stems) < 2 or not stems <= own
        return float(found)

    def _kind(self, candidate: Candidate) -> float:
        """Return how well the answers fit the kind of answer asked for, -1 to 1."""
        end = candidate.end
        if candidate.form in ("yes_no", "compare") or end < 0:
            return 0.0
        known = self._predicates.classes_named
        asked = [leg for leg in candidate.legs if leg.start in known and leg.mention.places & set(self._head)]
        if asked:  # "which animals live in the tank": the answers are animals, not where animals live
            return 1.0 if not candidate.tail and all(len(leg.steps) == 1 for leg in asked) else -1.0
        head = [place for place in self._head if place not in candidate.named]
        fits = []
        if self._asked.kind and (self._asked.form != "count" or self._asked.kind == PERSON):
            fits.append(self._predicates.kind_of_class(self._asked.kind, end))
        if head:
            classes = [end, candidate.members] if candidate.members >= 0 else [end]
            fits.append(2 * float(self._meanings.types[head][:, classes].max()) - 1)
        if not fits:
            own = self._predicates.kinds[end // 2] if end % 2 else ""
            if own == TEXT and self._bare(candidate):
                return 1.0
            return _LITERAL_UNASKED if own in (DATE, NUMBER) and self._asked.form != "count" else 0.0
        return max(fits)

    def _disorder(self, candidate: Candidate, account: Account) -> float:
        """Return how many steps are supported by a word nearer to the name than the previous step's word."""
        far = [self._far(leg, account.words[at : at + len(leg.steps)]) for at, leg in candidate.numbered]
        return float(sum(one > other for each in far for one, other in pairwise(each)))

    def turned(self, candidate: Candidate) -> tuple[int, int]:
        """Return whether the first step goes as the question says it: 1, or -1 if the other way, or 0 if unknown.

        "Which packages depend on curl?" goes against `depends_on`, "what does curl depend on?" along it. Only
        predicates that end with a preposition are looked at: they are verbs. The second figure is that of a
        transitive predicate, which leads both up and down.
        """
        word = self.account(candidate).words[0] if len(candidate.legs) == 1 and candidate.steps else -1
        if word < 0:
            return 0, 0
        (predicate, outgoing), mention = candidate.steps[0], candidate.legs[0].mention
        if self._predicates.transitive[predicate]:
            return 0, self._upward(predicate, outgoing, mention, word)
        if self._asked.stems[word] not in self._predicates.stems[predicate][0]:
            return 0, 0  # "the films of Ada" are hers by what they are
        last = self._predicates.texts[predicate].split()[-1:]
        if last not in (["by"], ["on"], ["to"], ["with"], ["from"]) or self._predicates.symmetric[predicate]:
            return 0, 0
        keys = [each.key for each in self._asked.words]
        behind = word < mention.start  # "depends on curl"; in "directed by Ada" and "did Ada direct" she is the agent
        agent = ("by" in keys[word + 1 : mention.start]) if behind else "by" not in keys[mention.end : word + 2]
        return 1 if outgoing == (agent != (last == ["by"])) else -1, 0

    def _upward(self, predicate: int, outgoing: bool, mention: EntityMention, word: int) -> int:
        """Return as `turned` does whether a step along a transitive predicate goes up or down as a noun says it.

        "The subclasses of Tavern" are below it, and "Is Tavern a subclass of Shop?" asks for what is above it.
        """
        named = [phrase for number in self._predicates.relations[predicate] for phrase in relations()[number].named]
        below = {phrase[0] for phrase in named if phrase[-1] in ("of", "in", "by")}
        above = {phrase[-1] for phrase in named} - {"of", "in", "by"} - below
        stem = self._asked.stems[word]
        if stem not in below | above:
            return 0
        keys = [each.key for each in self._asked.words]
        owned = word < mention.start or keys[mention.end : mention.end + 1] == ["'s"]
        up = (stem in above) == owned
        return 1 if up == (outgoing == (self._predicates.transitive[predicate] > 0)) else -1

    def _far(self, leg: Leg, places: Sequence[int]) -> list[int]:
        """Return the distances from the name to the words of a leg's steps; equal steps get the nearer word first.

        In "the child of Ada's mother" the words after 's are nearer than all words before the name.
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
"""Fit of dates and numbers if the question does not say what kind of thing it asks for."""


@cache
def _learned(stage: str) -> Logistic:
    features = FEATURES if stage == "search" else (*FEATURES, *COMPARED)
    return Logistic.of(stored_weights("query.graph_question", "ranking.json")[stage], features)
