"""A question set (a *suite*): a folder with `corpus.jsonl` and `questions.jsonl`."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storage.errors import InputError
from storage.hashing import digest, file_digest
from storage.settings import Settings


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its accepted answers, and the ids of the documents that support them."""

    id: str
    question: str
    answers: tuple[str, ...]
    supporting: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suite:
    """A question set on disk."""

    name: str
    corpus: Path
    questions: tuple[Question, ...]


def read_suite(folder: Path) -> Suite:
    """Return the suite in `folder`; InputError names the file and line that is wrong."""
    corpus, questions = folder / "corpus.jsonl", folder / "questions.jsonl"
    for path in (corpus, questions):
        if not path.is_file():
            raise InputError(f"{folder} is no question set: it has no {path.name}")
    return Suite(folder.resolve().name, corpus, read_questions(questions))


def read_questions(path: Path) -> tuple[Question, ...]:
    """Return the questions of a file, or of the `questions.jsonl` of a folder; InputError as for `read_suite`."""
    file = path / "questions.jsonl" if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"there are no questions at {file}")
    found = tuple(_question(path_line, row) for path_line, row in rows_of(file))
    if not found:
        raise InputError(f"{file} holds no question")
    return found


def rows_of(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield (file:line, value) for each line of JSON that is not blank; InputError names the line that is wrong."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                where = f"{path}:{number}"
                try:
                    yield where, json.loads(line.decode("utf-8-sig"))
                except ValueError as error:
                    raise InputError(f"{where}: not JSON: {error}") from error


def _question(where: str, row: Any) -> Question:  # noqa: ANN401  (any JSON value may stand in a file)
    if not isinstance(row, dict) or row.get("id") is None or not isinstance(row.get("question"), str):
        raise InputError(f"{where}: a question is an object with at least an id and a question")
    return Question(
        id=str(row["id"]),
        question=row["question"],
        answers=_listed(where, row, "answers"),
        supporting=_listed(where, row, "supporting"),
    )


def _listed(where: str, row: dict[str, Any], key: str) -> tuple[str, ...]:
    found = row.get(key, [])
    if not isinstance(found, list):
        raise InputError(f"{where}: {key} must be a list, not {found!r}")
    return tuple(str(each) for each in found)


def suite_index(suite: Suite, settings: Settings) -> Path:
    """Return where a suite's index is kept by default: a folder named for its corpus and the index settings."""
    name = digest(file_digest(suite.corpus), json.dumps(settings.of_the_index(), sort_keys=True))[:12]
    return Path(".conspectus") / "suites" / f"{suite.name}-{name}"
