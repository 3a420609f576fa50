"""What an explanation is made of."""

from dataclasses import dataclass
from typing import Literal

from conspectus.query.types import Passage, Step


@dataclass(frozen=True, slots=True)
class Part:
    """One number that goes into a score, under the name that it has in the formula, and what it stands for."""

    name: str
    value: float
    detail: str


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the graph: a passage or an entity, its id (that of its chunk, or its own) and what to call it."""

    kind: Literal["passage", "entity"]
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Hop:
    """A node on a path. `edge` says how it is joined with the one before; `share` of that one's mass came here.

    For the first node they are "" and 1.
    """

    node: Node
    edge: str
    share: float


@dataclass(frozen=True, slots=True)
class Path:
    """A path that carried mass to a passage: why it begins where it does, its nodes, and its share of that mass."""

    why: str
    hops: tuple[Hop, ...]
    share: float


@dataclass(frozen=True, slots=True)
class Explained:
    """One passage. `rank` counts from 1, and is None where the passage was not ranked at all (`note` says why).

    `parts` are what its score is made of. `mass` is what the walk brought to it and `paths` the ways by which most of
    that came, which carry `told` of it together; without a walk there are none, and the numbers are 0.
    """

    rank: int | None
    passage: Passage
    parts: tuple[Part, ...]
    mass: float = 0.0
    told: float = 0.0
    paths: tuple[Path, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a method found these passages. `formula` says how the parts of each make its score."""

    question: str
    method: str
    formula: str
    passages: tuple[Explained, ...]
    trace: tuple[Step, ...]
