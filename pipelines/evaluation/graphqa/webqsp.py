"""Read WebQSP (Yih et al. 2016) with a graph per question, as published by RoG, or as a suite over one graph.

RoG's lines contain their graphs, in `train`, `validation` (or `dev`, `val`) and `test` .jsonl; that division is used. A
suite's `kg.tsv` is one graph for all questions: the graph of a question is the part within two hops of its `entities`,
at most 20,000 edges, the nearest first. A single file, or a suite, is divided 6 : 2 : 2. RoG's texts are in lower case,
as in the paper; a suite's have the form of its index, so that a model trained on them can be used there.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from conspectus.pipelines.evaluation.graphqa.questions import (
    Cut,
    CutQuestion,
    GraphQa,
    GraphQuestion,
    Row,
    collected,
    failure,
    first_of,
    graph_of,
    whole,
)
from conspectus.pipelines.evaluation.jsonl import lines_of, value_of
from conspectus.pipelines.evaluation.published_sets import brings_graphs
from conspectus.pipelines.evaluation.suites import GRAPH, QUESTIONS, SuiteQuestion, read_questions
from conspectus.pipelines.exchange.kg.builder import ImportedGraph
from conspectus.pipelines.exchange.kg.read import read_graph
from conspectus.pipelines.readers.encodings import clean
from conspectus.query.types.textual_graph import TextualGraph
from conspectus.query.walk.graph import is_id, predicate_words, spoken
from conspectus.storage.settings import KgSettings
from conspectus.storage.text.normalise import entity_key
from pydantic import BaseModel, ValidationError

_HOPS = 2
_MOST_EDGES = 20_000
_PARTS = (("train",), ("validation", "valid", "val", "dev"), ("test",))


class _RogRow(BaseModel):
    id: str | int
    question: str
    answer: list[str]
    graph: list[tuple[str, str, str]]


def is_suite(place: Path) -> bool:
    """Return whether a folder is a suite over one graph."""
    return (place / GRAPH).is_file() and (place / QUESTIONS).is_file()


def read_webqsp(place: Path, cut: Cut) -> GraphQa | None:
    """Return the questions of a folder or file that have answers and a graph, divided; None if it has another form.

    RoG's files are three if they divide the questions, or one. Errors are those of `collected`.
    """
    if is_suite(place):
        return collected("webqsp", "hit@1", place, [_of_suite(place, cut)])
    files = [path for path in ([place] if place.is_file() else sorted(place.glob("*.jsonl"))) if brings_graphs(path)]
    parts = [[file for file in files if file.stem.startswith(names)] for names in _PARTS]
    if all(len(part) == 1 for part in parts):
        files = [part[0] for part in parts]
    elif len(files) != 1:
        return None
    return collected("webqsp", "hit@1", files[0], [_of_rog(file, cut) for file in files])


def read_retrieved(folder: Path, retrieve: Callable[[SuiteQuestion], TextualGraph]) -> GraphQa:
    """Return the questions of a suite, divided, each with the graph that `retrieve` gives it; errors as of `collected`.

    So a model is trained on graphs as it is asked with them.
    """

    def rows() -> Iterator[Row]:
        for question in read_questions(folder):
            yield _asked(question.id, retrieve(question), question.question, question.answers, whole)

    return collected("webqsp", "hit@1", folder, [rows()])


def _of_rog(file: Path, cut: Cut) -> Iterator[Row]:
    for where, line in lines_of(file):
        try:
            row = _RogRow.model_validate(value_of(line))
        except ValidationError as error:
            yield failure(where, f"not a question like RoG's: {first_of(error)}")
        except ValueError as error:
            yield failure(where, str(error))
        else:
            triples = [(_small(head), _small(said), _small(tail)) for head, said, tail in row.graph]
            yield _asked(
                str(row.id), graph_of(triples), _small(row.question), [_small(item) for item in row.answer], cut
            )


def _small(text: str) -> str:
    return clean(text).lower()


def _of_suite(folder: Path, cut: Cut) -> Iterator[Row]:
    graph = read_graph(KgSettings(files=(str(folder / GRAPH),)))
    assert graph is not None, "a file was named"
    yield from graph.failures
    around = _neighbourhoods(graph)
    for question in read_questions(folder):
        yield _asked(question.id, around(question), question.question, question.answers, cut)


def _asked(id_: str, graph: TextualGraph, question: str, answers: Sequence[str], cut: Cut) -> Row:
    accepted = tuple(dict.fromkeys(answer for answer in answers if answer.strip()))
    if not (graph.edges and accepted):
        return None
    return CutQuestion(GraphQuestion(id_, cut(graph, question), question, accepted), graph, id_)


def _neighbourhoods(graph: ImportedGraph) -> Callable[[SuiteQuestion], TextualGraph]:
    """Return a function that returns the graph around the topics of a question."""
    row_of = {entity_key(name): row for row, name in enumerate(graph.names)}
    ends = np.concatenate([graph.sources, graph.targets])
    order = np.argsort(ends, kind="stable")
    first = np.zeros(len(graph.names) + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=len(graph.names)), out=first[1:])

    def around(question: SuiteQuestion) -> TextualGraph:
        here = sorted({row_of[key] for name in question.entities if (key := entity_key(name)) in row_of})
        triples: dict[int, None] = {}
        seen = set(here)
        for _ in range(_HOPS):
            for row in here:
                at: Any = order[first[row] : first[row + 1]] % len(graph.sources)
                triples |= dict.fromkeys(at[: _MOST_EDGES - len(triples)].tolist())
            others = {int(item) for row in triples for item in (graph.sources[row], graph.targets[row])}
            here, seen = sorted(others - seen), seen | others
        return graph_of(
            [
                (
                    _read(graph.names[graph.sources[row]]),
                    predicate_words(graph.predicates[graph.stated[row]]),
                    _read(graph.names[graph.targets[row]]),
                )
                for row in triples
            ]
        )

    return around


def _read(name: str) -> str:
    """Return a name in the form of an index's nodes."""
    return name if is_id(name) else spoken(name)
