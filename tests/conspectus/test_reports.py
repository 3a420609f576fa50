"""Reports without a question: lists of levels that are partitions, and one in full with its citations."""

import json
import re
from dataclasses import replace
from pathlib import Path

import conspectus
import pytest
from conspectus.query.context import Context
from conspectus.reports import entries, full, opened
from conspectus.storage.errors import UsageError
from conspectus.storage.records import Community, Document, Report

from tests.command_line import conspectus as run


def test_each_report_is_listed_once_or_on_every_level_that_it_stands_on(context: Context) -> None:
    every = entries(context)
    assert sorted(each.report.id for each in every) == sorted(each.id for each in context.index.rows(Report))
    assert [each.level for each in every] == sorted(each.level for each in every)
    of = {each.id: set(each.entity_ids) for each in context.index.rows(Community)}
    for level in ("c0", "C1"):
        on_it = entries(context, level)
        assert {each.level for each in on_it} == {int(level[1:])}
        ratings = [each.report.rating for each in on_it]
        assert ratings == sorted(ratings, reverse=True)
        held = [entity for each in on_it for entity in of[each.report.community_id]]
        assert len(held) == len(set(held)) == sum(each.size for each in on_it)
    for each in every:
        for child in each.children:
            assert of[child] < of[each.report.community_id]
        if each.parent:
            assert of[each.report.community_id] < of[each.parent]


def test_nothing_is_shown_twice(context: Context) -> None:
    for entry in entries(context)[:5]:
        shown, _, _ = full(opened(context, entry.report.community_id)).partition("\nCitations")
        body = shown.split("\n\n", 1)[1]
        for each in entry.report.findings:
            assert body.count(f": {each.explanation}") == 1
        told = replace(entry.report, summary="Told apart.")
        assert "Told apart." in full(replace(opened(context, told.id), entry=replace(entry, report=told)))


def test_one_is_shown_with_citations_that_resolve(context: Context) -> None:
    texts = {each.id: each.text for each in context.index.rows(Document)}
    again = {each.same_as: each.id for each in context.index.rows(Community) if each.same_as}
    for entry in entries(context)[:5] + entries(context)[-5:]:
        found = opened(context, entry.report.community_id)
        assert found.entry == entry
        assert opened(context, entry.report.id) == found
        if entry.report.community_id in again:
            assert opened(context, again[entry.report.community_id]) == found
        assert len(found.findings) == len(entry.report.findings)
        marks = {int(each) for finding in found.findings for each in re.findall(r"\[(\d+)\]", finding)}
        assert marks >= {each.number for each in found.citations}
        for each in found.citations:
            assert texts[each.document_id][each.start : each.end] == each.quote


def test_what_is_not_there_is_wrong_usage(context: Context) -> None:
    for level in ("c99", "9", "cc", "", "-1"):
        with pytest.raises(UsageError, match="there are c0"):
            entries(context, level)
    with pytest.raises(UsageError, match="conspectus reports"):
        opened(context, "nothing")


def test_from_the_command_line(index_root: Path, context: Context) -> None:
    done = run("reports", "--index", index_root)
    assert (done.status, done.err) == (0, "")
    assert re.findall(r"^level (c\d+): \d+ reports?, \d+ entities$", done.out, re.M) == [
        f"c{level}" for level in sorted({each.level for each in entries(context)})
    ]
    best = entries(context, "c0")[0]
    id_ = best.report.community_id
    listed = run("reports", "--level", "c0", "--index", index_root).out
    assert f"  {id_}  {best.report.title} (rating {best.report.rating:.1f}, {best.size} entities" in listed
    as_json = json.loads(run("reports", "--level", "c0", "--json", "--index", index_root).out)
    (level,) = as_json["levels"]
    assert level["level"] == "c0"
    assert level["reports"][0]["community_id"] == id_
    shown = run("reports", "--community", id_, "--index", index_root)
    assert shown.out.startswith(f"{best.report.title}\n  level c0, rating")
    assert re.search(r"^\[1\] .+characters \d+-\d+\)$", shown.out, re.M)
    one = json.loads(run("reports", "--community", id_, "--json", "--index", index_root).out)
    assert one["children"] == list(best.children)
    assert {"document_id", "start", "end", "quote"} <= set(one["citations"][0])
    for words in (("--level", "c9"), ("--community", "x"), ("--level", "c0", "--community", id_)):
        done = run("reports", *words, "--index", index_root)
        assert (done.status, done.out) == (2, "")


def test_from_python(index_root: Path, context: Context) -> None:
    index = conspectus.open(index_root)
    assert index.reports("c1") == [each.report for each in entries(context, "c1")]
    assert len(index.reports()) == len(context.index.rows(Report))
