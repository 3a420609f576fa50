"""Take the pictures of the page in the docs, with a browser: `python -m docs.pictures`."""

from pathlib import Path
from tempfile import TemporaryDirectory

from conspectus.pipelines.build_index import build_index
from conspectus.server.tokens import Callers
from conspectus.storage.settings import load_settings

from benchmarks.fake_server import FakeServer
from tests.conspectus.map.chromium import chromium
from tests.conspectus.server.admin.test_admin_routes import ADMIN
from tests.conspectus.server.admin.test_manage_page import choose_files
from tests.conspectus.server.running import running
from tests.conspectus.server.test_page import READY, ask

EXAMPLES, IMAGES = Path(__file__).parents[1] / "examples", Path(__file__).parent / "images"


def take_page(folder: Path) -> None:
    """Take those of asking and browsing, over an index that is made in a folder."""
    changes = {"kg": {"files": [str(EXAMPLES / "graph" / "kg.tsv")]}}
    with chromium() as page:
        build_index([EXAMPLES / "world" / "pages"], folder / "index", load_settings(overrides=changes))
        with running(("world", folder / "index")) as server:
            page.open(server.url, 1280, 800, address="/#/world/ask", ready=READY)
            ask(page, "Who directed the film shot at Marrow, Vey in 1962?")
            page.click_on(".turn .mark")
            page.until("document.querySelector('#cited') !== null")
            page.picture(IMAGES / "page-ask.webp")
            page.click_on("#why summary")
            page.until("document.querySelector('.why .drawing') !== null")
            page.picture(IMAGES / "page-why.webp")
            page.open(server.url, 1280, 800, dark=True, address="/#/world/entities?id=Brennick", ready=READY)
            page.until("document.querySelector('.passages') !== null")
            page.picture(IMAGES / "page-entity.webp")
            page.open(server.url, 390, 800, address="/#/world/ask", ready=READY)
            ask(page, "Who directed the film shot at Marrow, Vey in 1962?")
            page.run("document.activeElement.blur()")
            page.picture(IMAGES / "page-phone.webp")
    for name in ("ask", "why", "entity", "phone"):
        assert (IMAGES / f"page-{name}.webp").stat().st_size < 150_000


def take_administration(folder: Path) -> None:
    """Take those of administration, over an index that is made in a folder."""
    pages = sorted((EXAMPLES / "world" / "pages").glob("*.html"))
    with FakeServer() as fake, chromium() as page:
        model = {
            "model": "gpt-4o-mini",
            "base_url": fake.url,
            "prices": {"gpt-4o-mini": {"input": 0.15, "output": 0.6}},
        }
        settings = load_settings(overrides={"llm": model})
        build_index(pages[:4], folder / "index", settings)
        callers = Callers({}, admin_token=ADMIN)
        with running(("world", folder / "index"), settings=settings, callers=callers, token=ADMIN) as server:
            page.open(server.url, 1280, 900, address="/#/world/manage", ready=READY)
            page.until("document.querySelector('#admin-token') !== null")
            page.run("document.getElementById('admin-token').focus()")
            page.type(ADMIN)
            page.key("Enter")
            page.until("document.querySelector('#waiting *') !== null")
            choose_files(page, *pages[4:8])
            page.until("document.querySelectorAll('#waiting tbody tr').length === 4")
            page.until("document.querySelector('#estimate') !== null")
            page.click_on("#estimate")
            page.until("document.querySelector('#build') !== null")
            page.run("document.activeElement.blur(); document.getElementById('main').scrollTo(0, 0)")
            page.picture(IMAGES / "page-manage.webp")
            page.open(server.url, 1280, 900, dark=True, address="/#/world/manage", ready=READY)
            page.until("document.querySelector('#build') !== null")
            page.click_on("#build")
            page.until("document.querySelectorAll('.job-steps li').length > 5")
            page.run("document.activeElement.blur(); document.getElementById('next').scrollIntoView()")
            page.picture(IMAGES / "page-build.webp")
            page.until("document.querySelector('.jobs .done') !== null")
    for name in ("manage", "build"):
        assert (IMAGES / f"page-{name}.webp").stat().st_size < 150_000


if __name__ == "__main__":
    for take in (take_page, take_administration):
        with TemporaryDirectory() as place:
            take(Path(place))
