"""An index in an object store: a real S3 server in a process of its own, and stores that do not keep the condition."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import conspectus
import httpx
import pytest
from conspectus.pipelines.remote_index.local_copy import located, prune_remote, verify_remote
from conspectus.pipelines.remote_index.objects import Record, Store
from conspectus.storage.errors import IndexBusy, IndexCorrupt, IndexNotFound, IndexUnusable, MissingPart, UsageError
from conspectus.storage.manifest import current_version, read_manifest
from conspectus.storage.publishing import take_lease
from mcp import Client, StdioServerParameters

from tests.command_line import conspectus as command
from tests.command_line import start
from tests.pipelines.remote_index.stores import SECRET, Server, objects_of, on_machine, on_server, put, seen_requests
from tests.waiting import LIMIT, free_port

REGEX = ("--set", "extraction.pipeline=regex")
SETTINGS = {"extraction": {"pipeline": "regex"}}
KILLS = int(os.environ.get("CONSPECTUS_KILLS", "1"))


def test_a_version_travels_unchanged(url: str, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = command("index", notes, "--index", url, "--quiet", "--json", *REGEX)
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out)["index"] == url
    assert command("index", notes, "--index", tmp_path / "local", "--quiet", *REGEX).status == 0
    local = read_manifest(tmp_path / "local", current_version(tmp_path / "local"))

    on_machine("second", tmp_path, monkeypatch)
    index = conspectus.open(url)
    assert (index.manifest.version, index.manifest.files) == (local.version, local.files)
    assert index.verify() == []
    answer = command("ask", "Who repaired the lamp of Vey?", "--method", "bm25", "--index", url)
    assert "Orla Finch" in answer.out
    assert "sound" in command("verify", "--index", url).out
    assert command("status", "--index", url).out.startswith(f"version {local.version}")
    assert "2 documents unchanged" in command("status", notes, "--index", url, *REGEX).out
    assert sorted(name.partition("/")[0] for name in objects_of(url)).count("published") == 1
    assert "unchanged" in command("index", notes, "--index", url, "--quiet", *REGEX).out
    assert len([name for name in objects_of(url) if name.startswith("published/")]) == 1, "nothing new, no new version"


def test_a_build_in_a_folder_loads_no_library_of_object_stores(notes: Path, tmp_path: Path) -> None:
    words = ["conspectus", "index", str(notes), "--index", str(tmp_path / "index"), "--quiet", *REGEX]
    code = (
        f"import sys; sys.argv = {words!r}\n"
        "from conspectus.cli import main\n"
        "try: main()\n"
        "finally: print([name for name in ('obstore', 'boto3', 'botocore', 'fsspec') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_changes_from_two_machines_follow_each_other_and_old_versions_go(
    url: str, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = conspectus.load_settings(overrides=SETTINGS)
    first = conspectus.build(notes / "lamp.txt", url, settings)
    on_machine("second", tmp_path, monkeypatch)
    both = conspectus.add(notes / "ferry.txt", url, settings)
    assert both.report is not None
    assert both.manifest.rows["documents"] == 2
    on_machine("first", tmp_path, monkeypatch)
    assert conspectus.open(url).manifest.version == both.manifest.version
    assert [each.title for each in first.retrieve("lamp", "bm25", k=1).passages] == ["lamp"], "it keeps its version"

    put(url, "versions/0123456789ab-0123456789abcdef/chunks.parquet", b"left by a writer that was killed")
    pruned = conspectus.prune(url)
    assert set(pruned.pruned.versions) == {"0123456789ab", first.manifest.version}
    assert {name.split("/")[1].partition("-")[0] for name in objects_of(url) if name.startswith("versions/")} == {
        both.manifest.version
    }
    assert conspectus.remove("lamp.txt", url, settings).manifest.rows["documents"] == 1
    assert verify_remote(url) == []


def test_of_many_that_publish_at_the_same_moment_one_does(url: str) -> None:
    base = Record(1, "0123456789ab-0123456789abcdef", "0123456789ab", "0" * 64, "nobody")
    put(url, "published/00000001", base.content)
    begin = threading.Barrier(16)

    def publish(_: int) -> bool:
        store = Store(url)
        begin.wait()
        try:
            store.republish(base)
        except IndexBusy:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(publish, range(16))) == 1


def test_a_prune_stops_a_writer_whose_parts_it_deletes(url: str, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conspectus.build(notes / "lamp.txt", url, conspectus.load_settings(overrides=SETTINGS))
    store = Store(url)
    base = store.current()
    assert base is not None
    put(url, "versions/0123456789ab-0123456789abcdef/chunks.parquet", b"a part of a version that is being uploaded")
    assert prune_remote(url).pruned.versions == ("0123456789ab",)
    with pytest.raises(IndexBusy, match="another writer published"):
        store.republish(base)
    assert conspectus.open(url).manifest.rows["documents"] == 1


def test_an_answer_that_was_lost_is_not_a_lost_race(url: str, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conspectus.build(notes / "lamp.txt", url, conspectus.load_settings(overrides=SETTINGS))
    create = Store.create

    def twice(self: Store, name: str, data: bytes) -> bool:
        made = create(self, name, data)
        return create(self, name, data) if name.startswith("published/") else made  # the library sends it again

    monkeypatch.setattr(Store, "create", twice)
    store = Store(url)
    base = store.current()
    assert base is not None
    assert store.republish(base).number == base.number + 1


def test_a_writer_that_is_killed_leaves_the_old_version_whole(url: str, notes: Path, tmp_path: Path) -> None:
    first = conspectus.build(notes, url, conspectus.load_settings(overrides=SETTINGS)).manifest
    chance = random.Random(0)
    took = 0.0
    versions = {first.version}
    killed = number = 0
    while killed < KILLS and number < 10 * KILLS:
        (notes / "lamp.txt").write_text(f"The keeper Orla Finch repaired lamp {number} of Vey.", "utf-8")
        began = time.monotonic()
        writer = start("index", notes, "--index", url, "--quiet", *REGEX)
        if number:  # the first one shows how long a build takes, as does each that ends before it is killed
            time.sleep(chance.uniform(0.3, 1.0) * took)
            writer.send_signal(signal.SIGKILL)
        writer.communicate(timeout=LIMIT)
        killed += writer.returncode == -signal.SIGKILL
        number += 1
        manifest = conspectus.open(url).manifest
        if writer.returncode == 0:
            took = time.monotonic() - began
            assert manifest.version not in versions
        versions.add(manifest.version)
        assert verify_remote(url) == [], "what is in force is whole"
    assert killed == KILLS
    conspectus.prune(url)
    assert len({name.split("/")[1] for name in objects_of(url) if name.startswith("versions/")}) == 1


def test_a_server_and_an_agent_read_the_store(
    url: str, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = conspectus.load_settings(overrides=SETTINGS)
    conspectus.build(notes / "lamp.txt", url, settings)
    on_machine("server", tmp_path, monkeypatch)
    port = free_port()
    serving = start("serve", f"notes={url}", "--port", str(port))
    try:
        address = f"http://127.0.0.1:{port}/v1/indexes/notes"
        asked = partial(httpx.post, f"{address}/retrieve", json={"question": "lamp", "method": "bm25"}, timeout=60)
        assert "Orla Finch" in answered(asked, lambda reply: reply.status_code == httpx.codes.OK).text
        on_machine("writer", tmp_path, monkeypatch)
        version = conspectus.add(notes / "ferry.txt", url, settings).manifest.version
        status = partial(httpx.get, f"{address}/status", timeout=60)
        assert answered(status, lambda reply: reply.json()["version"] == version).json()["rows"]["documents"] == 2
    finally:
        serving.terminate()
        serving.communicate(timeout=120)

    async def agent() -> str:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "conspectus.cli", "mcp", url], env=dict(os.environ)
        )
        async with Client(command) as client:
            return str(await client.call_tool("retrieve", {"question": "Who steers the ferry?", "method": "bm25"}))

    assert "Mara Quill" in asyncio.run(agent())


def answered(ask: Callable[[], httpx.Response], is_expected: Callable[[httpx.Response], bool]) -> httpx.Response:
    """Ask a server until it gives the expected reply."""
    end = time.monotonic() + 300
    while True:
        try:
            reply = ask()
            if is_expected(reply):
                return reply
        except httpx.TransportError:
            pass  # it has not started yet
        assert time.monotonic() < end, "no such reply"
        time.sleep(0.2)


def test_a_reader_goes_on_offline_and_a_writer_does_not(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stopped, url = Server(), "s3://bucket/notes.index"
    try:
        on_server(stopped.url, monkeypatch)
        on_machine("first", tmp_path, monkeypatch)
        stopped.make_bucket("bucket")
        version = conspectus.build(notes, url, conspectus.load_settings(overrides=SETTINGS)).manifest.version
    finally:
        stopped.process.kill()
        stopped.process.wait()
    assert conspectus.open(url).retrieve("lamp", "bm25", k=1).passages[0].title == "lamp"
    assert f"going on with version {version}" in caplog.text
    done = command("add", notes / "lamp.txt", "--index", url, "--quiet", *REGEX)
    assert (done.status, done.err.count("\n")) == (IndexUnusable.exit_status, 1)
    on_machine("second", tmp_path, monkeypatch)
    done = command("ask", "Who?", "--index", url)
    assert (done.status, done.err.count("\n")) == (IndexUnusable.exit_status, 1)
    assert SECRET not in done.err + caplog.text


@pytest.mark.parametrize("what", ["chunks.parquet", "manifest.json"])
def test_a_tampered_object_is_refused(
    what: str, url: str, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conspectus.build(notes, url, conspectus.load_settings(overrides=SETTINGS))
    name = next(each for each in objects_of(url) if each.endswith(f"/{what}"))
    data = objects_of(url)[name]
    put(url, name, data[:-1] + bytes([data[-1] ^ 1]))
    on_machine("second", tmp_path, monkeypatch)
    with pytest.raises(IndexCorrupt, match="is not what its checksum says"):
        conspectus.open(url)
    assert not list((tmp_path / "second").rglob(what))
    if what == "chunks.parquet":
        assert [problem.where.rpartition("/")[2] for problem in verify_remote(url)] == [what]
    put(url, name, data)
    assert conspectus.open(url).verify() == []


def test_a_damaged_copy_is_fetched_again_by_verify(url: str, notes: Path) -> None:
    conspectus.build(notes, url, conspectus.load_settings(overrides=SETTINGS))
    copy = located(url)
    chunks = next(copy.rglob("chunks.parquet"))
    chunks.chmod(0o644)
    chunks.write_bytes(b"no table")
    with pytest.raises(IndexCorrupt, match=r"chunks\.parquet"):
        conspectus.open(url).outline()
    assert verify_remote(url) == []
    assert conspectus.open(url).outline()


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b'{"folder": "../../etc", "manifest": "%s", "version": "0123456789ab", "writer": ""}' % (b"0" * 64),
        b'{"folder": "0123456789ab-0123456789abcdef", "manifest": "%s", "version": "../x", "writer": ""}' % (b"0" * 64),
        b"x" * 2_000,
    ],
)
def test_a_record_is_not_trusted(record: bytes, folder: str) -> None:
    put(folder, "published/00000001", record)
    with pytest.raises(IndexCorrupt, match="00000001"):
        located(folder)


def test_a_manifest_cannot_name_a_place_outside(folder: str, index_root: Path) -> None:
    from hashlib import sha256

    version = current_version(index_root)
    manifest = json.loads((index_root / "versions" / version / "manifest.json").read_text("utf-8"))
    manifest["files"]["../../../outside"] = {"sha256": sha256(b"x").hexdigest(), "bytes": 1}
    data = json.dumps(manifest).encode()
    place = f"{version}-{'0' * 16}"
    put(folder, f"versions/{place}/manifest.json", data)
    record = {"folder": place, "version": version, "manifest": sha256(data).hexdigest(), "writer": ""}
    put(folder, "published/00000001", json.dumps(record).encode())
    with pytest.raises(IndexCorrupt, match=r"file://.*/notes\.index.*not a path inside a version"):
        located(folder)


def test_a_store_without_conditions_is_refused(
    url: str, server: Server, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with seen_requests(server, dropped="if-none-match") as (careless, seen):
        monkeypatch.setenv("AWS_ENDPOINT_URL", careless)
        done = command("index", notes, "--index", url, "--quiet", *REGEX)
    assert done.status == IndexUnusable.exit_status
    assert done.err.startswith(f"conspectus: {url}: this store ignores the condition If-None-Match")
    assert any("if-none-match" in headers for _, headers in seen)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    assert objects_of(url) == {}


def test_keys_come_from_the_environment_or_from_files(
    url: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def signed_with() -> str:
        with seen_requests(server) as (before, seen):
            monkeypatch.setenv("AWS_ENDPOINT_URL", before)
            assert Store(url).current() is None
        return seen[0][1].get("authorization", "")

    assert "Credential=someone/" in signed_with()
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    (tmp_path / "keys").write_text(f"[work]\naws_access_key_id = filed\naws_secret_access_key = {SECRET}\n", "utf-8")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "keys"))
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert "Credential=filed/" in signed_with()
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    assert signed_with() == ""
    monkeypatch.delenv("AWS_SKIP_SIGNATURE")
    monkeypatch.setenv("AWS_PROFILE", "none")
    with pytest.raises(UsageError, match=r"profile \(none\) could not be found"):
        Store("s3://never-opened-with-this-profile/index")
    monkeypatch.delenv("AWS_PROFILE")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(UsageError, match="no keys found: set AWS_ACCESS_KEY_ID"):
        Store("s3://never-opened-without-keys/index")


def test_a_served_version_stays_until_it_is_released(folder: str, notes: Path) -> None:
    url, settings = folder, conspectus.load_settings(overrides=SETTINGS)
    first = conspectus.build(notes / "lamp.txt", url, settings).manifest.version
    copy = located(url)
    lease = take_lease(copy, first)
    assert lease is not None
    conspectus.build(notes, url, settings)
    assert (copy / "versions" / first / "chunks.parquet").is_file()
    lease.give_back()
    conspectus.build(notes / "ferry.txt", url, settings)
    assert not (copy / "versions" / first).exists()


@pytest.mark.parametrize(
    ("url", "error", "said"),
    [
        (f"s3://someone:{SECRET}@bucket/index", UsageError, "leave credentials and parameters out"),
        ("https://example.org/index", UsageError, "object store"),
        ("s3://bucket", UsageError, "name a folder of the bucket"),
        ("nowhere://bucket/index", UsageError, "unknown protocol"),
        ("file:///nothing/here", IndexNotFound, "nothing is published there"),
    ],
)
def test_a_wrong_place_is_one_clear_line(
    url: str, error: type[Exception], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_machine("first", tmp_path, monkeypatch)
    with pytest.raises(error, match=said) as raised:
        located(url)
    assert SECRET not in str(raised.value)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(MissingPart, match=r"pip install 'conspectus\[s3\]'"):
        Store("s3://never-opened/index")
