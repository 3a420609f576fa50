"""Results of writers in an object store: nobody pays for what another one has."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import conspectus
import pytest
from conspectus.pipelines.incremental import change_documents
from conspectus.pipelines.remote_index import shared_memo
from conspectus.pipelines.remote_index.local_copy import written
from conspectus.pipelines.remote_index.objects import Store
from conspectus.pipelines.remote_index.parts import Parts, Result, encoded, parts_among
from conspectus.pipelines.remote_index.shared_memo import SharedMemo
from conspectus.storage.errors import BudgetReached, IndexBusy, IndexUnusable
from conspectus.storage.settings import Settings, load_settings

from benchmarks.fake_server import FakeRequest, FakeServer
from tests.graph_model import reply
from tests.pipelines.remote_index.stores import objects_of, on_machine, put
from tests.waiting import LIMIT, wait_until

KILLS = int(os.environ.get("CONSPECTUS_KILLS", "1"))
NAMES = ("Mary Quill", "Otto Brand", "Lena Storm", "Paul Reed", "Ida Marsh", "Jon Veil", "Tess Amber", "Gus Holm")


@pytest.fixture
def model() -> Iterator[FakeServer]:
    with FakeServer(reply) as running:
        yield running


def chosen(model: FakeServer, **other: Any) -> Settings:  # noqa: ANN401  (values of settings)
    """Settings with which every reply and every vector is bought."""
    return load_settings(
        overrides={
            "llm": {"model": "m", "base_url": model.url, **other.pop("llm", {})},
            "embedding": {"provider": "endpoint", "model": "e"},
            "embedding_server": {"base_url": model.url},
            "reports": {"min_size": 2},
            "communities": {"update": "exact"},
            **other,
        }
    )


def people(folder: Path, *numbers: int) -> list[Path]:
    """Files of which each names three people."""
    folder.mkdir(exist_ok=True)
    files = [folder / f"{number}.txt" for number in numbers]
    for number, file in zip(numbers, files, strict=True):
        first, second, third = (NAMES[(number + place) % len(NAMES)] for place in range(3))
        file.write_text(f"{first} taught {second} in {1900 + number}. {second} painted {third}.", "utf-8")
    return files


def bought(model: FakeServer) -> Counter[str]:
    """What was asked: prompts, and texts to embed."""
    asked: Counter[str] = Counter()
    for request in model.requests:
        texts = request.body.get("input") or [json.dumps(request.body["messages"])]
        asked.update([texts] if isinstance(texts, str) else texts)
    return asked


def parts_of(url: str) -> dict[str, tuple[str, list[Result]]]:
    """All parts in a store, decoded."""
    parts = Parts(Store(url))
    return {name: parts.read(name) for name in parts_among(parts.sizes())}


def memo_at(url: str, tmp_path: Path, name: str) -> SharedMemo:
    memo = SharedMemo(tmp_path / name / "memo.sqlite", Parts(Store(url)))
    memo.fetch()
    return memo


def raising(error: Exception) -> Callable[..., Any]:
    def raise_it(*_: object) -> None:
        raise error

    return raise_it


def test_nobody_pays_twice(url: str, tmp_path: Path, model: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = chosen(model)
    conspectus.build(people(tmp_path / "docs", 1, 2, 3), url, settings)
    before = bought(model)
    more = people(tmp_path / "docs", 1, 2, 3, 4)
    estimated = conspectus.estimate(more, url, settings).total.calls

    on_machine("second", tmp_path, monkeypatch)
    assert conspectus.estimate(more, url, settings).total.calls == estimated
    whole = conspectus.build(more, url, settings)
    new = bought(model) - before
    assert new
    assert not new.keys() & before.keys()
    with FakeServer(reply) as other:
        local = conspectus.build(more, tmp_path / "local", chosen(other))
    assert whole.manifest.files == local.manifest.files


def test_what_a_failed_build_bought_is_there(
    folder: str, tmp_path: Path, model: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = people(tmp_path / "docs", 1, 2, 3, 4)
    with pytest.raises(BudgetReached):
        conspectus.build(documents, folder, chosen(model, llm={"max_tokens": 9_000, "max_output_tokens": 1_000}))
    paid = len(bought(model))
    assert paid > 1
    on_machine("second", tmp_path, monkeypatch)
    conspectus.build(documents, folder, chosen(model, llm={"max_output_tokens": 1_000}))
    assert len(bought(model)) > paid
    assert set(bought(model).values()) == {1}


def test_who_loses_the_race_has_not_paid_in_vain(
    folder: str, tmp_path: Path, model: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = chosen(model)
    first, ours, theirs = people(tmp_path / "docs", 1, 2, 3)
    conspectus.build(first, folder, settings)
    with pytest.raises(IndexBusy), written(folder) as work:  # noqa: PT012
        change_documents([ours], (), work, settings)
        on_machine("second", tmp_path, monkeypatch)
        conspectus.add(theirs, folder, settings)
    before = bought(model)
    on_machine("third", tmp_path, monkeypatch)
    assert conspectus.add(ours, folder, settings).manifest.rows["documents"] == 3
    assert not (bought(model) - before).keys() & before.keys()


KILLED = """
import sys
from conspectus.cli import main
from conspectus.pipelines.remote_index import shared_memo
shared_memo.SECONDS = .02
main()
"""


def test_a_killed_writer_leaves_what_it_bought(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each on a machine of its own, so that only the store can tell the next one."""
    chance = random.Random(0)

    def slow(request: FakeRequest) -> str:
        time.sleep(0.05)
        return reply(request)

    with FakeServer(slow) as model:
        options = ["--set", f"llm.base_url={model.url}", "--set", "llm.model=m", "--set", "llm.concurrency=1"]
        kept: set[str] = set()
        for number in range(KILLS):
            people(tmp_path / "docs", *range(5 + 2 * number))
            on_machine(f"killed{number}", tmp_path, monkeypatch)
            before = parts_of(url).keys()
            writer = subprocess.Popen(
                [sys.executable, "-c", KILLED, "index", tmp_path / "docs", "--index", url, "--quiet", *options]
            )
            wait_until(partial(lambda before: parts_of(url).keys() - before, before))
            time.sleep(chance.uniform(0, 0.5))
            writer.send_signal(signal.SIGKILL)
            writer.communicate(timeout=LIMIT)
            found = {result.key for kind, results in parts_of(url).values() for result in results if kind == "reply"}
            assert kept <= found
            kept = found
        assert kept
        on_machine("last", tmp_path, monkeypatch)
        asked = len(model.requests)
        conspectus.build(tmp_path / "docs", url, chosen(model, embedding={}))
        replies = [result for kind, results in parts_of(url).values() for result in results if kind == "reply"]
        assert len(model.requests) - asked == len({result.key for result in replies}) - len(kept)


