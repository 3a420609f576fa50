"""What merging changes in the tables: mentions, relations, counts; and what it leaves alone."""

from collections import defaultdict
from dataclasses import replace

from conspectus.pipelines.resolution.apply import applied
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.storage.graph.edges import degrees_of
from conspectus.storage.records import Entity, Mention, Relation
from hypothesis import given, settings
from hypothesis import strategies as st

IDS = [f"e{number}" for number in range(8)]


def entity(id_: str, frequency: int = 1) -> Entity:
    return Entity(id_, id_.upper(), "PERSON", ("PERSON",), "", frequency, 0)


def test_relations_of_a_model_have_no_direction() -> None:
    relations = [
        Relation("r1", "a", "c", "", "one", 1.0, ("x",), 4.0),
        Relation("r2", "c", "b", "", "two", 3.0, ("y",), 8.0),
    ]
    merged, _ = applied(Knowledge([entity("a"), entity("b"), entity("c")], relations, []), {"b": "a"})
    (one,) = merged.relations
    assert (one.source_id, one.target_id, one.weight, one.strength) == ("c", "a", 4.0, 7.0)


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.sampled_from(IDS), st.sampled_from(IDS), st.sampled_from("pq"), st.integers(1, 3)),
        max_size=20,
        unique_by=lambda each: each[:3],
    ),
    st.dictionaries(st.sampled_from(IDS[4:]), st.sampled_from(IDS[:4]), min_size=1, max_size=4),
)
def test_no_weight_is_lost_but_that_of_loops(edges: list[tuple[str, str, str, int]], kept_of: dict[str, str]) -> None:
    relations = [
        Relation(f"r{row:02}", source, target, predicate, "", float(weight), ("x",))
        for row, (source, target, predicate, weight) in enumerate(edges)
        if source != target
    ]
    found = Knowledge([entity(id_) for id_ in IDS], relations, [])
    merged, new_id = applied(found, kept_of)
    expected: defaultdict[tuple[str, str, str], float] = defaultdict(float)
    for each in relations:
        source, target = kept_of.get(each.source_id, each.source_id), kept_of.get(each.target_id, each.target_id)
        if source != target:
            expected[source, each.predicate, target] += each.weight
    assert {(each.source_id, each.predicate, each.target_id): each.weight for each in merged.relations} == expected
    assert {each.id for each in merged.relations} == {new_id.get(each.id, each.id) for each in relations} - {""}
    assert {each.id: each.degree for each in merged.entities if each.degree} == degrees_of(merged.relations)
    assert [each.id for each in merged.entities] == sorted(set(IDS) - kept_of.keys())


_PLACES = st.dictionaries(
    st.tuples(st.sampled_from(IDS[:4]), st.sampled_from("cd"), st.sampled_from([None, 0, 7])),
    st.booleans(),
    max_size=20,
)


@settings(max_examples=25)
@given(_PLACES, st.dictionaries(st.sampled_from(IDS[2:4]), st.sampled_from(IDS[:2])))
def test_columns_of_mentions_give_what_dictionaries_give(
    places: dict[tuple[str, str, int | None], bool], kept_of: dict[str, str]
) -> None:
    mentions = [
        Mention(f"m{number:02}", chunk, owner, None, start, start, "chunk", "x", "told\nmore" if told else "other")
        for number, ((owner, chunk, start), told) in enumerate(sorted(places.items(), key=repr))
    ]
    merged, _ = applied(Knowledge([entity(id_) for id_ in IDS[:4]], [], mentions), kept_of)
    if not kept_of:
        assert list(merged.mentions) == mentions
        return
    groups: defaultdict[tuple[str, str, int | None], list[Mention]] = defaultdict(list)
    for each in mentions:
        groups[kept_of.get(each.entity_id or "", each.entity_id or ""), each.chunk_id, each.start].append(each)
    want = {}
    for (owner, _, _), group in groups.items():
        first = min(group, key=lambda each: (each.entity_id in kept_of, each.id))
        lines = sorted({line for each in group for line in each.description.split("\n")})
        match = "alias" if first.entity_id in kept_of else first.match
        text = "\n".join(lines) if len(group) > 1 else first.description
        want[first.id] = replace(first, entity_id=owner, match=match, description=text)
    assert list(merged.mentions) == [want[id_] for id_ in sorted(want)]
