"""An update equals a build from nothing, whatever was done before: random histories of a small corpus.

`CONSPECTUS_HISTORIES=100 pytest tests/end_to_end/test_updates.py` looks at more of them.
"""

import hashlib
import json
import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from conspectus.pipelines.build_index import build_index
from conspectus.storage.hashing import digest
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Community, Entity, Report
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.verify import verify
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from benchmarks.fake_server import FakeServer
from tests.graph_model import reply

HISTORIES = int(os.environ.get("CONSPECTUS_HISTORIES", "2"))
PEOPLE = ("Mary Quill", "Otto Brand", "Lena Storm", "Paul Reed", "Ida Moss", "Hugo Vale", "Nora Lind", "Emil Frost")
SENTENCES = [
    f"{one} {deed} {other}."
    for one, other, deed in zip(PEOPLE, PEOPLE[1:], ("met", "taught", "painted") * 3, strict=False)
] + [f"{each} lived in {town}." for each, town in zip(PEOPLE, ("Port Alma", "Old Ferry") * 4, strict=True)]
FIRST = ("Ada", "Bela", "Cleo", "Dov", "Edda", "Finn", "Gwen", "Hale", "Ines", "Jory", "Kaja", "Lorn")
LAST = ("Quill", "Brand", "Marsh", "Stone", "Frost", "Vale", "Moss", "Reed", "Storm", "Lind")
AFTER_COMMUNITIES = {"communities.parquet", "reports.parquet", "vectors/reports.faiss", "vectors/reports.rows.npy"}

texts = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4, unique=True).map(" ".join)
names = st.sampled_from(["a.txt", "b.txt", "c.md", "sub/a.txt", "sub/d.txt", "sub/deep/e.txt"])
keys = st.sampled_from(["x1", "x2", "x3"])


