"""The picture: well-formed, the same every time, with everything in it that it is to show and nothing that acts."""

import asyncio
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from conspectus.query.context import Context
from conspectus.query.explain.explain import explain
from conspectus.query.explain.types import Explained, Explanation, Path, PathHop, PathNode
from conspectus.query.types import Passage, Step
from conspectus.render.drawings import entity_svg, explanation_svg
from conspectus.rows import Beside, EntityDetail, Neighbour
from conspectus.storage.errors import UsageError

QUESTION = "Who directed the film shot at Marrow, Vey in 1962?"
_SVG = "{http://www.w3.org/2000/svg}"
NASTY = '<script>alert("&")</script> ]]> \x00\x1b[31m \ufffe \u202eterces 北京大学 👩‍👩‍👧'


def read(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)  # noqa: S314  (our own)


def words_of(picture: str) -> list[str]:
    return [each.text or "" for each in read(picture).iter(f"{_SVG}text")]


def number(element: ElementTree.Element, name: str) -> float:
    return float(element.attrib[name])


def told(name: str = "Marrow", why: str = "the question names it", *, paths: int = 2) -> Explanation:
    target = PathNode("passage", "t", name)
    seed, between = PathNode("passage", "s", f"seed {name}"), PathNode("entity", "e", f"name {name}")
    hops = [
        (PathHop(seed, "", 1.0), PathHop(target, f'names "{name}"', 0.5)),
        (PathHop(seed, "", 1.0), PathHop(between, "mentions", 0.2), PathHop(target, "is mentioned in", 0.3)),
    ]
    found = tuple(Path(why, each, 0.5 / place) for place, each in enumerate(hops[:paths], start=1))
    passage = Explained(1, Passage("d", "t", 0, 1, 1.0, name, name), (), 0.5, 0.75, found)
    return Explanation(name, "ppr", "", (passage,), (Step("ppr", "nothing is near"),))


def test_everything_is_drawn_once() -> None:
    drawn = words_of(explanation_svg(told()))
    assert sorted(drawn) == sorted(
        [
            "Marrow", "the question", "seed Marrow", "the question names it", "name Marrow", "entity", "1. Marrow",
            "passage", 'names "Marrow"', "mentions", "is mentioned in", "paths of ppr",
            "the question", "passage", "explained passage", "entity",
        ]
    )  # fmt: skip


def test_the_line_of_most_mass_is_thickest() -> None:
    widths = {
        (each.findtext(f"{_SVG}title") or ""): number(line, "stroke-width")
        for each in read(explanation_svg(told())).iter(f"{_SVG}g")
        if (line := each.find(f"{_SVG}path")) is not None
    }
    assert widths['seed Marrow names "Marrow" Marrow'] == 8.0
    assert widths["seed Marrow mentions name Marrow"] == pytest.approx(1.2 + 6.8 / 2)
    assert widths["the question names it"] == 1.2


@pytest.mark.parametrize("name", [NASTY, "", "x" * 5000, "ZeroWidth\u200b\u200d", "\udcff\ud800", "&amp;"])
def test_texts_cannot_break_out(name: str) -> None:
    picture = explanation_svg(told(name, why=name))
    picture.encode("utf-8")
    root = read(picture)
    tags = {each.tag.removeprefix(_SVG) for each in root.iter()}
    assert tags <= {"svg", "title", "desc", "defs", "marker", "path", "rect", "g", "text"}
    attributes = {name for each in root.iter() for name in each.attrib}
    assert not {each for each in attributes if each.startswith("on") or "href" in each}
    of_heading = [each.text or "" for each in root.iter(f"{_SVG}text") if each.get("font-size") == "15"]
    assert len(of_heading) <= 4
    assert max(len(each) for each in words_of(picture)[len(of_heading) :]) <= 60


def test_a_chinese_name_takes_two_columns_a_sign() -> None:
    (name,) = [each for each in words_of(explanation_svg(told("北京大学" * 20))) if each.startswith("1. ")]
    assert name == "1. " + ("北京大学" * 20)[:13] + "…"


def test_nothing_stands_outside_or_on_anything_else(context: Context) -> None:
    found = asyncio.run(explain(context, QUESTION, "ppr", 5, paths=8))
    picture = explanation_svg(found)
    assert picture == explanation_svg(found), "the same bytes"
    root = read(picture)
    background, *boxes = root.iter(f"{_SVG}rect")
    width, height = number(background, "width"), number(background, "height")
    places = [tuple(number(each, name) for name in ("x", "y", "width", "height")) for each in boxes]
    assert len(places) > 10
    for x, y, w, h in places:
        assert x >= 0
        assert x + w <= width
        assert y >= 0
        assert y + h <= height
    for place, (x, y, w, h) in enumerate(places):
        for x2, y2, w2, h2 in places[:place]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
    for line in root.iter(f"{_SVG}path"):
        assert "nan" not in line.attrib["d"]


def test_without_paths_there_is_no_picture() -> None:
    with pytest.raises(UsageError, match="the walk did not reach the passage"):
        explanation_svg(told(paths=0))
    with pytest.raises(UsageError, match="'bm25' walks over no graph; ask with ppr"):
        explanation_svg(replace(told(paths=0), method="bm25"))
    with pytest.raises(UsageError, match="nothing is near"):
        explanation_svg(replace(told(), passages=()))


def test_what_is_around_an_entity_is_drawn_on_the_side_where_it_belongs() -> None:
    around = [
        Neighbour(f"r{name}", outgoing, "knows", "", 1.0, f"id {name}", name, [])
        for name, outgoing in (("Ada", False), ("Bo", True), ("Cleo", True))
    ]
    found = EntityDetail("id", "Marrow", "PERSON", 1, 3, "", [], around, [])
    places = {each.text: number(each, "x") for each in read(entity_svg(found)).iter(f"{_SVG}text")}
    assert places["Ada"] < places["Marrow"] < places["Bo"] == places["Cleo"]
    beside = entity_svg(replace(found, neighbours=[], beside=[Beside("id Dov", "Dov", 2)]))
    assert {"Dov", "2 together"} <= set(words_of(beside))
    with pytest.raises(UsageError, match="nothing around Marrow"):
        entity_svg(replace(found, neighbours=[]))
