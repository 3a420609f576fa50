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
    found = tuple(_question(path_line, row) for path_line, row in _rows(questions))
    if not found:
        raise InputError(f"{questions} holds no question")
    return Suite(folder.resolve().name, corpus, found)


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
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
