from conspectus.query.context import Context
from conspectus.query.methods.graphrag.dynamic import Descent, ReportHierarchy, hierarchy_of
from conspectus.storage.records import Community
from conspectus.storage.tables import arrow_of
from hypothesis import given
from hypothesis import strategies as st


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


def test_communities_that_stand_again_are_one(context: Context) -> None:
    communities = context.index.rows(Community)
    hierarchy = hierarchy_of(arrow_of(Community, communities, ["id", "parent_id", "same_as"]))
    of = {each.id: set(each.entity_ids) for each in communities}
    assert set(hierarchy.parent) == {each.id for each in communities if each.same_as is None}
    assert set(hierarchy.roots) == {each.id for each in communities if each.level == 0}
    for id_, parts in hierarchy.children.items():
        assert set().union(*(of[each] for each in parts)) == of[id_]
        assert sum(len(of[each]) for each in parts) == len(of[id_])
