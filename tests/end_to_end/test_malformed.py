"""Replies that are malformed in ten ways: the run ends, what is well-formed is stored, what is lost is listed, and
--retry-failed heals it, asking for nothing else.

What was sent is known from the server's own records, and what of it is well-formed from the text alone: a record that
stands in it letter by letter. None of the program's readers is used for that.
"""

import json
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from pathlib import Path
from unittest.mock import patch

import pytest
from conspectus.pipelines.steps import descriptions
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Claim, Community, Entity, Failure, Mention, Relation

from benchmarks.fake_server import FakeRequest, FakeServer, Faults, Recorded
from tests.command_line import Done, conspectus
from tests.malformed_json import MALFORMED, MalformedKind
from tests.waiting import LIMIT

KINDS: tuple[MalformedKind, ...] = (
    "fence", "prose", "think", "html", "two_values", "truncated", "ellipsis", "empty", "refusal", "null_content",
)  # fmt: skip
RATE = 0.2
TOKENS = 30
N_NOTES = 36
FIRST = ("Ada", "Bela", "Cleo", "Dov", "Edda", "Finn")
LAST = ("Quill", "Brand", "Marsh", "Stone")
NOTE = re.compile(r"Note (\d+)\. ")
NAME = re.compile(rf"\b(?:{'|'.join(FIRST)}) (?:{'|'.join(LAST)})\b")

TURNS = {"extract": ("extract", "more", "glean"), "more": ("more", "glean"), "glean": ("glean",),
         "claims": ("claims", "claims_glean"), "claims_glean": ("claims_glean",)}  # fmt: skip
"""What of a chunk's conversation is to be asked again where a turn was lost: what follows rests on it."""


@pytest.fixture(scope="module", autouse=True)
def _short_descriptions() -> Iterator[None]:
    """Descriptions of a few words are long enough to be summarised."""
    with patch.object(descriptions, "DESCRIPTION_TOKENS", TOKENS):
        yield


@dataclass(frozen=True)
class Record:
    """A record that the server has in mind: the names that it is about, its description, and the line it sends."""

    kind: str
    names: tuple[str, ...]
    description: str
    line: str


NOTHING = "<|COMPLETE|>"
"""The reply where no claim was missed."""
COMPLAINT = "Your reply could not be used"


