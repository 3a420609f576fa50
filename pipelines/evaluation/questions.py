"""Generate global questions about a corpus with a language model from a short description.

The generator of GraphRAG (Edge et al. 2024, section 4.1.2): people who would study the corpus, tasks of each, questions
for each task. The model does not see the corpus, so no question can be answered by copying one passage.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from conspectus.prompts.client.event_loop import gather_settled
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages, render
from conspectus.prompts.replies.prose import ListReply, without_number
from conspectus.prompts.replies.structured import ask_for
from conspectus.query.answer_writing.context_windows import report_unit, sources
from conspectus.query.context import Context
from conspectus.storage.errors import ModelError
from conspectus.storage.records import Community, Failure, Report
from pydantic import AfterValidator, BaseModel

STEP = "questions"
_MOST_TOPICS = 60
"""Maximum number of reports named in a generated description, which should be short."""


Item = Annotated[str, AfterValidator(without_number)]
"""An item of a list, without the number that models put in front of it."""


class Persona(BaseModel):
    """Someone who would study the corpus."""

    role: str
    interest: str


class People(BaseModel):
    """The reply to judge/users.txt."""

    people: list[Persona]


class Tasks(ListReply):
    """The reply to judge/tasks.txt."""

    tasks: list[Item]


class Questions(ListReply):
    """The reply to judge/questions.txt."""

    questions: list[Item]


@dataclass(frozen=True, slots=True)
class Description:
    """A short description of a corpus, and the hashes of the chunks that it was made from."""

    text: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MadeQuestion:
    """A question, and who would ask it for which task. Its id numbers user, task and question: u0t2q4."""

    id: str
    question: str
    user: str
    task: str


@dataclass(frozen=True, slots=True)
class Generated:
    """The questions by id, and the failures of the model."""

    questions: tuple[MadeQuestion, ...]
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class _Task:
    id: str
    user: str
    task: str


def describe_corpus(context: Context) -> Description:
    """Return a description made of the titles of the coarsest reports, at most the best rated ones, in title order."""
    coarsest = {community.id for community in context.index.rows(Community) if community.level == 0}
    reports = [report for report in context.index.rows(Report) if report.community_id in coarsest]
    best = sorted(reports, key=lambda report: (-report.rating, report.title, report.id))[:_MOST_TOPICS]
    topics = sorted({item.title for item in best}) or sorted(set(context.titles.values()))[:_MOST_TOPICS]
    text = render(
        "judge/collection", documents=str(len(context.titles)), topics="\n".join(f"- {topic}" for topic in topics)
    )
    return Description(text, sources_of_reports(context, best))


def sources_of_reports(context: Context, reports: Sequence[Report]) -> tuple[str, ...]:
    """Return the hashes of the chunks that reports were made from, sorted."""
    rows = context.index.ids(Report)
    return sources(context, [report_unit(context, rows[report.id]) for report in reports])


async def generate(model: LanguageModel, about: Description, users: int, tasks: int, questions: int) -> Generated:
    """Generate up to `users` x `tasks` x `questions` questions without repeats (ignoring case and spaces).

    One call generates the users; the calls for all tasks then run concurrently, and after them those for all questions.
    Surplus items of a reply are ignored.

    Returns:
        The questions, and a Failure for each failed call and each list that is too short.

    Raises:
        ModelError: No users, or no question at all, could be generated.
    """
    asked = _request(about, "users", users)
    people = (await ask_for(model, asked, People)).people[:users]
    failures = [*_short("users", "people", len(people), users)]

    persons = [f"{person.role}: {person.interest}" for person in people]
    of_persons = await gather_settled(
        ask_for(model, _request(about, "tasks", tasks, user=person), Tasks) for person in persons
    )
    todo: list[_Task] = []
    for number, (person, made) in enumerate(zip(persons, of_persons, strict=True)):
        if isinstance(made, ModelError):
            failures.append(Failure(STEP, f"u{number}", "no tasks could be had", str(made)))
            continue
        todo += [_Task(f"u{number}t{i}", person, task) for i, task in enumerate(made.tasks[:tasks])]
        failures += _short(f"u{number}", "tasks", len(made.tasks), tasks)

    of_tasks = await gather_settled(
        ask_for(model, _request(about, "questions", questions, user=item.user, task=item.task), Questions)
        for item in todo
    )
    found: dict[str, MadeQuestion] = {}
    for task, answer in zip(todo, of_tasks, strict=True):
        if isinstance(answer, ModelError):
            failures.append(Failure(STEP, task.id, "no questions could be had", str(answer)))
            continue
        failures += _short(task.id, "questions", len(answer.questions), questions)
        for i, text in enumerate(answer.questions[:questions]):
            made_question = MadeQuestion(f"{task.id}q{i}", " ".join(text.split()), task.user, task.task)
            key = made_question.question.casefold()
            if not key:
                failures.append(Failure(STEP, made_question.id, "an empty question"))
            elif key in found:
                failures.append(Failure(STEP, made_question.id, "the same question again", f"as {found[key].id}"))
            else:
                found[key] = made_question
    if not found:
        raise ModelError(
            "the model made no question: "
            + "; ".join(f"{failure.reason} ({failure.detail})" for failure in failures[:3])
        )
    return Generated(tuple(found.values()), tuple(failures))


def write_questions(path: Path, questions: Sequence[MadeQuestion]) -> None:
    """Write the `questions.jsonl` of a suite, without accepted answers and supporting documents."""
    rows = [{**asdict(item), "answers": [], "supporting": []} for item in questions]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def _request(about: Description, kind: str, count: int, **places: str) -> Request:
    prompt = messages(f"judge/{kind}", description=about.text, count=str(count), **places)
    return Request(prompt, STEP, sources=about.sources)


def _short(item: str, what: str, found: int, wanted: int) -> list[Failure]:
    return [Failure(STEP, item, f"fewer {what} than asked for", f"{found} of {wanted}")] if found < wanted else []
