"""Reports chosen from the roots down, by a model's ratings and by closeness."""

import asyncio
import hashlib
from pathlib import Path
from unittest.mock import patch

import pytest
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.methods.graphrag import dynamic
from conspectus.query.methods.graphrag.dynamic import Descent, DynamicReports, ReportHierarchy
from conspectus.query.methods.graphrag.map_input import Selected
from conspectus.storage.errors import ModelError
from conspectus.storage.records import Community, Report
from hypothesis import given
from hypothesis import strategies as st

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


@st.composite
def hierarchies(draw: st.DrawFn) -> tuple[ReportHierarchy, dict[str, frozenset[int]]]:
    """Draw a hierarchy over up to 24 entities, and what each community holds."""
    parent: dict[str, str | None] = {}
    children: dict[str, tuple[str, ...]] = {}
    holds: dict[str, frozenset[int]] = {}

    def divide(members: list[int], above: str | None, depth: int) -> str:
        id_ = f"c{len(parent)}"
        parent[id_] = above
        holds[id_] = frozenset(members)
        if len(members) > 1 and depth < 4 and draw(st.booleans()):
            children[id_] = tuple(divide(part, id_, depth + 1) for part in parts(members))
        return id_

    def parts(members: list[int]) -> list[list[int]]:
        groups: dict[int, list[int]] = {}
        for each in members:
            groups.setdefault(draw(st.integers(0, 2)), []).append(each)
        return list(groups.values())

    for part in parts(list(range(draw(st.integers(1, 24))))):
        divide(part, None, 0)
    return ReportHierarchy(parent, children), holds


@given(hierarchies(), st.data())
def test_no_entity_is_covered_by_two_of_what_is_selected(
    drawn: tuple[ReportHierarchy, dict[str, frozenset[int]]], data: st.DataObject
) -> None:
    hierarchy, holds = drawn
    ids = sorted(hierarchy.parent)
    reported = set(data.draw(st.lists(st.sampled_from(ids), unique=True)))
    relevant = set(data.draw(st.lists(st.sampled_from(ids), unique=True))) & reported
    descent = Descent(hierarchy, reported)
    seen: list[str] = []
    while descent.frontier:
        seen += descent.frontier
        descent.judged(relevant)
    selected = descent.selected()
    covered = [entity for id_ in selected for entity in holds[id_]]
    assert len(covered) == len(set(covered))
    assert set(selected) <= relevant
    assert len(seen) == len(set(seen)), "nothing is judged twice"
    assert set(seen) <= reported
    for id_ in selected:
        assert not set(hierarchy.children.get(id_, ())) & relevant, "its parts would have taken its place"
    if relevant and reported == set(ids):
        assert selected, "where nothing is relevant so far, all of the next level is looked at"
