"""GraphQA, questions with one graph each, in a common form (He et al. 2024, section 4 and appendix C).

    ExplaGraphs    do two arguments support or counter each other?     accuracy    6:2:2
    scene graphs   what is in an image, from its objects (GQA)         accuracy    6:2:2
    WebQSP         a question over Freebase                            Hit@1       published division

The files of a folder determine the data set. Answers are scored strictly, and as the authors' own code does: accuracy,
and for several answers Hit@1, "the precision of the top returned answer". That code (github.com/XiaoxinHe/G-Retriever,
src/utils/evaluate.py) counts more answers as right; it has counted WebQSP in two ways, of which this is the later one.
"""

import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import astuple, dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, TypeVar

import regex
from conspectus.pipelines.evaluation.metrics import exact_match, normalised
from conspectus.query.methods.gretriever.soft.checkpoint import SEPARATOR
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph
from conspectus.storage.errors import InputError
from conspectus.storage.records import Failure
from conspectus.storage.text.tokens import count_tokens
from pydantic import ValidationError

Item = TypeVar("Item")
Metric = Literal["accuracy", "hit@1"]
Cut = Callable[[TextualGraph, str], TextualGraph]
"""Returns the part of a graph that a question needs."""


@dataclass(frozen=True, slots=True)
class GraphQuestion:
    """A question about a graph, and its accepted answers, the preferred one first."""

    id: str
    graph: TextualGraph
    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """The size of graphs: nodes, edges, and tokens of their text; for several graphs, the means."""

    nodes: float = 0.0
    edges: float = 0.0
    tokens: float = 0.0


@dataclass(frozen=True, slots=True)
class GraphQa:
    """A set of questions, divided.

    `choices` are the possible answers, if a question names them. `before` and `after` are the mean sizes of the graphs
    before and after they were cut. `left_out` questions have no graph or no answer; `failures` are the unreadable
    ones, each with its place and the reason.
    """

    name: str
    metric: Metric
    training: tuple[GraphQuestion, ...]
    validation: tuple[GraphQuestion, ...]
    test: tuple[GraphQuestion, ...]
    choices: tuple[str, ...] = ()
    before: Size = Size()
    after: Size = Size()
    left_out: int = 0
    failures: tuple[Failure, ...] = ()

    @property
    def questions(self) -> tuple[GraphQuestion, ...]:
        """All questions of the three parts."""
        return self.training + self.validation + self.test

    def target(self, question: GraphQuestion) -> str:
        """Return the text that a model learns to write for a question: all answers, even if one is enough."""
        return question.answers[0] if self.metric == "accuracy" else SEPARATOR.join(question.answers)

    def score(self, text: str, question: GraphQuestion) -> float:
        """Return 1 if a text answers the question by the set's metric, else 0."""
        return (begins_with if self.metric == "accuracy" else hit_at_1)(text, question.answers)

    def lenient(self, text: str, question: GraphQuestion) -> float:
        """Return 1 if the code of GraphQA's authors would count a text as right, else 0."""
        return lenient(text, question.answers, self.choices)


def whole(graph: TextualGraph, _question: str) -> TextualGraph:
    """Return the graph unchanged: no retrieval."""
    return graph


STAGE = "graphqa"
_SEED = 42
_MOST_LOST = 0.05
"""Share of unreadable questions above which a file is considered to have another form."""


@dataclass(frozen=True, slots=True)
class CutQuestion:
    """A question with its cut graph, the original graph, and the `group` of questions that it belongs to."""

    question: GraphQuestion
    whole: TextualGraph
    group: Hashable


Row = CutQuestion | Failure | None
"""The result of reading one row of a file. A question without a graph or an answer is None: that is not an error."""
_Kept = tuple[Hashable, GraphQuestion]


def failure(where: str, why: str) -> Failure:
    """Return the failure with the place of what cannot be read, and the reason."""
    return Failure(STAGE, where, why)


