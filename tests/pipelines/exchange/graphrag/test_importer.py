"""What GraphRAG's rows become: entities, relations, claims, mentions, communities and reports, all of which hold."""

from collections import Counter
from dataclasses import replace

from conspectus.pipelines.backends.base import Extraction
from conspectus.pipelines.build_report import DANGLING
from conspectus.pipelines.exchange.graphrag.schema import (
    GraphRagCommunity,
    GraphRagEntity,
    GraphRagFinding,
    Tables,
)
from conspectus.storage.hashing import entity_id
from conspectus.storage.records import Failure
from hypothesis import given

from tests.pipelines.exchange.graphrag_tables import ImportedSummaries, any_tables, imported, small, with_rows


def listed(found: Extraction, told: ImportedSummaries) -> Counter[str]:
    return Counter(each.reason for each in (*found.failures, *told.failures))


def community_rows(*members: str) -> list[GraphRagCommunity]:
    """Return communities "number level parent e1,e2"."""
    rows = []
    for place, text in enumerate(members):
        number, level, parent, ids = text.split()
        own = tuple(ids.split(","))
        rows.append(
            GraphRagCommunity(f"m{place}", 0, int(number), int(level), int(parent), (), "", own, (), (), "", len(own))
        )
    return rows


@given(any_tables())
def test_whatever_the_rows_are_the_tables_hold(tables: Tables) -> None:
    texts, found, told = imported(tables)
    documents = {each.id: each for each in texts.documents}
    chunks = {each.id: each for each in texts.chunks}
    entities = {each.id for each in told.entities}
    relations = {each.id for each in told.relations}
    assert len(documents) == len(texts.documents)
    assert len(entities) == len(told.entities)
    assert len(relations) == len(told.relations)
    for chunk in chunks.values():
        assert chunk.text.strip()
        assert documents[chunk.document_id].text[chunk.start : chunk.end] == chunk.text
    for mention in found.knowledge.mentions:
        assert mention.entity_id in entities or mention.relation_id in relations
        chunk = chunks[mention.chunk_id]
        if mention.start is not None and mention.end is not None:
            assert chunk.text[mention.start - chunk.start : mention.end - chunk.start] == mention.surface != ""
    assert all(
        {each.source_id, each.target_id} <= entities and set(each.chunk_ids) <= set(chunks) for each in told.relations
    )
    assert all(each.subject_id in entities and (each.object_id or each.subject_id) in entities for each in found.claims)
    levels: dict[int, list[str]] = {}
    of_id = {each.id: each for each in told.communities}
    assert len(of_id) == len(told.communities)
    for community in told.communities:
        levels.setdefault(community.level, []).extend(community.entity_ids)
        if community.level:
            parent = of_id[community.parent_id or ""]
            assert (parent.level, set(community.entity_ids) <= set(parent.entity_ids)) == (community.level - 1, True)
        else:
            assert community.parent_id is None
        if community.same_as:
            assert of_id[community.same_as].entity_ids == community.entity_ids
            assert of_id[community.same_as].same_as is None
    assert sorted(levels) == list(range(len(levels)))
    assert all(sorted(members) == sorted(entities) for members in levels.values())
    for report in told.reports:
        assert of_id[report.community_id].same_as is None
        assert 0 <= report.rating <= 10
        for span in (span for finding in report.findings for span in finding.citations):
            assert 0 <= span.start < span.end <= len(documents[span.document_id].text)


def test_a_name_within_a_longer_one_and_one_that_stands_nowhere() -> None:
    entities = [
        GraphRagEntity("1", 0, "MIRREN", "PERSON", "", ("u1",), 1, 0),
        GraphRagEntity("2", 1, "ADA MIRREN (DIRECTOR)", "PERSON", "", ("u1",), 1, 0),
        GraphRagEntity("3", 2, "BOB", "PERSON", "", ("u1",), 1, 0),
    ]
    _, found, _ = imported(Tables(small().documents, small().text_units, entities, [], [], [], []))
    matches = {(each.entity_id, each.match, each.surface) for each in found.knowledge.mentions}
    assert matches == {
        (entity_id("mirren"), "exact", "Mirren"),
        (entity_id("ada mirren (director)"), "alias", "Ada Mirren"),
        (entity_id("ada mirren (director)"), "chunk", "ADA MIRREN (DIRECTOR)"),
        (entity_id("bob"), "chunk", "BOB"),
    }


