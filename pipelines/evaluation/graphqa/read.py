"""Read the published sets of GraphQA: ExplaGraphs, the scene graphs of GQA, and WebQSP.

- ExplaGraphs (Saha et al. 2021): two arguments, an explanation graph, and the stance support or counter. A line has
  four fields separated by tabs: argument 1, argument 2, the stance, `(head; relation; tail)(...)`. The test labels are
  not published, so all files of a folder are pooled and divided 6 : 2 : 2.
- Scene graphs (Hudson and Manning 2019): the objects of an image, their positions and relations. A folder with
  `*sceneGraphs.json`, {image: {"objects": {id: {"name", "x", "y", "w", "h", "attributes", "relations": [{"name",
  "object"}]}}}}, and `*questions.json`, {id: {"imageId", "question", "answer"}}. Questions about images whose graph is
  missing are left out; those about one image stay in one part of the division.
- WebQSP (Yih et al. 2016) with a graph per question, as published by RoG, or as a suite over one graph. RoG's lines
  contain their graphs, in `train`, `validation` (or `dev`, `val`) and `test` .jsonl; that division is used. A suite's
  `kg.tsv` is one graph for all questions: the graph of a question is the part within two hops of its `entities`, at
  most 20,000 edges, the nearest first. A single file, or a suite, is divided 6 : 2 : 2. RoG's texts are in lower case,
  as in the paper; a suite's have the form of its index, so that a model trained on them can be used there.
"""

import re
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
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph
from conspectus.query.walk.graph import is_id, predicate_words, spoken
from conspectus.storage.errors import InputError
from conspectus.storage.settings import KgSettings
from conspectus.storage.text.normalise import entity_key
from pydantic import BaseModel, ValidationError


def read_graphqa(place: Path, cut: Cut = whole) -> GraphQa:
    """Read the set in a folder or file; graphs are cut to the part that their questions need while they are read.

    Unreadable questions are its `failures`; InputError names the first if they are more than a twentieth, and a file of
    an unknown form. ExplaGraphs' graphs are small and never cut, as in the paper.
    """
    for read in (read_explagraphs, read_scenes, read_webqsp):
        if found := read(place, cut):
            return found
    raise InputError(
        f"{place} is not a set of questions about graphs; expected are ExplaGraphs' .tsv, GQA's *sceneGraphs.json with "
        "*questions.json, RoG's .jsonl, or a suite with kg.tsv"
    )


class _Relation(BaseModel):
    name: str
    object: str


class _Object(BaseModel):
    name: str
    x: int
    y: int
    w: int
    h: int
    attributes: list[str] = []
    relations: list[_Relation] = []


class _Scene(BaseModel):
    objects: dict[str, _Object]


class _Question(BaseModel):
    imageId: str  # noqa: N815  (as the file has it)
    question: str
    answer: str


def read_scenes(place: Path, cut: Cut) -> GraphQa | None:
    """Return the questions of a folder, divided; None if it lacks graphs or questions.

    Errors are those of `collected`, and InputError if a file is not a JSON object.
    """
    graphs, questions = sorted(place.glob("*sceneGraphs.json")), sorted(place.glob("*questions.json"))
    if not graphs or not questions:
        return None
    return collected("scenegraphs", "accuracy", questions[0], [_scene_rows(graphs, questions, cut)])


def _scene_rows(graphs: Sequence[Path], questions: Sequence[Path], cut: Cut) -> Iterator[Row]:
    scenes = _pooled(graphs)
    read: dict[str, TextualGraph | str] = {}
    for id_, (file, value) in _pooled(questions).items():
        try:
            asked = _Question.model_validate(value)
        except ValidationError as error:
            yield failure(f"{file}: {id_}", first_of(error))
            continue
        image = asked.imageId
        if image not in scenes:
            yield None
            continue
        if image not in read:
            read[image] = _scene_graph(scenes[image][1])
        graph = read[image]
        if isinstance(graph, str):
            yield failure(f"{scenes[image][0]}: scene {image}", graph)
        elif not graph.nodes or not asked.answer.strip():
            yield None
        else:
            question = clean(asked.question)
            yield CutQuestion(GraphQuestion(id_, cut(graph, question), question, (clean(asked.answer),)), graph, image)


