"""One index that lives through many killed builds, beside a twin that is built from the same input undisturbed.

Each round changes some documents, builds the twin, kills a build of the index at a moment drawn at random, looks at
what is left, and builds again. What must hold is in `Round.problems`, in words.
"""

import hashlib
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import current_version
from conspectus.storage.verify import verify

from benchmarks.fake_server import FakeServer
from tests.end_to_end.nursery import Built, Job, Nursery
from tests.end_to_end.watching import look

QUESTION = "Who wrote to Ada Quill?"
FIRST = "Ada Bela Cleo Dov Edda Finn Gita Hugo".split()
LAST = "Quill Brand Marsh Stone Reed".split()
N_NOTES = 12
N_CHANGED = 6

Settings = Mapping[str, Mapping[str, object]]

OFFLINE: Settings = {"extraction": {"pipeline": "regex"}, "build": {"shard_size": 2}}
"""Quick, with the local embedding model."""


def with_model(url: str) -> Settings:
    """Return the settings of a build that asks the server at `url` for everything."""
    return {
        "llm": {"model": "m", "base_url": url, "concurrency": 4},
        "embedding": {"provider": "endpoint", "model": "e"},
        "embedding_server": {"base_url": url, "batch_size": 16},
        "reports": {"min_size": 2},
    }


@dataclass(frozen=True)
class Moment:
    """When a build is killed: at a share of the time that the twin took, or of its touches of the memo or of files."""

    share: float
    by: str

    def job(self, job: Job, twin: Built) -> Job:
        """Return the job with its end."""
        if self.by == "time":
            return Job(job.source, job.index, job.settings, after=self.share * twin.seconds)
        touch = 1 + int(self.share * twin.touches[self.by])
        return Job(job.source, job.index, job.settings, kind=self.by, touch=touch)


def moments(number: int, seed: int) -> Iterator[Moment]:
    """Draw moments, by time and by touches in turn: little time passes while a version is published."""
    chance = random.Random(seed)
    for place in range(number):
        yield Moment(chance.random(), ("time", "memo", "files")[place % 3])


@dataclass(frozen=True)
class Work:
    """What a build added to the memo, and what it worked on or asked for, by kind."""

    remembered: Counter[str]
    done: Counter[str]
    asked: Counter[str] = field(default_factory=Counter)
    """Each question and each text to embed that a server was sent, and how often."""


@dataclass(frozen=True)
class Round:
    """What a killed build left, and what the next one did."""

    moment: Moment
    killed: bool
    """Not where the build was quicker than the twin and had ended."""
    new_in_force: bool
    """Whether the killed build had published already."""
    needed: int
    """Results that the change takes."""
    kept: int
    """Those that the killed build had remembered."""
    made: int
    """Those that the next build worked on."""
    in_flight: int
    """What a server was asked for again, because the build was killed before it had the whole reply."""
    problems: tuple[str, ...]


@dataclass
class Life:
    """An index and its twin; `server` where a model is asked."""

    folder: Path
    nursery: Nursery
    settings: Settings
    server: FakeServer | None = None

    def __post_init__(self) -> None:
        self.docs, self.index, self.twin = (self.folder / name for name in ("docs", "index", "twin"))
        self.docs.mkdir()
        self._write(0, N_NOTES)
        built = self._build(Job(str(self.docs), str(self.index), self.settings))[0]
        assert not built.killed
        assert not built.error, built.error
        shutil.copytree(self.index, self.twin)

    def round(self, number: int, moment: Moment) -> Round:
        """Change documents, build the twin, kill a build of the index at the moment, look, and build again."""
        old = published(self.index)
        self._write(number, N_CHANGED)
        twin, undisturbed = self._build(Job(str(self.docs), str(self.twin), self.settings))
        new = published(self.twin)
        job = Job(str(self.docs), str(self.index), self.settings)
        killed, before = self._build(moment.job(job, twin))
        left = published(self.index)
        problems = [] if not killed.error else [f"the build that was to be killed ended with {killed.error}"]
        problems += self._left(left, old, new)
        again, after = self._build(job)
        if again.error or published(self.index) != new:
            problems.append(f"built again it is not what an undisturbed build gives: {again.error}")
        if list(self.index.glob("versions/.*")) or (self.index / "CURRENT.new").exists():
            problems.append("something is left of the killed build")
        for kind, needed in undisturbed.remembered.items():
            kept, made = before.remembered[kind], after.done[kind]
            if kept + made != needed:
                problems.append(f"{kind}: {needed} are needed, {kept} were remembered, and {made} made after that")
        return Round(
            moment,
            killed.killed,
            left == new,
            undisturbed.remembered.total(),
            before.remembered.total(),
            after.done.total(),
            (before.asked & after.asked).total(),
            tuple(problems),
        )

    def _left(self, left: Mapping[str, str], old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
        if left not in (old, new):
            yield "what is in force is neither the old version nor the new one"
        yield from (f"verify: {each.where}: {each.what}" for each in verify(StoredIndex.open(self.index)))
        look(self.index, QUESTION)

    def _build(self, job: Job) -> tuple[Built, Work]:
        memo = Path(job.index) / "cache" / "memo.sqlite"
        known, sent = remembered(memo), len(self.server.requests) if self.server else 0
        built = self.nursery.build(job)
        gained = remembered(memo) - known
        if self.server is None:
            done = Counter({"extract": built.given.get("extract", 0)})
            done["embed"] = sum(number for step, number in built.given.items() if step.startswith("embed"))
            return built, Work(gained, done)
        asked: Counter[str] = Counter()
        done = Counter()
        for each in self.server.requests[sent:]:
            body = each.body or {}
            if each.path.endswith("/chat/completions"):
                done["reply"] += 1
                asked[repr(body["messages"])] += 1
            else:
                done["embed"] += len(body["input"])
                asked.update(body["input"])
        return built, Work(gained, done, asked)

    def _write(self, number: int, changed: int) -> None:
        """Write the notes of a round: some are other ones than before, and two are gone or there again."""
        chance = random.Random(number)
        for place in chance.sample(range(N_NOTES), changed):
            names = [f"{chance.choice(FIRST)} {chance.choice(LAST)}" for _ in range(4)]
            text = f"{names[0]} and {names[1]} wrote letter {number} to {names[2]}. Ada Quill met {names[3]} in it."
            (self.docs / f"note {place:02}.txt").write_text(f"Letter {number}.{place}. {text}", "utf-8")


def published(index: Path) -> dict[str, str]:
    """Return the sha256 of each file in force by its place in the index."""
    version = current_version(index)
    files = [index / "CURRENT", *(each for each in (index / "versions" / version).rglob("*") if each.is_file())]
    return {path.relative_to(index).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def remembered(memo: Path) -> Counter[str]:
    """Return how many results a memo holds of each kind: "reply", "extract", "embed"."""
    if not memo.exists():
        return Counter()
    connection = sqlite3.connect(memo, timeout=60)
    try:
        kinds = dict(connection.execute("SELECT kind, count(*) FROM results GROUP BY kind"))
    finally:
        connection.close()
    found: Counter[str] = Counter()
    for kind, number in kinds.items():
        found[kind.partition(" ")[0]] += number
    return found


def live(life: Life, rounds: int, seed: int, told: Callable[[Round], None] = lambda _: None) -> list[Round]:
    """Let an index live through rounds; each is told when it is over."""
    lived = []
    for number, moment in enumerate(moments(rounds, seed), start=1):
        lived.append(life.round(number, moment))
        told(lived[-1])
    return lived
