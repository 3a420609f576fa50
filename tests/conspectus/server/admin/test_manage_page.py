"""The administrator's view of the page in a real browser: add, estimate, build, ask, remove."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.fake_server import FakeServer
from tests.conspectus.map.chromium import PROGRAM, Page, chromium
from tests.conspectus.server.admin.test_admin_routes import ADMIN, ASKED, NEW, OFFLINE, callers, slow_server
from tests.conspectus.server.running import Running, build, running
from tests.conspectus.server.test_page import _PALE, READY, ask, clear
from tests.waiting import HELD

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium: apt-get install chromium")

QUIET = "document.querySelector('#stop') === null && document.querySelector('.spinner') === null"
HOSTILE_FILE = "<img src=x onerror=alert(1)>.txt"


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with chromium() as page:
        yield page


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(("notes", build(tmp_path)), settings=OFFLINE, callers=callers(), token=ADMIN) as found:
        yield found


def signed_in(page: Page, server: Running, address: str = "#/notes/manage", token: str = ADMIN) -> None:
    """Open the page with a token."""
    clear(page)
    page.open(server.url, address=f"/{address}", ready="document.querySelector('dialog[open]') !== null")
    page.type(token)
    page.key("Enter")
    page.until(READY)


def choose_files(page: Page, *files: Path) -> None:
    """Choose files in the dialog of the system."""
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    field = page.call("DOM.querySelector", nodeId=root, selector="#files")["nodeId"]
    page.call("DOM.setFileInputFiles", files=[str(file) for file in files], nodeId=field)


def estimate_and_build(page: Page) -> None:
    page.until("document.querySelector('#estimate') !== null")
    page.click_on("#estimate")
    page.until("document.querySelector('#build') !== null")
    assert "costs nothing" in page.text("#price"), "before the build"
    page.settled()
    page.run(
        "window.most = 0;"
        "new MutationObserver(() => most = Math.max(most, document.querySelectorAll('.job-steps li').length))"
        ".observe(document.getElementById('progress'), { childList: true, subtree: true })"
    )
    before = page.run("document.querySelectorAll('.jobs li').length")
    page.click_on("#build")
    page.until(f"document.querySelectorAll('.jobs li').length === {before + 1} && {QUIET}")
    assert page.run("most") > 2, "its steps were shown"


def test_a_person_adds_a_document_asks_about_it_and_removes_it(browser: Page, server: Running, tmp_path: Path) -> None:
    page = browser
    (tmp_path / "light house.txt").write_text(NEW)
    (tmp_path / "picture.gif").write_bytes(b"x")
    signed_in(page, server)
    page.until("document.querySelector('#waiting *') !== null")
    choose_files(page, tmp_path / "light house.txt", tmp_path / "picture.gif")
    page.until("document.querySelector('.arriving .lost') !== null")
    assert "picture.gif: Not taken" in page.text(".arriving")
    page.until("document.querySelector('#waiting tbody') !== null")
    assert "light house.txt" in page.text("#waiting")
    estimate_and_build(page)
    assert page.text(".jobs li").startswith("Build: done")
    page.run("location.hash = '#/notes/ask'")
    page.until("document.querySelector('#question') !== null")
    ask(page, ASKED)
    page.click_on(".turn .mark")
    page.until("document.querySelector('#cited') !== null")
    assert "Mary Quill" in page.text("#cited")
    assert page.text("#drawer h2") == "light house"

    page.run("location.hash = '#/notes/documents'")
    page.until("document.querySelectorAll('#view-documents tbody tr').length === 5")
    remove = "[...document.querySelectorAll('tbody button')].find(b => b.ariaLabel === 'Remove light house')"
    page.until(f"(() => {{ const button = {remove}; button?.click(); return button !== undefined }})()")
    page.until("document.querySelector('#view-documents a[href*=manage]') !== null")
    page.run("location.hash = '#/notes/manage'")
    page.until("document.querySelector('#waiting tbody') !== null")
    assert "remove\tlight house" in page.text("#waiting")
    estimate_and_build(page)
    page.run("location.hash = '#/notes/ask'")
    page.until("document.querySelector('#question') !== null")
    ask(page, ASKED)
    assert "do not know" in page.text(".turn:last-child .text")
    wrong = [each for each in page.errors if not any(status in each for status in ("401", "415"))]
    assert wrong == [], "the browser tells of every status that is an error"
    assert {each for each in page.requests if not each.startswith((server.url, "about:", "data:"))} == set()
    assert page.run("localStorage.length + document.cookie.length") == 0


def test_a_file_is_dropped_and_its_name_is_text(browser: Page, server: Running) -> None:
    signed_in(browser, server)
    browser.until("document.querySelector('#waiting *') !== null")
    name = HOSTILE_FILE.translate(dict.fromkeys(map(ord, "<>"), "&"))
    files = f"[new File(['{NEW}'], {json.dumps(name)}), new File(['x'], {json.dumps(HOSTILE_FILE)})]"
    browser.run(
        f"""(() => {{
            const data = new DataTransfer();
            for (const file of {files}) data.items.add(file);
            const event = new DragEvent("drop", {{ dataTransfer: data, bubbles: true, cancelable: true }});
            document.querySelector(".drop").dispatchEvent(event);
        }})()"""
    )
    browser.until("document.querySelector('#waiting tbody') !== null && document.querySelector('.lost') !== null")
    assert name in browser.text("#waiting")
    assert HOSTILE_FILE in browser.text(".arriving"), "refused, and shown as text"
    assert browser.run("document.querySelectorAll('main img').length") == 0
    browser.click_on("#waiting button")
    browser.until("document.querySelector('#waiting tbody') === null")
    assert "Nothing waits" in browser.text("#waiting")


def test_a_reader_has_no_desk_and_a_server_without_administrator_no_view(
    browser: Page, server: Running, notes: Path
) -> None:
    signed_in(browser, server, token="a-reader-of-16-bytes")  # noqa: S106
    browser.until("document.querySelector('#admin-token') !== null")
    assert browser.run("document.querySelector('.desk').hidden")
    browser.run("document.getElementById('admin-token').focus()")
    browser.type("a-reader-of-16-bytes")
    browser.key("Enter")
    browser.until("document.querySelector('#view-manage [role=alert]').checkVisibility()")
    browser.run("document.getElementById('admin-token').value = ''")
    browser.type(ADMIN)
    browser.key("Enter")
    browser.until("!document.querySelector('.desk').hidden")
    with running(("notes", notes)) as readers:
        browser.open(readers.url, address="/#/notes/ask", ready=READY)
        assert "Manage" not in browser.text("#views")
    clear(browser)


def test_a_folder_is_followed_and_the_page_shows_what_that_does(browser: Page, tmp_path: Path) -> None:
    page, docs = browser, tmp_path / "papers"
    docs.mkdir()
    (docs / "mill.txt").write_text("Ida Moss painted the mill.", "utf-8")
    admin = {"settings": OFFLINE, "callers": callers(), "token": ADMIN, "documents": str(docs)}
    with running(("notes", build(tmp_path)), **admin) as server:  # type: ignore[arg-type]
        signed_in(page, server)
        page.until("document.querySelector('#follow') !== null")
        assert "The folder papers is not followed" in page.text("#folder")
        page.run("document.querySelector('#follow').focus()")
        page.key("Enter")
        page.until("document.querySelector('#follow')?.innerText === 'Follow it no longer'")
        assert page.run("document.activeElement.id") == "follow"
        page.until(f"document.querySelectorAll('.jobs .done').length === 1 && {QUIET}")
        assert page.text(".jobs li").startswith("Update to the folder: done")
        (docs / "harbour.txt").write_text(NEW, "utf-8")
        page.until(f"document.querySelectorAll('.jobs .done').length === 2 && {QUIET}")
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
        page.click_on("#follow")
        page.until("document.querySelector('#folder').innerText.includes('is not followed')")
        assert [each for each in page.errors if "401" not in each] == []
    clear(page)


def test_it_is_used_by_keys_read_aloud_and_fits_a_phone_in_light_and_dark(browser: Page, tmp_path: Path) -> None:
    with FakeServer() as fake:
        root, settings = slow_server(tmp_path, fake)
        with running(("notes", root), settings=settings, callers=callers(), token=ADMIN) as server:
            use_by_keys(browser, server, fake, tmp_path)


def use_by_keys(page: Page, server: Running, fake: FakeServer, tmp_path: Path) -> None:
    (tmp_path / "light.txt").write_text(NEW)
    signed_in(page, server)
    choose_files(page, tmp_path / "light.txt")
    page.until("document.querySelector('#estimate') !== null")
    page.until("document.getElementById('said').innerText === '1 file to be added.'")
    for width, dark in ((1280, False), (390, True)):
        page.open(server.url, width, 844, dark=dark, address="/#/notes/manage", ready=READY)
        page.until("document.querySelector('#estimate') !== null")
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
        assert page.run("document.getElementById('main').scrollWidth <= innerWidth")
        assert page.run(_PALE) == []
        nodes = page.call("Accessibility.getFullAXTree")["nodes"]
        asked = [each for each in nodes if not each["ignored"] and each["role"]["value"] in {"button", "searchbox"}]
        assert len(asked) >= 3
        assert [each for each in asked if not each.get("name", {}).get("value")] == []
    page.run("document.querySelector('#view-manage h1').focus()")
    page.key("Tab")
    assert page.run("document.activeElement.id") == "files"
    page.run("document.getElementById('estimate').focus()")
    page.key("Enter")
    page.until("document.querySelector('#build') !== null")
    page.until("document.getElementById('said').innerText === 'Estimate: done.'")
    fake.change(latency=HELD)  # a build that lasts until it is stopped
    page.run("document.getElementById('build').focus()")
    page.key("Enter")
    page.until("document.querySelector('#stop') !== null")
    page.until("document.activeElement.id === 'stop'")
    page.key("Enter")
    page.until("document.querySelector('.jobs .stopped') !== null")
    page.until("document.getElementById('said').innerText === 'Build: stopped.'")
    fake.change(latency=0.0)
    page.until("document.querySelector('#waiting tbody') !== null && document.querySelector('#estimate') !== null")
    page.run("document.querySelector('#estimate').focus()")
    page.key("Enter")
    page.until("document.querySelector('#build') !== null")
    page.run("document.querySelector('#build').focus()")
    page.key("Enter")
    page.until(f"document.querySelector('.jobs .done') !== null && {QUIET}")