def without_complaint(turns: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return a conversation without the complaint that ends it, and without the reply that it complains of."""
    if not turns[-1][1].startswith(COMPLAINT):
        return turns
    return turns[:-2] if turns[-2][0] == "assistant" else turns[:-1]


@dataclass
class Author:
    """Answers by rule, and keeps what it had in mind by the number of the request."""

    texts: dict[int, str] = field(default_factory=dict)
    records: dict[int, list[Record]] = field(default_factory=dict)

    def __call__(self, request: FakeRequest) -> str:
        form = json.dumps(request.body.get("response_format", ""))
        turns = without_complaint(list(request.messages))
        first = "\n\n".join(text for _, text in takewhile(lambda turn: turn[0] != "assistant", turns))
        if "findings" in form:
            text = report(first)
        elif '"required": ["description"]' in form:
            text = json.dumps({"description": f"All that is said of {thing_of(first)} in {len(first)} letters."})
        elif '"Yes"' in form:
            text = json.dumps({"answer": "Yes"})
        else:
            self.records[request.number] = records(first, gleaned=any(role == "assistant" for role, _ in turns))
            text = "##\n".join([*(each.line for each in self.records[request.number]), "<|COMPLETE|>"])
        self.texts[request.number] = text
        return text


def records(prompt: str, gleaned: bool) -> list[Record]:
    """Return what a note states: claims, or all names but the last with the first reply, the last when gleaned."""
    note = prompt[prompt.rindex("Note ") :]
    number, names = number_of(note), list(dict.fromkeys(NAME.findall(note)))
    if '("claim"' in prompt:
        if gleaned:
            return []
        said = f"{names[0]} signed note {number}."
        line = f'("claim"<|>"{names[0]}"<|>"NONE"<|>"ACT"<|>"TRUE"<|>"NONE"<|>"NONE"<|>"{said}"<|>"NONE")'
        return [Record("claim", (names[0],), said, line)]
    told = names[-1:] if gleaned else names[:-1]
    found = []
    for name in told:
        said = f"{name} is someone whom note {number} names."
        found.append(Record("entity", (name,), said, f'("entity"<|>"{name}"<|>"person"<|>"{said}")'))
    for one, other in pairwise(names[-2:] if gleaned else told):
        said = f"{one} wrote to {other} in note {number}."
        line = f'("relationship"<|>"{one}"<|>"{other}"<|>"{said}"<|>7)'
        found.append(Record("relation", tuple(sorted((one, other))), said, line))
    return found


def report(prompt: str) -> str:
    labels = re.findall(r"\b[ER]\d+\b", prompt)[:3]
    finding = {"summary": "They write", "explanation": "These people write to one another.", "records": labels}
    told = {"title": "A circle", "summary": "Who writes to whom.", "rating": 5, "rating_explanation": "They are few."}
    return json.dumps({**told, "findings": [finding]})


def thing_of(prompt: str) -> str:
    return re.search(r"^Thing: (.*)$", prompt, re.M)[1]  # type: ignore[index]


def number_of(note: str) -> int:
    return int(NOTE.search(note)[1])  # type: ignore[index]


def note(number: int) -> str:
    names = [f"{FIRST[(number * 5 + i * 7 + i * i) % 6]} {LAST[(number + i * 3) % 4]}" for i in range(5)]
    *most, last = dict.fromkeys(names)
    return f"Note {number}. {', '.join(most)} and {last} met again, and wrote letters to one another about it."


@dataclass(frozen=True)
class Sent:
    """A request, the reply as it was sent, and what was meant: the text that was spoilt, and its records."""

    first: str
    turns: int
    text: str
    mind: str
    fault: str | None
    records: tuple[Record, ...]

    @property
    def whole(self) -> list[Record]:
        """The records that are well-formed."""
        return [each for each in self.records if each.line in self.text]

    @property
    def lost(self) -> bool:
        """Whether anything of it was lost. A page of HTML is no report and no description, whatever it holds."""
        if self.records:
            return len(self.whole) < len(self.records)
        return self.mind not in self.text or (self.is_form and self.fault == "html")

    @property
    def note(self) -> int:
        """The number of the note that it is about."""
        return number_of(self.first[self.first.rindex("Note ") :])

    @property
    def is_form(self) -> bool:
        """Whether it is a description or a report: a bad one is told so, and is lost if the next is bad too."""
        return not self.records and '"answer"' not in self.mind and self.mind != NOTHING

    @property
    def question(self) -> str:
        """What is asked, in a few words: the same where an earlier turn has another wording."""
        if self.is_form:
            return self.first
        if self.mind == NOTHING:
            return f"claims_glean {self.note}"
        if self.turns == 1:
            return f"{'claims' if self.records[0].kind == 'claim' else 'extract'} {self.note}"
        return f"{'glean' if self.records else 'more'} {self.note}"


def sent(author: Author, requests: Iterable[Recorded]) -> list[Sent]:
    """Return the requests that got a reply of the author's."""
    found = []
    for each in requests:
        if each.body is None or each.number not in author.texts:
            continue
        mind = author.texts[each.number]
        messages = without_complaint([(turn["role"], turn["content"]) for turn in each.body["messages"]])
        text = (MALFORMED[each.fault](mind) or "") if each.fault else mind  # type: ignore[index]
        records_ = tuple(author.records.get(each.number, ()))
        first = "\n\n".join(text for _, text in takewhile(lambda turn: turn[0] != "assistant", messages))
        turns = sum(role != "system" for role, _ in messages)
        found.append(Sent(first, turns, text, mind, each.fault, records_))
    return found


def questions(exchanges: Iterable[Sent]) -> list[str]:
    return sorted(each.question for each in exchanges)


@pytest.fixture(scope="module")
def author() -> Author:
    return Author()


@pytest.fixture(scope="module")
def server(author: Author) -> Iterator[FakeServer]:
    with FakeServer(author, seed=25) as running:
        yield running


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "notes.jsonl"
    rows = [{"id": f"n{number:02}", "text": note(number)} for number in range(N_NOTES)]
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), "utf-8")
    return path