def test_writers_at_once_lose_nothing(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They send, merge and fetch at the same time, sometimes the same results."""
    monkeypatch.setattr(shared_memo, "MANY", 3)
    memos = [memo_at(url, tmp_path, f"machine{number}") for number in range(4)]

    def write(number: int) -> None:
        chance = random.Random(number)
        for _turn in range(6):
            keys = {f"{chance.randrange(200)}" for _ in range(9)}
            memos[number].fetch()
            lacking = memos[number].missing("k", keys)
            memos[number].put_many("k", {key: key.encode() for key in lacking}, {key: [f"of {key}"] for key in lacking})
            memos[number].send()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    mine: set[str] = set()
    for memo in memos:
        with memo._connection() as connection:
            mine |= {key for (key,) in connection.execute("SELECT key FROM results")}
    late = memo_at(url, tmp_path, "late")
    assert late.get_many("k", mine) == {key: key.encode() for key in mine}
    assert all(late.made_from(f"of {key}") == [("k", key)] for key in mine)
    assert len(parts_of(url)) < 8


def test_two_that_merge_into_each_others_parts_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"file://{tmp_path}/shared/index"
    a, b, c, d = (Result(letter, letter.encode(), ()) for letter in "abcd")
    ours, theirs = Parts(Store(url)), Parts(Store(url))
    rows, columns = ([a, b], [c, d]), ([a, c], [b, d])

    def written(parts: Parts, groups: Sequence[list[Result]], *, anew: bool) -> list[str]:
        return [name for group in groups for name in parts.write("k", group, frozenset(), anew=anew)]

    in_rows, in_columns = (written(ours, groups, anew=False) for groups in (rows, columns))
    sizes = ours.sizes

    def meanwhile() -> dict[str, int]:
        monkeypatch.undo()
        written(theirs, rows, anew=True)
        theirs.delete(in_columns)
        return sizes()

    monkeypatch.setattr(ours, "sizes", meanwhile)
    written(ours, columns, anew=True)
    ours.delete(in_rows)
    assert {result.key for _, results in parts_of(url).values() for result in results} == set("abcd")


def test_a_part_comes_once_and_is_not_sent_back(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = memo_at(folder, tmp_path, "first")
    for letter in "ab":
        first.put_many("k", {f"{letter}{number}": random.Random(number).randbytes(20_000) for number in range(50)})
        first.send()
    read: list[str] = []
    whole = Store.read

    def counted(self: Store, name: str, most: int) -> bytes:
        read.append(name)
        return whole(self, name, most)

    monkeypatch.setattr(Store, "read", counted)
    second = memo_at(folder, tmp_path, "second")
    assert second.get_many("k", ["b1", "a2", "c1"]).keys() == {"b1", "a2"}
    second.send()
    assert len(read) == len(set(read)) == 2
    again = memo_at(folder, tmp_path, "second")
    again.put_many("k", {"c1": b"new"})
    again.send()
    first.fetch()
    assert first.get_many("k", ["c1"]) == {"c1": b"new"}
    assert len(read) == len(set(read)) == 3, "what is here is not fetched again"
    assert sorted(len(results) for _, results in parts_of(folder).values()) == [1, 50, 50], "what is new is sent"


def test_a_store_that_fails_costs_a_warning(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memo_at(folder, tmp_path, "first").put_many("k", {"a": b"a"})
    with monkeypatch.context() as broken:
        broken.setattr(Store, "sizes", raising(IndexUnusable("the store answers 503")))
        memo = memo_at(folder, tmp_path, "first")
        assert memo.get_many("k", ["a"]) == {"a": b"a"}
        memo.send()
    assert caplog.text.count("the store answers 503") == 2
    memo.send()
    assert len(parts_of(folder)) == 1


def test_a_reply_that_was_replaced_is_gone(folder: str, tmp_path: Path) -> None:
    first = memo_at(folder, tmp_path, "first")
    first.put_many("reply", {"a": b"half a reply", "b": b"other"})
    first.send()
    first.replace_many("reply", {"a": b"a whole reply"})
    first.send()
    second = memo_at(folder, tmp_path, "second")
    assert second.get_many("reply", ["a", "b"]) == {"a": b"a whole reply", "b": b"other"}
    assert sorted(result.value for _, results in parts_of(folder).values() for result in results) == [
        b"a whole reply",
        b"other",
    ]


def test_a_purge_leaves_nothing(
    url: str, tmp_path: Path, model: FakeServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def words() -> bytes:
        decoded = [str(part).encode() for part in parts_of(url).values()]
        return b"".join([*objects_of(url).values(), *decoded])

    secret = "Zorblatt Quuxley met Mary Quill. Zorblatt Quuxley painted a vexiline house."
    docs = people(tmp_path / "docs", 1, 2)
    (tmp_path / "docs" / "secret.txt").write_text(secret, "utf-8")
    settings = chosen(model, llm={"model": ""}, extraction={"pipeline": "regex"})
    conspectus.build(tmp_path / "docs", url, settings)
    extracted = next(kind for kind, _ in parts_of(url).values() if kind == "extract")
    assert b"Zorblatt" in words()
    late = memo_at(url, tmp_path, "late")
    late.put_many(extracted, {"late": b"Zorblatt"}, {"late": ["a text that is not in the index"]})

    on_machine("second", tmp_path, monkeypatch)
    conspectus.remove("secret.txt", url, settings)
    put(url, "memo/anything", b"Zorblatt")
    name = next(iter(parts_of(url)))
    put(url, f"memo/{name[:-72]}{'0' * 64}.parquet", b"Zorblatt")
    assert sum(conspectus.prune(url, purge=True, settings=settings).forgotten.values()) > 0
    assert b"Zorblatt" not in words()
    assert b"vexiline" not in words()
    late.send()
    assert "was purged meanwhile" in caplog.text
    again = memo_at(url, tmp_path, "late")
    again.put_many(extracted, {"new": b"made after the purge"})
    again.send()
    assert b"Zorblatt" not in words()
    assert b"made after the purge" in words()

    on_machine("third", tmp_path, monkeypatch)
    before = len(model.requests)
    conspectus.build([*docs, *people(tmp_path / "docs", 3)], url, settings)
    new = len(model.requests) - before
    with FakeServer(reply) as other:
        conspectus.build(docs, tmp_path / "local", chosen(other, llm={"model": ""}, extraction={"pipeline": "regex"}))
        kept = len(bought(other))
    assert 0 < new < kept, "what was made of the other texts is still there"


@pytest.mark.parametrize("how", ["changed", "cut", "foreign", "of another kind", "no table"])
def test_a_damaged_part_is_ignored(how: str, folder: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = memo_at(folder, tmp_path, "first")
    first.put_many("k", {"a": b"a" * 1000})
    first.send()
    ((name, _),) = parts_of(folder).items()
    data = objects_of(folder)[f"memo/{name}"]
    damaged = {
        "changed": data[:10] + b"x" + data[11:],
        "cut": data[: len(data) // 2],
        "foreign": _foreign(),
        "of another kind": encoded("other", [Result("a", b"", ())]),
        "no table": b"",
    }[how]
    rightly_named = how in {"foreign", "of another kind"}
    Store(folder).delete_objects([f"memo/{name}"])
    put(folder, f"memo/{name[:-72]}{sha256(damaged).hexdigest()}.parquet" if rightly_named else f"memo/{name}", damaged)
    second = memo_at(folder, tmp_path, "second")
    assert second.missing("k", ["a"]) == ["a"]
    assert second.get_many("k", ["a"]) == {}
    assert caplog.text.count("it is ignored") == 1
    second.put_many("k", {"a": b"computed again"})
    second.send()
    assert memo_at(folder, tmp_path, "third").get_many("k", ["a"]) == {"a": b"computed again"}


def _foreign() -> bytes:
    import io

    import pyarrow as pa
    from pyarrow import parquet

    sink = io.BytesIO()
    parquet.write_table(pa.table({"key": ["a"], "value": [b"x"]}), sink)
    return sink.getvalue()
