"""Extractive reports: their sentences, and their titles."""

import random
from math import log, log2
from unittest.mock import patch

import numpy as np
import pytest
from conspectus.pipelines.steps.reports import extractive
from conspectus.pipelines.steps.reports.extractive import most_telling, report_communities
from conspectus.pipelines.steps.reports.titles import Titles
from conspectus.pipelines.steps.sentences import Sentences, sentences_of
from conspectus.query.context import Context
from conspectus.storage.arrays import Rows
from conspectus.storage.records import Chunk, Community, Document, Entity, Mention, Place, Report
from conspectus.storage.text.names import words
from hypothesis import given
from hypothesis import strategies as st


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


VOCABULARY = "the harbour master keeps ships lists lamps nets ropes and salt".split()
texts_of = st.lists(st.lists(st.sampled_from(VOCABULARY), min_size=2, max_size=8), min_size=1, max_size=8)


def made(texts: list[str]) -> Sentences:
    documents = [Document(f"{i:02}", "", "", text, {}, len(text), "") for i, text in enumerate(texts)]
    return sentences_of(
        documents, [Chunk(each.id, each.id, 0, 0, len(each.text), each.text, 1) for each in documents], []
    )


def defined(sentences: Sentences, of_members: list[Rows], count: int, budget: int) -> list[int]:
    costs = sentences.n_tokens + 1
    rows = sorted({int(row) for each in of_members for row in each if sentences.quotable[row]})
    bags = {row: {word.key for word in words(sentences.placed.text(row))} for row in rows}
    everywhere = [
        {word.key for word in words(text)} for text in map(sentences.placed.text, range(len(sentences.placed)))
    ]
    members: dict[object, float] = {
        i: log2(1 + sum(int(row) in rows for row in each)) for i, each in enumerate(of_members)
    }
    found: dict[object, float] = {}
    for word in set().union(*bags.values()):
        standing = sum(word in bag for bag in bags.values())
        if standing > 1:
            found[word] = log2(1 + standing) * log((1 + len(everywhere)) / sum(word in bag for bag in everywhere))
    worth = {
        each: value / 2 / sum(kind.values())
        for kind in (members, found)
        if sum(kind.values())
        for each, value in kind.items()
    }
    tells = {row: bags[row] | {i for i, each in enumerate(of_members) if row in each} for row in rows}
    if rows and min(costs[row] for row in rows) > budget:
        return [min(rows, key=lambda row: costs[row])]
    chosen: list[int] = []
    told: set[object] = set()
    first = 0.0
    while len(chosen) < count:
        gains = {row: sum(worth.get(each, 0.0) for each in tells[row] - told) for row in rows}
        fits = [row for row in rows if costs[row] <= budget]
        rate = {row: round(gains[row] / float(costs[row]) ** 0.3, 9) for row in fits}
        best = min(fits, key=lambda row: (-rate[row], row), default=None)
        if best is None or rate[best] <= 0 or gains[best] < 0.2 * first * (1 - 1e-9):
            break
        first = first or gains[best]
        chosen.append(best)
        told |= tells[best]
        budget -= int(costs[best])
    return chosen


@given(texts_of, st.integers(1, 5), st.integers(1, 60), st.randoms(use_true_random=False))
def test_it_is_what_the_definition_says(bags: list[list[str]], count: int, budget: int, chance: random.Random) -> None:
    sentences = made([" ".join(["X", *bag]) + "." for bag in bags])
    members = [
        np.array([row for row in range(len(bags)) if chance.random() < 0.5], np.int64)
        for _ in range(chance.randint(1, 4))
    ]
    found = most_telling(sentences, members, count, budget)
    assert found == defined(sentences, members, count, budget)
    assert len(found) <= count
    assert len(found) == 1 or sum(sentences.n_tokens[row] + 1 for row in found) <= budget


HARBOUR = "The harbour has a crane. The crane lifts 12. The crane hook is new. The harbour sleeps. The harbour is old."


NAMES = ("harbour", "crane", "crane hook", "12")


def title_of(members: tuple[str, ...], places: tuple[Place, ...] = ()) -> str:
    """Return the title_of of some names of a page."""
    page = Document("d", "", "d", HARBOUR, {}, len(HARBOUR), "", places)
    mentions = [
        Mention(f"{name}{at}", "c", name, None, at, at + len(name), "exact", name, "")
        for name in NAMES
        for at in range(len(HARBOUR))
        if HARBOUR.startswith(name, at)
    ]
    sentences = sentences_of([page], [Chunk("c", "d", 0, 0, len(HARBOUR), HARBOUR, 20)], mentions)
    entities = [Entity(name, name, "CONCEPT", ("CONCEPT",), "", 1, 0) for name in members]
    return Titles([page], sentences.placed).of(entities, [sentences.placed.of_entity[name] for name in members])


def test_names_that_meet_others_lead_and_numbers_alone_do_not_stand_in_a_title() -> None:
    found = title_of(NAMES)
    assert found.startswith("crane hook")
    assert "12" not in found
    assert found.count("crane") == 1  # its main word says no more


def test_a_heading_above_most_sentences_leads_the_title() -> None:
    heading = (Place(0, "heading", "3. Cranes of the quay", 1),)
    assert title_of(("crane", "12"), heading) == "Cranes of the quay"
    assert title_of(("harbour", "12"), heading) == "Cranes of the quay: harbour"
