"""The page in a real browser: what a reader sees, clicks and types."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from conspectus.map.page import write_html

from tests.conspectus.map.chromium import PROGRAM, Page, chromium
from tests.conspectus.map.samples import (
    ARABIC,
    CHINESE,
    HOSTILE,
    community,
    entity,
    hostile_index,
    index_of,
    large_index,
    relation,
)

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium: apt-get install chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with chromium() as page:
        yield page


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    browser.errors.clear()
    browser.requests.clear()
    yield browser
    assert browser.errors == []
    assert {each.partition(":")[0] for each in browser.requests} <= {"file", "about", "data"}
    assert len({each.partition("#")[0] for each in browser.requests if each.startswith("file:")}) <= 1


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("map") / "large.html"
    write_html(large_index(1500), to, title="A large map")
    return to


def spot(page: Page, table: str, id_: str, out: float = 0.0) -> tuple[float, float]:
    """Return where a circle is on the page while all of the map is seen; `out` leads from its middle to its rim."""
    x, y = page.run(
        f"""(() => {{
            const map = document.getElementById("map").places, rows = map["{table}"];
            const box = document.getElementById("stage").getBoundingClientRect(), row = rows.id.indexOf("{id_}");
            const scale = (Math.min(box.width, box.height) / (2 * map.radius)) * 0.94;
            const x = rows.x[row] + {out} * rows.r[row];
            return [box.x + box.width / 2 + x * scale, box.y + box.height / 2 + rows.y[row] * scale];
        }})()"""
    )
    return x, y


_MISPLACED = """(() => {
    const { regions, entities, radius } = document.getElementById("map").places, wrong = [];
    const circle = (table, row) => ({ x: table.x[row], y: table.y[row], r: table.r[row] });
    const inside = (one, outer) => Math.hypot(one.x - outer.x, one.y - outer.y) + one.r <= outer.r * (1 + 1e-6);
    const apart = (one, other) => Math.hypot(one.x - other.x, one.y - other.y) >= (one.r + other.r) * (1 - 1e-6);
    const all = { x: 0, y: 0, r: radius }, count = regions.id.length;
    for (let r = -1; r < count; r++) {
        const below = regions.id.map((_, row) => row).filter((row) => regions.parent[row] === r);
        const parts = below.map((row) => circle(regions, row));
        for (let e = r < 0 ? 0 : regions.first[r]; r >= 0 && e < regions.own[r]; e++) parts.push(circle(entities, e));
        for (const [row, one] of parts.entries()) {
            if (!inside(one, r < 0 ? all : circle(regions, r))) wrong.push(["outside", r, row]);
            for (const other of parts.slice(0, row)) if (!apart(one, other)) wrong.push(["on another", r, row]);
        }
    }
    return [count, wrong];
})()"""


def test_everything_lies_in_what_it_belongs_to_and_on_nothing_else(page: Page, large: Path) -> None:
    page.open(large)
    count, wrong = page.run(_MISPLACED)
    assert count > 100
    assert wrong == []


def test_communities_with_relations_between_them_are_nearer_than_others(page: Page, tmp_path: Path) -> None:
    names = [f"{place:02}{sign}" for place in range(40) for sign in "ab"]
    communities = [community(f"{at:02}", 0, names[2 * at : 2 * at + 2]) for at in range(40)]
    joined = [relation(f"{at:02}a", f"{at + 20:02}b") for at in range(20)]
    write_html(index_of(*(entity(name, 1) for name in names), *joined, *communities), tmp_path / "map.html")
    page.open(tmp_path / "map.html")
    joined_and_all = page.run(
        """(() => {
            const { id, x, y } = document.getElementById("map").places.regions, at = (name) => id.indexOf(name);
            const away = (one, other) => Math.hypot(x[at(one)] - x[at(other)], y[at(one)] - y[at(other)]);
            const mean = (pairs) => pairs.reduce((sum, pair) => sum + away(...pair), 0) / pairs.length;
            const pairs = [...Array(20).keys()].map((n) => [String(n).padStart(2, "0"), String(n + 20)]);
            return [mean(pairs), mean(id.flatMap((one) => id.filter((each) => each < one).map((each) => [one, each])))];
        })()"""
    )
    assert joined_and_all[0] < 0.8 * joined_and_all[1]


def colours(page: Page) -> int:
    """Return how many colours are on the map."""
    page.settled()
    return int(
        page.run(
            """(() => {
                const canvas = document.getElementById("map");
                const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
                return new Set(new Uint32Array(data.buffer)).size;
            })()"""
        )
    )


def seen(page: Page) -> str:
    """Return what is drawn, for comparison."""
    page.settled()
    return str(page.run("document.getElementById('map').toDataURL()"))


def test_a_community_is_clicked_and_its_report_read(page: Page, large: Path) -> None:
    page.open(large)
    page.click(*spot(page, "regions", "c0-600"))
    assert page.text("#told h1") == "Community 600 of level 0"
    assert "600 entities" in page.text("#told .facts")
    assert page.text("#told h3") == "What is found"
    told = page.text("#told")
    assert "Each of these sentences is cited by a report." in told
    assert told.count("The document · characters 0–200") == 4
    assert page.run("location.hash") == "#community=c0-600"
    assert page.text("#crumbs").split("\n")[-1] == "Community 600 of level 0"


def test_levels_by_clicks_from_the_map_down_and_up_again(page: Page, large: Path) -> None:
    page.open(large)
    whole = seen(page)
    page.click(*spot(page, "regions", "c0-600"))
    assert page.text("#told h1") == "Community 600 of level 0"
    assert seen(page) != whole
    page.click_on("#told h2 + ul button")  # after the findings, its first part
    assert "LEVEL C1" in page.text("#told .kicker").upper()
    page.run("document.querySelector('#map').focus()")
    for title in ("Community 600 of level 0", "A large map"):
        page.key("Escape")
        assert page.text("#told h1") == title
    page.run("history.back()")
    page.until("document.querySelector('#told h1').innerText === 'Community 600 of level 0'")


def test_search_with_keys_alone(page: Page, large: Path) -> None:
    page.open(large)
    page.key("/")
    assert page.run("document.activeElement.id") == "query"
    page.type("entity 12")
    assert page.text("#results li bdi") == "Entity 12"
    page.key("ArrowDown")
    page.key("ArrowDown")
    chosen = page.run("document.activeElement.innerText")
    page.key("Enter")
    name = page.text("#told h1")
    assert chosen.startswith(name)
    assert name.startswith("Entity 12")
    assert name != "Entity 12"
    assert "TYPE" in page.text("#told .kicker")
    assert "Relations" in page.text("#told")
    assert "The document" in page.text("#told")
    page.key("/")
    page.type("no such name")
    assert page.text("#none") == "Nothing of that name"
    page.key("Escape")
    assert page.run("document.getElementById('results').hidden")


def test_a_dot_is_clicked(page: Page, tmp_path: Path) -> None:
    names = ["a hub", *(f"leaf {number}" for number in range(6))]
    write_html(
        index_of(
            entity(names[0], 6),
            *(entity(each, 1) for each in names[1:]),
            *(relation(names[0], each) for each in names[1:]),
            community("top", 0, names),
        ),
        tmp_path / "map.html",
    )
    page.open(tmp_path / "map.html")
    page.click(*spot(page, "entities", "a hub"))
    assert page.text("#told h1") == "a hub"
    assert "6 neighbours" in page.text("#told .facts")
    assert page.text("#told li span:not(.dot)") == "a hub knows leaf 0"


def test_the_map_is_moved_by_keys_and_by_the_wheel(page: Page, large: Path) -> None:
    page.open(large)
    pictures = [seen(page)]
    page.run("document.getElementById('map').focus()")
    for key in ("+", "ArrowLeft", "ArrowUp", "-"):
        page.key(key)
        pictures.append(seen(page))
    page.wheel(400, 400, -300)
    pictures.append(seen(page))
    assert len(set(pictures)) == len(pictures)
    page.key("0")
    assert seen(page) == pictures[0]


def test_what_is_dragged_is_not_clicked_and_two_fingers_zoom(page: Page, large: Path) -> None:
    page.open(large)
    pictures = [seen(page)]
    x, y = spot(page, "regions", "c0-600")
    page.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
    for step in range(1, 6):
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + 12 * step, y=y, button="left", buttons=1)
    page.call("Input.dispatchMouseEvent", type="mouseReleased", x=x + 60, y=y, button="left", clickCount=1)
    pictures.append(seen(page))
    for apart in (40, 60, 90):
        fingers = [{"x": 400 - apart, "y": 400, "id": 1}, {"x": 400 + apart, "y": 400, "id": 2}]
        page.call("Input.dispatchTouchEvent", type="touchStart" if apart == 40 else "touchMove", touchPoints=fingers)
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    pictures.append(seen(page))
    assert len(set(pictures)) == 3
    assert page.text("#told h1") == "A large map"


_NAMES_DRAWN = """(() => {
    const pen = document.getElementById("map").getContext("2d"), draw = pen.fillText.bind(pen);
    window.names_ = [];
    pen.fillText = (text, x, y) => {
        const wide = pen.measureText(text).width / 2, high = Number(/([0-9.]+)px/.exec(pen.font)[1]) / 2;
        window.names_.push([text, x - wide, y - high, x + wide, y + high]);
        draw(text, x, y);
    };
    const clear = pen.fillRect.bind(pen);
    pen.fillRect = (x, y, w, h) => {
        if (w > 300) window.names_ = [];
        clear(x, y, w, h);
    };
})()"""


def test_no_name_is_drawn_over_another(page: Page, large: Path) -> None:
    page.open(large)
    page.run(_NAMES_DRAWN)
    drawn = set()
    for _ in range(14):
        page.wheel(380, 420, -160)
        names = page.run("window.names_")
        drawn |= {each[0] for each in names}
        for at, (_, left, top, right, low) in enumerate(names):
            for name, other_left, other_top, other_right, other_low in names[:at]:
                beside = right <= other_left or other_right <= left
                assert beside or low <= other_top or other_low <= top, name
    assert any(name.startswith("Community") for name in drawn)
    assert any(name.startswith("Entity") for name in drawn)


def test_names_that_mean_harm_do_none(page: Page, tmp_path: Path) -> None:
    write_html(hostile_index(), tmp_path / "map.html", title=HOSTILE)
    page.open(tmp_path / "map.html")
    shown = HOSTILE.replace("\u202e", r"\u202e").replace("\x07", r"\x07")
    assert page.text("#told h1") == shown
    page.click(*spot(page, "regions", "top"))
    page.open(tmp_path / "map.html", address="#community=top")
    assert page.text("#told h1") == shown[:119] + "…" if len(shown) > 120 else shown
    assert shown in page.text("#told h3")
    assert shown in page.text("#told cite")
    for name in (HOSTILE[:9], "__proto__", "constructor", "angstrom", ARABIC, CHINESE[:2]):
        page.key("/")
        page.type(name)
        page.key("Enter")
    assert page.text("#told h1") == CHINESE
    assert f"{ARABIC} تعرف {CHINESE}" in page.text("#told")
    assert (
        page.run("document.querySelectorAll('img, script:not([id]), iframe, a').length") == 1
    )  # the page's own script
    assert page.run("document.title") == f"{CHINESE} · {shown}"


def test_no_other_script_runs_and_nothing_is_asked_for(browser: Page, tmp_path: Path) -> None:
    write_html(hostile_index(), tmp_path / "map.html")
    browser.open(tmp_path / "map.html")
    browser.run(
        """(() => {
            const script = document.createElement("script");
            script.textContent = "window.harmed = true";
            document.body.append(script);
            const button = document.createElement("button");
            button.setAttribute("onclick", "window.harmed = true");
            document.body.append(button);
            button.click();
        })()"""
    )
    assert browser.run("window.harmed") is None
    assert browser.run("fetch('http://127.0.0.1:9/').then(() => 'came', () => 'refused')") == "refused"
    assert browser.run("fetch('data:,x').then(() => 'came', () => 'refused')") == "refused"
    assert any("Content Security Policy" in each for each in browser.errors)


@pytest.mark.parametrize("case", ["nothing", "one", "no relations", "no communities"])
def test_a_poor_index_is_a_page_without_errors(case: str, page: Page, tmp_path: Path) -> None:
    alone = [entity("only one")]
    some = [entity(name) for name in "abcdef"]
    index = {
        "nothing": index_of(),
        "one": index_of(*alone, community("c", 0, ["only one"])),
        "no relations": index_of(*some, community("c", 0, "abc"), community("d", 0, "def")),
        "no communities": index_of(*some, relation("a", "b")),
    }[case]
    write_html(index, tmp_path / "map.html", title=case)
    page.open(tmp_path / "map.html")
    page.click(500, 400)
    for key in ("Escape", "Escape", "/"):
        page.key(key)
    page.type("o")
    page.key("Enter")
    found = {"one": "only one", "no communities": "Outside the communities"}
    assert page.text("#told h1") == found.get(case, case)


def test_everything_that_can_be_pressed_has_a_name(page: Page, large: Path) -> None:
    page.open(large, address="#community=c0-0")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    asked = [
        each
        for each in nodes
        if not each["ignored"] and each["role"]["value"] in ("button", "radio", "combobox", "searchbox", "application")
    ]
    assert len(asked) > 30
    assert [each for each in asked if not each.get("name", {}).get("value")] == []


def test_light_and_dark_wide_and_narrow(page: Page, large: Path) -> None:
    grounds = set()
    for dark in (False, True):
        page.open(large, dark=dark)
        grounds.add(page.run("getComputedStyle(document.body).backgroundColor"))
        assert colours(page) > 50
    assert len(grounds) == 2
    page.open(large, width=390, height=800)
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    assert page.run("document.getElementById('panel').getBoundingClientRect().top") > 300
    page.click(*spot(page, "regions", "c0-600"))
    assert page.text("#told h1") == "Community 600 of level 0"
