"""Batch files: requests for a provider's batch API, which answers later at half the price, and their results.

    FOLDER/requests/extract-1f3a....jsonl   one request a line, as OpenAI's batch API takes them; one model a file
    FOLDER/requests.jsonl                   metadata of each request: the sources that its reply depends on
    FOLDER/*.jsonl                          the provider's output files, put there by the user

A request's id is the key of its reply in the memo, so results can arrive in any order and no request is paid for twice.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conspectus.prompts.client.completions import TokenRate, read_completion
from conspectus.prompts.client.reply_cache import KIND, reply_row
from conspectus.prompts.client.retry import TryAgain
from conspectus.storage.errors import BatchWritten, Deferred, InputError
from conspectus.storage.hashing import digest
from conspectus.storage.memo import Memo

URL = "/v1/chat/completions"
_MOST_REQUESTS, _MOST_BYTES = 50_000, 190_000_000
"""Of one file, by OpenAI's limit (200 MB)."""
_KNOWN = "requests.jsonl"


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request to be written."""

    key: str
    step: str
    model: str
    line: str
    n_bytes: int
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TakenBack:
    """How many results were stored, how many requests failed, and how many results match no request."""

    replies: int = 0
    failed: int = 0
    unknown: int = 0


@dataclass(slots=True)
class Outbox:
    """The batch files of one index.

    Args:
        folder: Their folder; made when something is written.
        memo: Where the replies are remembered.
    """

    folder: Path
    memo: Memo
    _waiting: dict[str, _Waiting] = field(default_factory=dict)

    def defer(self, key: str, step: str, body: Mapping[str, Any], n_bytes: int, sources: Sequence[str]) -> Deferred:
        """Queue a request for the next file, and return the error to raise to its caller."""
        line = json.dumps({"custom_id": key, "method": "POST", "url": URL, "body": body}, ensure_ascii=False)
        self._waiting[key] = _Waiting(key, step, str(body["model"]), line, n_bytes, tuple(sources))
        return Deferred("the request waits for a batch")

    def check(self) -> None:
        """Write the queued requests and end the run with BatchWritten; do nothing if none are queued."""
        if not self._waiting:
            return
        count, files = len(self._waiting), self.write()
        shown = ", ".join(map(str, files[:3])) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
        raise BatchWritten(
            f"{count} requests are written to {shown}: run them as a batch, put the output files into {self.folder}, "
            "and repeat the command"
        )

    def write(self) -> list[Path]:
        """Write the queued requests, and return the files. A file's name is derived from its requests."""
        requests = self.folder / "requests"
        requests.mkdir(parents=True, exist_ok=True)
        known = self._known() | {each.key: _known_line(each) for each in self._waiting.values()}
        (self.folder / _KNOWN).write_text("".join(f"{known[key]}\n" for key in sorted(known)), "utf-8")
        groups: defaultdict[tuple[str, str], list[_Waiting]] = defaultdict(list)
        for each in self._waiting.values():
            groups[each.step, each.model].append(each)
        files = []
        for (step, _), group in sorted(groups.items()):
            for part in _parts(sorted(group, key=lambda each: each.key)):
                file = requests / f"{step}-{digest(*(each.key for each in part))[:12]}.jsonl"
                file.write_text("".join(f"{each.line}\n" for each in part), "utf-8")
                files.append(file)
        self._waiting.clear()
        return files

    def take_back(self) -> TakenBack:
        """Store the replies in the output files of the folder.

        Requests that failed or whose results cannot be read go into the next batch.

        Raises:
            InputError: A file cannot be read.
        """
        known = {key: json.loads(line) for key, line in self._known().items()}
        rows: dict[str, bytes] = {}
        failed = unknown = 0
        for file in sorted(self.folder.glob("*.jsonl")):
            for result in _results(file) if file.name != _KNOWN else ():
                key = str(result.get("custom_id"))
                if key not in known:
                    unknown += 1
                    continue
                row = _reply(result, known[key])
                failed += row is None
                if row is not None:
                    rows[key] = row
        self.memo.put_many(KIND, rows, {key: known[key]["sources"] for key in rows})
        return TakenBack(len(rows), failed, unknown)

    def _known(self) -> dict[str, str]:
        file = self.folder / _KNOWN
        if not file.exists():
            return {}
        return {str(result["custom_id"]): json.dumps(result) for result in _results(file)}


def _known_line(each: _Waiting) -> str:
    known = {"custom_id": each.key, "model": each.model, "bytes": each.n_bytes, "sources": each.sources}
    return json.dumps(known)


def _results(file: Path) -> Iterator[dict[str, Any]]:
    try:
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            if line.strip():
                result = json.loads(line)
                if not isinstance(result, dict):
                    raise InputError(f"{file}, line {number}: not a result of a batch")
                yield result
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the batch file {file}: {error}") from error


def _reply(result: Mapping[str, Any], known: Mapping[str, Any]) -> bytes | None:
    """Return the reply of a result in the memo's format, None if the request failed."""
    response = result.get("response")
    if not isinstance(response, dict) or response.get("status_code") != 200 or result.get("error"):
        return None
    try:
        return reply_row(read_completion(response["body"], str(known["model"]), int(known["bytes"]), TokenRate()))
    except (TryAgain, KeyError, TypeError):
        return None


def _parts(waiting: Iterable[_Waiting]) -> Iterator[list[_Waiting]]:
    """Split the requests into files within the provider's limits."""
    part: list[_Waiting] = []
    size = 0
    for each in waiting:
        length = len(each.line.encode()) + 1
        if part and (len(part) == _MOST_REQUESTS or size + length > _MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(each)
        size += length
    if part:
        yield part
