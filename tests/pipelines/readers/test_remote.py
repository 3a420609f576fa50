import gzip
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from conspectus.pipelines.readers import remote
from conspectus.pipelines.readers.discover import find_files
from conspectus.pipelines.readers.object_store import shown
from conspectus.pipelines.readers.remote import is_url
from conspectus.pipelines.steps.documents import read_documents
from conspectus.storage.errors import InputError, MissingPart
from conspectus.storage.settings import InputSettings

from tests.pipelines.remote_index.stores import Server, delete, objects_of, on_server, put

SETTINGS = InputSettings()
SECRET = "hunter2"
PAGES: dict[str, tuple[int, str, bytes]] = {
    "/docs/a.txt": (200, "application/octet-stream", b"Text of a."),
    "/b.txt": (200, "text/plain", b"Text of b."),
    "/St._Louis": (200, "text/html; charset=utf-8", b"<title>City</title><p>St. Louis is a city.</p>"),
    "/": (200, "text/html", b"<p>The front page.</p>"),
    "/naïve page.txt": (200, "text/plain", b"Spaces."),
    "/sound": (200, "audio/mpeg", b"beep"),
    "/closed.txt": (403, "text/plain", b"no"),
    "/broken.txt": (500, "text/plain", b"no"),
    "/long.txt": (200, "text/plain", b"x" * 5_000),
    "/packed.txt": (200, "text/plain", b"x" * 5_000),
    "/packed.txt.gz": (200, "text/plain", b"A file that is packed itself."),
}


class Pages(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        from urllib.parse import unquote, urlsplit

        path = unquote(urlsplit(self.path).path)
        if path == "/moved.txt":
            self.send_response(302)
            self.send_header("Location", "/b.txt")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if path == "/silent.txt":
            self.server.stopped.wait(20)  # type: ignore[attr-defined]
            self.close_connection = True
            return
        if path == "/cut.txt":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"half")
            self.close_connection = True
            return
        status, kind, content = PAGES.get(path, (404, "text/plain", b"none"))
        packed = path.startswith("/packed")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        content = gzip.compress(content) if packed else content
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A web server on this machine, as host:port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as serving:
        serving.stopped = threading.Event()  # type: ignore[attr-defined]
        threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{serving.server_port}"
        serving.stopped.set()  # type: ignore[attr-defined]
        serving.shutdown()


@pytest.fixture(scope="module")
def s3() -> Iterator[Server]:
    running = Server()
    yield running
    running.process.kill()
    running.process.wait()


