"""Why `ppr` found a passage: the paths that carried the walk's mass to it, and what the pairs added."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from query.context import Context
from query.explain.naming import Naming
from query.explain.types import Explained, Hop, Part, Path
from query.retrieve.ppr import FORMULA, PprRetriever, Search
from query.types import Step
from storage.graph.paths import MassPath, edge_weight, top_paths

_LEAST_SHARE = 5e-3
"""A path that carries less of a passage's mass than this explains nothing."""


@dataclass(frozen=True, slots=True)
class WalkExplainer:
    """Explains the passages that `ppr` ranks for one question."""

    context: Context
    question: str
    found: Search
    trace: tuple[Step, ...]
    naming: Naming
    most_paths: int

    @property
    def formula(self) -> str:
        """How a score is made of its parts."""
        return FORMULA.format(weight=self.context.settings.ppr.pair_weight)

    def best(self, k: int) -> list[int]:
        """Return the rows of the `k` best passages."""
        return [int(row) for row in self.found.pool[self.found.order()[:k]]]

    def explained(self, row: int) -> Explained:
        """Return what carried a chunk up, or what kept it from being ranked."""
        walk = self.found.walk
        at = np.flatnonzero(walk.nodes == row)
        mass = float(walk.scores[at[0]]) if len(at) else 0.0
        paths = self._paths(row, mass) if mass > 0 else []
        shares = [each.mass / mass for each in paths]
        place = np.flatnonzero(self.found.pool == row)
        ranked = len(place) > 0
        rank = int(np.flatnonzero(self.found.order() == place[0])[0]) + 1 if ranked else None
        return Explained(
            rank=rank,
            passage=self.context.passage(row, float(self.found.scores[place[0]]) if ranked else 0.0),
            parts=self._parts(int(place[0]), mass) if ranked else (Part("walk", mass, _WALK),),
            mass=mass,
            told=min(sum(shares), 1.0),
            paths=tuple(self._path(each, share) for each, share in zip(paths, shares, strict=True)),
            note="" if ranked else f"not among the {len(self.found.pool)} passages that were ranked",
        )

    def _paths(self, row: int, mass: float) -> list[MassPath]:
        return top_paths(
            self.context.index.graph(),
            self.found.seeds,
            self.found.mass,
            row,
            damping=self.context.settings.ppr.damping,
            count=self.most_paths,
            least=_LEAST_SHARE * mass,
        )

    def _path(self, path: MassPath, share: float) -> Path:
        graph, naming = self.context.index.graph(), self.naming
        hops = [Hop(naming.node(path.nodes[0]), "", 1.0)]
        for source, end in pairwise(path.nodes):
            passed = edge_weight(graph, source, end) / float(graph.strength[source])
            hops.append(Hop(naming.node(end), naming.edge(source, end), passed))
        return Path(naming.why(path.nodes[0], self.question, self.found), tuple(hops), share)

    def _parts(self, place: int, mass: float) -> tuple[Part, ...]:
        found, pairs = self.found, self.found.pairs
        hop, joint, alone = (float(each[place]) for each in (pairs.hop, pairs.joint, pairs.alone))
        before, beside = self._name(pairs.hop_from[place]), self._name(pairs.joint_with[place])
        return (
            Part("walk", mass, _WALK),
            Part("near", float(found.prior[place]) - mass, "a small share for passages near in words and meaning"),
            Part("closeness", float(found.closeness[place]), "cosine with the question"),
            Part("hop", hop, f"covers what {before} leaves open" if hop > 0 else "it adds to no passage before it"),
            Part("joint", joint, f"what it and {beside} say together" if joint > 0 else "it is linked with none"),
            Part("alone", alone, "what it says by itself"),
        )

    def _name(self, place: int) -> str:
        return f'"{self.naming.node(int(self.found.pool[place])).name}"'


_WALK = "mass that the walk brought here"


def open_walk(context: Context, question: str, k: int, most_paths: int) -> WalkExplainer | Step:
    """Return what explains the ranking of `ppr` for a question, or the step that says why there is none."""
    retriever = PprRetriever(context)
    found = retriever.search(question, k)
    if isinstance(found, Step):
        return found
    return WalkExplainer(context, question, found, retriever.trace(found), Naming(context), most_paths)
