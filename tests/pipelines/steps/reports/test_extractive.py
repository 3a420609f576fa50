from collections import defaultdict
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from conspectus.pipelines.steps.reports import extractive
from conspectus.pipelines.steps.reports.extractive import report_communities
from conspectus.pipelines.steps.sentences import Sentences, sentences_of
from conspectus.query.context import Context
from conspectus.storage.records import Chunk, Community, Document, Entity, Mention, Report
from conspectus.storage.text.tokens import count_tokens


@pytest.fixture(scope="module")
def sentences(context: Context) -> Sentences:
    index = context.index
    return sentences_of(index.rows(Document), index.rows(Chunk), index.rows(Mention))


def reports_of(context: Context, sentences: Sentences, min_size: int = 3) -> list[Report]:
    index = context.index
    return report_communities(
        index.rows(Community),
        index.rows(Entity),
        sentences,
        len(context.chunks),
        min_size,
    )


@pytest.fixture(scope="module")
def reports(context: Context, sentences: Sentences) -> list[Report]:
    return reports_of(context, sentences)


def test_each_community_of_enough_members_has_one_report(reports: list[Report], context: Context) -> None:
    communities = {each.id: each for each in context.index.rows(Community)}
    reported = [communities[each.community_id] for each in reports]
    assert len({each.entity_ids for each in reported}) == len(reported)
    for each, community in zip(reports, reported, strict=True):
        assert community.size >= 3
        assert community.same_as is None
        assert each.level == community.level
    due = {each.id for each in communities.values() if each.size >= 3 and each.same_as is None}
    assert len(due) - len(reports) <= 0.05 * len(due)  # those without a sentence to quote have none


def test_each_finding_is_a_sentence_of_the_documents_about_members(
    reports: list[Report], context: Context, sentences: Sentences
) -> None:
    text_of = {each.id: each.text for each in context.index.rows(Document)}
    communities = {each.id: each for each in context.index.rows(Community)}
    entities = {each.id: each for each in context.index.rows(Entity)}
    row_of = {sentences.placed.span(row): row for row in range(len(sentences.placed))}
    for report in reports:
        members = communities[report.community_id].entity_ids
        assert 1 <= len(report.findings) <= 5
        cited = [finding.citations for finding in report.findings]
        assert len(set(cited)) == len(cited)
        for finding in report.findings:
            (span,) = finding.citations
            assert " ".join(text_of[span.document_id][span.start : span.end].split()) == finding.explanation
            row = row_of[span]
            naming = {
                entities[id_].name
                for id_ in members
                if row in sentences.placed.of_entity.get(id_, np.array([], np.int64))
            }
            assert naming
            assert set(finding.summary.split(", ")) & {part for name in naming for part in name.split(", ")}


def test_what_a_report_says_of_itself(reports: list[Report], context: Context) -> None:
    communities = {each.id: each for each in context.index.rows(Community)}
    names = defaultdict(set)
    for each in context.index.rows(Entity):
        names[each.id].add(each.name)
    for report in reports[:40]:
        community = communities[report.community_id]
        said = [each.explanation for each in report.findings]
        assert report.full_text == "\n".join([f"# {report.title}", "", *(f"- {each}" for each in said)])
        assert report.summary == said[0]
        assert len(set(said)) == len(said)
        assert report.n_tokens == count_tokens(report.full_text)
        share = np.log1p(len(community.chunk_ids)) / np.log1p(2 ** np.ceil(np.log2(len(context.chunks))))
        assert report.rating == round(10 * share, 2)
        assert 0 <= report.rating <= 10
        assert any(report.title.startswith(name) for id_ in community.entity_ids for name in names[id_])


@pytest.mark.parametrize("most", [40, 100, 150])
def test_no_report_is_longer_than_allowed(most: int, context: Context, sentences: Sentences) -> None:
    with patch.multiple(extractive, MOST_TOKENS=most, FINDINGS=20):
        found = reports_of(context, sentences)
    over = [each for each in found if each.n_tokens > most]
    assert all(len(each.findings) == 1 for each in over), "where no sentence fits, one is quoted"
    assert max(each.n_tokens for each in found if each not in over) > 0.9 * most
    with patch.multiple(extractive, MOST_TOKENS=most, FINDINGS=2):
        shorter = reports_of(context, sentences)
    assert max(len(each.findings) for each in shorter) == 2


def test_names_come_before_noun_phrases_in_a_title(context: Context, sentences: Sentences) -> None:
    some = [
        Entity("1", "rain", "CONCEPT", ("CONCEPT",), "", 9, 0),
        Entity("2", "Zoe", "PERSON", ("PERSON",), "", 2, 0),
        Entity("3", "Ada", "PERSON", ("PERSON",), "", 1, 0),
    ]
    text = "Ada and Zoe walk in the rain."
    one = Document("d", "", "d", text, {}, len(text), "")
    chunk = Chunk("c", "d", 0, 0, len(text), text, 1)
    places = {"1": 24, "2": 8, "3": 0}
    mentions = [Mention(id_, "c", id_, None, at, at + 3, "exact", "", "") for id_, at in places.items()]
    community = Community("k", 0, None, None, False, ("1", "2", "3"), (), ("c",), 3)
    of = sentences_of([one], [chunk], mentions)
    (report,) = report_communities([community], some, of, 1, 3)
    assert report.title == "Ada, Zoe, rain"  # of equals, names first, then by the alphabet
    assert report.findings[0].summary == "Zoe, Ada, rain"
    assert report.rating == 10.0
    carried = replace(community, id="l", level=1, same_as="k", parent_id="k")
    assert len(report_communities([community, carried], some, of, 1, 3)) == 1


def test_a_community_without_a_sentence_to_quote_has_no_report() -> None:
    nobody = [Entity(id_, id_, "PERSON", ("PERSON",), "", 1, 0) for id_ in "123"]
    community = Community("k", 0, None, None, False, ("1", "2", "3"), (), (), 3)
    assert report_communities([community], nobody, sentences_of([], [], []), 0, 3) == []