@dataclass
class Corpus:
    """Files by name, and rows of one table in their order."""

    files: dict[str, str] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Write it as a folder."""
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")
        lines = [json.dumps({"id": key, "title": "", "text": text}) for key, text in self.rows.items()]
        if lines:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "rows.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        return folder

    def changed(self, draw: st.DataObject) -> None:
        """Add, edit, delete, rename or reorder."""
        of_rows = draw.draw(st.booleans(), "rows")
        held, new = (self.rows, keys) if of_rows else (self.files, names)
        deeds = ["add or edit"]
        if held and len(self.files) + len(self.rows) > 1:
            deeds += ["delete"]
        if held:
            deeds += ["rename", "reorder"]
        deed = draw.draw(st.sampled_from(deeds), "deed")
        if deed == "add or edit":
            held[draw.draw(new, "name")] = draw.draw(texts, "text")
        elif deed == "delete":
            del held[draw.draw(st.sampled_from(sorted(held)), "gone")]
        elif deed == "rename":
            text = held.pop(draw.draw(st.sampled_from(sorted(held)), "old name"))
            held[draw.draw(new, "new name")] = text
        else:
            order = draw.draw(st.permutations(sorted(held)), "order")
            kept = dict(held)
            held.clear()
            held.update({each: kept[each] for each in order})


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    files = draw(st.dictionaries(names, texts, min_size=1, max_size=4))
    return Corpus(files, draw(st.dictionaries(keys, texts, max_size=2)))


def histories(examples: int) -> settings:
    # What fails is not made smaller: each try builds several indexes.
    return settings(
        max_examples=examples,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize="CONSPECTUS_HISTORIES" not in os.environ,
    )


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def files_of(index: Path) -> dict[str, str]:
    """Return the sha256 of each file of the version in force."""
    version = index / "versions" / (index / "CURRENT").read_text("utf-8").strip()
    return {
        each.relative_to(version).as_posix(): hashlib.sha256(each.read_bytes()).hexdigest()
        for each in version.rglob("*")
        if each.is_file()
    }


CORRECTIONS = (
    "- merge: [Otto Brand, Ida Moss]\n",
    "- rename: Mary Quill\n  to: Captain Quill\n",
    "- split: Lena Storm\n  into: Lena Storm (painter)\n  words: [painted]\n",
    "- split: Port Alma\n  into: Port Alma (south)\n  document: [a.txt, sub]\n",
    "- forbid: Old Ferry\n",
    "- forbid: [Paul Reed, Hugo Vale]\n",
    "- type: Nora Lind\n  is: SHIP\n",
)
corrections = st.lists(st.sampled_from(CORRECTIONS), unique=True).map("".join)


def chosen(server: FakeServer, update: str, *, model: bool = False, size: int = 3, corrected: str = "") -> Settings:
    sections: dict[str, dict[str, object]] = {
        "extraction": {"pipeline": "regex"},
        "embedding": {"provider": "endpoint", "model": "e"},
        "embedding_server": {"base_url": server.url},
        "communities": {"update": update, "max_cluster_size": size},
        "reports": {"min_size": 2},
        "build": {"corrections": corrected},
    }
    if model:
        sections["llm"] = {"model": "m", "base_url": server.url}
    return load_settings(overrides=sections)


@histories(HISTORIES)
@given(st.data(), corpora(), st.integers(2, 4), st.booleans())
def test_after_any_history_the_index_is_that_of_a_build_from_nothing(
    draw: st.DataObject, corpus: Corpus, steps: int, model: bool
) -> None:
    with folder() as place, FakeServer(reply) as server:
        file = place / "corrections.yaml"
        exact = chosen(server, "exact", model=model, corrected=str(file))
        file.write_text(draw.draw(corrections, "corrections"))
        build_index([corpus.write(place / "0")], place / "index", exact)
        for step in range(1, steps + 1):
            if draw.draw(st.booleans(), "corrections change"):
                file.write_text(draw.draw(corrections, "corrections"))
            corpus.changed(draw)
            docs = corpus.write(place / str(step))
            build_index([docs], place / "index", exact)
            assert verify(StoredIndex.open(place / "index")) == []
            build_index([docs], place / f"fresh {step}", exact)
            assert files_of(place / "index") == files_of(place / f"fresh {step}")


@histories(HISTORIES)
@given(st.data(), corpora(), st.integers(2, 3))
def test_a_model_is_asked_about_what_is_new_and_never_twice(draw: st.DataObject, corpus: Corpus, steps: int) -> None:
    with folder() as place, FakeServer(reply) as server:
        exact = chosen(server, "exact", model=True)
        asked: Counter[str] = Counter()
        known: set[str] = set()
        for step in range(steps + 1):
            if step:
                corpus.changed(draw)
            docs = corpus.write(place / str(step))
            before = len(server.requests)
            done = build_index([docs], place / "index", exact)
            new = list(server.requests[before:])
            asked.update(json.dumps([each.path, each.body], sort_keys=True) for each in new)
            embedded = Counter(text for each in new if "input" in each.body for text in each.body["input"])
            assert max(asked.values(), default=0) <= 1, "a question was asked twice"
            assert max(embedded.values(), default=0) <= 1, "a text was embedded twice"
            index = StoredIndex.open(place / "index")
            texts_now = {digest(each.text) for each in index.rows(Chunk)}
            calls = {each.step: each.calls for each in done.spending}
            assert calls.get("extract", 0) == len(texts_now - known)
            known |= texts_now
            assert sum(calls.values()) == sum(each.path.endswith("/chat/completions") for each in new)
            assert verify(index) == []
            if step:
                build_index([docs], place / f"fresh {step}", exact)
                assert files_of(place / "index") == files_of(place / f"fresh {step}")


@histories(HISTORIES)
@given(st.data(), corpora(), st.integers(2, 4))
def test_stable_updates_differ_in_communities_only(draw: st.DataObject, corpus: Corpus, steps: int) -> None:
    with folder() as place, FakeServer(reply) as server:
        stable = chosen(server, "stable")
        build_index([corpus.write(place / "0")], place / "index", stable)
        for step in range(1, steps + 1):
            corpus.changed(draw)
            docs = corpus.write(place / str(step))
            build_index([docs], place / "index", stable)
            index = StoredIndex.open(place / "index")
            assert verify(index) == []
            build_index([docs], place / f"fresh {step}", stable)
            fresh = files_of(place / f"fresh {step}")
            own = files_of(place / "index")
            differing = {name for name in fresh if own.get(name) != fresh[name] and name != "manifest.json"}
            assert differing <= AFTER_COMMUNITIES
            check_partitions(index)


def check_partitions(index: StoredIndex) -> None:
    everyone = sorted(each.id for each in index.rows(Entity))
    found = index.rows(Community)
    for level in {each.level for each in found}:
        assert sorted(id_ for each in found if each.level == level for id_ in each.entity_ids) == everyone
    members = {each.id: set(each.entity_ids) for each in found}
    for each in found:
        assert each.parent_id is None or set(each.entity_ids) <= members[each.parent_id]


def letters(count: int) -> list[str]:
    """Return rows on people in a ring who write to those near them: a large graph that divides in many ways alike."""
    chance = random.Random(0)
    people = [f"{first} {last}" for last in LAST for first in FIRST]
    rows = []
    for number in range(count):
        start = number * len(people) // count
        one, other, third = (people[(start + chance.randrange(12)) % len(people)] for _ in range(3))
        text = f"{one} met {other} and wrote to {third} of it."
        rows.append(json.dumps({"id": str(number), "title": "", "text": text}))
    return rows


def test_a_document_less_leaves_most_reports_as_they_are(tmp_path: Path) -> None:
    rows = letters(150)
    kept = {}
    with FakeServer(reply) as server:
        for update in ("stable", "exact"):
            corpus = tmp_path / f"{update}.jsonl"
            corpus.write_text("\n".join(rows), "utf-8")
            build_index([corpus], tmp_path / update, chosen(server, update, size=10))
            before = {each.full_text for each in StoredIndex.open(tmp_path / update).rows(Report)}
            corpus.write_text("\n".join(rows[:30] + rows[31:]), "utf-8")
            done = build_index([corpus], tmp_path / update, chosen(server, update, size=10))
            assert done.notes == ()
            now = StoredIndex.open(tmp_path / update).rows(Report)
            kept[update] = sum(each.full_text in before for each in now) / len(now)
    assert kept["stable"] > 0.9 > kept["exact"]