@pytest.fixture
def bucket(s3: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bucket of a real S3 server with documents in a folder."""
    on_server(s3.url, monkeypatch)
    url = f"s3://{tmp_path.name.strip('_').replace('_', '-')[:40].lower()}"
    s3.make_bucket(url.removeprefix("s3://"))
    for name, content in {
        "a.txt": b"A.",
        "sub/b.csv": b"id,text\n1,Row.\n",
        "sub/.hidden.txt": b"no",
        "sub/__MACOSX/c.txt": b"no",
        "sub/bad.pdf": b"no PDF",
        "photo.gif": b"\xff\xd8\xff",
    }.items():
        put(f"{url}/docs", name, content)
    return url


def read(*inputs: str | Path, settings: InputSettings = SETTINGS) -> tuple[dict[str, str], dict[str, str]]:
    documents, failures = read_documents(inputs, settings)
    assert SECRET not in repr((documents, failures))
    return {each.uri: each.text for each in documents}, {each.item_id: each.reason for each in failures}


def test_a_folder_behind_a_url_is_read_as_one_on_disk(bucket: str, s3: Server, tmp_path: Path) -> None:
    expected = {"a.txt": "A.", "sub/b.csv#1": "Row."}
    httpx.put(f"{s3.url}/{bucket.removeprefix('s3://')}/docs/sub/").raise_for_status()  # a mark of a folder
    for url in (f"{bucket}/docs", f"{bucket}/docs/"):
        texts, failures = read(url)
        assert (texts, sorted(failures)) == (expected, ["photo.gif", "sub/bad.pdf"])
        assert failures["photo.gif"] == "unsupported format .gif"
    assert set(read(bucket)[0]) == {"docs/a.txt", "docs/sub/b.csv#1"}
    assert read(f"{bucket}/docs/a.txt") == ({"a.txt": "A."}, {})
    assert set(read(f"{bucket}/docs", f"{bucket}/docs/a.txt", f"{bucket}/docs/sub")[0]) == set(expected)
    (tmp_path / "a.txt").write_text("Here.")
    texts, _ = read(f"{bucket}/docs", tmp_path / "a.txt")
    assert sorted(texts.values()) == ["A.", "Here.", "Row."]
    assert set(texts) > {"a.txt", "sub/b.csv#1"}


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("docs/*.txt", ["a.txt"]),
        ("docs/**/*.csv", ["sub/b.csv#1"]),
        ("docs/**/*.txt", ["a.txt"]),
        ("**/b.csv", ["docs/sub/b.csv#1"]),
        ("docs/s*", ["sub/b.csv#1"]),
        ("docs/s*/.hidden*", ["sub/.hidden.txt"]),
        ("d[a-o]cs/?.txt", ["docs/a.txt"]),
    ],
)
def test_wildcards_are_those_of_a_folder_on_disk(pattern: str, found: list[str], bucket: str, tmp_path: Path) -> None:
    for name, content in objects_of(f"{bucket}/docs").items():
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_bytes(content)
    assert list(read(f"{bucket}/{pattern}")[0]) == found == list(read(str(tmp_path / pattern))[0])


def test_names_are_taken_as_they_are(bucket: str) -> None:
    names = ["100%.txt", "a b/ü.txt", "e%20f.txt", "q?.txt", "st*r.txt", "x[1].txt"]
    for name in names:
        put(f"{bucket}/odd", name, name.encode())
    assert read(f"{bucket}/odd")[0] == {name: name for name in names}
    assert all(read(f"{bucket}/odd/{name}")[0] == {name.rpartition("/")[2]: name} for name in names)


def test_file_urls_are_paths(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("Here.")
    for url in (f"file://{tmp_path}/a b.txt", f"file://localhost{tmp_path}/a%20b.txt", f"file://{tmp_path}"):
        assert read(url) == ({"a b.txt": "Here."}, {})
    with pytest.raises(InputError, match="no such file or folder"):
        read(f"file://{tmp_path}/none.txt")


def test_an_archive_in_a_store_is_unpacked(bucket: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x/a.txt", "In the archive.")
    put(bucket, "packed/a.zip", (tmp_path / "a.zip").read_bytes())
    assert read(f"{bucket}/packed/a.zip") == ({"a.zip/x/a.txt": "In the archive."}, {})


@pytest.mark.parametrize(
    ("path", "uri", "text"),
    [
        (f"docs/a.txt?token={SECRET}#part", "a.txt", "Text of a."),
        ("St._Louis", "St._Louis", "St. Louis is a city."),
        ("", "127.0.0.1", "The front page."),
        ("moved.txt", "moved.txt", "Text of b."),
        ("na%C3%AFve%20page.txt", "naïve page.txt", "Spaces."),
    ],
)
def test_a_web_page_is_a_file(server: str, path: str, uri: str, text: str) -> None:
    assert read(f"http://me:{SECRET}@{server}/{path}") == ({uri: text}, {})


def test_what_a_server_does_not_give_is_a_failure(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "TIMEOUT", 0.3)
    names = ["b.txt", "closed.txt", "broken.txt", "silent.txt", "cut.txt", "sound"]
    texts, failures = read(
        *(f"http://me:{SECRET}@{server}/{name}?key={SECRET}" for name in names), "http://127.0.0.1:9/x.txt"
    )
    assert texts == {"b.txt": "Text of b.", "sound": "beep"}
    assert failures == {
        "closed.txt": "no permission",
        "broken.txt": "cannot be fetched",
        "silent.txt": "timed out",
        "cut.txt": "cannot be fetched",
        "x.txt": "cannot be reached",
    }


def test_an_input_that_is_not_there_is_an_error_without_secrets(server: str, bucket: str) -> None:
    for url, message in {
        f"http://me:{SECRET}@{server}/none.txt?key={SECRET}": f"no such file: http://{server}/none.txt",
        f"s3://me:{SECRET}@bucket/x.txt": "s3://bucket/x.txt: leave credentials out of the URL",
        f"{bucket}/none.txt": f"no such file or folder: {bucket}/none.txt",
        f"{bucket}/*.nothing": f"no such file or folder: {bucket}/*.nothing",
        "s3://nobucket/x": "s3://nobucket/x: cannot be fetched: the store answers 404",
        "s3:///x": "s3:///x: not a complete URL",
        f"nothing://me:{SECRET}@host/x": "nothing://host/x: unknown protocol 'nothing'",
        f"zip://x::https://host/a.zip?{SECRET}": "zip://x::https://host/a.zip: unknown protocol 'zip'",
        f"http://me:{SECRET}@host:port/x?key={SECRET}": "not a URL: http://host:port/x",
    }.items():
        with pytest.raises(InputError) as error:
            read(bucket, url)
        assert str(error.value).startswith(message)
        assert SECRET not in str(error.value)
    with pytest.raises(InputError, match="give a URL as a string"):
        read(Path("s3://bucket/docs"))


def test_a_store_without_an_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    on_server("http://127.0.0.1:9", monkeypatch)
    with pytest.raises(InputError, match=r"^s3://bucket/docs: cannot be reached: no answer from the store$"):
        read("s3://bucket/docs")


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(MissingPart, match=r"^gs://never-opened/docs needs obstore: pip install 'conspectus\[s3\]'"):
        read("gs://never-opened/docs")


def test_the_length_of_what_is_fetched_is_bounded(server: str, bucket: str) -> None:
    limit = InputSettings(max_download_bytes=1_000)
    _, failures = read(f"http://{server}/long.txt", bucket, settings=limit)
    assert failures["long.txt"] == "longer than input.max_download_bytes (1000)"
    put(bucket, "long.txt", b"x" * 1_001)
    assert read(bucket, settings=limit)[1]["long.txt"] == "longer than input.max_download_bytes (1000)"


def test_what_a_server_compresses_is_not_unpacked_on_the_way(server: str) -> None:
    texts, failures = read(*(f"http://{server}/{name}" for name in ("b.txt", "packed.txt", "packed.txt.gz")))
    assert failures == {"packed.txt": "cannot be fetched"}
    assert texts["packed.txt.gz"] == "A file that is packed itself."


def test_a_server_that_never_ends_is_given_up(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MAX_SECONDS", 0.0)
    with pytest.raises(InputError, match="timed out"):
        read(f"http://{server}/b.txt")


def test_a_file_that_is_gone_when_it_is_read_is_a_failure(bucket: str) -> None:
    from contextlib import ExitStack

    from conspectus.pipelines.readers.encodings import Unreadable
    from conspectus.pipelines.readers.remote import RemoteFile, fetched

    file = next(each.path for each in find_files([f"{bucket}/docs"])[0] if each.uri == "a.txt")
    assert isinstance(file, RemoteFile)
    assert SECRET not in repr(file)
    delete(f"{bucket}/docs", "a.txt")
    with ExitStack() as stack, pytest.raises(Unreadable) as error:
        stack.enter_context(fetched(file, SETTINGS))
    assert error.value.reason == "not found"


@pytest.mark.parametrize(
    ("given", "told"),
    [("https://a/b", True), ("s3://b", True), ("zip::s3://b", True), ("a/b", False), ("C:\\x", False), ("a:b", False)],
)
def test_what_is_a_url(given: str, told: bool) -> None:
    assert is_url(given) is told


def test_what_is_shown_of_a_url_holds_no_secret() -> None:
    for url in (
        f"https://me:{SECRET}@host/a?x={SECRET}#{SECRET}",
        f"zip://a::https://host/b.zip?sig={SECRET}",
        f"ftp://me:{SECRET}@host/a?b/c={SECRET}",
        f"https://me:{SECRET}/x@host/a",
        f"abfs://c@account/x?sv=1&sig={SECRET}/y",
        f"https://host/a.pdf?{SECRET}",
        f"HTTPS://host/a.pdf;jsessionid={SECRET}",
        f"zip://a::https://host/b.zip?{SECRET}",
    ):
        assert SECRET not in shown(url), url
