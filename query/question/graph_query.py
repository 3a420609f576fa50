"""A question to a graph in structured form: what is asked for, and the conditions that it must meet.

A reader of questions fills it in, `run` executes it over the arrays of the graph (`conspectus.query.walk.run_query`),
and `conspectus.query.sparql.render` writes it as SPARQL. Entities are rows of the graph, predicates its texts.
"""

from dataclasses import dataclass
from typing import Literal

Direction = Literal["forward", "backward", "either"]
"""Along a predicate from its subject to its object, the other way, or both."""
Form = Literal["things", "count", "yes_no", "compare"]
"""Asked for are things, how many there are, whether something holds, or which of two things comes first."""
Comparison = Literal["before", "after", "less", "more", "equal", "at_least", "at_most"]


@dataclass(frozen=True, slots=True)
class Step:
    """A step over any of some predicates: `Step(("directed_by",), "backward")` leads from a person to films."""

    predicates: tuple[str, ...]
    direction: Direction = "forward"


@dataclass(frozen=True, slots=True)
class Condition:
    """A set of things: those that the steps lead to from the start, or with `negated` all others.

    Attributes:
        start: Rows of entities, any of which may be the start; or things described by conditions of their own; None
            stands for any entity, so that `Condition(None, (Step(("directed_by",), "backward"),))` is "a film".
        steps: The steps from the start to the things. Without steps, the start itself.
        negated: Whether the things must not be among those reached: `Condition((7,), negated=True)` leaves out 7.
    """

    start: "tuple[int, ...] | Things | None"
    steps: tuple[Step, ...] = ()
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """A thing must have a literal, at the end of the steps, that is so related to `value` ("2005", "90 minutes").

    Without steps the literal is the thing's own name, or a year in it ("1967 Stanley Cup Finals").
    """

    steps: tuple[Step, ...]
    comparison: Comparison
    value: str


@dataclass(frozen=True, slots=True)
class Order:
    """The order of things: by a literal at the end of the steps, or by how many things the steps lead to.

    Attributes:
        steps: As in `Bound`; of several literals of a thing the one that puts it first counts.
        descending: Whether the latest, largest or most come first.
        by: "literal", or "count" ("who directed the most films").
    """

    steps: tuple[Step, ...]
    descending: bool = False
    by: Literal["literal", "count"] = "literal"


@dataclass(frozen=True, slots=True)
class Things:
    """The things that meet all conditions and bounds.

    Attributes:
        conditions: At least one is not negated.
        bounds: What their literals must be.
        types: Types of entities (`Entity.types`), one of which a thing must have; empty for any.
        order: By what they are sorted; without it by their rows.
        offset: How many of the first ranks are skipped: 1 for "the second oldest".
        limit: How many ranks are kept; things of equal rank are kept together. None for all.
    """

    conditions: tuple[Condition, ...]
    bounds: tuple[Bound, ...] = ()
    types: tuple[str, ...] = ()
    order: Order | None = None
    offset: int = 0
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class GraphQuery:
    """A structured question.

    Attributes:
        form: What is asked for.
        things: What is sought or counted. For yes_no, what `subjects` must be among. For compare, and for yes_no with
            an order and two subjects ("is A older than B"), only its order is used: A must come strictly before B.
        subjects: The rows that a yes_no or compare is about.
    """

    form: Form
    things: Things
    subjects: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A thing that was found (its row), the relations that make it one, and the literal it was sorted or bounded by."""

    entity: int
    relations: tuple[int, ...]
    value: str = ""


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """What a query gives.

    Attributes:
        found: The things, best first; relations are given for the first `cited` of them. For compare the one or more
            that come first; for yes_no the subjects that are among the things.
        count: How many things there are, offset and limit applied.
        verdict: For yes_no whether it holds; else None.
        relations: The rows of the relations that make the answer, each once: of the things found; for a no those that
            were found instead (the real writers of a film), and for a comparison the two literals.
        known: Whether the graph states what is needed: for a yes_no whether the subject has any of the last
            predicates, for a comparison whether both literals exist and can be compared. False: "I do not know".
        unmet: The conditions and bounds that nothing at all meets, by themselves or after those before them.
    """

    found: tuple[Found, ...]
    count: int
    verdict: bool | None
    relations: tuple[int, ...]
    known: bool = True
    unmet: tuple[Condition | Bound | Order, ...] = ()
