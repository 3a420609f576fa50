"""Checks of an index: questions with what their answers must cite or contain, or which must be declined."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path

from conspectus.pipelines.evaluation.jsonl import rows_of
from conspectus.prompts.client.event_loop import gather_all
from conspectus.query.citations.verification import verified
from conspectus.query.context import Context
from conspectus.query.menu import DEFAULT_METHOD, find_method
from conspectus.query.types import Answer
from conspectus.storage.errors import ChecksFailed, InputError
from conspectus.storage.index import StoredIndex
from conspectus.storage.settings import Settings
from conspectus.storage.text.normalise import entity_key
from pydantic import BaseModel, Field, ValidationError


class Check(BaseModel, extra="forbid", frozen=True):
    """A line of a file of checks.

    Attributes:
        question: The question.
        method: The method that answers it.
        cites: Ids, URIs or titles of documents that the answer must cite.
        contains: Texts that the answer must contain, compared without regard to case.
        declines: Whether the answer must be that the documents do not tell.
    """

    question: str = Field(min_length=1)
    method: str = DEFAULT_METHOD
    cites: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    declines: bool = False


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The answer to the question of a check, and what is wrong with it; nothing if the check is passed."""

    question: str
    answer: str
    wrong: tuple[str, ...]


def read_checks(file: str | Path) -> list[Check]:
    """Return the checks of a file; InputError names the line of a wrong one."""
    checks = []
    for where, row in rows_of(Path(file)):
        try:
            checks.append(check := Check.model_validate(row))
        except ValidationError as error:
            problem = error.errors()[0]
            raise InputError(f"{where}: {'.'.join(map(str, problem['loc']))} {problem['msg']}") from error
        if bool(check.cites or check.contains) == check.declines:
            raise InputError(f"{where}: it needs cites or contains, or else declines")
    return checks


def run_checks(context: Context, checks: Sequence[Check]) -> list[CheckResult]:
    """Ask the questions of checks and return the result of each."""

    async def run(check: Check) -> CheckResult:
        method = find_method(check.method, context.settings)
        answer = await verified(context, await method.answerer(context).answer(check.question), method)
        return CheckResult(check.question, answer.text, tuple(_wrong(check, answer)))

    async def run_all() -> list[CheckResult]:
        return await gather_all([run(check) for check in checks])

    with ThreadPoolExecutor(1) as other:  # this thread may have an event loop, as in a notebook
        return other.submit(copy_context().run, asyncio.run, run_all()).result()


def _wrong(check: Check, answer: Answer) -> list[str]:
    if check.declines:
        return ["is answered"] if answer.known else []
    cited = {name for each in answer.citations for name in (each.document_id, each.uri, each.title)}
    text = entity_key(answer.text)
    wrong = [f"does not cite {name}" for name in check.cites if name not in cited]
    return wrong + [f"does not contain {each!r}" for each in check.contains if entity_key(each) not in text]


def must_pass(index: StoredIndex, settings: Settings) -> None:
    """Run the checks of `build.checks`; raise ChecksFailed if more than `build.checks_failed` fail."""
    results = run_checks(Context(index, settings), read_checks(settings.build.checks))
    failed, most = sum(bool(each.wrong) for each in results), settings.build.checks_failed
    if failed > most:
        message = f"is kept, but not published: {failed} of {len(results)} checks fail, more than build.checks_failed"
        raise ChecksFailed(f"version {(version := index.manifest.version)} {message} ({most})", version, results)
