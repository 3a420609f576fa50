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


def test_a_document_and_a_span_of_it(server: Running) -> None:
    whole = server.client.get("/v1/indexes/notes/documents/secret/plan.md").json()
    assert whole["text"].startswith("The Zebra Plan")
    span = server.client.get("/v1/indexes/notes/documents/secret/plan.md?start=4&end=9").json()
    assert span["text"] == "Zebra"
    assert [row["id"] for row in server.client.get("/v1/indexes/notes/documents").json()["rows"]] == [
        "a",
        "b",
        "c",
        "secret/plan.md",
    ]


def test_an_entity_with_what_is_beside_it(server: Running) -> None:
    by_name = server.client.get("/v1/indexes/notes/entities/Port Alma").json()
    assert by_name == server.client.get(f"/v1/indexes/notes/entities/{by_name['id']}").json()
    assert {"name": "Otto Brand", "passages": 2}.items() <= by_name["beside"][0].items()
    assert server.client.get(f"/v1/indexes/notes/entities/{by_name['id']}/neighbours").json()["rows"] == []


def test_reports_methods_versions_and_failures(server: Running) -> None:
    rows = server.client.get("/v1/indexes/notes/reports?level=c0").json()["rows"]
    full = server.client.get(f"/v1/indexes/notes/reports/{rows[0]['community_id']}").json()
    assert full["findings"]
    assert full["citations"]
    assert "ppr" in {row["name"] for row in server.client.get("/v1/methods").json()}
    assert server.client.get("/v1/versions").json()["indexes"] == {"notes": server.indexes[0].version}
    assert server.client.get("/v1/indexes").json()[0]["name"] == "notes"
    assert server.client.get("/v1/indexes/notes/failures").json()["total"] == 0


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


def test_passages_by_id_keys_to_filter_by_and_the_map(server: Running) -> None:
    base = "/v1/indexes/notes"
    found = server.client.get(f"{base}/entities/Mary Quill").json()
    ids = [*found["chunk_ids"], "there is no such chunk"]
    (passage,) = server.client.get(f"{base}/passages", params={"chunk": ids}).json()
    document = server.client.get(f"{base}/documents/c?start={passage['start']}&end={passage['end']}").json()
    assert passage["text"] == document["text"]
    assert "Mary Quill" in passage["text"]
    keys = {row["key"]: row for row in server.client.get(f"{base}/metadata").json()}
    assert keys["year"]["documents"] == 4
    assert "2022" in keys["year"]["values"]
    content = server.client.get(f"{base}/map").json()
    assert content["map"]["title"] == "notes"
    assert "Mary Quill" in content["map"]["entities"]["name"]
    titled = server.client.get(f"{base}/documents?title=OTT").json()
    assert [row["title"] for row in titled["rows"]] == ["Otto"]
