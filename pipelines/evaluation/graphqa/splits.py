"""Questions about graphs as they come out of files, divided into what is learned from and what is held back."""

import random
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus.pipelines.evaluation.graphqa.sizes import Sizes
from conspectus.pipelines.evaluation.graphqa.types import GraphQa, GraphQuestion, Metric, Size
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph
from conspectus.storage.errors import InputError
from conspectus.storage.records import Failure
from pydantic import ValidationError

STAGE = "graphqa"
_SEED = 42
_MOST_LOST = 0.05
"""Share of questions that may be lost before a file is taken for something else than it should be."""


@dataclass(frozen=True, slots=True)
class Found:
    """A question with its graph cut, the graph as it was, and what it has in common with others of its `group`."""

    question: GraphQuestion
    whole: TextualGraph
    group: Hashable


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A question without a graph or without an answer: sets have some, and nothing is wrong with them."""


Row = Found | Failure | LeftOut
"""What one row of a file comes to."""
_Kept = tuple[Hashable, GraphQuestion]


def failure(where: str, why: str) -> Failure:
    """Return the row that says what cannot be read, and why."""
    return Failure(STAGE, where, why)


def first_of(error: ValidationError) -> str:
    """Return in one line what is wrong first with a value, and where in it."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where + ': ' if where else ''}{' '.join(first['msg'].split())}"


def graph_of(triples: Iterable[tuple[str, str, str]]) -> TextualGraph:
    """Return the graph of (head, relation, tail), its nodes as they come, each triple once."""
    number: dict[str, int] = {}
    edges: dict[TextualEdge, None] = {}
    for head, said, tail in triples:
        ends = [number.setdefault(each, len(number)) for each in (head, tail)]
        edges[TextualEdge(ends[0], said, ends[1])] = None
    return TextualGraph(tuple(number), tuple(edges))


def collected(
    name: str, metric: Metric, place: Path, parts: Sequence[Iterable[Row]], choices: Sequence[str] = ()
) -> GraphQa:
    """Return the questions of three parts as they are divided, or of one, which is drawn 6 : 2 : 2.

    InputError, about `place`, where a part has no question, where there are too few to draw from, and where more than
    a twentieth cannot be read.
    """
    sizes = Sizes()
    before: list[Size] = []
    after: list[Size] = []
    found: list[list[_Kept]] = []
    failures: list[Failure] = []
    left_out = 0
    for part in parts:
        found.append([])
        for row in part:
            if isinstance(row, Found):
                found[-1].append((row.group, row.question))
                before.append(sizes.of(row.whole))
                after.append(sizes.of(row.question.graph))
            elif isinstance(row, Failure):
                failures.append(row)
            else:
                left_out += 1
    _check(len(before), [each for each in failures if each.stage == STAGE])
    training, validation, test = divided(found[0], place) if len(found) == 1 else found
    if not (training and validation and test):
        raise InputError(f"{place}: a part has no question with an answer and a graph")
    return GraphQa(
        name,
        metric,
        tuple(question for _, question in training),
        tuple(question for _, question in validation),
        tuple(question for _, question in test),
        tuple(choices),
        _mean(before),
        _mean(after),
        left_out,
        tuple(failures),
    )


def divided(items: Sequence[_Kept], place: Path) -> tuple[list[_Kept], list[_Kept], list[_Kept]]:
    """Return 6 : 2 : 2 of the items, (group, question), drawn with a seed; those of one group stay on one side.

    InputError, about `place`, where there are fewer than five groups.
    """
    groups: dict[Hashable, list[_Kept]] = {}
    for each in items:
        groups.setdefault(each[0], []).append(each)
    if len(groups) < 5:
        raise InputError(f"{place}: {len(groups)} different graphs are too few to learn, to validate and to test with")
    order = list(groups)
    random.Random(_SEED).shuffle(order)  # noqa: S311
    first, second = round(0.6 * len(order)), round(0.8 * len(order))
    parts = order[:first], order[first:second], order[second:]
    learn, validate, test = ([each for key in part for each in groups[key]] for part in parts)
    return learn, validate, test


def _check(n_found: int, failures: Sequence[Failure]) -> None:
    """Raise InputError where more than a twentieth of the questions cannot be read."""
    rows = n_found + len(failures)
    if len(failures) > _MOST_LOST * rows:
        first, more = failures[0], len(failures) - 1
        others = f" (and {more:,} more of {rows:,} questions cannot be read)" if more else ""
        raise InputError(f"{first.item_id}: {first.reason}{others}")


def _mean(sizes: Sequence[Size]) -> Size:
    n = len(sizes)
    return Size(
        sum(each.nodes for each in sizes) / n,
        sum(each.edges for each in sizes) / n,
        sum(each.tokens for each in sizes) / n,
    )
