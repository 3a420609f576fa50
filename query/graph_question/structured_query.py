"""A question to a graph in structured form: the form of the answer, and the conditions that it must meet.

A question reader builds it, `conspectus.query.walk.run_query` executes it over the arrays of the graph,
and `conspectus.query.sparql.render` writes it as SPARQL. Entities are rows of the graph, predicates are texts.
"""

from dataclasses import dataclass
from typing import Literal

Direction = Literal["forward", "backward", "either"]
"""Along a predicate from its subject to its object, in the opposite direction, or both."""
Form = Literal["things", "count", "yes_no", "compare"]
"""The question asks for things, for their number, whether a statement is true, or which of two things comes first."""
Comparison = Literal["less", "more", "at_least", "at_most"]


@dataclass(frozen=True, slots=True)
class PredicateStep:
    """A step: `PredicateStep(("directed_by",), "backward")` leads from a person to their films.

    `through` has predicates that may follow any number of times: ("is_a",) through ("subclass_of",) leads from a thing
    to its class and all classes above it, and backward from a class to its members and those of the classes below it.
    """

    predicates: tuple[str, ...]
    direction: Direction = "forward"
    through: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """A set of things: those that the steps reach from the start, or with `negated` all others.

    Attributes:
        start: Rows of entities, any of which may be the start; or things described by their own conditions; None
            means any entity, so a backward step over "directed_by" from None is "a film".
        steps: The steps from the start to the things. Without steps, the start itself.
        negated: Whether the things must not be among those reached: `Condition((7,), negated=True)` excludes 7.
    """

    start: "tuple[int, ...] | Things | None"
    steps: tuple[PredicateStep, ...] = ()
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """At the end of the step a thing must have a literal that compares with `value` ("2005", "90 minutes") as given.

    Without a step the literal is the thing's own name, or a year in it ("1967 Stanley Cup Finals").
    """

    step: PredicateStep | None
    comparison: Comparison
    value: str


@dataclass(frozen=True, slots=True)
class Order:
    """What comes first: by a literal at the end of the step, or by how many things the step leads to.

    Attributes:
        step: As in `Bound`; if a thing has several literals, the one that ranks it first counts.
        descending: Whether the latest, largest or most come first.
        counted: Whether it is by how many things the step leads to ("who directed the most films").
        rank: Which value counts: the first, or the second ("the second oldest").
    """

    step: PredicateStep | None
    descending: bool = False
    counted: bool = False
    rank: int = 1


@dataclass(frozen=True, slots=True)
class Things:
    """The things that meet all conditions and bounds; with an order those that come first, equal ones together.

    At least one condition is not negated. Only the conditions of things where another condition starts are read.
    """

    conditions: tuple[Condition, ...]
    bounds: tuple[Bound, ...] = ()
    order: Order | None = None


@dataclass(frozen=True, slots=True)
class GraphQuery:
    """A structured question.

    Attributes:
        form: The form of the answer.
        things: The things sought or counted. For yes_no, the set that `subjects` must be in. For compare, and for
            yes_no with an order and two subjects ("is A older than B"), only its order is used: A must come strictly
            before B.
        subjects: The rows that a yes_no or compare is about.
    """

    form: Form
    things: Things
    subjects: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundEntity:
    """A thing that was found (its row), the relations that prove it, and the literal it was sorted or bounded by."""

    entity: int
    relations: tuple[int, ...]
    value: str = ""


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """The result of a query.

    Attributes:
        found: The things, best first; relations are given for the first `cited` of them. For compare the one or more
            that come first; for yes_no the subjects that are among the things.
        count: The number of things.
        verdict: For yes_no whether the statement is true; else None.
        relations: The rows of the relations that prove the answer, without repetition: of the things found; for a no
            the relations found instead (the real writers of a film), and for a comparison the two literals.
        known: Whether the graph states what is needed: for a yes_no whether the subject has any of the last
            predicates, for a comparison whether both literals exist and can be compared. False: "I do not know".
        properties: The predicates that are stated of a thing or of the members of a class, if these are asked for.
    """

    found: tuple[FoundEntity, ...]
    count: int
    verdict: bool | None
    relations: tuple[int, ...]
    known: bool = True
    properties: tuple[str, ...] = ()
