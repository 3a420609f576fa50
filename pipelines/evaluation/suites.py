"""A question set (a *suite*): a folder with documents (`corpus.jsonl`), a graph (`kg.tsv`) or both, and questions.

The questions are in `questions.jsonl`, or in a file in the published format of the set (see published.py).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from conspectus.pipelines.evaluation.jsonl import rows_of
from conspectus.pipelines.evaluation.published_sets import SuiteQuestion as SuiteQuestion
from conspectus.pipelines.evaluation.published_sets import brings_graphs, read_published
from conspectus.query.context import Context
from conspectus.query.menu import Method
from conspectus.query.question.tasks import Task
from conspectus.query.types import Answer, Answerer, TopicAnswerer
from conspectus.storage.errors import InputError, ModelError
from conspectus.storage.hashing import digest, file_digest
from conspectus.storage.settings import Settings


@dataclass(frozen=True, slots=True)
class Suite:
    """A question set on disk: over documents, over a graph, or over both."""

    name: str
    corpus: Path | None
    questions: tuple[SuiteQuestion, ...]
    kg: Path | None = None

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The documents to build the index from."""
        return (self.corpus,) if self.corpus else ()

    def settings(self, given: Settings) -> Settings:
        """Return the settings to build its index with: with its graph, unless they name another."""
        if self.kg is None or given.kg.files:
            return given
        return given.model_copy(update={"kg": given.kg.model_copy(update={"files": (str(self.kg),)})})


def sampled(suite: Suite, most: int | None) -> Suite:
    """Return the suite with at most `most` of its questions, sampled with a fixed seed, in order; all if None."""
    if most is None or len(suite.questions) <= most:
        return suite
    drawn = np.random.default_rng(_SEED).choice(len(suite.questions), most, replace=False)
    chosen = sorted(drawn.tolist())
    return replace(suite, questions=tuple(suite.questions[item] for item in chosen))


_SEED = 7
CORPUS, GRAPH, QUESTIONS = "corpus.jsonl", "kg.tsv", "questions.jsonl"


def read_suite(place: Path) -> Suite:
    """Read the suite in a folder, or that of a question file in its folder.

    Args:
        place: The folder, or the file of questions. A file whose questions contain their own graphs (see
            published_sets.py) needs no `kg.tsv`.

    Returns:
        The suite with its questions and the paths of its corpus and graph.

    Raises:
        InputError: A file is missing or malformed; the message names the file and line.
    """
    folder = place.parent if place.is_file() else place
    corpus, file = folder / CORPUS, questions_file(place)
    kg = next((folder / name for name in (GRAPH, _METAQA_GRAPH) if (folder / name).is_file()), None)
    if kg is None and file.is_file() and brings_graphs(file):
        kg = file
    if kg is None and not corpus.is_file():
        raise InputError(f"{folder} is not a question set: it has no {CORPUS} and no {GRAPH}")
    if not file.is_file():
        raise InputError(f"{folder} is not a question set: it has no {QUESTIONS}")
    return Suite(folder.resolve().name, corpus if corpus.is_file() else None, read_questions(file), kg)


def questions_file(place: Path) -> Path:
    """Return the file of questions in a folder: `questions.jsonl`, or the only other file that may contain questions.

    InputError if there are several.
    """
    if not place.is_dir() or (place / QUESTIONS).is_file():
        return place / QUESTIONS if place.is_dir() else place
    others = sorted(
        path
        for path in place.iterdir()
        if path.suffix in {".json", ".jsonl", ".txt"} and path.name not in _OTHER_FILES and path.is_file()
    )
    if len(others) > 1:
        names = ", ".join(other.name for other in others)
        raise InputError(f"{place} contains several files that may be its questions ({names}): name one of them")
    return others[0] if others else place / QUESTIONS


_METAQA_GRAPH = "kb.txt"
_OTHER_FILES = frozenset({CORPUS, _METAQA_GRAPH, "openie.jsonl"})


