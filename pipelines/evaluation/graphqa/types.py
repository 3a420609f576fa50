"""GraphQA: questions that each come with a graph, in one form (He et al. 2024, section 4 and appendix C).

    ExplaGraphs    do two arguments support or counter each other?     accuracy    6:2:2
    scene graphs   what is in an image, from its objects (GQA)         accuracy    6:2:2
    WebQSP         a question over Freebase                            Hit@1       its own division

Which of them a folder holds follows from its files.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from conspectus.pipelines.evaluation.graphqa.scores import begins_with, hit_at_1, lenient
from conspectus.query.methods.gretriever.soft.shape import SEPARATOR
from conspectus.query.types.textual_graph import TextualGraph
from conspectus.storage.errors import InputError
from conspectus.storage.records import Failure

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


def whole(graph: TextualGraph, question: str) -> TextualGraph:
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