def _pooled(files: Sequence[Path]) -> dict[str, tuple[Path, Any]]:
    """Return all values of the JSON objects, each with its file."""
    found: dict[str, tuple[Path, Any]] = {}
    for file in files:
        try:
            value = value_of(file.read_bytes())
        except (OSError, ValueError) as error:
            raise InputError(f"{file} cannot be read: {error}") from error
        if not isinstance(value, dict):
            raise InputError(f"{file} is no object of JSON with an id for each")
        found |= {id_: (file, item) for id_, item in value.items()}
    return found


def _scene_graph(value: Any) -> TextualGraph | str:  # noqa: ANN401  (any JSON value may appear in a file)
    """Return the graph of a scene, or the reason why it is invalid."""
    try:
        scene = _Scene.model_validate(value)
    except ValidationError as error:
        return first_of(error)
    number = {id_: place for place, id_ in enumerate(scene.objects)}
    edges = []
    for id_, entry in scene.objects.items():
        for relation in entry.relations:
            if relation.object not in number:
                return f"a relation of object {id_} names {relation.object[:80]!r}, which is none"
            edges.append(TextualEdge(number[id_], clean(relation.name), number[relation.object]))
    return TextualGraph(tuple(clean(_object_text(item)) for item in scene.objects.values()), tuple(edges))


def _object_text(thing: _Object) -> str:
    """Return an object in the wording of the paper (table 9)."""
    attributes = f"; attribute: {', '.join(thing.attributes)}" if thing.attributes else ""
    return f"name: {thing.name}{attributes}; (x,y,w,h): ({thing.x}, {thing.y}, {thing.w}, {thing.h})"


STANCES = ("support", "counter")
_ASKED = 'Does argument 2 support or counter argument 1? Answer with one word, "support" or "counter".'
_TRIPLE = re.compile(r"\(([^();]+);([^();]+);([^();]+)\)\s*")


def read_explagraphs(place: Path, _cut: Cut) -> GraphQa | None:
    """Return the questions of the file, or of the files of a folder, in this form, divided; None if there are none.

    The first line that is not blank shows the form. Errors are those of `collected`.
    """
    files = sorted(place.glob("*.tsv")) if place.is_dir() else [place]
    files = [file for file in files if file.suffix == ".tsv" and file.is_file() and _is_stance_file(file)]
    rows = (row for file in files for row in _stance_rows(file))
    return collected("explagraphs", "accuracy", place, [rows], STANCES) if files else None


def _is_stance_file(file: Path) -> bool:
    with file.open(encoding="utf-8-sig", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
    fields = first.rstrip("\r\n").split("\t")
    return len(fields) == 4 and (_is_header(fields) or _TRIPLE.match(fields[3].strip()) is not None)


def _is_header(fields: Sequence[str]) -> bool:
    return fields[2].strip().lower() in {"label", "stance"}


def _stance_rows(file: Path) -> Iterator[Row]:
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    # Not `splitlines`, which also ends a line at characters that occur in sentences, such as U+2028.
    for number, line in enumerate(text.split("\n"), start=1):
        fields = [part.strip() for part in line.split("\t")]
        if not line.strip() or (len(fields) == 4 and _is_header(fields)):
            continue
        try:
            yield _stance_question(f"{file.stem}-{number}", fields)
        except ValueError as error:
            yield failure(f"{file}:{number}", str(error))


def _stance_question(id_: str, fields: Sequence[str]) -> CutQuestion:
    """Return the question of a line; ValueError if the line has another form."""
    if len(fields) != 4:
        raise ValueError(f"{len(fields)} fields, not argument 1, argument 2, stance and graph")
    first, second, stance, graph_text = fields
    if stance not in STANCES:
        raise ValueError(f"the stance is {stance[:80]!r}, not `support` or `counter`")
    graph = _graph_of_triples(graph_text)
    question = f"Argument 1: {first}\nArgument 2: {second}\n{_ASKED}"
    return CutQuestion(GraphQuestion(id_, graph, question, (stance,)), graph, (graph.nodes, graph.edges))


def _graph_of_triples(graph_text: str) -> TextualGraph:
    triples = [(head.strip(), relation.strip(), tail.strip()) for head, relation, tail in _TRIPLE.findall(graph_text)]
    if not triples or not all(part for triple in triples for part in triple) or _TRIPLE.sub("", graph_text).strip():
        raise ValueError(f"the graph is no row of triples (head; relation; tail): {graph_text[:80]!r}")
    return graph_of(triples)


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
