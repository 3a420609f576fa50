"""Pictures of each view of the page, on a laptop and on a phone, light and dark, over a real index.

Each is checked for what a person would see at once: something that sticks out, texts over each other, pale texts.
`PAGE_PICTURES=FOLDER pytest tests/conspectus/server/test_pictures.py` also writes the pictures, to be looked at.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.storage.settings import load_settings

from tests.conftest import write_rows
from tests.conspectus.map.chromium import PROGRAM, Page, chromium
from tests.conspectus.server.admin.test_admin_routes import ADMIN, callers
from tests.conspectus.server.admin.test_manage_page import signed_in
from tests.conspectus.server.running import Running, running
from tests.conspectus.server.test_page import _PALE, READY, ask

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium: apt-get install chromium")

EXAMPLES = Path(__file__).parents[3] / "examples"
ROWS = [
    {"id": "guide", "title": "Harbour guide", "text": "Mary Quill was born in 1870 in North Bay.", "year": 1990},
    {"id": "mail", "title": "Letters", "text": "Mary Quill was born in 1874 in Marrow. She left.", "year": 1995},
]
"""Two documents that contradict each other."""
QUESTION = "Who built the harbour of Tarn?"
SIZES = {"laptop": (1440, 900), "phone": (390, 844)}
VIEWS = {
    "welcome": ("ask", "document.querySelectorAll('#offers a').length > 0"),
    "answer": ("ask?method=ppr", "document.querySelector('.turn .took') !== null"),
    "document": ("", "document.querySelector('#cited') !== null"),
    "why": ("", "document.querySelector('.why .drawing') !== null"),
    "compare": ("compare?methods=auto,bm25,ppr&q=", "document.querySelector('.common p') !== null"),
    "entities": ("entities", "document.querySelectorAll('.rows a').length > 0"),
    "entity": ("entities?id=Mary+Quill", "document.querySelector('.passages .source') !== null"),
    "reports": ("reports", "document.querySelector('.tree a') !== null"),
    "report": ("", "document.querySelector('#view-reports .detail .findings') !== null"),
    "map": ("map", "document.querySelector('#map-frame').contentDocument?.querySelector('#told h1') !== null"),
    "documents": ("documents", "document.querySelector('#view-documents tbody tr') !== null"),
    "conflicts": ("conflicts", "document.querySelectorAll('#view-conflicts .source').length === 2"),
    "status": ("status", "document.querySelector('#view-status dl') !== null"),
    "manage": ("manage", "document.querySelector('#waiting *') !== null"),
}
"""Views by name: the address, "" if the view before leads to it by a click, and what is true when it is there."""
CLICKS = {"document": ".turn .mark", "why": "#why summary", "report": ".tree a"}
BROKEN = """[...document.querySelectorAll("button, th, label, summary")].filter((each) => {
    const range = document.createRange();
    const text = [...each.childNodes].find((node) => node.nodeType === 3 && /^\\s*\\S+\\s*$/.test(node.data));
    if (!text || !each.checkVisibility()) return false;
    range.selectNodeContents(text);
    return new Set([...range.getClientRects()].map((box) => box.top)).size > 1;
}).map((each) => each.innerText)"""
"""Names of one word that are broken over lines."""
OVER = """(() => {
    const seen = [], found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const node = texts.currentNode, parent = node.parentElement, range = document.createRange();
        if (!node.data.trim() || !parent.checkVisibility() || parent.closest(".unseen, option, script")) continue;
        range.selectNodeContents(node);
        for (const box of range.getClientRects()) {
            const there = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
            const own = there && (parent.contains(there) || (there.closest("svg") && there.contains(parent)));
            if (own) seen.push([box, parent, node.data.trim().slice(0, 40)]);
        }
    }
    seen.sort(([a], [b]) => a.top - b.top);
    for (const [row, [a, one, text]] of seen.entries()) {
        for (const [b, other, covered] of seen.slice(row + 1)) {
            if (b.top >= a.bottom - 3) break;
            const w = Math.min(a.right, b.right) - Math.max(a.left, b.left), h = Math.min(a.bottom, b.bottom) - b.top;
            if (one !== other && w > 3 && h > 3) found.push(`${text} | ${covered}`);
        }
    }
    return found;
})()"""
"""Pairs of texts that lie over each other and are both seen."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = tmp_path_factory.mktemp("pictures")
    write_rows(made / "rows.jsonl", ROWS)
    pages = sorted((EXAMPLES / "world" / "pages").glob("*.html"))[:12]
    sources = [EXAMPLES / "films" / "pages", EXAMPLES / "office" / "manual.md", made / "rows.jsonl", *pages]
    settings = load_settings(overrides={"kg": {"files": [str(EXAMPLES / "films" / "kg.tsv")]}})
    build_index(sources, made / "index", settings)
    with running(("films", made / "index"), settings=settings, callers=callers(), token=ADMIN) as found:
        yield found


@pytest.fixture(scope="module")
def page(server: Running) -> Iterator[Page]:
    """A page with the token of an administrator, who sees every view."""
    with chromium() as found:
        signed_in(found, server, "#/films/ask")
        found.errors.clear()  # the browser tells of the status 401 before the token was given
        yield found


def show(page: Page, server: Running, view: str, size: str) -> None:
    """Bring a view to the screen; those without an address of their own follow the one before."""
    address, ready = VIEWS[view]
    if address:
        page.open(server.url, *SIZES[size], address=f"/#/films/{address}", ready=READY)
    if view == "answer":
        ask(page, QUESTION)
        page.run("document.activeElement.blur()")
    elif view == "compare":
        page.run(f"document.getElementById('compared').value = {QUESTION!r}")
        page.click_on("#compare")
    elif view in CLICKS:
        page.click_on(CLICKS[view])
    page.until(f"{ready} && document.querySelector('.spinner') === null")
    page.settled()


@pytest.mark.parametrize("size", SIZES)
def test_every_view_fits_and_is_legible(page: Page, server: Running, size: str) -> None:
    folder = os.environ.get("PAGE_PICTURES")
    wrong: dict[str, object] = {}
    for view in VIEWS:
        show(page, server, view, size)
        for place in ("document.documentElement", "document.getElementById('main')"):
            wrong[f"{view}: {place} is wider than the screen"] = page.run(f"{place}.scrollWidth > innerWidth")
        wrong[f"{view}: no heading"] = not page.text("#main h1")
        wrong[f"{view}: texts over each other"] = page.run(OVER)
        wrong[f"{view}: broken words"] = page.run(BROKEN)
        for mode in ("light", "dark"):
            page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": mode}])
            page.settled()
            wrong[f"{view}, {mode}: pale"] = page.run(_PALE)
            if folder:
                page.picture(Path(folder) / f"{view}-{size}-{mode}.png")
    assert {name: found for name, found in wrong.items() if found} == {}
    assert page.errors == []
