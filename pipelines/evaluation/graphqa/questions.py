"""Read GraphQA, questions with one graph each, in a common form (He et al. 2024, section 4 and appendix C).

    ExplaGraphs    do two arguments support or counter each other?     accuracy    6:2:2
    scene graphs   what is in an image, from its objects (GQA)         accuracy    6:2:2
    WebQSP         a question over Freebase                            Hit@1       its own division

Which of them a folder holds follows from its files.
"""

import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from conspectus.pipelines.evaluation.graphqa.scores import begins_with, hit_at_1, lenient
from conspectus.query.methods.gretriever.soft.checkpoint import SEPARATOR
from conspectus.query.types.textual_graph import Table, TextualEdge, TextualGraph
from conspectus.storage.errors import InputError
from conspectus.storage.records import Failure
from conspectus.storage.text.tokens import count_each, count_tokens
from pydantic import ValidationError

Metric = Literal["accuracy", "hit@1"]
Cut = Callable[[TextualGraph, str], TextualGraph]
"""Returns the part of a graph that a question needs."""


@dataclass(frozen=True, slots=True)
class GraphQuestion:
    """A question about a graph, and what is accepted as its answer, the first first."""

    id: str
    graph: TextualGraph
    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """How large graphs are: nodes, edges, and the tokens of their text; of several graphs these are means."""

    nodes: float = 0.0
    edges: float = 0.0
    tokens: float = 0.0


@dataclass(frozen=True, slots=True)
class GraphQa:
    """A set of questions, divided.

    `choices` are the answers that there are, where a question names them. `before` and `after` are the mean sizes of
    the graphs before and after they were cut. `left_out` questions have no graph or no answer; `failures` are those
    that cannot be read, each with its place and why.
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
        """All of them."""
        return self.training + self.validation + self.test

    def target(self, question: GraphQuestion) -> str:
        """Return what a model learns to write for a question: all its answers where one of them is enough."""
        return question.answers[0] if self.metric == "accuracy" else SEPARATOR.join(question.answers)

    def score(self, text: str, question: GraphQuestion) -> float:
        """Return 1 where a text answers the question by the set's metric, else 0."""
        return (begins_with if self.metric == "accuracy" else hit_at_1)(text, question.answers)

    def lenient(self, text: str, question: GraphQuestion) -> float:
        """Return 1 where the authors of GraphQA would count a text as right, else 0."""
        return lenient(text, question.answers, self.choices)


def whole(graph: TextualGraph, _question: str) -> TextualGraph:
    """Return the graph as it is: no retrieval."""
    return graph


def read_graphqa(place: Path, cut: Cut = whole) -> GraphQa:
    """Return the set in a folder or file; graphs are cut to what their questions need while they are read.

    Questions that cannot be read are its `failures`; InputError names the first where they are more than a twentieth,
    and the file that is of no such form at all. ExplaGraphs' graphs are small, and never cut, as in the paper.
    """
    from conspectus.pipelines.evaluation.graphqa.explagraphs import find_explagraphs, read_explagraphs
    from conspectus.pipelines.evaluation.graphqa.scenes import find_scenes, read_scenes
    from conspectus.pipelines.evaluation.graphqa.webqsp import find_webqsp, read_webqsp

    if stances := find_explagraphs(place):
        return read_explagraphs(stances)
    if scenes := find_scenes(place):
        return read_scenes(scenes, cut)
    if webqsp := find_webqsp(place):
        return read_webqsp(webqsp, cut)
    raise InputError(
        f"{place} is no set of questions about graphs: wanted are ExplaGraphs' .tsv, GQA's *sceneGraphs.json with "
        "*questions.json, RoG's .jsonl, or a suite with kg.tsv"
    )


STAGE = "graphqa"
_SEED = 42
_MOST_LOST = 0.05
"""Share of questions that may be lost before a file is taken for something else than it should be."""


@dataclass(frozen=True, slots=True)
class CutQuestion:
    """A question with its graph cut, the graph as it was, and what it has in common with others of its `group`."""

    question: GraphQuestion
    whole: TextualGraph
    group: Hashable


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A question without a graph or without an answer: sets have some, and nothing is wrong with them."""


Row = CutQuestion | Failure | LeftOut
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
        ends = [number.setdefault(item, len(number)) for item in (head, tail)]
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
            if isinstance(row, CutQuestion):
                found[-1].append((row.group, row.question))
                before.append(sizes.of(row.whole))
                after.append(sizes.of(row.question.graph))
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
    """Return 6 : 2 : 2 of the items, (group, question), drawn with a seed; those of one group stay on one side.

    InputError, about `place`, where there are fewer than five groups.
    """
    groups: dict[Hashable, list[_Kept]] = {}
    for item in items:
        groups.setdefault(item[0], []).append(item)
    if len(groups) < 5:
        raise InputError(f"{place}: {len(groups)} different graphs are too few to learn, to validate and to test with")
    order = list(groups)
    random.Random(_SEED).shuffle(order)  # noqa: S311
    first, second = round(0.6 * len(order)), round(0.8 * len(order))
    parts = order[:first], order[first:second], order[second:]
    learn, validate, test = ([group for key in part for group in groups[key]] for part in parts)
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
        sum(size.nodes for size in sizes) / n,
        sum(size.edges for size in sizes) / n,
        sum(size.tokens for size in sizes) / n,
    )


_MOST_KNOWN = 1_000_000


class Sizes:
    """Sizes of graphs, with the tokens of the texts seen so far."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._headers = count_tokens(TextualGraph((), ()).to_text())

    def of(self, graph: TextualGraph) -> Size:
        """Return the size of a graph, the tokens of `graph.to_text()` among it."""
        numbers = [str(number) for number in range(len(graph.nodes))]
        self._count([*numbers, *graph.nodes, *(edge.text for edge in graph.edges)])
        known = self._known
        # Commas and line ends part tokens, so that a row has as many as its fields, and one for each comma.
        tokens = self._headers + sum(known[number] + 1 for number in numbers) + sum(known[text] for text in graph.nodes)
        for edge in graph.edges:
            tokens += known[numbers[edge.source]] + known[edge.text] + known[numbers[edge.target]] + 2
        return Size(len(graph.nodes), len(graph.edges), tokens)

    def _count(self, texts: list[str]) -> None:
        if len(self._known) > _MOST_KNOWN:
            self._known = {}
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known |= zip(new, count_each(str(Table(((item,),))) for item in new), strict=True)
