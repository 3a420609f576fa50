"""Reports without a question: lists of levels that are partitions, and one in full with its citations."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from conspectus.query.context import Context
from conspectus.reports import full, report_detail, report_rows
from conspectus.storage.errors import UsageError
from conspectus.storage.records import Community, Document, Report

from tests.command_line import conspectus as run


def test_each_report_is_listed_once_or_on_every_level_that_it_stands_on(context: Context) -> None:
    every = report_rows(context)
    assert sorted(each.report_id for each in every) == sorted(each.id for each in context.index.rows(Report))
    assert [each.level for each in every] == sorted(each.level for each in every)
    of = {each.id: set(each.entity_ids) for each in context.index.rows(Community)}
    for level in ("c0", "C1"):
        on_it = report_rows(context, level)
        assert {each.level for each in on_it} == {int(level[1:])}
        ratings = [each.rating for each in on_it]
        assert ratings == sorted(ratings, reverse=True)
        held = [entity for each in on_it for entity in of[each.community_id]]
        assert len(held) == len(set(held)) == sum(each.size for each in on_it)
    for each in every:
        for child in each.children:
            assert of[child] < of[each.community_id]
        if each.parent:
            assert of[each.community_id] < of[each.parent]


def test_nothing_is_shown_twice(context: Context) -> None:
    reports = {report.id: report for report in context.index.rows(Report)}
    for entry in report_rows(context)[:5]:
        found = report_detail(context, entry.community_id)
        shown, _, _ = full(found).partition("\nCitations")
        body = shown.split("\n\n", 1)[1]
        for each in reports[entry.report_id].findings:
            assert body.count(f": {each.explanation}") == 1
        assert "Told apart." in full(replace(found, summary="Told apart."))


def test_one_is_shown_with_citations_that_resolve(context: Context) -> None:
    texts = {each.id: each.text for each in context.index.rows(Document)}
    reports = {report.id: report for report in context.index.rows(Report)}
    again = {each.same_as: each.id for each in context.index.rows(Community) if each.same_as}
    for entry in report_rows(context)[:5] + report_rows(context)[-5:]:
        found = report_detail(context, entry.community_id)
        assert (found.report_id, found.level, found.title) == (entry.report_id, entry.level, entry.title)
        assert report_detail(context, entry.report_id) == found
        if entry.community_id in again:
            assert report_detail(context, again[entry.community_id]) == found
        assert len(found.findings) == len(reports[entry.report_id].findings)
        marks = {int(each) for finding in found.findings for each in re.findall(r"\[(\d+)\]", finding)}
        assert marks >= {each.number for each in found.citations}
        for each in found.citations:
            assert texts[each.document_id][each.start : each.end] == each.quote


def test_what_is_not_there_is_wrong_usage(context: Context) -> None:
    for level in ("c99", "9", "cc", "", "-1"):
        with pytest.raises(UsageError, match="there are c0"):
            report_rows(context, level)
    with pytest.raises(UsageError, match="no report"):
        report_detail(context, "nothing")


def test_from_the_command_line(index_root: Path, context: Context) -> None:
    done = run("reports", "--index", index_root)
    assert (done.status, done.err) == (0, "")
    assert re.findall(r"^level (c\d+): \d+ reports?, \d+ entities$", done.out, re.M) == [
        f"c{level}" for level in sorted({each.level for each in report_rows(context)})
    ]
    best = report_rows(context, "c0")[0]
    id_ = best.community_id
    listed = run("reports", "--level", "c0", "--index", index_root).out
    assert f"  {id_}  {best.title} (rating {best.rating:.1f}, {best.size} entities" in listed
    as_json = json.loads(run("reports", "--level", "c0", "--json", "--index", index_root).out)
    assert as_json["rows"][0]["community_id"] == id_
    assert {row["level"] for row in as_json["rows"]} == {0}
    shown = run("report", id_, "--index", index_root)
    assert shown.out.startswith(f"{best.title}\n  level c0, rating")
    assert re.search(r"^\[1\] .+characters \d+-\d+\)$", shown.out, re.M)
    one = json.loads(run("report", id_, "--json", "--index", index_root).out)
    assert one["children"] == list(best.children)
    assert {"document_id", "start", "end", "quote"} <= set(one["citations"][0])
    for words in (("reports", "--level", "c9"), ("report", "x")):
        done = run(*words, "--index", index_root)
        assert (done.status, done.out) == (2, "")
