"""Contracts for plug-ins, as tests that their authors inherit, and a language model with scripted replies.

Run the contracts with pytest.

    from pathlib import Path
    from conspectus.testing import ReaderContract

    class TestNotes(ReaderContract):
        suffix = ".notes"

        def samples(self, folder: Path) -> dict[Path, int]:
            (folder / "two.notes").write_text("first\\n---\\nsecond")
            return {folder / "two.notes": 2}

The plug-in must be installed, if only as an editable install: it is found by its entry point.
"""

import asyncio
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from conspectus.api import Index
from conspectus.building import build
from conspectus.exporting import find_export
from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.formats import read_rows
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.prompts.client.usage_and_cost import Spending, record
from conspectus.prompts.language_model import Reply, Request
from conspectus.query.menu import find_method
from conspectus.storage.errors import ModelError
from conspectus.storage.plugins import Kind, plugins
from conspectus.storage.settings import InputSettings, load_settings

TEXTS = {
    "lamp": "Mara Quill repaired the lighthouse lamp in Port Alma. She came by the evening ferry.",
    "ferry": "The ferry from North Bay to Port Alma leaves at noon. Otto Brand is its captain.",
    "log": "Otto Brand keeps the harbour log. Mara Quill reads the harbour log on Sundays.",
}
_DAMAGES = (b"", b"\x00" * 64, b"\xff\xfe\xfd" * 50, b"{" * 10_000, bytes(range(256)) * 40)


def small_index(folder: Path) -> Index:
    """Build an index of three short texts."""
    settings = load_settings(overrides={"extraction": {"pipeline": "regex"}})
    return build(texts=TEXTS, index=folder / "index", settings=settings)


