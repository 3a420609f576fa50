"""Reports chosen from the roots down, by a model's ratings and by closeness."""

import asyncio
import hashlib
from pathlib import Path
from unittest.mock import patch

import pytest
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.methods.graphrag import dynamic
from conspectus.query.methods.graphrag.dynamic import DynamicReports
from conspectus.query.methods.graphrag.map_input import Selected
from conspectus.storage.errors import ModelError
from conspectus.storage.records import Community, Report

from benchmarks.fake_server import FakeReply, FakeRequest
from tests.query.serving import MAP, RATE, rules, sent, served
from tests.waiting import Together

QUESTION = "Who directed the film Cold Harbour?"


def by_chance(request: FakeRequest) -> str:
    return str(hashlib.sha256(request.prompt.encode()).digest()[0] % 6)


def select(context: Context) -> Selected:
    model = context.model
    assert model
    return asyncio.run(DynamicReports(context, model).select(QUESTION))


def covered(context: Context, selected: Selected) -> list[str]:
    of = {each.id: each for each in context.index.rows(Community)}
    reports = [each.origin for each in selected.units]
    assert all(isinstance(each, Report) for each in reports)
    return [entity for each in reports if isinstance(each, Report) for entity in of[each.community_id].entity_ids]


def test_the_selection_is_map_reduced_and_its_ratings_are_counted(context: Context, tmp_path: Path) -> None:
    with patch.object(dynamic, "_RELEVANT", 5), served(context, tmp_path, rules(rating=by_chance)) as (opened, server):
        server.change(latency=Together(server, 4))
        answer = asyncio.run(METHODS["global:dynamic"].answerer(opened).answer(QUESTION))
        ratings, maps = len(sent(server, RATE)), len(sent(server, MAP))
    assert answer.method == "global:dynamic"
    assert answer.known
    assert answer.usage.calls == ratings + maps + 1
    assert 0 < answer.usage.units < ratings
    assert server.measures.in_flight_peak > 3


def test_what_could_not_be_rated_is_kept(context: Context, tmp_path: Path) -> None:
    def rating(request: FakeRequest) -> str | FakeReply:
        return "0" if by_chance(request) != "0" else FakeReply("no", status=400)

    with served(context, tmp_path, rules(rating=rating)) as (opened, _):
        selected = select(opened)
    assert selected.units
    assert "could not be rated and count as relevant" in selected.trace[0].detail
    with (
        served(context, tmp_path / "all", rules(rating=FakeReply("no", status=400))) as (opened, _),
        pytest.raises(ModelError),
    ):
        select(opened)
