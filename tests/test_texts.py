"""The project's texts are its own, fit together, and are what `examples/make.py` makes of them."""

import importlib.util
import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import EXAMPLES, ISLES

ROOT = EXAMPLES.parent


def imported(file: Path) -> Any:  # noqa: ANN401  (a module)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = imported(EXAMPLES / "make.py")
SUITES = [EXAMPLES / "world", EXAMPLES / "novel", EXAMPLES / "office", EXAMPLES / "graph", ISLES]
FOREIGN = "Maximum Overdrive|Leland, North|Scrooge|Cratchit|Fezziwig|Alice.s Adventures|Mark Haddon|Whitbread|Bieber"
"""Names of texts by others that this repository once held."""
NOT_LOOKED_AT = {
    "CHANGELOG.md",
    "README.md",
    "tests/test_texts.py",
    "benchmarks/data/aliases.jsonl",  # names of things, as facts
}


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_no_text_of_others_is_left() -> None:
    listed = subprocess.run(["git", "grep", "-lE", FOREIGN], cwd=ROOT, capture_output=True, text=True, check=False)
    assert set(listed.stdout.split()) <= NOT_LOOKED_AT


@pytest.mark.parametrize(
    ("corpus", "passages"),
    [
        (EXAMPLES / "world", make.world()), (EXAMPLES / "novel", make.novel()),
        (EXAMPLES / "office", make.office()), (ISLES, make.shared()),
    ],
    ids=["world", "novel", "office", "isles"],
)  # fmt: skip
def test_a_corpus_is_made_of_its_pages(corpus: Path, passages: Iterable[tuple[str, str, str]]) -> None:
    written = [(row["id"], row["title"], row["text"]) for row in rows(corpus / "corpus.jsonl")]
    assert written == list(passages), "run python examples/make.py"
    assert len({id_ for id_, _, _ in written}) == len(written)


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_questions_rest_on_what_is_there(suite: Path) -> None:
    questions = rows(suite / "questions.jsonl")
    ids = {row["id"] for row in rows(suite / "corpus.jsonl")} if (suite / "corpus.jsonl").is_file() else set()
    graph = (suite / "kg.tsv").read_text("utf-8") if (suite / "kg.tsv").is_file() else ""
    names = {name for line in graph.splitlines() for name in (line.split("\t")[0], line.split("\t")[2])}
    asked = {question["id"] for question in questions}
    assert len(asked) == len(questions)
    for question in questions:
        assert set(question["supporting"]) <= ids
        assert {*question.get("entities", ())} <= names
        assert question.get("follows", question["id"]) in asked
        if names:
            assert set(question["answers"]) <= names


def test_links_lead_to_pages() -> None:
    pages = EXAMPLES / "world" / "pages"
    for page in pages.iterdir():
        links = re.findall(r'href="([^"]+)"', page.read_text("utf-8"))
        assert links, page
        assert all((pages / link).is_file() for link in links), page
