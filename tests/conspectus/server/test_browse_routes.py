"""Reading tables over HTTP: pages, immutable addresses, and what is not there."""

import pytest

from tests.conspectus.server.running import Running


def test_a_list_comes_in_pages_of_one_version(server: Running) -> None:
    everything = server.client.get("/v1/indexes/notes/entities").json()
    assert everything["total"] == len(everything["rows"]) > 4
    rows, address = [], "/v1/indexes/notes/entities?limit=3"
    while address:
        page = server.client.get(address).json()
        rows += page["rows"]
        address = page["next"]
        assert address is None or f"/versions/{server.indexes[0].version}/" in address
    assert rows == everything["rows"]


def test_an_address_with_its_version_may_be_kept_and_one_without_is_asked_again(server: Running) -> None:
    version = server.indexes[0].version
    fixed = server.client.get(f"/v1/indexes/notes/versions/{version}/status")
    assert "immutable" in fixed.headers["cache-control"]
    latest = server.client.get("/v1/indexes/notes/status")
    assert "no-cache" in latest.headers["cache-control"]
    assert latest.json() == fixed.json()
    assert latest.headers["conspectus-version"] == version
    again = server.client.get("/v1/indexes/notes/status", headers={"if-none-match": latest.headers["etag"]})
    assert again.status_code == 304
    assert not again.content
    other = server.client.get("/v1/indexes/notes/versions/000000000000/status")
    assert other.status_code == 404


@pytest.mark.parametrize(
    "path",
    ["documents/none", "documents/../../etc/passwd", "entities/none", "reports/none", "nothing", "reports?level=c77"],
)
def test_what_is_not_there_is_one_error(server: Running, path: str) -> None:
    got = server.client.get(f"/v1/indexes/notes/{path}")
    assert got.status_code == (400 if "?" in path else 404)
    assert got.json()["error"]["message"]


def test_the_health_tells_when_it_is_ready(server: Running) -> None:
    assert server.client.get("/livez").text == "ok\n"
    assert server.client.get("/readyz").status_code == 200
    server.indexes[0].ready = False
    assert (
        server.client.get("/readyz").status_code == 503 or server.indexes[0].ready
    )  # it is loaded again within a second
