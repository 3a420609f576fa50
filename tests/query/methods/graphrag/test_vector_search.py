"""Naive vector search filled to the token limit, with and without a model."""

import asyncio
from pathlib import Path

import pytest
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.methods.baselines import DenseRetriever
from conspectus.query.types import Answer
from conspectus.storage.text.tokens import count_tokens

from benchmarks.fake_server import Rule
from tests.query.serving import sent, served
from tests.tags import outside

QUESTION = "Who directed the film Cold Harbour?"
ASKED = "Base your answer on the numbered passages alone"


def ask(context: Context) -> Answer:
    return asyncio.run(METHODS["ss"].answerer(context).answer(QUESTION))


@pytest.mark.parametrize("limit", [256, 2000, 100_000])
def test_the_nearest_passages_fill_the_window(limit: int, context: Context, tmp_path: Path) -> None:
    with served(context, tmp_path, [Rule("So it is [1]. And [2][999].", ASKED)], context_tokens=limit) as (
        opened,
        server,
    ):
        answer = ask(opened)
        (prompt,) = sent(server, ASKED)
    nearest = asyncio.run(DenseRetriever(context).retrieve(QUESTION, 1000)).passages
    found = answer.evidence.passages
    assert found == nearest[: len(found)]
    assert answer.usage.units == len(found)
    assert answer.usage.context_tokens <= limit
    assert limit < 100_000 or len(found) == len(context.chunks)
    if len(found) < len(nearest):
        assert answer.usage.context_tokens + count_tokens(nearest[len(found)].text) + 20 > limit
    assert all(each.text in prompt for each in found)
    assert "report" not in outside(prompt), "passages are not called reports"
    assert "notes" not in outside(prompt)
    assert answer.text == "So it is [1]. And [2]."
    for number, each in enumerate(answer.citations):
        assert each.quote in found[number].text
        assert each.document_id == found[number].document_id
    assert answer.dropped_citations == 1
