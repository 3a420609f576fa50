"""What a walk did, decision by decision: what was considered, what was kept, what was pruned, and why."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Considered:
    """One candidate of a decision. `score` is None where a choice was made without scores; larger is better."""

    label: str
    kept: bool
    why: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """One step of a walk.

    `stage` is what was decided (topics, relations, entities, communities, chunks, reasoning, answer), `depth` counts
    rounds from 0 (what is done before the first), `at` says from where (an entity, a chain), and `calls` are those of
    a language model.
    """

    stage: str
    depth: int
    at: str
    considered: tuple[Considered, ...]
    outcome: str = ""
    seconds: float = 0.0
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Hop:
    """One triple of a path, by the rows of the tables; `outgoing` tells whether it is walked from source to target."""

    relation: int
    start: int
    end: int
    outgoing: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """A path that the walk kept: its communities in order (entity rows; a single one is an entity), and its triples."""

    communities: tuple[tuple[int, ...], ...]
    hops: tuple[Hop, ...]
    ended: str = ""
    """Why it went no further; "" where it was still alive at the end."""


@dataclass(frozen=True, slots=True)
class WalkTrace:
    """All decisions of one walk in order, and the chains it ended with."""

    decisions: tuple[Decision, ...]
    chains: tuple[Chain, ...]
