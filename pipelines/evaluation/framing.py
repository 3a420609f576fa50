"""A suite's questions put to a method: each as what it is (question, claim or slot), and from where a walk begins."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from conspectus.pipelines.evaluation.suites import Question
from conspectus.query.context import Context
from conspectus.query.menu import Method
from conspectus.query.question.tasks import Task
from conspectus.query.types import Answer, Answerer, TopicAnswerer, ignore_pieces
from conspectus.storage.errors import ModelError

Topic = Literal["given", "linked"]
"""Where a walk begins: at the things that the suite names, or at those that it finds in the question."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A method, ready to be asked; it has one answerer for each task that occurs."""

    answerers: dict[Task, Answerer]
    topic: Topic
    task: Task
    """The task of all questions, where the settings name another than `qa`."""
    slots_as_published: bool
    """A model is shown a slot as `thing [SEP] relation`; without one it is asked in words."""

    async def ask(self, question: Question) -> Answer | None:
        """Return the answer, None where the model gave none."""
        task = _task(question, self.task)
        text = question.slot if task == "slots" and question.slot and self.slots_as_published else question.question
        answerer = self.answerers[task]
        try:
            if self.topic == "given" and question.entities and isinstance(answerer, TopicAnswerer):
                return await answerer.answer_about(text, question.entities, ignore_pieces)
            return await answerer.answer(text, ignore_pieces)
        except ModelError:
            return None


def asked(method: Method, context: Context, questions: Sequence[Question], topic: Topic) -> Asked:
    """Return a method ready to be asked these questions: `tog.task` decides, and where it is `qa` each question."""
    given = context.settings.tog.task
    tasks = sorted({_task(each, given) for each in questions})
    return Asked(
        {each: method.answerer(_with_task(context, each)) for each in tasks}, topic, given, context.model is not None
    )


def _task(question: Question, given: Task) -> Task:
    return question.task if given == "qa" else given


def _with_task(context: Context, task: Task) -> Context:
    settings = context.settings
    return replace(
        context, settings=settings.model_copy(update={"tog": settings.tog.model_copy(update={"task": task})})
    )
