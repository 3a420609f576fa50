"""`gretriever` and `triples` where there is little to find: each gives an honest answer, or none."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from conspectus import Index as Conspectus
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.context import Context
from conspectus.query.menu import METHODS, find_retriever
from conspectus.query.types import Answer
from conspectus.storage.records import Relation

from tests.query import films

Build = Callable[[Iterable[tuple[str, str]]], Context]
BOTH = pytest.mark.parametrize("method", ["gretriever", "triples"])


def ask(context: Context, method: str, question: str) -> Answer:
    answerer = METHODS[method].answerer(context)
    return asyncio.run(answerer.answer(question))


@BOTH
@pytest.mark.parametrize(
    "passages",
    [
        [("", "nothing here bears a name, and nothing is said of anything.")],
        [("", "Ottokar."), ("", "ottokar again, and no more.")],
    ],
)
def test_without_relations_nothing_is_known_but_passages_are_found(
    build: Build, method: str, passages: list[tuple[str, str]]
) -> None:
    context = build(passages)
    answer = ask(context, method, "Who is Ottokar?")
    assert answer.text.startswith(NO_ANSWER)
    assert answer.names == ()
    found = asyncio.run(find_retriever(method, context).retrieve("Who is Ottokar?", 5))
    assert {each.text for each in found.passages} == {text for _, text in passages}


@BOTH
def test_names_of_any_script_with_marks_of_csv(tmp_path: Path, method: str) -> None:
    triples = [("法国", "首都", "巴黎"), ("مصر", "عاصمة", "القاهرة"), ('O"Neil, Ltd.', "seat", "Rome, Italy")]
    context = films.build(tmp_path, triples)
    assert "巴黎" in ask(context, method, "法国的首都是什么").names
    assert "القاهرة" in ask(context, method, "ما هي عاصمة مصر").names
    assert ask(context, method, 'Where is the seat of O"Neil, Ltd.?').triples


@BOTH
def test_a_filter_narrows_what_is_found(sample_context: Context, method: str) -> None:
    index = Conspectus(sample_context)
    whole = index.ask("Where does Oxford lie?", method)
    assert whole.evidence.subgraph is not None
    assert whole.evidence.subgraph.relations
    narrowed = index.filter('title = "Oxford"').ask("Where does Oxford lie?", method)
    assert narrowed.evidence.subgraph is not None
    assert narrowed.evidence.subgraph.searched[1] < len(sample_context.index.arrow(Relation, "id"))
    assert {each.title for each in narrowed.evidence.passages} == {"Oxford"}
    nothing = index.filter('title = "Nowhere"').ask("Where does Oxford lie?", method)
    assert nothing.text.startswith(NO_ANSWER)
    assert nothing.evidence.passages == ()
