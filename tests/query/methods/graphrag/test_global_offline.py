"""Map-reduce without a model: over reports, over what a walk finds, over all passages."""

import asyncio
from unittest.mock import patch

import pytest
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.methods.graphrag import global_search
from conspectus.query.question import scope
from conspectus.query.types import Answer
from conspectus.storage.records import Community, Report
from conspectus.storage.text.names import words

QUESTION = "Which films are based on novels?"


@pytest.fixture(autouse=True)
def without_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have reports read: they are where the documents' own structure does not answer (test_overview.py)."""
    monkeypatch.setattr(global_search, "has_parts", lambda _: False)


def ask(context: Context, method: str, question: str = QUESTION) -> Answer:
    return asyncio.run(METHODS[method].answerer(context).answer(question))


def test_units_and_tokens_are_accounted_for(context: Context) -> None:
    every = ask(context, "ts")
    assert every.usage.units == len(context.chunks)
    assert every.usage.context_tokens == sum(each.n_tokens for each in context.chunks)
    reports = {each.community_id: each for each in context.index.rows(Report)}
    communities = context.index.rows(Community)
    deepest = max(each.level for each in communities)
    for wanted in range(4):
        on_it = {each.same_as or each.id for each in communities if each.level == min(wanted, deepest)}
        answer = ask(context, f"global:c{wanted}")
        assert answer.usage.units == len(on_it & reports.keys())
        assert answer.usage.context_tokens == sum(reports[each].n_tokens for each in on_it & reports.keys())
        assert ("the hierarchy ends at" in answer.trace[0].detail) == (wanted > deepest)


@pytest.mark.parametrize("method", ["global:c0", "ts"])
@pytest.mark.parametrize("most", [20, 60, 1000])
def test_it_quotes_no_more_words_than_the_setting(method: str, most: int, context: Context) -> None:
    with patch.object(global_search, "QUOTED_WORDS", most):
        quotes = [each.quote for each in ask(context, method).citations]
    assert len(quotes) == 1 or sum(len(words(each)) for each in quotes) <= most
    assert len(quotes) > 2 or most < 1000


@pytest.mark.parametrize("method", ["global:c0", "global", "ts"])
def test_what_the_documents_do_not_support_is_not_answered(method: str, context: Context) -> None:
    foreign = ask(context, method, "How does the sprocket torque of a combine harvester depend on its gearbox?")
    assert not foreign.known
    assert not foreign.citations
    assert "the documents support it by 0." in foreign.trace[-1].detail
    assert ask(context, method, "Give an overview of it all.").known
    with patch.object(global_search, "LEAST_SUPPORT", 1.51), patch.object(scope, "ABOUT_THE_WHOLE", 1.0):
        assert not ask(context, method).known