def first_of(error: ValidationError) -> str:
    """Return the first error in a value, and its location, in one line."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where + ': ' if where else ''}{' '.join(first['msg'].split())}"


def graph_of(triples: Iterable[tuple[str, str, str]]) -> TextualGraph:
    """Return the graph of (head, relation, tail), with nodes in order of appearance and each triple once."""
    number: dict[str, int] = {}
    edges: dict[TextualEdge, None] = {}
    for head, said, tail in triples:
        ends = [number.setdefault(item, len(number)) for item in (head, tail)]
        edges[TextualEdge(ends[0], said, ends[1])] = None
    return TextualGraph(tuple(number), tuple(edges))


def collected(
    name: str, metric: Metric, place: Path, parts: Sequence[Iterable[Row]], choices: Sequence[str] = ()
) -> GraphQa:
    """Return the questions of three parts as they are divided, or divide those of one part 6 : 2 : 2 at random.

    InputError, about `place`, if a part has no question, if there are too few to divide, or if more than a twentieth
    cannot be read.
    """
    before: list[Size] = []
    after: list[Size] = []
    found: list[list[_Kept]] = []
    failures: list[Failure] = []
    left_out = 0
    for part in parts:
        found.append([])
        for row in part:
            if isinstance(row, CutQuestion):
                found[-1].append((row.group, row.question))
                before.append(size_of(row.whole))
                after.append(size_of(row.question.graph))
            elif isinstance(row, Failure):
                failures.append(row)
            else:
                left_out += 1
    _check(len(before), [failure for failure in failures if failure.stage == STAGE])
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
    """Divide the items, (group, question), 6 : 2 : 2 with a fixed seed; a group is never split.

    InputError, about `place`, where there are fewer than five groups.
    """
    groups = shuffled(((item[0], item) for item in items), _SEED)
    if len(groups) < 5:
        raise InputError(f"{place}: {len(groups)} different graphs are too few to learn, to validate and to test with")
    first, second = round(0.6 * len(groups)), round(0.8 * len(groups))
    learn, validate, test = (list(chain(*part)) for part in (groups[:first], groups[first:second], groups[second:]))
    return learn, validate, test


def shuffled(items: Iterable[tuple[Hashable, Item]], seed: int) -> list[list[Item]]:
    """Return the items, each given with its group, group by group, in a random order of the groups."""
    groups: dict[Hashable, list[Item]] = {}
    for group, item in items:
        groups.setdefault(group, []).append(item)
    order = list(groups)
    random.Random(seed).shuffle(order)  # noqa: S311
    return [groups[key] for key in order]


def _check(n_found: int, failures: Sequence[Failure]) -> None:
    """Raise InputError if more than a twentieth of the questions cannot be read."""
    rows = n_found + len(failures)
    if len(failures) > _MOST_LOST * rows:
        first, more = failures[0], len(failures) - 1
        others = f" (and {more:,} more of {rows:,} questions cannot be read)" if more else ""
        raise InputError(f"{first.item_id}: {first.reason}{others}")


def _mean(sizes: Sequence[Size]) -> Size:
    return Size(*(sum(column) / len(sizes) for column in zip(*map(astuple, sizes), strict=True)))


def size_of(graph: TextualGraph) -> Size:
    """Return the size of a graph, including the tokens of `graph.to_text()`."""
    return Size(len(graph.nodes), len(graph.edges), count_tokens(graph.to_text()))


def begins_with(text: str, accepted: Sequence[str]) -> float:
    """Return 1 if a text begins with the words of an accepted answer, else 0.

    >>> begins_with("Support.", ["support"]), begins_with("supporters", ["support"]), begins_with("", ["support"])
    (1.0, 0.0, 0.0)
    """
    said = f"{normalised(text)} "
    return float(any(said.startswith(f"{normalised(item)} ") for item in accepted if normalised(item)))


def hit_at_1(text: str, accepted: Sequence[str]) -> float:
    """Return 1 if the first answer in a text is accepted, else 0.

    >>> hit_at_1("rosa tolliver|bram tolliver", ["Rosa Tolliver"]), hit_at_1("bram tolliver", ["Rosa Tolliver"])
    (1.0, 0.0)
    """
    return exact_match(text.partition(SEPARATOR)[0], accepted)


def lenient(text: str, accepted: Sequence[str], choices: Sequence[str] = ()) -> float:
    """Return 1 if the authors' code would count a text as right, else 0.

    With `choices`, the first choice that occurs in the text must be accepted; without, an accepted answer must occur
    anywhere in it, even within a word.

    >>> lenient("it supports, not counters", ["support"], ["support", "counter"]), lenient("nobody|jazmyn", ["Jazmyn"])
    (1.0, 1.0)
    """
    if choices:
        first = regex.search("|".join(map(regex.escape, choices)), text, regex.IGNORECASE)
        return float(first is not None and first.group().casefold() in {item.casefold() for item in accepted})
    said = normalised(text.replace(SEPARATOR, " "))
    return float(any(normalised(item) in said for item in accepted if normalised(item)))
