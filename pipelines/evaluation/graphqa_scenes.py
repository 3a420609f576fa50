"""Scene graphs of GQA (Hudson and Manning 2019): objects of an image, their places and how they stand to each other.

A folder with `*sceneGraphs.json`, {image: {"objects": {id: {"name", "x", "y", "w", "h", "attributes", "relations":
[{"name", "object"}]}}}}, and `*questions.json`, {id: {"imageId", "question", "answer"}}. Questions about images whose
graph is not there are left out; those about one image stay on one side of the division.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from pipelines.evaluation.graphqa import Cut, GraphQa, GraphQuestion, divided
from query.subgraph.textual_graph import TextualEdge, TextualGraph
from storage.errors import InputError


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


@dataclass(frozen=True, slots=True)
class SceneFiles:
    """Where the graphs and the questions of a folder are."""

    graphs: tuple[Path, ...]
    questions: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    image: str
    question: GraphQuestion


def find_scenes(place: Path) -> SceneFiles | None:
    """Return the files of a folder, None where it lacks graphs or questions."""
    if not place.is_dir():
        return None
    graphs, questions = sorted(place.glob("*sceneGraphs.json")), sorted(place.glob("*questions.json"))
    return SceneFiles(tuple(graphs), tuple(questions)) if graphs and questions else None


def read_scenes(files: SceneFiles, cut: Cut) -> GraphQa:
    """Return the questions, divided; InputError names the file and what is wrong with it."""
    scenes = _pooled(files.graphs, TypeAdapter(dict[str, _Scene]))
    asked = _pooled(files.questions, TypeAdapter(dict[str, _Question]))
    graphs = {
        image: _graph(image, scenes[image]) for image in {each.imageId for each in asked.values()} & scenes.keys()
    }
    found = [
        _Asked(
            each.imageId,
            GraphQuestion(id_, cut(graphs[each.imageId], each.question), each.question, (each.answer,)),
        )
        for id_, each in asked.items()
        if each.imageId in graphs
    ]
    if not found:
        raise InputError(f"{files.questions[0]}: no question is about an image of {files.graphs[0].name}")
    learn, validate, test = divided(found, lambda each: each.image)
    n = len(found)
    return GraphQa(
        "scenegraphs",
        "accuracy",
        tuple(each.question for each in learn),
        tuple(each.question for each in validate),
        tuple(each.question for each in test),
        sum(len(graphs[each.image].nodes) for each in found) / n,
        sum(len(graphs[each.image].edges) for each in found) / n,
    )


_T = TypeVar("_T")


def _pooled(files: Sequence[Path], form: TypeAdapter[dict[str, _T]]) -> dict[str, _T]:
    found: dict[str, _T] = {}
    for file in files:
        try:
            found |= form.validate_json(file.read_bytes())
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error}") from error
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise InputError(f"{file}: {where + ': ' if where else ''}{first['msg']}") from error
    return found


def _graph(image: str, scene: _Scene) -> TextualGraph:
    number = {id_: place for place, id_ in enumerate(scene.objects)}
    edges = []
    for id_, each in scene.objects.items():
        for relation in each.relations:
            if relation.object not in number:
                raise InputError(f"scene {image}: a relation of object {id_} names {relation.object}, which is none")
            edges.append(TextualEdge(number[id_], relation.name, number[relation.object]))
    return TextualGraph(tuple(_told(each) for each in scene.objects.values()), tuple(edges))


def _told(thing: _Object) -> str:
    """Return an object as the paper has it (table 9)."""
    attributes = f"; attribute: {', '.join(thing.attributes)}" if thing.attributes else ""
    return f"name: {thing.name}{attributes}; (x,y,w,h): ({thing.x}, {thing.y}, {thing.w}, {thing.h})"