def test_a_pair_is_one_relation_whichever_way_round() -> None:
    _, _, told = imported(small())
    assert len(told.relations) == 2
    filmed, prize = sorted(told.relations, key=lambda each: -(each.strength or 0))
    assert (filmed.weight, filmed.strength, filmed.description) == (2.0, 8.0, "Ada Mirren filmed it.")
    assert (prize.weight, prize.strength, prize.predicate) == (2.0, 7.5, "")
    assert prize.description == "It sent her a prize. She was given a prize."
    assert prize.source_id == entity_id("ada mirren"), "of ways stated as often the first in the alphabet"


def test_ends_that_no_row_describes_are_entities_and_are_listed() -> None:
    tables = small()
    rows = [*tables.relationships, replace(tables.relationships[0], id="r4", source="TARN", target="THE SEA")]
    _, found, told = imported(with_rows(tables, "relationships", rows))
    assert found.failures == [
        Failure("import", "relationship r4", DANGLING, "TARN"),
        Failure("import", "relationship r4", DANGLING, "THE SEA"),
    ]
    tarn = next(each for each in told.entities if each.name == "TARN")
    assert (tarn.type, tarn.description, tarn.frequency, tarn.degree) == ("", "", 1, 1)


def test_members_that_cannot_be_are_listed() -> None:
    rows = community_rows("0 0 -1 e1,e2,gone", "1 0 -1 e2,e3", "2 1 0 e1,e3", "3 1 3 e4", "4 1 0 gone")
    _, found, told = imported(with_rows(with_rows(small(), "communities", rows), "community_reports", []))
    assert listed(found, told) == {
        "a member that is not an entity": 2,
        "a member of another community of its level": 1,
        "a member that is not in the parent": 1,
        "a community without a member": 1,
    }


def test_references_become_places_and_leave_the_texts() -> None:
    texts, _, told = imported(small())
    (report,) = told.reports
    assert (report.title, report.summary, report.rating) == ("Ada Mirren", "She makes films.", 7.5)
    assert report.full_text == "# Ada Mirren\n\nShe makes films."
    (finding,) = report.findings
    assert (finding.summary, finding.explanation) == ("A film", "She filmed Grey Heron.")
    text = texts.documents[0].text
    assert {text[each.start : each.end] for each in finding.citations} == {"Ada Mirren filmed Grey Heron at Tarn."}


def test_references_to_nothing_and_second_reports_are_listed() -> None:
    tables = small()
    report = tables.community_reports[0]
    said = (GraphRagFinding("It is so [Data: Entities (77); Claims (0); Reports (1)].", ""),)
    rows = [replace(report, findings=said), replace(report, id="p1"), replace(report, id="p2", community=9)]
    _, found, told = imported(with_rows(tables, "community_reports", rows))
    assert listed(found, told) == {
        "references to rows that do not exist": 1,
        "a second report on its community": 1,
        "a report on a community that does not exist": 1,
    }
    assert next(each.detail for each in told.failures if "references" in each.reason) == "entities 77"
    assert len(told.reports[0].findings[0].citations) == 1, "the claim"


def test_documents_without_a_text_or_without_a_row_are_joined_of_their_chunks() -> None:
    tables = small()
    bare = replace(tables.documents[0], text=None)
    units = [*tables.text_units, replace(tables.text_units[0], id="u9", document_id="x")]
    texts, _, _ = imported(with_rows(with_rows(tables, "documents", [bare]), "text_units", units))
    text_of = {each.id: each.text for each in texts.documents}
    assert text_of["d"] == tables.documents[0].text
    assert text_of["x"].endswith("stayed in Port Alma.")
    assert {each.reason for each in texts.failures} == {
        "a document without text",
        "a document without a row",
    }
