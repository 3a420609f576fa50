"""The page in a real browser: what a reader asks, clicks and types, and what hostile texts cannot do."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.server.tokens import CallerLimits, read_callers
from conspectus.storage.settings import load_settings

from benchmarks.fake_server import FakeServer
from tests.conftest import write_rows
from tests.conspectus.map.chromium import PROGRAM, Page, chromium
from tests.conspectus.map.samples import HOSTILE
from tests.conspectus.server.running import ROWS, Running, running

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium: apt-get install chromium")

READY = "performance.getEntriesByName('ready').length > 0"
CITED = "The keeper wrote the ninth wave into the harbour log"
LONG = "Nothing of note \U0001f30a happened on the quay. " * 200 + f"{CITED}. " + "Then it was quiet again. " * 400
MORE = [
    {"id": "..", "title": "Only dots", "text": "The id of this row has no letter at all."},
    {"id": "long", "title": "A long log", "text": LONG, "year": 1911},
    {
        "id": "bad",
        "title": HOSTILE,
        "text": f"Bo Harm met {HOSTILE} in Port Alma. {HOSTILE} is quiet.",
        HOSTILE: HOSTILE,
    },
]
FILMS = Path(__file__).parents[3] / "examples" / "films" / "kg.tsv"
TOKEN = "a-token-of-more-than-16-bytes"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page")
    write_rows(made / "rows.jsonl", [*ROWS, *MORE])
    changes = {"extraction": {"pipeline": "regex"}, "kg": {"files": [str(FILMS)]}}
    build_index([made / "rows.jsonl"], made / "index", load_settings(overrides=changes))
    return made / "index"


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Running]:
    with running(("notes", folder), ("other", folder)) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with chromium() as page:
        yield page


@pytest.fixture
def page(browser: Page, server: Running) -> Iterator[Page]:
    """A page that may ask its own server only, and says nothing in its console."""
    clear(browser)
    yield browser
    assert browser.errors == []
    assert {each for each in browser.requests if not each.startswith((server.url, "about:", "data:"))} == set()
    assert [each for each in browser.requests if "?q=" in each or "Otto" in each] == [], "a question is in an address"


def clear(page: Page) -> None:
    page.open("about:blank", ready="true")
    page.errors.clear()
    page.requests.clear()


def opened(page: Page, server: Running, address: str = "", width: int = 1280, height: int = 820) -> Page:
    page.open(server.url, width, height, address=f"/{address}", ready=READY)
    return page


def test_a_document_whose_id_is_only_dots_is_opened(page: Page, server: Running) -> None:
    opened(page, server, "#/notes/ask?doc=..&span=0-6")
    page.until("document.querySelector('#cited')?.textContent === 'The id'")


def choose(page: Page, method: str) -> None:
    page.run(
        f"(m => {{ m.value = '{method}'; m.dispatchEvent(new Event('change')); }})(document.getElementById('method'))"
    )


def ask(page: Page, question: str, method: str = "ppr") -> None:
    choose(page, method)
    before = page.run("document.querySelectorAll('.turn').length")
    page.run("document.getElementById('question').focus()")
    page.type(question)
    page.key("Enter")
    page.until(f"document.querySelectorAll('.turn').length === {before + 1}")
    page.until("document.querySelector('.turn:last-child :is(.took, .failure)') !== null")


def test_a_question_is_answered_and_a_citation_opens_its_document_with_the_span_marked(
    page: Page, server: Running
) -> None:
    opened(page, server, "#/notes/ask")
    ask(page, "What did the keeper write into the harbour log?")
    assert CITED in page.text(".turn .text")
    number = page.run(
        f"[...document.querySelectorAll('.turn .source')].find(s => s.innerText.includes({CITED[:30]!r})).innerText[0]"
    )
    page.click_on(f".turn .mark[data-source='{number}']")
    page.until("document.querySelector('#cited') !== null")
    assert page.text("#cited").startswith(CITED), "characters beyond the sixteen bits count as one"
    assert page.run(
        "(b => b.top > 0 && b.bottom < innerHeight)(document.querySelector('#cited').getBoundingClientRect())"
    )
    assert page.text("#drawer h2") == "A long log"
    assert "1911" in page.text("#drawer dl")
    before = page.run("document.querySelector('.running').textContent.length")
    for selector in (".more-text button", ".running + .more-text button"):
        page.click_on(selector)
        page.until(f"document.querySelector('.running').textContent.length > {before}")
        before = page.run("document.querySelector('.running').textContent.length")
    page.click_on("#why summary")
    page.until("document.querySelector('.why table') !== null")
    assert page.text(".why h3").startswith("Place 1")
    assert page.run("document.querySelectorAll('.why .drawing .node').length") >= 2
    page.key("Escape")
    assert page.run("document.getElementById('drawer').hidden")
    assert page.run(f"document.activeElement.dataset.source === '{number}'"), "the focus is back where it was"


def test_a_shared_address_shows_the_passage_and_the_way_back_works(page: Page, server: Running) -> None:
    start = LONG.index(CITED)
    opened(page, server, f"#/notes/entities?doc=long&span={start}-{start + len(CITED)}")
    page.until("document.querySelector('#cited') !== null")
    assert page.text("#cited") == CITED
    page.run("history.pushState(null, '', '#/notes/reports'); dispatchEvent(new PopStateEvent('popstate'))")
    page.until("document.querySelector('#view-reports .tree a') !== null")
    assert page.run("document.getElementById('drawer').hidden")
    page.run("history.back()")
    page.until("document.querySelector('#cited') !== null")
    assert page.run("document.querySelector('#view-entities') !== null")


def test_a_question_from_an_address_waits_to_be_asked(page: Page, server: Running) -> None:
    opened(page, server, "#/notes/ask?q=Who+met+Otto%3F&method=bm25&where=year+%3E+2000")
    assert page.run("document.getElementById('question').value") == "Who met Otto?"
    assert page.run("document.getElementById('method').value") == "bm25"
    assert page.run("document.getElementById('where').value") == "year > 2000"
    assert "has not been asked" in page.text("#note")
    assert not [each for each in page.requests if each.endswith("/ask")]


def test_a_conversation_goes_on_and_outlives_a_reload(page: Page, server: Running) -> None:
    opened(page, server, "#/notes/ask")
    ask(page, "Who met Otto Brand in Port Alma?")
    ask(page, "And where did he go?")
    assert page.run("document.querySelectorAll('.turn').length") == 2
    assert "Understood as" in page.text(".turn:last-child")
    page.call("Page.reload")
    page.until("document.querySelectorAll('.turn .took').length === 2")
    page.click_on("#fresh")
    assert page.run("document.querySelectorAll('.turn').length") == 0
    page.run("history.back()")
    page.until("document.querySelectorAll('.turn .took').length === 2")


def test_a_filter_is_offered_kept_and_told(page: Page, server: Running) -> None:
    opened(page, server, "#/notes/ask")
    page.click_on("[aria-controls=where-panel]")
    page.until("document.querySelectorAll('.keys .chip').length > 3")
    page.run("[...document.querySelectorAll('.keys .chip')].find(c => c.innerText === '2022').click()")
    assert page.run("document.getElementById('where').value") == "year = 2022"
    ask(page, "Who lives in North Bay?")
    titles = page.run("[...document.querySelectorAll('.turn .source .title')].map(t => t.innerText)")
    assert titles == ["Mary"]
    assert "where year = 2022" in page.text(".turn .took")
    page.run("document.getElementById('where').value = 'nosuchkey = 1'")
    ask(page, "Who lives in North Bay?")
    assert "no document has the key" in page.text(".turn:last-child .failure").lower()
    assert page.run("document.getElementById('question').value") == "Who lives in North Bay?", "it is not lost"
    assert page.errors.pop().startswith("Failed to load resource")  # the browser tells of every status that is an error


def test_a_fact_is_told_first_and_the_rest_is_folded(page: Page, tmp_path: Path) -> None:
    pages = FILMS.parents[1] / "world" / "pages"
    names = ("tidal-institute", "ilse-varn", "magnus-hask", "brennick", "ilse-varn-ship")
    build_index([pages / f"{name}.html" for name in names], tmp_path / "index", load_settings())
    with running(("world", tmp_path / "index")) as server:
        opened(page, server, "#/world/ask")
        page.until("document.querySelectorAll('#offers .offered button').length > 1")
        page.click_on("#offers .offered button")
        page.until("document.querySelector('.turn .took') !== null")
        assert page.run("document.querySelector('.turn .mark') !== null"), "what is offered can be answered"
        page.click_on("#fresh")
        ask(page, "Who founded the Tidal Institute?", "auto")
        assert page.text(".turn .short").endswith("Ilse Varn")
        assert "founded by Ilse Varn in 1902" in page.text(".turn .text > p")
        assert page.run("document.querySelectorAll('.turn .text > p').length") == 1
        assert not page.run("document.querySelector('.turn .text details').open")
        assert page.run("document.querySelectorAll('.turn .below .source').length") == 1
        ask(page, "Where was she born?", "auto")
        assert page.text(".turn:last-child .note") == "Understood as: Where was she born? (Ilse Varn)"
        ask(page, "Which moons has Jupiter?", "auto")
        page.click_on(".turn:last-child .below .chip")
        page.until("document.querySelector('#cited') !== null")
        page.requests[:] = [each for each in page.requests if not each.startswith(server.url)]
    clear(page)


def test_methods_are_compared_side_by_side(page: Page, server: Running) -> None:
    opened(page, server, "#/notes/compare?q=Who+met+Otto+Brand+in+Port+Alma%3F&methods=ppr,bm25,dense")
    page.click_on("#compare")
    page.until("document.querySelectorAll('.column .took').length === 3")
    assert page.run("[...document.querySelectorAll('.column h2')].map(h => h.innerText)") == ["ppr", "bm25", "dense"]
    tops = page.run("[...document.querySelectorAll('.column')].map(c => Math.round(c.getBoundingClientRect().top))")
    assert len(set(tops)) == 1, "beside each other"
    page.until("document.querySelector('.common') !== null")
    assert "Anna" in page.text(".common")
    page.click_on(".column .mark")
    page.until("document.querySelector('#cited') !== null")
    page.run("document.querySelector('.methods input[value=dense]').click()")
    page.run("document.querySelector('.methods input[value=bm25]').click()")
    page.click_on("#compare")
    assert "two methods or more" in page.text("#view-compare [role=status]")


def test_a_walk_is_seen_as_it_goes(page: Page, folder: Path) -> None:
    reply = "The region is Ostrava."
    with (
        FakeServer(latency=0.6) as fake,
        running(
            ("notes", folder), settings=load_settings(overrides={"llm": {"model": reply, "base_url": fake.url}})
        ) as slow,
    ):
        page.open(slow.url, address="/#/notes/ask", ready=READY)
        page.run(
            "window.seen = []; new MutationObserver(() => document.querySelector('.took')"
            " ?? seen.push(document.querySelectorAll('.steps li').length))"
            ".observe(document.getElementById('turns'), { childList: true, subtree: true })"
        )
        choose(page, "tog2")
        page.run("document.getElementById('question').focus()")
        page.type("Where was the director of Grey Heron born?")
        page.key("Enter")
        page.until("document.querySelector('.turn .took') !== null")
        assert len(set(page.run("seen"))) > 2, "steps came one after another, before the answer"
        assert page.run("document.querySelectorAll('.turn .drawing .node').length") > 2
        page.requests[:] = [each for each in page.requests if not each.startswith(slow.url)]
    clear(page)


def test_entities_are_found_and_lead_to_their_neighbours_and_passages(page: Page, server: Running) -> None:
    opened(page, server, "#/notes/entities")
    page.run("document.getElementById('entity-name').focus()")
    page.type("heron")
    page.until("document.querySelectorAll('.rows a').length === 1")
    page.key("ArrowDown")
    page.key("Enter")
    page.until("document.querySelector('.detail .drawing') !== null")
    assert page.text(".detail h2") == "Grey Heron"
    names = page.run("[...document.querySelectorAll('.detail .drawing .node text')].map(t => t.textContent)")
    assert {"Grey Heron", "Ada Mirren", "Otto Brand"} <= set(names)
    page.run("[...document.querySelectorAll('.detail .drawing a')].find(a => a.textContent.includes('Otto')).focus()")
    page.key("Enter")
    page.until("document.querySelector('.detail h2').innerText === 'Otto Brand'")
    page.until("document.querySelector('.passages .source mark') !== null")
    page.click_on(".passages .source")
    page.until("document.querySelector('#cited') !== null")
    assert "Otto Brand" in page.text("#cited")


def test_reports_the_map_documents_and_the_status_are_browsed(page: Page, server: Running) -> None:
    opened(page, server, "#/notes/reports")
    page.until("document.querySelector('.tree a') !== null")
    page.click_on(".tree a")
    page.until("document.querySelector('#view-reports .detail .findings') !== null")
    page.run("document.querySelector('.findings button.mark').click()")
    page.until("document.querySelector('#cited') !== null")
    assert page.run("document.querySelector('#why') === null"), "a report answers no question"
    page.run("[...document.querySelectorAll('#views a')].find(a => a.innerText === 'Map').click()")
    page.until("document.querySelector('#map-frame').contentDocument?.querySelector('#told h1') !== null")
    assert (
        page.run("document.querySelector('#map-frame').contentDocument.querySelector('#told h1').innerText") == "notes"
    )
    page.run("location.hash = '#/notes/map?entity=Grey Heron'")
    page.run("location.hash = '#/notes/documents'")
    page.until("document.querySelectorAll('#view-documents tbody tr').length === 7")
    page.run("document.getElementById('document-title').focus()")
    page.type("long")
    page.until("document.querySelectorAll('#view-documents tbody tr').length === 1")
    page.click_on("#view-documents tbody button")
    page.until("document.querySelector('.running') !== null")
    assert page.text("#drawer .kicker").upper().startswith("DOCUMENT")
    page.run("location.hash = '#/other/status'")
    page.until("document.querySelector('#view-status dl') !== null")
    page.until("document.querySelector('#view-status .waiting') === null")
    assert "No failure is recorded" in page.text("#view-status")
    assert page.run("document.getElementById('index').value") == "other"


def test_it_is_used_by_keys_alone(page: Page, server: Running) -> None:
    opened(page, server, "#/notes/ask?method=ppr")
    page.run("document.activeElement.blur()")
    page.key("Tab")
    assert page.run("document.activeElement.innerText") == "Skip to the content"
    page.key("Enter")
    assert page.run("document.activeElement.id") == "main"
    for _ in range(20):  # past the questions that are offered
        page.key("Tab")
        if page.run("document.activeElement.id") == "question":
            break
    assert page.run("document.activeElement.id") == "question"
    page.type("Who met Otto Brand in Port Alma?")
    page.key("Enter")
    page.until("document.querySelector('.took') !== null")
    assert page.run("document.querySelector('.text').getAttribute('aria-live')") == "polite"
    assert page.run("document.querySelector('.text').getAttribute('aria-busy')") == "false"
    assert page.text("#said").startswith("Answered from")
    page.run("document.querySelector('.mark').focus()")
    page.key("Enter")
    page.until("document.querySelector('#cited') !== null")
    assert page.run("document.activeElement.closest('#drawer') !== null")
    page.run("document.querySelector('#why summary').focus()")
    page.key("Enter")
    page.until("document.querySelector('.why table') !== null")
    page.key("Escape")
    assert page.run("document.activeElement.className") == "mark"


def test_everything_that_can_be_pressed_has_a_name(page: Page, server: Running) -> None:
    opened(page, server, "#/notes/ask")
    ask(page, "Who met Otto Brand in Port Alma?")
    page.click_on(".turn .mark")
    page.until("document.querySelector('#cited') !== null")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "link", "textbox", "combobox", "tab", "searchbox", "checkbox"}
    asked = [each for each in nodes if not each["ignored"] and each["role"]["value"] in roles]
    assert len(asked) > 15
    assert [each for each in asked if not each.get("name", {}).get("value")] == []


_PALE = """(() => {
    const channel = (c) => ((c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const ground = (e) => {
        for (; e; e = e.parentElement) {
            const found = numbers(getComputedStyle(e).backgroundColor);
            if (found.length < 4 || found[3] > 0.9) return found;
        }
        return [255, 255, 255];
    };
    const pale = [];
    for (const e of document.querySelectorAll("body *")) {
        const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        if (!own || !e.checkVisibility() || e.closest("svg, [disabled], .unseen, option")) continue;
        const [a, b] = [light(numbers(getComputedStyle(e).color)), light(ground(e))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) pale.push(`${e.className || e.localName}: ${contrast.toFixed(2)}`);
    }
    return pale;
})()"""


def test_on_a_phone_the_drawer_covers_the_page(page: Page, server: Running) -> None:
    opened(page, server, "#/notes/ask", 390, 844)
    ask(page, "Who met Otto Brand in Port Alma?")
    page.click_on(".turn .mark")
    page.until("document.querySelector('#cited') !== null")
    assert page.run("document.getElementById('drawer').getBoundingClientRect().width") == 390
    assert page.run("document.getElementById('main').inert"), "what it covers cannot be reached"
    page.key("Escape")
    assert not page.run("document.getElementById('main').inert")


def test_texts_that_mean_harm_do_none(page: Page, folder: Path) -> None:
    answer = f"{HOSTILE} [1] **<img src=x onerror=alert(1)>** `</script>` [javascript:harm()](javascript:harm())"
    with (
        FakeServer(lambda _: answer) as fake,
        running(
            ("notes", folder), settings=load_settings(overrides={"llm": {"model": HOSTILE, "base_url": fake.url}})
        ) as server,
    ):
        page.open(server.url, address="/#/notes/ask", ready=READY)
        ask(page, f"Where was Bo Harm? {HOSTILE}", "bm25")
        page.run("document.querySelector('.turn .mark, .turn .source')?.click()")
        page.run("location.hash = '#/notes/documents?doc=bad'")
        page.until("document.querySelector('#drawer dl') !== null")
        shown = HOSTILE.replace("\u202e", r"\u202e").replace("\x07", r"\u0007")
        assert page.text("#drawer h2") == shown
        assert shown in page.text("#drawer dl")
        page.run("location.hash = '#/notes/status'")
        page.until("document.querySelector('#view-status dl') !== null")
        for place in ("entities", "reports", "compare", "map"):
            page.run(f"location.hash = '#/notes/{place}?q=%3Cimg%20src=x%3E&name=%3Cimg&doc=%3Cimg%20src=x%3E'")
            page.until("document.querySelector('#main .view') !== null")
        assert (
            page.run("document.querySelectorAll('img, iframe:not(#map-frame), script:not([src^=\"/page/\"])').length")
            == 0
        )
        assert (
            page.run("[...document.querySelectorAll('a')].filter(a => !a.getAttribute('href').startsWith('#')).length")
            == 0
        )
        assert "harmed" not in page.run("document.title")
        page.requests[:] = [each for each in page.requests if not each.startswith(server.url)]
    clear(page)


def test_no_other_script_runs_and_nothing_else_is_asked(browser: Page, server: Running) -> None:
    clear(browser)
    opened(browser, server)
    browser.call(
        "Runtime.evaluate",
        expression="""(() => {
            const script = document.createElement("script"), button = document.createElement("button");
            for (const harm of [
                () => (script.textContent = "window.harmed = true"),
                () => document.body.append(script),
                () => button.setAttribute("onclick", "window.harmed = true"),
                () => document.body.append(button),
                () => button.click(),
                () => (document.body.innerHTML = "<img src=x onerror='window.harmed = true'>"),
                () => eval("window.harmed = true"),
            ]) try { harm(); } catch { /* refused, as it should be */ }
        })()""",
        allowUnsafeEvalBlockedByCSP=False,
    )
    assert browser.run("window.harmed") is None
    assert browser.run("document.getElementById('main') !== null"), "no text became markup"
    assert browser.run("fetch('http://localhost:9/').then(() => 'came', () => 'refused')") == "refused"
    assert any("Content Security Policy" in each for each in browser.errors)


def test_a_token_is_asked_for_and_kept_in_the_tab_only(browser: Page, folder: Path) -> None:
    with running(("notes", folder), callers=read_callers(None, {"CONSPECTUS_TOKEN": TOKEN}, CallerLimits())) as server:
        clear(browser)
        browser.open(server.url, address="/#/notes/ask", ready="document.querySelector('dialog[open]') !== null")
        assert browser.run("document.activeElement.id") == "token-field"
        browser.type("a wrong token, and a long one")
        browser.key("Enter")
        browser.until(
            "document.querySelector('dialog[open]') !== null && document.querySelector('#token-field').value === ''"
        )
        assert "does not know that token" in browser.text("dialog")
        browser.type(TOKEN)
        browser.key("Enter")
        browser.until(READY)
        ask(browser, "Who met Otto Brand in Port Alma?")
        assert "Anna Berg" in browser.text(".turn .text")
        assert browser.run("localStorage.length + document.cookie.length") == 0
        assert TOKEN not in browser.run("location.href")
    clear(browser)


def test_a_server_that_goes_away_is_told_and_asked_again(browser: Page, folder: Path) -> None:
    with running(("notes", folder)) as server:
        clear(browser)
        opened(browser, server, "#/notes/ask")
        choose(browser, "ppr")
    browser.run("document.getElementById('question').focus()")
    browser.type("Who met Otto Brand?")
    browser.key("Enter")
    browser.until("document.querySelector('.turn .failure button') !== null")
    assert "connection was lost" in browser.text(".turn .failure")
    assert browser.run("document.getElementById('question').value") == "Who met Otto Brand?"
    clear(browser)


def test_too_many_questions_are_told_with_when_to_try_again(browser: Page, folder: Path) -> None:
    with running(("notes", folder), callers=read_callers(None, {}, CallerLimits(questions_per_minute=1))) as server:
        clear(browser)
        opened(browser, server, "#/notes/ask")
        ask(browser, "Who met Otto Brand in Port Alma?")
        ask(browser, "Who met Otto Brand?")
        assert "Too many questions" in browser.text(".turn:last-child .failure")
        assert browser.run("/^Try again in \\d+ s$/.test(document.querySelector('.failure button').innerText)")
        assert browser.run("document.querySelector('.failure button').disabled")
    clear(browser)
