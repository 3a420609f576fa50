"""What is to be decided in a beam search over a graph, whoever decides: a language model, or closeness alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from conspectus.query.methods.tog.beam import Branch, Option
from conspectus.query.types import Passage
from conspectus.query.types.trace import Considered


@dataclass(frozen=True, slots=True)
class Ruling:
    """What was decided: the places of what is kept, best first, and what was considered, for the trace.

    `scores` are those of the kept, ≥ 0. `calls` are those of a model; `why` says what went wrong, "" where nothing did.
    """

    kept: tuple[int, ...]
    scores: tuple[float, ...] = ()
    considered: tuple[Considered, ...] = ()
    calls: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Material:
    """A piece of evidence: a chunk of a document, or a verbalised triple that stands in for one.

    `owner` is the place of the candidate that it belongs to, -1 where it belongs to none. `relation` is the row of the
    triple that led there, -1 for none. `passage` is None where there is no chunk.
    """

    owner: int
    text: str
    relation: int = -1
    passage: Passage | None = None
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reasoning came to: an answer if it is `sufficient`, else the clues so far.

    `names` are the entities that answer, best first; `rests_on` the rows of the relations it names. `considered` are
    the answers weighed, for the trace.
    """

    sufficient: bool
    text: str = ""
    clue: str = ""
    names: tuple[str, ...] = ()
    rests_on: tuple[int, ...] = ()
    passages: tuple[Passage, ...] = ()
    considered: tuple[Considered, ...] = ()
    calls: int = 0
    why: str = ""


class Decides(Protocol):
    """Makes the decisions of ToG and ToG-2. A decision that cannot be made keeps nothing, and says why."""

    async def topics(self, question: str, rows: Sequence[int], most: int) -> Ruling:
        """Return which of the entities that a question names a walk should begin from."""
        ...

    async def relations(
        self, question: str, clue: str, branches: Sequence[Branch], options: Sequence[Sequence[Option]], width: int
    ) -> list[Ruling]:
        """Return for each branch the `width` options that help."""
        ...

    async def entities(self, question: str, branch: Branch, found: Branch, width: int) -> Ruling:
        """Return which of the entities of `found`, one step on from `branch`, help (ToG's entity prune)."""
        ...

    async def score(
        self, question: str, clue: str, candidates: Sequence[Branch], material: Sequence[Material]
    ) -> list[float]:
        """Return how much each piece of material helps, ≥ 0."""
        ...

    async def judge(
        self, question: str, clue: str, branches: Sequence[Branch], material: Sequence[Material], *, last: bool
    ) -> Verdict:
        """Return whether paths and material answer the question, with the answer or with the clues they give.

        `last`: there is no further round, so that the answer is the best that can be given.
        """
        ...

    async def clue(self, question: str, clues: str, branches: Sequence[Branch]) -> tuple[str, int, str]:
        """Return what is to be looked for next, the calls it took, and why there is no better one ("" where fine)."""
        ...