class ReaderContract:
    """A reader: a function of a path and the settings of the input that yields `Row` and `Lost`."""

    suffix: str
    """The suffix that the reader reads, with its dot."""

    @abstractmethod
    def samples(self, folder: Path) -> dict[Path, int]:
        """Write files of the format; return the number of texts in each."""

    def test_it_is_found(self) -> None:
        """Its entry point can be imported."""
        assert callable(_found("readers", self.suffix))

    def test_it_reads_its_samples(self, tmp_path: Path) -> None:
        """Each sample yields its texts, with values that tables can store; reading again gives the same."""
        for path, count in self.samples(tmp_path).items():
            rows = list(read_rows(path, InputSettings()))
            assert [row for row in rows if isinstance(row, Lost)] == []
            assert len(rows) == count, f"{path.name} has {len(rows)} texts, not {count}"
            for row in rows:
                assert isinstance(row, Row)
                row.text.encode("utf-8")  # a lone surrogate cannot be stored
                assert all(isinstance(value, str) for value in row.metadata.values())
                assert all(0 <= place.start <= len(row.text) for place in row.places)
            numbers = [(row.number, row.within) for row in rows]
            assert len(set(numbers)) == len(numbers), "rows of one file differ in their number or in `within`"
            assert list(read_rows(path, InputSettings())) == rows

    def test_a_damaged_file_is_a_loss(self, tmp_path: Path) -> None:
        """It yields rows, losses or Unreadable for arbitrary bytes."""
        broken = tmp_path / f"broken{self.suffix}"
        whole = [path.read_bytes() for path in self.samples(tmp_path)]
        for damage in (*_DAMAGES, *(each[: len(each) // 2] for each in whole)):
            broken.write_bytes(damage)
            try:
                found = list(read_rows(broken, InputSettings()))
            except Unreadable as told:
                if told.reason == "its reader failed":
                    raise AssertionError(told.detail) from told
            else:
                assert all(isinstance(row, Row | Lost) for row in found)


class MethodContract:
    """A method: a `conspectus.query.menu.Method` under its own name."""

    name: str
    """The name of the method."""

    def test_it_is_found(self) -> None:
        """Its entry point can be imported, and has the same name."""
        assert find_method(self.name).name == self.name

    def test_it_retrieves(self, tmp_path: Path) -> None:
        """At most k passages, best first, with their characters; the same on repetition; nothing in an empty view."""
        index = small_index(tmp_path)
        if not find_method(self.name).retrieves:
            return
        documents = {row["id"]: row["text"] for row in index.tables()["documents"].to_pylist()}
        for k in (1, 2, 50):
            found = index.retrieve("Who repaired the lamp?", self.name, k)
            assert len(found.passages) <= k
            scores = [passage.score for passage in found.passages]
            assert scores == sorted(scores, reverse=True)
            assert len({passage.chunk_id for passage in found.passages}) == len(scores)
            for one in found.passages:
                assert documents[one.document_id][one.start : one.end] == one.text
            assert found == index.retrieve("Who repaired the lamp?", self.name, k)
            assert found == asyncio.run(index.aio.retrieve("Who repaired the lamp?", self.name, k))

    def test_it_sees_permitted_documents_only(self, tmp_path: Path) -> None:
        """Passages that a filter hides are not found."""
        view = small_index(tmp_path).filter('title = "ferry"')
        if find_method(self.name).retrieves:
            assert {one.title for one in view.retrieve("Who repaired the lamp?", self.name, 9).passages} <= {"ferry"}

    def test_it_answers(self, tmp_path: Path) -> None:
        """Citations are spans of the documents."""
        index = small_index(tmp_path)
        if find_method(self.name).missing(load_settings()):
            return
        documents = {row["id"]: row["text"] for row in index.tables()["documents"].to_pylist()}
        answer = index.ask("Who repaired the lighthouse lamp?", self.name)
        assert answer.text
        for one in answer.citations:
            assert documents[one.document_id][one.start : one.end] == one.quote


class ExporterContract:
    """An exporter: a `conspectus.exporting.ExportFormat`."""

    name: str
    """The name of the format."""

    def test_it_is_found(self) -> None:
        """Its entry point can be imported, and describes its purpose."""
        assert find_export(self.name).about

    def test_it_writes_the_same_twice(self, tmp_path: Path) -> None:
        """It writes the files that it reports, only there, and the same bytes for the same index."""
        index = small_index(tmp_path)
        written = []
        for name in ("first", "second"):
            done = index.export(self.name, tmp_path / name)
            assert done.files
            written.append([(file.relative_to(tmp_path / name), file.read_bytes()) for file in done.files])
        assert written[0] == written[1]
        assert {path.name for path in tmp_path.iterdir()} == {"index", "first", "second"}


def _found(kind: Kind, name: str) -> object:
    plugin = plugins(kind).get(name)
    assert plugin is not None, f"no installed package has {name!r} among its entry points conspectus.{kind}"
    return plugin.load()


Answer = str | Reply | ModelError
AnswerScript = Answer | Sequence[Answer] | Callable[[Request], Answer]


class ScriptedModel:
    """A `LanguageModel` that answers from a script and records what it was asked.

    Args:
        replies: Its answers: a text, a `Reply` (to set a finish reason or token counts), a `ModelError`
            to raise, several of these in turn (the last repeats), or a function of the request. A mapping from
            regular expressions to any of these answers by the first one found in the messages.

    Attributes:
        requests: All requests so far, in order.

    Example:
        >>> import asyncio
        >>> from conspectus.prompts.language_model import Message, Request
        >>> model = ScriptedModel({"capital of France": "Paris", "": "I do not know."})
        >>> question = Request((Message("user", "What is the capital of France?"),), step="answer")
        >>> asyncio.run(model.complete(question)).text
        'Paris'
        >>> [request.step for request in model.requests]
        ['answer']
    """

    def __init__(self, replies: AnswerScript | Mapping[str, AnswerScript]) -> None:
        self._rules = replies if isinstance(replies, Mapping) else {"": replies}
        self._turns = dict.fromkeys(self._rules, 0)
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        """Return the scripted reply; raise it if it is an error, LookupError if no expression is found."""
        self.requests.append(request)
        answer = self._answer(request)
        if isinstance(answer, ModelError):
            raise answer
        reply = answer if isinstance(answer, Reply) else self._as_reply(answer, request)
        record(
            Spending(
                request.step,
                reply.model,
                calls=1,
                attempts=1,
                prompt_tokens=reply.prompt_tokens,
                completion_tokens=reply.completion_tokens,
                cost=None,
            )
        )
        return reply

    def _answer(self, request: Request) -> Answer:
        prompt = "\n".join(message.content for message in request.messages)
        for expression, script in self._rules.items():
            if re.search(expression, prompt):
                turn = self._turns[expression]
                self._turns[expression] += 1
                if callable(script):
                    return script(request)
                if isinstance(script, Sequence) and not isinstance(script, str):
                    return script[min(turn, len(script) - 1)]
                return script
        raise LookupError(f"no scripted reply matches the prompt {prompt[:200]!r}")

    def _as_reply(self, text: str, request: Request) -> Reply:
        """Return a text as a reply, cut at the request's `max_tokens`. Each word is a token."""
        prompt_tokens = sum(len(message.content.split()) for message in request.messages)
        words, limit = text.split(), request.max_tokens
        if limit is not None and len(words) > limit:
            return Reply(" ".join(words[:limit]), "scripted", "length", prompt_tokens, limit)
        return Reply(text, "scripted", "stop", prompt_tokens, len(words))