@dataclass(frozen=True)
class Built:
    """An index, how the run that made it ended, and what was asked meanwhile."""

    folder: Path
    done: Done
    exchanges: list[Sent]


def options(server: FakeServer, **llm: object) -> list[str]:
    chosen = {
        "llm.model": "m", "llm.base_url": server.url, "llm.max_output_tokens": 400,
        "extraction.claims": "true", "reports.min_size": 2,
        "communities.max_cluster_size": 5, "communities.update": "exact",
        "embedding.provider": "endpoint", "embedding.model": "e", "embedding_server.base_url": server.url,
        **{f"llm.{name}": value for name, value in llm.items()},
    }  # fmt: skip
    return [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]


def index(author: Author, server: FakeServer, corpus: Path, folder: Path, *words: str, **llm: object) -> Built:
    before = len(server.requests)
    done = conspectus("index", corpus, "--index", folder, "--quiet", "--json", *words, *options(server, **llm))
    return Built(folder, done, sent(author, server.requests[before:]))


@pytest.fixture(scope="module")
def spoilt(author: Author, server: FakeServer, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    # A report is lost only if its second reply is bad too, which is rare: one of them is spoilt for certain.
    always = {r"(?s)You write a report on.*<records>.*\bE9\b": "truncated"}
    server.change(
        faults=Faults(dict.fromkeys(KINDS, RATE / len(KINDS)), script=always, by="prompt", spoilers=MALFORMED)
    )
    built = index(author, server, corpus, tmp_path_factory.mktemp("spoilt") / "index")
    server.change(faults=Faults())
    return built


@pytest.fixture(scope="module")
def healthy(
    spoilt: Built, author: Author, server: FakeServer, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Built:
    return index(author, server, corpus, tmp_path_factory.mktemp("healthy") / "index")


@pytest.fixture
def copy(spoilt: Built, tmp_path: Path) -> Path:
    shutil.copytree(spoilt.folder, tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture
def owed(spoilt: Built, healthy: Built) -> list[str]:
    """What a retry has to ask: all that a build from nothing asks, but for what has a reply that lost nothing and that
    rests on none that did.
    """
    wanted = set(questions(healthy.exchanges))
    whole = {each.question for each in spoilt.exchanges if not each.lost}
    for lost in wanted - whole:
        turn, _, number = lost.partition(" ")
        whole -= {f"{each} {number}" for each in TURNS.get(turn, ())}
    return sorted(wanted - whole)


def model_failures(folder: Path) -> list[Failure]:
    return [each for each in StoredIndex.open(folder).rows(Failure) if each.stage != "read"]


def test_every_kind_struck_every_step(spoilt: Built, server: FakeServer) -> None:
    struck = {each.fault for each in server.requests if each.fault and each.path.endswith("/chat/completions")}
    assert struck == set(KINDS)
    lost = [each for each in spoilt.exchanges if each.lost]
    assert 0.05 < len(lost) / len(spoilt.exchanges) < RATE
    kinds = {
        each.records[0].kind if each.records else next(iter(json.loads(each.mind)))
        for each in lost
        if each.mind != NOTHING
    }
    assert kinds == {"entity", "claim", "answer", "description", "title"}


def test_the_run_ends_as_documented(spoilt: Built, healthy: Built) -> None:
    done = json.loads(spoilt.done.out)
    assert spoilt.done.status == 5
    worst = max(done["lost"], key=lambda each: each["lost"] / each["items"])
    assert f"{worst['lost']} of {worst['items']} " in spoilt.done.err
    assert "build.failure_threshold (5.0%)" in spoilt.done.err
    by_stage = {each["stage"]: (each["lost"], each["items"]) for each in done["lost"]}
    assert set(by_stage) == {"extract", "summarise", "report"}
    assert by_stage["extract"] == (len(lost_notes(spoilt)), N_NOTES)
    assert done["failed_share"] == round(max(lost / items for lost, items in by_stage.values()), 6)
    assert conspectus("verify", "--index", spoilt.folder).status == 0
    assert healthy.done.status == 0
    assert json.loads(healthy.done.out)["failures"] == 0


def test_every_well_formed_record_is_stored_and_none_is_invented(spoilt: Built) -> None:
    opened = StoredIndex.open(spoilt.folder)
    number_of_chunk = {each.id: number_of(each.text) for each in opened.rows(Chunk)}
    name_of = {each.id: each.name for each in opened.rows(Entity)}
    ends_of = {
        each.id: tuple(sorted((name_of[each.source_id], name_of[each.target_id]))) for each in opened.rows(Relation)
    }
    names_of = {**{each: (name,) for each, name in name_of.items()}, **ends_of}
    stored = {
        (number_of_chunk[each.chunk_id], names_of[each.entity_id or each.relation_id or ""], each.description)
        for each in opened.rows(Mention)
        if each.description
    }
    stored |= {
        (number_of_chunk[each.chunk_id], (name_of[each.subject_id],), each.description) for each in opened.rows(Claim)
    }
    assert stored == {
        (each.note, record.names, record.description) for each in spoilt.exchanges for record in each.whole
    }


def lost_notes(spoilt: Built) -> set[int]:
    """Return the notes of which the last reply to some question lost something."""
    last = {each.question: each for each in spoilt.exchanges if not each.is_form}
    return {each.note for each in last.values() if each.lost}


def test_every_loss_is_listed(spoilt: Built) -> None:
    opened = StoredIndex.open(spoilt.folder)
    failures = opened.rows(Failure)
    number_of_chunk = {each.id: number_of(each.text) for each in opened.rows(Chunk)}
    assert {number_of_chunk[each.item_id] for each in failures if each.stage == "extract"} == lost_notes(spoilt)

    names = {each.id: each.name for each in opened.rows(Entity)}
    names |= {each.id: f"{names[each.source_id]} and {names[each.target_id]}" for each in opened.rows(Relation)}
    forms = [each for each in spoilt.exchanges if each.is_form]
    bad = {each.first for each in forms} - {each.first for each in forms if not each.lost}
    things = sorted(thing_of(each) for each in bad if "\nThing: " in each)
    assert things == sorted(names[each.item_id] for each in failures if each.stage == "summarise")
    without_report = {each.item_id for each in failures if each.stage == "report"}
    assert len(without_report) == len(bad) - len(things)
    assert without_report <= {each.id for each in opened.rows(Community)}

    assert all(each.reason and each.detail for each in failures)
    listed = conspectus("status", "--failures", "--index", spoilt.folder).out
    for each in failures:
        assert f"{each.stage}: {each.item_id}: {each.reason}" in listed


def test_an_ordinary_run_after_it_asks_nothing_and_ends_alike(
    copy: Path, author: Author, server: FakeServer, corpus: Path, spoilt: Built
) -> None:
    again = index(author, server, corpus, copy)
    assert again.exchanges == []
    assert again.done.status == 5
    told, before = json.loads(again.done.out), json.loads(spoilt.done.out)
    assert told["unchanged"]
    assert {key: told[key] for key in ("version", "failures", "lost", "retried")} == {
        key: before[key] for key in ("version", "failures", "lost", "retried")
    }


def test_retry_failed_heals_and_asks_for_nothing_else(
    copy: Path, author: Author, server: FakeServer, corpus: Path, healthy: Built, owed: list[str], tmp_path: Path
) -> None:
    healed = index(author, server, corpus, copy, "--retry-failed")
    assert (healed.done.status, healed.done.err) == (0, "")
    assert model_failures(copy) == []
    assert questions(healed.exchanges) == owed
    told = json.loads(healed.done.out)
    assert 0 < told["retried"]["asked"] == told["retried"]["healed"] <= len(owed)
    assert told["version"] == json.loads(healthy.done.out)["version"], "the same files as a build from nothing"

    for words in ([], ["--retry-failed"]):
        after = index(author, server, corpus, copy, *words)
        assert after.exchanges == []
        assert json.loads(after.done.out)["unchanged"]
    shown = conspectus("index", corpus, "--index", copy, "--quiet", "--retry-failed", *options(server)).out
    assert "nothing to ask again" in shown

    (tmp_path / "other" / "cache").mkdir(parents=True)
    shutil.copy(copy / "cache" / "memo.sqlite", tmp_path / "other" / "cache" / "memo.sqlite")
    rebuilt = index(author, server, corpus, tmp_path / "other")
    assert rebuilt.exchanges == []
    assert json.loads(rebuilt.done.out)["version"] == told["version"], "healed replies are what is remembered"


def test_a_retry_of_a_server_that_still_fails_loses_nothing_more(
    copy: Path, author: Author, server: FakeServer, corpus: Path, spoilt: Built
) -> None:
    server.change(faults=Faults({"500": 1.0}))
    again = index(author, server, corpus, copy, "--retry-failed", attempts=1)
    server.change(faults=Faults())
    told = json.loads(again.done.out)
    assert told["retried"]["asked"] == told["retried"]["unanswered"] > 0
    assert told["version"] == json.loads(spoilt.done.out)["version"]
    assert again.done.status == 5


def test_a_budget_ends_a_retry_and_the_next_goes_on(
    copy: Path, author: Author, server: FakeServer, corpus: Path, spoilt: Built, owed: list[str]
) -> None:
    version = StoredIndex.open(copy).manifest.version
    stopped = index(author, server, corpus, copy, "--retry-failed", max_tokens=25_000)
    assert stopped.done.status == 9
    assert 0 < len(stopped.exchanges) < len(owed)
    assert StoredIndex.open(copy).manifest.version == version, "the old version is in force"
    healed = index(author, server, corpus, copy, "--retry-failed")
    assert healed.done.status == 0
    assert questions([*stopped.exchanges, *healed.exchanges]) == owed


def remembered(root: Path) -> set[tuple[str, str, bytes]]:
    """Return what an index remembers of replies."""
    with closing(sqlite3.connect(root / "cache" / "memo.sqlite", timeout=LIMIT)) as memo:
        return set(memo.execute("SELECT kind, key, value FROM results WHERE kind = 'reply'"))


def test_without_a_model_what_could_not_be_read_is_all_that_there_is(tmp_path: Path, server: FakeServer) -> None:
    (tmp_path / "good.txt").write_text("Marie Curie discovered polonium.", "utf-8")
    (tmp_path / "bad.pdf").write_text("no PDF", "utf-8")
    offline = ("--set", "llm.model=", "--set", "extraction.pipeline=regex", "--set", "build.failure_threshold=1")
    words = ("index", tmp_path / "*.*", "--index", tmp_path / "index", "--quiet", *options(server), *offline)
    assert conspectus(*words).status == 0
    again = conspectus(*words, "--retry-failed")
    assert "unchanged" in again.out
    assert "tried to read again; nothing else had failed" in again.out
    (tmp_path / "bad.pdf").unlink()
    (tmp_path / "bad.txt").write_text("Now it can be read.", "utf-8")
    healed = conspectus(*words, "--retry-failed")
    assert "published" in healed.out
    assert "failure" not in healed.out
