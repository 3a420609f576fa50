"""The pictures of the page in the docs, taken on request: CONSPECTUS_SCREENSHOTS=1 pytest FILE."""

import os
from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.server.tokens import Callers
from conspectus.storage.settings import load_settings

from benchmarks.fake_server import FakeServer
from tests.conspectus.map.chromium import chromium
from tests.conspectus.server.admin.test_admin_routes import ADMIN
from tests.conspectus.server.admin.test_manage_page import choose_files
from tests.conspectus.server.running import running
from tests.conspectus.server.test_page import READY, ask


@pytest.mark.skipif("CONSPECTUS_SCREENSHOTS" not in os.environ, reason="only on request: it writes docs/images")
def test_the_pictures_of_the_docs_are_taken(tmp_path: Path) -> None:
    images, examples = Path(__file__).parents[3] / "docs" / "images", Path(__file__).parents[3] / "examples"
    changes = {"kg": {"files": [str(examples / "graph" / "kg.tsv")]}}
    build_index([examples / "world" / "pages"], tmp_path / "index", load_settings(overrides=changes))
    with running(("world", tmp_path / "index")) as server, chromium() as page:
        page.open(server.url, 1280, 800, address="/#/world/ask", ready=READY)
        ask(page, "Who directed the film shot at Marrow, Vey in 1962?")
        page.click_on(".turn .mark")
        page.until("document.querySelector('#cited') !== null")
        page.picture(images / "page-ask.webp")
        page.click_on("#tab-1")
        page.until("document.querySelector('.why .drawing') !== null")
        page.picture(images / "page-why.webp")
        page.open(server.url, 1280, 800, dark=True, address="/#/world/entities?id=Brennick", ready=READY)
        page.until("document.querySelector('.passages') !== null")
        page.picture(images / "page-entity.webp")
        page.open(server.url, 390, 800, address="/#/world/ask", ready=READY)
        ask(page, "Who directed the film shot at Marrow, Vey in 1962?")
        page.run("document.activeElement.blur()")
        page.picture(images / "page-phone.webp")
    for name in ("ask", "why", "entity", "phone"):
        assert (images / f"page-{name}.webp").stat().st_size < 150_000


@pytest.mark.skipif("CONSPECTUS_SCREENSHOTS" not in os.environ, reason="only on request: it writes docs/images")
def test_the_pictures_of_administration_are_taken(tmp_path: Path) -> None:
    images, examples = Path(__file__).parents[3] / "docs" / "images", Path(__file__).parents[3] / "examples"
    pages = sorted((examples / "world" / "pages").glob("*.html"))
    with FakeServer() as fake, chromium() as page:
        model = {
            "model": "gpt-4o-mini",
            "base_url": fake.url,
            "prices": {"gpt-4o-mini": {"input": 0.15, "output": 0.6}},
        }
        settings = load_settings(overrides={"llm": model})
        build_index(pages[:4], tmp_path / "index", settings)
        callers = Callers({}, admin_token=ADMIN)
        with running(("world", tmp_path / "index"), settings=settings, callers=callers, token=ADMIN) as server:
            page.open(server.url, 1280, 900, address="/#/world/manage", ready=READY)
            page.until("document.querySelector('#admin-token') !== null")
            page.run("document.getElementById('admin-token').focus()")
            page.type(ADMIN)
            page.key("Enter")
            page.until("document.querySelectorAll('#held tbody tr').length === 4")
            choose_files(page, *pages[4:8])
            page.until("document.querySelectorAll('#waiting tbody tr').length === 4")
            page.until("document.querySelector('#estimate') !== null")
            page.click_on("#estimate")
            page.until("document.querySelector('#build') !== null")
            page.run("document.activeElement.blur(); document.getElementById('main').scrollTo(0, 0)")
            page.picture(images / "page-manage.webp")
            page.open(server.url, 1280, 900, dark=True, address="/#/world/manage", ready=READY)
            page.until("document.querySelector('#build') !== null")
            page.click_on("#build")
            page.until("document.querySelectorAll('.job-steps li').length > 5")
            page.run("document.activeElement.blur(); document.getElementById('next').scrollIntoView()")
            page.picture(images / "page-build.webp")
            page.until("document.querySelector('.jobs .done') !== null")
    for name in ("manage", "build"):
        assert (images / f"page-{name}.webp").stat().st_size < 150_000
