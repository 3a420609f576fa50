"""The trace of a graph walk: each decision with its candidates, the retained and pruned ones, and the reason."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Considered:
    """One candidate of a decision.

    Attributes:
        label: The candidate in words.
        kept: Whether it was retained.
        why: The reason.
        score: Larger is better; None if the decision was made without scores.
    """

    label: str
    kept: bool
    why: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of a walk.

    Attributes:
        stage: The kind of decision: topics, relations, entities, communities, chunks, candidates, reasoning or answer.
        depth: The round, from 1; 0 before the first round.
        at: The position of the walk: an entity or a chain, in words.
        considered: The candidates.
        outcome: The decision in words.
        seconds: The time since the previous decision.
        calls: Calls to language models.
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
    """One triple of a path.

    Attributes:
        relation: The row of the relation.
        start: The row of the entity that the hop leaves.
        end: The row of the entity that it reaches.
        outgoing: Whether it is walked from source to target.
    """

    relation: int
    start: int
    end: int
    outgoing: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """A path that the walk retained.

    Attributes:
        communities: The communities on the path, in order, as entity rows; a single entity is a community of one.
        hops: Its triples, in order.
        ended: Why it was not continued; "" if it was alive at the end.
    """

    communities: tuple[tuple[int, ...], ...]
    hops: tuple[Hop, ...]
    ended: str = ""


@dataclass(frozen=True, slots=True)
class WalkTrace:
    """All decisions of one walk in order, and the final paths."""

    decisions: tuple[Decision, ...]
    chains: tuple[Chain, ...]
