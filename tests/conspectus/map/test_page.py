import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from conspectus import open as open_index
from conspectus.map.data import MapLimits, content_of
from conspectus.map.page import write_html
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Document, Entity, Finding, Link, Mention, Merge, Relation, Report, Span
from conspectus.storage.settings import load_settings

from tests.conspectus.map.samples import (
    HOSTILE,
    community,
    entity,
    hostile_index,
    index_of,
    large_index,
    relation,
    report,
)


class Elements(HTMLParser):
    """The elements of a page with their texts, as a browser divides it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._open: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._open = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open] = self.texts.get(self._open, "") + data


def written(index: StoredIndex, to: Path, **more: Any) -> tuple[Elements, dict[str, Any], dict[str, Any]]:  # noqa: ANN401
    write_html(index, to, **more)
    elements = Elements(to.read_text("utf-8"))
    return elements, json.loads(elements.texts["data-map"]), json.loads(elements.texts["data-texts"])


def test_a_page_holds_what_the_index_holds(sample_root: Path, tmp_path: Path) -> None:
    index = StoredIndex.open(sample_root)
    _, drawn, texts = written(index, tmp_path / "map.html")
    by_id = {each.id: each for each in index.rows(Entity)}
    of = drawn["entities"]
    assert sorted(of["id"]) == sorted(by_id)
    assert of["name"] == [by_id[id_].name for id_ in of["id"]]
    assert of["degree"] == [by_id[id_].degree for id_ in of["id"]]
    assert [drawn["types"][at] for at in of["type"]] == [by_id[id_].type for id_ in of["id"]]
    told = {
        (of["id"][one], drawn["predicates"][predicate], of["id"][other])
        for one, predicate, other in zip(
            *(drawn["relations"][key] for key in ("source", "predicate", "target")), strict=True
        )
    }
    assert told == {(each.source_id, each.predicate, each.target_id) for each in index.rows(Relation)}
    assert drawn["counts"]["entities"] == len(by_id)
    assert len(drawn["regions"]["id"]) == len(texts["reports"])


def test_citations_quote_the_documents(sample_root: Path, tmp_path: Path) -> None:
    index = StoredIndex.open(sample_root)
    _, drawn, texts = written(index, tmp_path / "map.html")
    report_of = {each.community_id: each for each in index.rows(Report)}
    document_of = {each.title: each for each in index.rows(Document)}
    checked = 0
    for id_, told in zip(drawn["regions"]["id"], texts["reports"], strict=True):
        assert (told is None) == (id_ not in report_of)
        for finding in told["findings"] if told else ():
            for each in finding["citations"]:
                document = document_of[texts["documents"]["title"][each["document"]]]
                quoted = " ".join(document.text[each["start"] : each["end"]].split())
                assert quoted == (finding["explanation"] if each["quote"] is None else each["quote"])
                checked += 1
    assert checked == sum(len(each.citations) for one in report_of.values() for each in one.findings) > 0


def test_only_the_script_and_the_style_of_the_page_are_allowed(tmp_path: Path) -> None:
    elements, _, _ = written(hostile_index(), tmp_path / "map.html")
    policy = next(
        each["content"] for tag, each in elements.found if each.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data:"
    for rule, tag in (("script-src", "script"), ("style-src", "style")):
        assert rules[rule] == f"'sha256-{b64encode(sha256(elements.texts[tag].encode()).digest()).decode()}'"


def test_no_text_becomes_markup(tmp_path: Path) -> None:
    plain, drawn, _ = written(hostile_index(), tmp_path / "map.html", title=HOSTILE)
    write_html(index_of(), tmp_path / "empty.html")
    empty = Elements((tmp_path / "empty.html").read_text("utf-8"))
    assert [tag for tag, _ in plain.found] == [tag for tag, _ in empty.found]
    assert "</script><img src=x" in drawn["title"]
    assert any("</script><img src=x" in name for name in drawn["entities"]["name"])
    assert not re.search("[\u202e\x07]", (tmp_path / "map.html").read_text("utf-8"))


def test_the_page_names_no_address(tmp_path: Path) -> None:
    write_html(index_of(entity("a")), tmp_path / "map.html")
    text = (tmp_path / "map.html").read_text("utf-8").replace("http%3A//www.w3.org/2000/svg", "")  # a name, not a place
    assert not re.search(
        r"https?://|//[a-z]+\.|url\(|@import|\bfetch\b|XMLHttpRequest|sendBeacon|WebSocket|innerHTML", text
    )


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    limits = MapLimits(entities=100, relations=50, text=5000)
    index = large_index(300)
    content = content_of(index, "large", limits)
    assert content.rows["entities"] == len(content.map["entities"]["id"]) == 100
    assert content.rows["relations"] == len(content.map["relations"]["source"]) == 50
    kept = set(content.map["entities"]["id"])
    least = min(each.degree for each in index.rows(Entity) if each.id in kept)
    assert least >= max(each.degree for each in index.rows(Entity) if each.id not in kept)
    notes = " ".join(content.notes)
    assert "100 of 300 entities are on the map" in notes
    assert f"50 of {len(index.rows(Relation)):,} relations are on the map" in notes
    assert "communities are on the map" in notes
    assert "texts are left out" in notes
    assert len(json.dumps(content.texts)) < 60_000
    # What is coarse is told first.
    told = [
        (level, bool(one and one["summary"]))
        for level, one in zip(content.map["regions"]["level"], content.texts["reports"], strict=True)
    ]
    assert all(has for level, has in told if level == 0)
    assert not all(has for _, has in told)


def test_long_texts_are_cut_and_counted() -> None:
    long = "word " * 2000
    top = community("top", 0, ["a", "b"])
    findings = [Finding("said", long, (Span("d", "c", 0, 9000), Span("d", "c", 9000, 99_999)))] * 20
    document = Document("d", "", "d.txt", long, {}, len(long), "")
    index = index_of(
        entity("a", 1, "", long), entity("b", 1), relation("a", "b"), top, report(top, "", findings, long), document
    )
    content = content_of(index, "t", MapLimits())
    told = content.texts["reports"][0]
    assert (len(told["findings"]), told["more"]) == (15, 5)
    assert [len(each["citations"]) for each in told["findings"]] == [1] * 15  # the other one does not resolve
    assert all(
        text.endswith("…")
        for text in (told["summary"], told["findings"][0]["explanation"], content.texts["descriptions"][0])
    )
    assert content.texts["documents"]["title"] == ["d.txt"]
    assert content.map["regions"]["title"] == ["a, b"]
    assert "long texts are cut" in content.notes[0]


def test_other_names_are_told_unless_they_were_taken_back(tmp_path: Path) -> None:
    merges = [
        Merge(f"m{row}", "Sherlock Holmes", "Sherlock Holmes", f"a{row}", alias, "names", 0.9, None, undone)
        for row, (alias, undone) in enumerate([("Sherlock", False), ("Mr. Holmes", False), ("Mycroft", True)])
    ]
    _, drawn, _ = written(index_of(entity("Sherlock Holmes"), entity("Watson"), *merges), tmp_path / "map.html")
    assert drawn["entities"]["also"] == {"0": ["Mr. Holmes", "Sherlock"]}


def test_numbers_that_are_none_do_not_spoil_a_page(tmp_path: Path) -> None:
    top = community("top", 0, ["a", "b"])
    broken = replace(report(top, "Top", [], ""), rating=float("nan"))
    joined = [relation("a", "b", weight=float("inf")), relation("b", "a", weight=float("nan"))]
    _, drawn, texts = written(index_of(entity("a", 1), entity("b", 1), *joined, top, broken), tmp_path / "map.html")
    assert drawn["relations"]["weight"] == [0, 0]
    assert texts["reports"][0]["rating"] == 0


@pytest.mark.parametrize("titles", [["One", "Two"], ["1", "2", "3", "4"]])
def test_a_page_is_named_by_its_documents_or_its_folder(titles: list[str], tmp_path: Path) -> None:
    documents = [Document(title, title, "", "", {}, 0, "") for title in titles]
    _, drawn, _ = written(index_of(*documents, root="/data/films.index/.conspectus/index"), tmp_path / "map.html")
    assert drawn["title"] == (", ".join(titles) if len(titles) < 4 else "films")


def test_only_what_is_permitted_is_on_the_page(sample_root: Path, tmp_path: Path) -> None:
    opened = open_index(sample_root, load_settings(None))
    oxford = next(each for each in opened.context.index.rows(Document) if each.title == "Oxford")
    opened.filter(f"id = {oxford.id}").export("html", tmp_path / "map.html")
    text = (tmp_path / "map.html").read_text("utf-8")
    assert "The University of Oxford is in Oxford." in text
    assert "Stroustrup" not in text
    opened.export("html", tmp_path / "map.html", force=True)
    assert "Stroustrup" in (tmp_path / "map.html").read_text("utf-8")


def test_links_of_the_documents_join_what_their_words_name_with_what_tells_the_passage_apart(tmp_path: Path) -> None:
    names = ("Winch", "Gate", "Quay")
    passages = [Chunk(id_, "d", at, at, at + 1, "x", 1) for at, id_ in enumerate(("a", "b"))]
    mentions = [
        Mention(f"{chunk}{name}", chunk, name, None, None, None, "chunk", name, "")
        for chunk, name in (("a", "Winch"), ("a", "Quay"), ("b", "Gate"))
    ]
    links = [
        Link("1", "hyperlink", "a", "b", "winch", 0, 1),
        Link("2", "next", "a", "b", "", None, None),
        Link("3", "reply", "b", "b", "", None, None),
    ]
    _, drawn, _ = written(
        index_of(*map(entity, names), Document("d", "", "d", "xy", {}, 2, ""), *passages, *mentions, *links),
        tmp_path / "map.html",
    )
    named = drawn["entities"]["name"]
    (pair,) = zip(drawn["links"]["source"], drawn["links"]["target"], strict=True)
    assert {named[row] for row in pair} == {"Winch", "Gate"}
    assert [drawn["linkKinds"][kind] for kind in drawn["links"]["kind"]] == ["hyperlink"]
