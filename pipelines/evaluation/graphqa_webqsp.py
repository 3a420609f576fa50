"""WebQSP (Yih et al. 2016) with a graph for each question: as RoG published it, or as a suite over one graph.

RoG's lines bring their graphs, in `train`, `validation` (or `dev`, `val`) and `test` .jsonl; that division is kept. A
suite's `kg.tsv` is one graph for all: a question's is what lies within two hops of its `entities`, at most 20,000 edges
of it, the nearest first. One file, or a suite, is divided 6 : 2 : 2. RoG's texts are in small letters, as in the paper;
a suite's are put as those of its index, so that what is trained on it can be asked there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipelines.evaluation.graphqa import Cut, GraphQa, GraphQuestion, divided
from pipelines.evaluation.published import brings_graphs
from pipelines.evaluation.rows import rows_of
from pipelines.evaluation.suites import GRAPH, QUESTIONS, Question, read_questions
from pipelines.interchange.kg import read_graph
from pipelines.interchange.kg_collect import ImportedGraph
from query.subgraph.textual_graph import TextualEdge, TextualGraph
from query.walk.graph import predicate_words, spoken
from storage.errors import InputError
from storage.settings import KgSettings
from storage.text.normalise import entity_key

Ints = npt.NDArray[np.int64]
_HOPS = 2
_MOST_EDGES = 20_000
_PARTS = (("train",), ("validation", "valid", "val", "dev"), ("test",))


@dataclass(frozen=True, slots=True)
class WebQspFiles:
    """RoG's files, three as they divide the questions or one; or a suite's folder."""

    files: tuple[Path, ...] = ()
    suite: Path | None = None


@dataclass(frozen=True, slots=True)
class _Whole:
    question: GraphQuestion
    nodes: int
    edges: int


def find_webqsp(place: Path) -> WebQspFiles | None:
    """Return the files of a folder or file, None where they are of no such form."""
    if place.is_file():
        return WebQspFiles((place,)) if place.suffix == ".jsonl" and brings_graphs(place) else None
    if (place / GRAPH).is_file() and (place / QUESTIONS).is_file():
        return WebQspFiles(suite=place)
    files = [each for each in sorted(place.glob("*.jsonl")) if brings_graphs(each)]
    parts = [[each for each in files if each.stem.startswith(names)] for names in _PARTS]
    if all(len(each) == 1 for each in parts):
        return WebQspFiles(tuple(each[0] for each in parts))
    return WebQspFiles((files[0],)) if len(files) == 1 else None


def read_webqsp(found: WebQspFiles, cut: Cut) -> GraphQa:
    """Return the questions that have answers, divided; InputError names the line that is wrong."""
    if found.suite is not None:
        parts = _drawn(list(_of_suite(found.suite, cut)))
    elif len(found.files) == 1:
        parts = _drawn(list(_of_rog(found.files[0], cut)))
    else:
        learn, validate, test = (list(_of_rog(file, cut)) for file in found.files)
        parts = learn, validate, test
    if not all(parts):
        raise InputError(f"{(found.suite or found.files[0])}: a part has no question with an answer and a graph")
    every = [each for part in parts for each in part]
    training, validation, held_back = (tuple(each.question for each in part) for part in parts)
    return GraphQa(
        "webqsp",
        "hit@1",
        training,
        validation,
        held_back,
        sum(each.nodes for each in every) / len(every),
        sum(each.edges for each in every) / len(every),
    )


def _drawn(found: Sequence[_Whole]) -> tuple[list[_Whole], list[_Whole], list[_Whole]]:
    return divided(found, lambda each: each.question.id)


def _of_rog(file: Path, cut: Cut) -> Iterator[_Whole]:
    for where, row in rows_of(file):
        try:
            triples = [(str(head), str(said), str(tail)) for head, said, tail in row["graph"]]
            answers, asked, id_ = [str(each) for each in row["answer"]], str(row["question"]), str(row["id"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{where}: not a question like RoG's: {type(error).__name__} {error}") from error
        if triples and answers:
            small = [(head.lower(), said.lower(), tail.lower()) for head, said, tail in triples]
            yield _asked(id_, _of_triples(small), asked.lower(), [each.lower() for each in answers], cut)


def _of_triples(triples: Sequence[tuple[str, str, str]]) -> TextualGraph:
    number: dict[str, int] = {}
    edges = []
    for head, said, tail in triples:
        ends = [number.setdefault(each, len(number)) for each in (head, tail)]
        edges.append(TextualEdge(ends[0], said, ends[1]))
    return TextualGraph(tuple(number), tuple(dict.fromkeys(edges)))


def _of_suite(folder: Path, cut: Cut) -> Iterator[_Whole]:
    graph = read_graph(KgSettings(files=(str(folder / GRAPH),)))
    assert graph is not None, "a file was named"
    around = _neighbourhoods(graph)
    for each in read_questions(folder):
        near = around(each)
        if each.answers and near.nodes:
            yield _asked(each.id, near, each.question, each.answers, cut)


def _asked(id_: str, graph: TextualGraph, question: str, answers: Sequence[str], cut: Cut) -> _Whole:
    kept = GraphQuestion(id_, cut(graph, question), question, tuple(dict.fromkeys(answers)))
    return _Whole(kept, len(graph.nodes), len(graph.edges))


def _neighbourhoods(graph: ImportedGraph) -> Callable[[Question], TextualGraph]:
    """Return what gives the graph around the topics of a question."""
    row_of = {entity_key(name): row for row, name in enumerate(graph.names)}
    ends = np.concatenate([graph.sources, graph.targets])
    order = np.argsort(ends, kind="stable")
    first = np.zeros(len(graph.names) + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=len(graph.names)), out=first[1:])

    def around(question: Question) -> TextualGraph:
        here = sorted({row_of[key] for name in question.entities if (key := entity_key(name)) in row_of})
        triples: dict[int, None] = {}
        seen = set(here)
        for _ in range(_HOPS):
            for row in here:
                at: Any = order[first[row] : first[row + 1]] % len(graph.sources)
                triples |= dict.fromkeys(at[: _MOST_EDGES - len(triples)].tolist())
            others = {int(each) for row in triples for each in (graph.sources[row], graph.targets[row])}
            here, seen = sorted(others - seen), seen | others
        return _of_triples(
            [
                (
                    spoken(graph.names[graph.sources[row]]),
                    predicate_words(graph.predicates[graph.stated[row]]),
                    spoken(graph.names[graph.targets[row]]),
                )
                for row in triples
            ]
        )

    return around
