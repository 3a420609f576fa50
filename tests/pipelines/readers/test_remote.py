import gzip
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import fsspec  # type: ignore[import-untyped]
import pytest
from conspectus.pipelines.readers import remote
from conspectus.pipelines.readers.discover import find_files
from conspectus.pipelines.readers.remote import is_url, shown
from conspectus.pipelines.steps.documents import read_documents
from conspectus.storage.errors import InputError, MissingPart
from conspectus.storage.settings import InputSettings

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


@pytest.fixture
def memory() -> Iterator[str]:
    """A folder in fsspec's memory."""
    system = fsspec.filesystem("memory")
    for name, content in {
        "a.txt": b"A.",
        "sub/b.csv": b"id,text\n1,Row.\n",
        "sub/.hidden.txt": b"no",
        "sub/__MACOSX/c.txt": b"no",
        "sub/bad.pdf": b"no PDF",
        "photo.gif": b"\xff\xd8\xff",
    }.items():
        system.pipe(f"/docs/{name}", content)
    yield "memory://docs"
    system.rm("/docs", recursive=True)


def read(*inputs: str | Path, settings: InputSettings = SETTINGS) -> tuple[dict[str, str], dict[str, str]]:
    documents, failures = read_documents(inputs, settings)
    assert SECRET not in repr((documents, failures))
    return {each.uri: each.text for each in documents}, {each.item_id: each.reason for each in failures}


def test_a_folder_behind_a_url_is_read_as_one_on_disk(memory: str, tmp_path: Path) -> None:
    expected = {"a.txt": "A.", "sub/b.csv#1": "Row."}
    texts, failures = read(memory)
    assert (texts, sorted(failures)) == (expected, ["photo.gif", "sub/bad.pdf"])
    assert failures["photo.gif"] == "unsupported format .gif"
    assert read("memory://docs/a.txt") == ({"a.txt": "A."}, {})
    assert read("memory://docs/*.txt") == ({"a.txt": "A."}, {})
    assert read("memory://docs/**/*.csv") == ({"sub/b.csv#1": "Row."}, {})
    assert list(read("memory://docs/s*")[0]) == ["sub/b.csv#1"]
    assert set(read(memory, "memory://docs/a.txt", "memory://docs/sub")[0]) == set(expected)
    (tmp_path / "a.txt").write_text("Here.")
    texts, _ = read(memory, tmp_path / "a.txt")
    assert sorted(texts.values()) == ["A.", "Here.", "Row."]
    assert set(texts) > {"a.txt", "sub/b.csv#1"}


def test_file_urls_are_paths(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("Here.")
    for url in (f"file://{tmp_path}/a b.txt", f"file://localhost{tmp_path}/a%20b.txt", f"file://{tmp_path}"):
        assert read(url) == ({"a b.txt": "Here."}, {})
    with pytest.raises(InputError, match="no such file or folder"):
        read(f"file://{tmp_path}/none.txt")


def test_urls_may_be_chained(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x/a.txt", "In the archive.")
        archive.writestr("../up.txt", "no")
    texts, failures = read(f"zip://x::file://{tmp_path}/a.zip")
    assert (texts, failures) == ({"a.txt": "In the archive."}, {})
    with pytest.raises(InputError, match=r"no such file or folder: zip://none\.txt::file://"):
        read(f"zip://none.txt::file://{tmp_path}/a.zip")
    (tmp_path / "b.zip").write_bytes(b"broken")
    with pytest.raises(InputError, match="BadZipFile"):
        read(f"zip://x::file://{tmp_path}/b.zip")


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


def test_an_input_that_is_not_there_is_an_error_without_secrets(server: str, memory: str) -> None:
    for url, message in {
        f"http://me:{SECRET}@{server}/none.txt?key={SECRET}": f"no such file: http://{server}/none.txt",
        f"memory://me:{SECRET}@nowhere/x.txt": "no such file or folder: memory://nowhere/x.txt",
        "memory://docs/*.nothing": "no such file or folder: memory://docs/",
        f"nothing://me:{SECRET}@host/x": "nothing://host/x: unknown protocol 'nothing'",
        "zip://x": "zip://x: cannot be fetched",
        f"http://me:{SECRET}@host:port/x?key={SECRET}": "not a URL: http://host:port/x",
    }.items():
        with pytest.raises(InputError) as error:
            read(memory, url)
        assert str(error.value).startswith(message)
        assert SECRET not in str(error.value)
    with pytest.raises(InputError, match="give a URL as a string"):
        read(Path("s3://bucket/docs"))


def test_a_missing_library_is_named() -> None:
    with pytest.raises(MissingPart, match=r"^gs://bucket/docs: Please install gcsfs to access Google Storage$"):
        read(f"gs://me:{SECRET}@bucket/docs")
    with pytest.raises(MissingPart, match="install gcsfs"):
        read("zip://a.txt::gs://bucket/a.zip")


def test_the_length_of_what_is_fetched_is_bounded(server: str, memory: str) -> None:
    limit = InputSettings(max_download_bytes=1_000)
    _, failures = read(f"http://{server}/long.txt", memory, settings=limit)
    assert failures["long.txt"] == "longer than input.max_download_bytes (1000)"
    fsspec.filesystem("memory").pipe("/docs/long.txt", b"x" * 1_001)
    assert read(memory, settings=limit)[1]["long.txt"] == "longer than input.max_download_bytes (1000)"


def test_what_a_server_compresses_is_not_unpacked_on_the_way(server: str) -> None:
    texts, failures = read(*(f"http://{server}/{name}" for name in ("b.txt", "packed.txt", "packed.txt.gz")))
    assert failures == {"packed.txt": "cannot be fetched"}
    assert texts["packed.txt.gz"] == "A file that is packed itself."


def test_a_server_that_never_ends_is_given_up(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MAX_SECONDS", 0.0)
    with pytest.raises(InputError, match="timed out"):
        read(f"http://{server}/b.txt")


def test_a_file_that_is_gone_when_it_is_read_is_a_failure(memory: str) -> None:
    from contextlib import ExitStack

    from conspectus.pipelines.readers.encodings import Unreadable
    from conspectus.pipelines.readers.remote import RemoteFile, fetched

    file = next(each.path for each in find_files([memory])[0] if each.uri == "a.txt")
    assert isinstance(file, RemoteFile)
    assert SECRET not in repr(file)
    fsspec.filesystem("memory").rm("/docs/a.txt")
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