def read_questions(path: Path) -> tuple[SuiteQuestion, ...]:
    """Return the questions of a file or folder; InputError as for `read_suite`."""
    file = questions_file(path)
    if not file.is_file():
        raise InputError(f"there are no questions at {file}")
    found = read_published(file)
    if found is None:
        found = [_question(path_line, row) for path_line, row in rows_of(file)]
    if not found:
        raise InputError(f"{file} contains no question")
    return tuple(found)


def _question(where: str, row: Any) -> SuiteQuestion:  # noqa: ANN401  (any JSON value may appear in a file)
    if not isinstance(row, dict) or row.get("id") is None or not isinstance(row.get("question"), str):
        raise InputError(f"{where}: a question is an object with at least an id and a question")
    return SuiteQuestion(
        id=str(row["id"]),
        question=row["question"],
        answers=_listed(where, row, "answers"),
        supporting=_listed(where, row, "supporting"),
        entities=_listed(where, row, "entities"),
        label=_optional_text(where, row, "label"),
        hops=_counted(where, row, "hops"),
        slot=_optional_text(where, row, "slot"),
        kind=_optional_text(where, row, "kind"),
    )


def _listed(where: str, row: dict[str, Any], key: str) -> tuple[str, ...]:
    found = row.get(key, [])
    if not isinstance(found, list):
        raise InputError(f"{where}: {key} must be a list, not {found!r}")
    return tuple(str(result) for result in found)


def _optional_text(where: str, row: dict[str, Any], key: str) -> str:
    found = row.get(key)
    if isinstance(found, list | dict):
        raise InputError(f"{where}: {key} must be a text, not {found!r}")
    return "" if found is None else str(found).lower() if isinstance(found, bool) else str(found)


def _counted(where: str, row: dict[str, Any], key: str) -> int:
    found = row.get(key) or 0
    if not isinstance(found, int) or found < 0:
        raise InputError(f"{where}: {key} must be a whole number, not {found!r}")
    return found


def suite_index(suite: Suite, settings: Settings) -> Path:
    """Return where a suite's index is kept by default: a folder named for its corpus and the index settings.

    The settings are those of `Suite.settings`, so that its graph is among them.
    """
    corpus = file_digest(suite.corpus) if suite.corpus else ""
    name = digest(corpus, json.dumps(settings.of_the_index(), sort_keys=True))[:12]
    return Path(".conspectus") / "suites" / f"{suite.name}-{name}"


Topic = Literal["given", "linked"]
"""Where a walk begins: at the entities that the suite names, or at those linked from the question."""


@dataclass(frozen=True, slots=True)
class ReadyMethod:
    """A method that is ready for questions, with one answerer for each task that occurs."""

    answerers: dict[Task, Answerer]
    topic: Topic
    task: Task
    """The task of all questions, if the settings name another than `qa`."""
    slots_as_published: bool
    """A model is given a slot as `thing [SEP] relation`; without a model the method gets the question in words."""

    async def ask(self, question: SuiteQuestion) -> Answer | None:
        """Return the answer, None if the model failed."""
        task = _task(question, self.task)
        text = question.slot if task == "slots" and question.slot and self.slots_as_published else question.question
        answerer = self.answerers[task]
        try:
            if self.topic == "given" and question.entities and isinstance(answerer, TopicAnswerer):
                return await answerer.answer_about(text, question.entities)
            return await answerer.answer(text)
        except ModelError:
            return None


def asked(method: Method, context: Context, questions: Sequence[SuiteQuestion], topic: Topic) -> ReadyMethod:
    """Return a method ready for these questions: `tog.task` decides the task and, if it is `qa`, each question does."""
    given = context.settings.tog.task
    tasks = sorted({_task(question, given) for question in questions})
    return ReadyMethod(
        {task: method.answerer(_with_task(context, task)) for task in tasks}, topic, given, context.model is not None
    )


def _task(question: SuiteQuestion, given: Task) -> Task:
    return question.task if given == "qa" else given


def _with_task(context: Context, task: Task) -> Context:
    settings = context.settings
    return replace(
        context, settings=settings.model_copy(update={"tog": settings.tog.model_copy(update={"task": task})})
    )
