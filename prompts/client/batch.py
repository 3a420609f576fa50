"""Batch files: requests for a provider's batch API, which answers later at half the price, and their results.

    FOLDER/requests/extract-1f3a....jsonl   one request a line, as OpenAI's batch API takes them; one model a file
    FOLDER/requests.jsonl                   metadata of each request: the sources that its reply depends on
    FOLDER/*.jsonl                          the provider's output files, put there by the user

A request's id is the key of its reply in the memo, so results can arrive in any order and no request is paid for twice.
Requests without a result (a batch expired, a line is missing, the server was busy) go into the next batch. A request
that the server refuses does not: it fails, as a call would.
"""

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from conspectus.prompts.client.capabilities import Capabilities
from conspectus.prompts.client.completions import TokenRate, read_completion
from conspectus.prompts.client.reply_cache import KIND, reply_row
from conspectus.prompts.client.retry import TryAgain, is_refusal
from conspectus.storage.errors import BatchWritten, Deferred, InputError, ModelError, ModelRefused
from conspectus.storage.hashing import digest
from conspectus.storage.memo import Memo
from conspectus.storage.publishing import write_whole

URL = "/v1/chat/completions"
_MOST_REQUESTS, _MOST_BYTES = 50_000, 190_000_000
"""Of one file, by OpenAI's limit (200 MB)."""
_KNOWN = "requests.jsonl"
_KEYS = {"custom_id", "model", "bytes", "sources"}
"""Of a line in it."""
_log = logging.getLogger("conspectus")


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request to be written: its key, step and model, its line, and what is known of it in `_KNOWN`."""

    key: str
    step: str
    model: str
    line: str
    known: Mapping[str, Any]


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
    _refused: dict[str, list[str]] = field(default_factory=dict)
    """What the server said to requests that it refused, by key; several times if it was asked again."""
    _model_of: dict[str, str] = field(default_factory=dict)

    @property
    def refusals(self) -> list[tuple[str, str]]:
        """The models, and what the server refuses of them: each once."""
        return list(dict.fromkeys((self._model_of[key], text) for key, said in self._refused.items() for text in said))

    def defer(self, key: str, step: str, body: Mapping[str, Any], n_bytes: int, sources: Sequence[str]) -> ModelError:
        """Queue a request for the next file, and return the error to raise to its caller.

        That is ModelRefused, and nothing is queued, if the server has refused the request. A refusal of a feature
        (`Capabilities`) counts the second time: the request is written again without it.
        """
        if final := self._final(key):
            return ModelRefused(f"the batch's server says: {final}")
        line = json.dumps({"custom_id": key, "method": "POST", "url": URL, "body": body}, ensure_ascii=False)
        known = {"custom_id": key, "model": body["model"], "bytes": n_bytes, "sources": list(sources)}
        self._waiting[key] = _Waiting(key, step, str(body["model"]), line, known)
        return Deferred("the request waits for a batch")

    def _final(self, key: str) -> str:
        """Return why the server refuses a request for good, "" if it does not."""
        said = self._refused.get(key, [])
        return next((text for text in said if said.count(text) > 1 or not _names_a_feature(text)), "")

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
        known = self._known() | {each.key: each.known for each in self._waiting.values()}
        write_whole(self.folder / _KNOWN, "".join(f"{json.dumps(known[key])}\n" for key in sorted(known)))
        waiting = sorted(self._waiting.values(), key=lambda each: (each.step, each.model, each.key))
        files = []
        for (step, _), group in groupby(waiting, key=lambda each: (each.step, each.model)):
            for part in _parts(group):
                file = requests / f"{step}-{digest(*(each.key for each in part))[:12]}.jsonl"
                write_whole(file, "".join(f"{each.line}\n" for each in part))
                files.append(file)
        self._waiting.clear()
        return files

    def take_back(self, *, retry: bool = False) -> None:
        """Store the replies in the output files of the folder, and warn of failed requests that are written again.

        Of several results of a request a reply counts, the first one by file name.

        Args:
            retry: Write refused requests again, too.

        Raises:
            InputError: A file cannot be read, or is not of results.
        """
        known = self._known()
        rows: dict[str, bytes] = {}
        failed: dict[str, str] = {}
        refused: defaultdict[str, list[str]] = defaultdict(list)
        unknown = 0
        for file in sorted(self.folder.glob("*.jsonl")):
            for result in _lines(file) if file.name != _KNOWN else ():
                if "method" in result:
                    raise InputError(f"{file} has the requests of a batch: put its output file there instead")
                key = str(result.get("custom_id"))
                if key not in known:
                    unknown += 1
                    continue
                row = _reply(result, known[key])
                if row is not None:
                    rows.setdefault(key, row)
                else:
                    status, failed[key] = _said(result)
                    if is_refusal(status):
                        refused[key].append(failed[key])
        self.memo.put_many(KIND, rows, {key: known[key]["sources"] for key in rows})
        lost = set(self.memo.missing(KIND, failed))
        self._refused = {
            key: [text for text in dict.fromkeys(said) if _names_a_feature(text)] if retry else said
            for key, said in refused.items()
            if key in lost
        }
        self._model_of = {key: str(known[key]["model"]) for key in self._refused}
        self._warn([text for key, text in failed.items() if key in lost and not self._final(key)], unknown)

    def _warn(self, failed: Sequence[str], unknown: int) -> None:
        if failed:
            (text, count), *others = Counter(failed).most_common()
            more = f" ({count} times, and {len(others)} other errors)" if others else ""
            _log.warning("%d requests of the batch in %s failed: %s%s", len(failed), self.folder, text, more)
        if unknown:
            told = "%d results in %s belong to no request in its %s and are not used"
            _log.warning(told, unknown, self.folder, _KNOWN)

    def _known(self) -> dict[str, Mapping[str, Any]]:
        file = self.folder / _KNOWN
        if not file.exists():
            return {}
        known = list(_lines(file))
        if not all(isinstance(each.get("sources"), list) and each.keys() >= _KEYS for each in known):
            raise InputError(f"{file} was changed: delete it, and the requests of the stage are written again")
        return {str(each["custom_id"]): each for each in known}


def _names_a_feature(refusal: str) -> bool:
    """Return whether a refusal is about a feature that requests can do without."""
    return Capabilities().lowered(refusal) is not None


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    try:
        # A string may contain other line breaks, such as U+2028.
        lines = file.read_text("utf-8-sig").split("\n")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the batch file {file}: {error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                result = json.loads(line)
            except (ValueError, RecursionError) as error:
                why = f"{file}, line {number}, is not whole ({error}): download it again, or delete the line"
                raise InputError(why) from error
            if not isinstance(result, dict):
                raise InputError(f"{file}, line {number}: not a result of a batch")
            yield result


def _reply(result: Mapping[str, Any], known: Mapping[str, Any]) -> bytes | None:
    """Return the reply of a result in the memo's format, None if the request failed."""
    response = result.get("response")
    if not isinstance(response, dict) or response.get("status_code") != 200 or result.get("error"):
        return None
    try:
        return reply_row(read_completion(response["body"], str(known["model"]), int(known["bytes"]), TokenRate()))
    except (TryAgain, KeyError, TypeError, ValueError):
        return None


def _said(result: Mapping[str, Any]) -> tuple[int, str]:
    """Return the status and the message of a failed result; the status is 0 if the server did not answer."""
    response = result.get("response")
    answer: Mapping[str, Any] = response if isinstance(response, dict) else {}
    body, status = answer.get("body"), answer.get("status_code")
    error = result.get("error") or (body.get("error") if isinstance(body, dict) else None)
    said = [error.get(key) for key in ("code", "param", "message")] if isinstance(error, dict) else [error]
    told = " ".join(" ".join(str(part) for part in said if part).split())[:500]
    return status if type(status) is int else 0, f"{status or ''} {told or 'a result without a reply'}".strip()


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
