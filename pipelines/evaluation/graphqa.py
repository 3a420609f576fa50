"""GraphQA: questions that each come with a graph, in one form (He et al. 2024, section 4 and appendix C).

    ExplaGraphs    do two arguments support or counter each other?     accuracy    6:2:2
    scene graphs   what is in an image, from its objects (GQA)         accuracy    6:2:2
    WebQSP         a question over Freebase                            Hit@1       its own division

Which of them a folder holds follows from its files.
"""

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from pipelines.evaluation.answers import exact_match, normalised
from query.subgraph.soft_shape import SEPARATOR
from query.subgraph.textual_graph import TextualGraph
from storage.errors import InputError

Metric = Literal["accuracy", "hit@1"]
Cut = Callable[[TextualGraph, str], TextualGraph]
"""Returns the part of a graph that a question needs."""

_SEED = 42


@dataclass(frozen=True, slots=True)
class GraphQuestion:
    """A question about a graph, and what is accepted as its answer, the first first."""

    id: str
    graph: TextualGraph
    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GraphQa:
    """A set of questions, divided. `nodes_before` and `edges_before` are means before graphs were cut."""

    name: str
    metric: Metric
    training: tuple[GraphQuestion, ...]
    validation: tuple[GraphQuestion, ...]
    test: tuple[GraphQuestion, ...]
    nodes_before: float
    edges_before: float

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


def begins_with(text: str, accepted: Sequence[str]) -> float:
    """Return 1 where a text begins with the words of an accepted answer, else 0.

    >>> begins_with("Support.", ["support"]), begins_with("supporters", ["support"]), begins_with("", ["support"])
    (1.0, 0.0, 0.0)
    """
    said = f"{normalised(text)} "
    return float(any(said.startswith(f"{normalised(each)} ") for each in accepted if normalised(each)))


def hit_at_1(text: str, accepted: Sequence[str]) -> float:
    """Return 1 where the first of the answers that a text holds is accepted, else 0.

    >>> hit_at_1("jaxon bieber|jazmyn bieber", ["Jaxon Bieber"]), hit_at_1("jazmyn bieber", ["Jaxon Bieber"])
    (1.0, 0.0)
    """
    return exact_match(text.partition(SEPARATOR)[0], accepted)


_T = TypeVar("_T")


def divided(items: Sequence[_T], group: Callable[[_T], Hashable]) -> tuple[list[_T], list[_T], list[_T]]:
    """Return 6 : 2 : 2 of the items, drawn with a seed; those of one group stay on one side.

    InputError where there are fewer than five groups.
    """
    groups: dict[Hashable, list[_T]] = {}
    for each in items:
        groups.setdefault(group(each), []).append(each)
    if len(groups) < 5:
        raise InputError(f"{len(groups)} different graphs are too few to learn, to validate and to test with")
    order = list(groups)
    random.Random(_SEED).shuffle(order)  # noqa: S311
    first, second = round(0.6 * len(order)), round(0.8 * len(order))
    parts = order[:first], order[first:second], order[second:]
    learn, validate, test = ([each for key in part for each in groups[key]] for part in parts)
    return learn, validate, test


def whole(graph: TextualGraph, question: str) -> TextualGraph:
    """Return the graph as it is: no retrieval."""
    return graph


def read_graphqa(place: Path, cut: Cut = whole) -> GraphQa:
    """Return the set in a folder or file; graphs are cut to what their questions need while they are read.

    InputError names the file and what is wrong with it. ExplaGraphs' graphs are small, and never cut, as in the paper.
    """
    from pipelines.evaluation.graphqa_explagraphs import find_explagraphs, read_explagraphs
    from pipelines.evaluation.graphqa_scenes import find_scenes, read_scenes
    from pipelines.evaluation.graphqa_webqsp import find_webqsp, read_webqsp

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
