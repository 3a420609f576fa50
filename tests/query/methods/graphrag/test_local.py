"""Local search: what it shows, within which budget, and what its answers rest on."""

import asyncio
import re
from pathlib import Path

import pytest
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.citations.marks import NOTHING_FOUND, without_verdicts
from conspectus.query.context import Context
from conspectus.query.filter.documents import filtered
from conspectus.query.menu import METHODS
from conspectus.query.methods.graphrag import local
from conspectus.query.methods.graphrag.local import LocalContext, LocalRetriever, find_context
from conspectus.query.types import Answer
from conspectus.storage.records import Chunk
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fake_server import FakeRequest, Rule
from tests.query.harbour import choosing
from tests.query.serving import Maker, sent, served
from tests.tags import inside

LOCAL = "on the numbered material alone"
QUESTION = "What did Otto Brand do to the Harbour Bank?"


def ask(context: Context, question: str = QUESTION) -> Answer:
    return asyncio.run(METHODS["local"].answerer(context).answer(question))


def rules(answer: Maker) -> list[Rule]:
    return [Rule(answer, LOCAL)]


def shown(prompt: str) -> str:
    return inside(prompt, "material")


def numbers(context: LocalContext, kind: type) -> list[int]:
    return [place for place, each in enumerate(context.units, start=1) if isinstance(each.unit.origin, kind)]


@given(
    limit=st.integers(256, 6000),
    shares=st.tuples(st.integers(0, 100), st.integers(0, 100)).filter(lambda each: sum(each) <= 100),
    question=st.sampled_from(
        ["Which novels are set in Oxford?", "Who directed the film of the novel?", "", "北京大学"]
    ),
)
def test_the_budget_and_its_shares_are_never_exceeded(
    context: Context, limit: int, shares: tuple[int, int], question: str
) -> None:
    report_share, text_share = (each / 100 for each in shares)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "REPORT_SHARE", report_share)
        patch.setattr(local, "TEXT_SHARE", text_share)
        found = find_context(choosing(context, local_search={"context_tokens": limit}), question)
    assert found.n_tokens == count_tokens(found.text) <= limit
    sections = re.findall(r"(\d+) of \d+ ([a-z ]+), (\d+) tokens", found.trace[-1].detail)
    tokens = {name: int(n_tokens) for _, name, n_tokens in sections}
    assert found.n_tokens == sum(tokens.values())
    text, reports = tokens.pop("passages", 0), tokens.pop("reports", 0)
    assert reports <= report_share * limit
    assert sum(tokens.values()) <= (1 - report_share - text_share) * limit + 1e-6
    assert numbers(found, Chunk) or text_share * limit < 40
    assert text <= limit - reports - sum(tokens.values())
    for number, each in enumerate(found.units, start=1):
        assert found.text.count(f"[{number}]") >= 1
        assert each.unit.statements()
    assert sum(int(kept) for kept, *_ in sections) == len(found.units)


def test_a_question_and_its_answer(harbour: Context, tmp_path: Path) -> None:
    def answer(request: FakeRequest) -> str:
        material = shown(request.prompt)

        def number(start: str) -> str:
            found = re.search(rf"\[(\d+)\] {re.escape(start)}", material)
            assert found
            return found[0].split("]")[0] + "]"

        claim, passage = number("Otto Brand, Harbour Bank (theft"), number("Harbour Bank\nMary Quill founded")
        relation = number("Otto Brand, Lena Fisk")
        return (
            f"Mary Quill said that he took money of the bank {claim}, which is only suspected. "
            f"She had founded the Harbour Bank in 1911 {passage}. "
            f"He sold his share in 1920 to Lena Fisk {relation}[99]."
        )

    with served(harbour, tmp_path, rules(answer)) as (opened, server):
        found = ask(opened)
        (prompt,) = sent(server, LOCAL)
    assert "At most 500 words" in prompt
    assert prompt.endswith(f"<question>\n{QUESTION}\n</question>")
    assert found.text == (
        "Mary Quill said that he took money of the bank [1], which is only suspected. "
        "She had founded the Harbour Bank in 1911 [2]. He sold his share in 1920 to Lena Fisk [3]."
    )
    assert [(each.document_id, each.quote) for each in found.citations] == [
        ("Otto Brand", "He took money of the Harbour Bank, Mary Quill said."),
        ("Harbour Bank", "Mary Quill founded the Harbour Bank in Port Alma in 1911."),
        ("Otto Brand", "Otto Brand sold his share to Lena Fisk in 1920."),
    ]
    assert found.dropped_citations == 1
    assert found.method == "local"
    assert (found.usage.calls, found.usage.remembered) == (1, 0)
    assert found.usage.context_tokens == count_tokens(shown(prompt))
    evidence = found.evidence
    assert found.usage.units == sum(
        map(len, (evidence.passages, evidence.reports, evidence.entities, evidence.relations, evidence.claims))
    )
    assert [each.name for each in found.trace] == ["link", "context", "read", "local"]
    assert "the question names Harbour Bank, Otto Brand" in found.trace[0].detail


@pytest.mark.parametrize(("reply", "says"), [("NOTHING", ""), ("He did.", "He did."), ("He did [99].", "He did.")])
def test_without_support_it_does_not_know(reply: str, says: str, harbour: Context, tmp_path: Path) -> None:
    with served(harbour, tmp_path, rules(reply)) as (opened, _):
        found = ask(opened)
    assert (NOTHING_FOUND in found.text) == bool(says)
    assert not found.known
    assert without_verdicts(found.text) == (says or NO_ANSWER)


def test_an_index_without_a_chunk_is_answered_without_a_call(harbour: Context, tmp_path: Path) -> None:
    with served(harbour, tmp_path, rules("never asked [1].")) as (opened, server):
        empty = filtered(opened, 'title = "Nowhere"', None)
        found = ask(empty)
        assert asyncio.run(LocalRetriever(empty).retrieve(QUESTION, 5)).passages == ()
        assert not server.requests
    assert found.text == NO_ANSWER
    assert "has no chunk" in str(found.trace)


def test_without_a_model_the_best_passages_are_quoted(context: Context) -> None:
    found = ask(context, "Which English author published The Oak House in 2012?")
    assert found.method == "local:offline"
    assert found.known
    assert "Paul Marlow" in found.text
    assert found.evidence.entities
    assert found.evidence.relations
    assert found.evidence.reports
    assert [each.name for each in found.trace] == ["link", "context", "read"]
    assert 0 < found.usage.context_tokens <= context.settings.local_search.context_tokens


def test_without_a_model_a_question_about_the_whole_is_answered_as_by_global_search(context: Context) -> None:
    found = ask(context, "What are the main themes?")
    assert found.method == "local:offline"
    assert found.known
    assert "link" not in [each.name for each in found.trace]
