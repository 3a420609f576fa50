"""What a path over a graph is worth as a reading of a question: what it matches, less what is held against it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.query.methods.tog.answer_types import Kinds
from conspectus.query.methods.tog.beam import Branch, Option, Way
from conspectus.query.methods.tog.question_predicates import Asked
from conspectus.query.methods.tog.unmatched import Match, free_gains, taking
from conspectus.storage.arrays import Floats, Ints

OUT_OF_TURN = 0.5
"""What it costs to match words before others that stand nearer to the topic, per unit of their weight."""
UNASKED = 0.35
"""What a step costs that matches no word."""
_BACK = 0.1
"""The same where it walks the last relation back, to others that it joins ("films of the same director")."""
_TO_AN_ID = 0.2
"""The share of that cost for a step to or from things that have only ids, which join what a triple cannot."""
_WEAK = 0.3
"""The share of that cost for a step that matches a word which another predicate says better, times how much better."""
_STEP = 0.04
_INCOMING = 0.12
"""What each step after the first, and each against a relation's direction, costs: the simpler of two like readings."""
_WHOLE = 0.3
"""Weight of how near the question as a whole is to a predicate, beside the nearest at hand."""
_KIND = 0.5
"""Weight of the kind of thing that is asked for."""
_IS_KIND = 0.6
"""From here on a word is taken that names the kind of thing at the end of a step."""


@dataclass(frozen=True, slots=True, eq=False)
class Worth:
    """Weighs the paths of one walk from the entities `started`.

    `ids` (n,) tells which entities have ids for names, `whole` (p,) how near predicates are to the question as a whole,
    and `consuming` whether what a step matched is left out of what later steps match.
    """

    asked: Asked
    kinds: Kinds
    ids: np.ndarray[tuple[int], np.dtype[np.bool_]]
    whole: Floats
    started: Ints
    consuming: bool = True

    def steps(self, branch: Branch, before: Sequence[Match], options: Sequence[Option]) -> list[list[Match]]:
        """Return for each way on from a branch what it may have matched then, given what it may have matched before."""
        predicates = np.array([option.way.predicate for option in options])
        nearest = float(self.whole[predicates].max())
        found: list[list[Match]] = [[] for _ in options]
        for match in before:
            open_ = match if self.consuming else Match(np.zeros_like(match.taken), match.explained, match.held)
            gains, out_of_turn, spans = free_gains(self.asked, open_, OUT_OF_TURN)
            for place, option in enumerate(options):
                predicate = option.way.predicate
                held = self._held(branch, option, nearest)
                unasked = self._unasked(branch, option)
                span = int(spans[predicate])
                if span < 0 or gains[predicate] <= -unasked:
                    found[place].append(Match(match.taken, match.explained, match.held + held + unasked))
                    continue
                weak = _WEAK * unasked * (1 - float(self.asked.beside[span, predicate]))
                held += weak + float(out_of_turn[predicate])
                for everywhere in (False, True):
                    taken = taking(self.asked, open_, predicate, span, held, everywhere=everywhere)
                    if taken is not None:
                        found[place].append(taken)
        return found

    def worth(self, match: Match, ways: tuple[Way, ...]) -> float:
        """Return what a match is worth after some steps, without the kind of its end."""
        return match.coverage(self.asked) - match.held - _STEP * max(0, len(ways) - 1)

    def ended(self, match: Match, ways: tuple[Way, ...]) -> float:
        """Return what it is worth as an answer."""
        return self.worth(match, ways) + _KIND * self.asked_kind(ways[-1])

    def bound(self, held: float, steps: int) -> float:
        """Return the most that could still be reached by one that so much is held against, after one more step."""
        could = _KIND if self.asked.wants or self.asked.head >= 0 else 0.0
        return 1.0 - held - _STEP * steps + could

    def begin(self) -> Match:
        """Return the match of the start: a noun right before the topic ("the film X") that says what the topic is."""
        count = len(self.asked.words)
        taken, explained = np.zeros(count, bool), np.zeros(count)
        places = np.flatnonzero(self.asked.topic)
        at = int(places[0]) - 1 if len(places) else -1
        if at >= 0 and self.asked.single[at] >= 0:
            share = self.kinds.speaks_of(self.asked.means[at], self.kinds.stated_of(self.started[:50]))
            if share > _IS_KIND:
                explained[at] = min(1.0, share)
                taken[at] = self.asked.is_kind(at)
        return Match(taken, explained)

    def asked_kind(self, way: Way) -> float:
        """Return how far what stands at the end of a way is of the kind that is asked for, 0 to 1."""
        if self.asked.wants:
            return self.kinds.is_a(self.asked.wants, way)
        head = self.asked.head
        if head < 0 or self.asked.single[head] < 0:
            return 0.0
        span = self.asked.single[head]
        said = float(self.asked.beside[span, way.predicate] * self.asked.near[span, way.predicate])
        if self.asked.is_kind(head):
            said *= float(self.asked.means[head].max())
        return max(said, self._named_kind(head, way))

    def with_kinds(self, match: Match, way: Way) -> Match:
        """Return the match with the words that name the kind of things at the end of a way."""
        taken, explained = match.taken.copy(), match.explained.copy()
        for word in np.flatnonzero((self.asked.single >= 0) & ~match.taken).tolist():
            named = self._named_kind(word, way)
            explained[word] = max(explained[word], named)
            taken[word] |= named > _IS_KIND
        return Match(taken, explained, match.held)

    def _named_kind(self, word: int, way: Way) -> float:
        """Return how surely a word names the kind of things at the end of a way: by their relations and their names."""
        if not self.asked.is_kind(word):
            return 0.0
        share = self.kinds.speaks_of(self.asked.means[word], self.kinds.stated(way))
        if share < 0.3:
            return 0.0
        return share * min(1.0, max(0.0, (self.kinds.likeness(self.asked.words[word], way) - 0.25) / 0.3))

    def _unasked(self, branch: Branch, option: Option) -> float:
        last = branch.ways[-1] if branch.ways else None
        back = last is not None and last.predicate == option.way.predicate and last.outgoing != option.way.outgoing
        cost = _BACK if back else UNASKED
        joins = bool(self.ids[option.edges.neighbours].all()) or (
            bool(branch.ways) and bool(self.ids[branch.entities].all())
        )
        return cost * _TO_AN_ID if joins else cost

    def _held(self, branch: Branch, option: Option, nearest: float) -> float:
        whole = _WHOLE * (nearest - float(self.whole[option.way.predicate])) / max(1, 2 * branch.depth)
        return whole + (0.0 if option.way.outgoing else _INCOMING)
