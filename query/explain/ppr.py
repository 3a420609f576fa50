"""Explanations for `ppr`: the paths that carry PageRank mass to a passage, and the shares of pairs and second hop."""

from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context
from conspectus.query.explain.labels import Naming, hops_of
from conspectus.query.explain.types import Explained, Path, ScorePart
from conspectus.query.methods.ppr.ppr import PprRanking
from conspectus.storage.graph.ppr_paths import MassPath, top_paths

LEAST_SHARE = 5e-3
"""Paths that carry a smaller share of a passage's mass are not shown."""


@dataclass(frozen=True, slots=True)
class WalkExplainer:
    """Explains the passages that `ppr` ranks for one question."""

    context: Context
    question: str
    found: PprRanking
    most_paths: int

    @property
    def naming(self) -> Naming:
        """The labels of the graph."""
        return Naming(self.context)

    def best(self, k: int) -> list[int]:
        """Return the rows of the `k` best passages."""
        return [int(row) for row in self.found.candidates.rows[self.found.order()[:k]]]

    def explained(self, row: int) -> Explained:
        """Return the explanation of a chunk, or the reason why it was not ranked."""
        walk = self.found.walk
        at = np.flatnonzero(walk.nodes == row)
        mass = float(walk.scores[at[0]]) if len(at) else 0.0
        paths = self._paths(row, mass) if mass > 0 else []
        shares = [path.mass / mass for path in paths]
        place = np.flatnonzero(self.found.candidates.rows == row)
        ranked = len(place) > 0
        rank = int(np.flatnonzero(self.found.order() == place[0])[0]) + 1 if ranked else None
        return Explained(
            rank=rank,
            passage=self.context.passage(row, float(self.found.scores[place[0]]) if ranked else 0.0),
            parts=self._parts(int(place[0]), mass) if ranked else (ScorePart("walk", mass, _WALK),),
            mass=mass,
            told=min(sum(shares), 1.0),
            paths=tuple(self._path(path, share) for path, share in zip(paths, shares, strict=True)),
            note="" if ranked else f"not among the {len(self.found.candidates.rows)} passages that were ranked",
        )

    def _paths(self, row: int, mass: float) -> list[MassPath]:
        return top_paths(
            self.context.index.graph(),
            self.found.seeds,
            self.found.mass,
            row,
            damping=self.context.settings.ppr.damping,
            count=self.most_paths,
            least=LEAST_SHARE * mass,
        )

    def _path(self, path: MassPath, share: float) -> Path:
        hops = hops_of(path, self.context.index.graph(), self.naming.node, self.naming.edge)
        return Path(self.naming.why(path.nodes[0], self.question, self.found), tuple(hops), share)

    def _parts(self, place: int, mass: float) -> tuple[ScorePart, ...]:
        """Return the terms of FORMULA for one candidate."""
        ranking, candidates, hop = self.found, self.found.candidates, self.found.hop
        pairs = candidates.pairs
        gain, joint, titles = float(hop.gain[place]), float(pairs.joint[place]), float(candidates.titles[place])
        partner, joined = self._name(pairs.joint_with[place]), self._name(pairs.titles_with[place])
        rewritten = self._rewritten(int(hop.by[place]))
        text = float(candidates.prior[place]) - mass
        filled = f"with a name filled in{rewritten}"
        together = f"part of the question's words and meaning in it and {partner} together, which is linked with it"
        return (
            ScorePart("walk", mass, _WALK),
            ScorePart("text", text, "added for passages near the question in words and meaning"),
            ScorePart("hop", float(ranking.hop_prior[place]), f"added for passages that answer the question {filled}"),
            ScorePart("closeness", float(candidates.closeness[place]), "likeness in meaning to the question (0 to 1)"),
            ScorePart("gain", gain, f"{'how much' if gain > 0 else 'not at all'} nearer to the question {filled}"),
            ScorePart("joint", joint, together if joint > 0 else "no other passage is linked with it"),
            ScorePart("alone", float(pairs.alone[place]), "part of the question's words and meaning in it alone"),
            ScorePart("titles", titles, f"a title links it with {joined}" if titles > 0 else "no title links it"),
            ScorePart("names", ranking.names, "how often other passages mention titles here, from 0 to 1"),
            ScorePart("match", float(candidates.text_match[place]), "nearness in words and meaning"),
            ScorePart("words", float(candidates.words[place]), _WORDS),
        )

    def _rewritten(self, number: int) -> str:
        if number < 0:
            return ""
        rewrite = self.found.rewrites[number]
        return f', asked as "{rewrite.question}" for {self._row_name(rewrite.first)}'

    def _name(self, place: int) -> str:
        return self._row_name(int(self.found.candidates.rows[place]))

    def _row_name(self, row: int) -> str:
        return f'"{self.naming.node(row).name}"'


_WORDS = "BM25 score as a part of the best one; counts where the question names no title"
_WALK = "part of the walk over names and passages, begun at what the question names, that ends here"
