"""Why `ppr` found a passage: the paths that carried the walk's mass to it, and what pairs and a second hop added."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from conspectus.query.context import Context
from conspectus.query.explain.labels import Naming
from conspectus.query.explain.types import Explained, Hop, Part, Path
from conspectus.query.methods.ppr.ppr import FORMULA, PprRetriever, Search
from conspectus.query.types import Step
from conspectus.storage.graph.ppr_paths import MassPath, edge_weight, top_paths

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
        return FORMULA

    def best(self, k: int) -> list[int]:
        """Return the rows of the `k` best passages."""
        return [int(row) for row in self.found.pool.rows[self.found.order()[:k]]]

    def explained(self, row: int) -> Explained:
        """Return what carried a chunk up, or what kept it from being ranked."""
        walk = self.found.walk
        at = np.flatnonzero(walk.nodes == row)
        mass = float(walk.scores[at[0]]) if len(at) else 0.0
        paths = self._paths(row, mass) if mass > 0 else []
        shares = [each.mass / mass for each in paths]
        place = np.flatnonzero(self.found.pool.rows == row)
        ranked = len(place) > 0
        rank = int(np.flatnonzero(self.found.order() == place[0])[0]) + 1 if ranked else None
        return Explained(
            rank=rank,
            passage=self.context.passage(row, float(self.found.scores[place[0]]) if ranked else 0.0),
            parts=self._parts(int(place[0]), mass) if ranked else (Part("walk", mass, _WALK),),
            mass=mass,
            told=min(sum(shares), 1.0),
            paths=tuple(self._path(each, share) for each, share in zip(paths, shares, strict=True)),
            note="" if ranked else f"not among the {len(self.found.pool.rows)} passages that were ranked",
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
        found, pairs, hop = self.found, self.found.pool.pairs, self.found.hop
        gain, joint, proof = float(hop.gain[place]), float(pairs.joint[place]), float(found.pool.proof[place])
        beside, with_ = self._name(pairs.joint_with[place]), self._name(pairs.proof_with[place])
        asked = self._asked_again(int(hop.by[place]))
        near = float(found.pool.prior[place]) - mass
        return (
            Part("walk", mass, _WALK),
            Part("near", near, "a small share for passages near in words and meaning"),
            Part("led", float(found.led[place]), f"where the second hop leads{asked}"),
            Part("closeness", float(found.pool.closeness[place]), "cosine with the question"),
            Part("gain", gain, f"closer to it{asked}" if gain > 0 else "no rewritten question is closer to it"),
            Part("joint", joint, f"what it and {beside} say together" if joint > 0 else "it is linked with none"),
            Part("alone", float(pairs.alone[place]), "what it says by itself"),
            Part("proof", proof, f"a title joins it with {with_}" if proof > 0 else "not counted, or joined with none"),
            Part(
                "words", float(found.pool.words[place]), "BM25 to the best, counted where the question names no title"
            ),
        )

    def _asked_again(self, bridge: int) -> str:
        if bridge < 0:
            return ""
        found = self.found.bridges[bridge]
        return f', asked as "{found.question}" for {self._row_name(found.first)}'

    def _name(self, place: int) -> str:
        return self._row_name(int(self.found.pool.rows[place]))

    def _row_name(self, row: int) -> str:
        return f'"{self.naming.node(row).name}"'


_WALK = "mass that the walk brought here"


def open_walk(context: Context, question: str, k: int, most_paths: int) -> WalkExplainer | Step:
    """Return what explains the ranking of `ppr` for a question, or the step that says why there is none."""
    retriever = PprRetriever(context)
    found = retriever.search(question, k)
    if isinstance(found, Step):
        return found
    return WalkExplainer(context, question, found, retriever.trace(found), Naming(context), most_paths)
