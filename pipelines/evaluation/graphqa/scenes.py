"""Read the scene graphs of GQA (Hudson and Manning 2019): the objects of an image, their positions and relations.

A folder with `*sceneGraphs.json`, {image: {"objects": {id: {"name", "x", "y", "w", "h", "attributes", "relations":
[{"name", "object"}]}}}}, and `*questions.json`, {id: {"imageId", "question", "answer"}}. Questions about images whose
graph is missing are left out; those about one image stay in one part of the division.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from conspectus.pipelines.evaluation.graphqa.questions import (
    Cut,
    CutQuestion,
    GraphQa,
    GraphQuestion,
    Row,
    collected,
    failure,
    first_of,
)
from conspectus.pipelines.evaluation.jsonl import value_of
from conspectus.pipelines.readers.encodings import clean
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph
from conspectus.storage.errors import InputError
from pydantic import BaseModel, ValidationError


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
    return collected("scenegraphs", "accuracy", questions[0], [_rows(graphs, questions, cut)])


def _rows(graphs: Sequence[Path], questions: Sequence[Path], cut: Cut) -> Iterator[Row]:
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
            read[image] = _graph(scenes[image][1])
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


def _graph(value: Any) -> TextualGraph | str:  # noqa: ANN401  (any JSON value may appear in a file)
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
