"""Batch files: results that are lost, repeated, refused or not results at all."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conspectus.prompts.client.batch import Outbox
from conspectus.prompts.client.reply_cache import KIND
from conspectus.storage.errors import Deferred, InputError, ModelRefused
from conspectus.storage.memo import Memo

EXPIRED = {"code": "batch_expired", "message": "This batch expired before it was done."}
TOO_LONG = {"code": "context_length_exceeded", "message": "This model's maximum context length is 8192 tokens."}


def outbox(folder: Path, keys: Sequence[str] = ()) -> Outbox:
    """Return the outbox of a folder, with requests written under these keys."""
    made = Outbox(folder / "batch", Memo(folder / "memo.sqlite"))
    for key in keys:
        assert isinstance(made.defer(key, "extract", {"model": "m", "messages": []}, 100, ["source"]), Deferred)
    if keys:
        made.write()
    return made


def good(key: str, text: str = "yes") -> dict[str, Any]:
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    return {"custom_id": key, "response": {"status_code": 200, "body": body}, "error": None}


def bad(key: str, status: int, error: object) -> dict[str, Any]:
    return {"custom_id": key, "response": {"status_code": status, "body": {"error": error}}, "error": None}


def put(folder: Path, *results: dict[str, Any] | str, name: str = "out") -> None:
    lines = [result if isinstance(result, str) else json.dumps(result, ensure_ascii=False) for result in results]
    (folder / "batch" / f"{name}.jsonl").write_text("\n".join(lines), "utf-8")


def replies(box: Outbox, keys: Sequence[str]) -> dict[str, str]:
    return {key: json.loads(value)[0] for key, value in box.memo.get_many(KIND, keys).items()}


def test_of_an_expired_batch_the_answered_requests_are_kept_and_the_others_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    box = outbox(tmp_path, ["a", "b", "c", "d"])
    put(tmp_path, good("a"), name="output")
    lost = [{"custom_id": key, "response": None, "error": EXPIRED} for key in "bc"]
    put(tmp_path, *lost, {"custom_id": "elsewhere"}, name="errors")
    with caplog.at_level(logging.WARNING, "conspectus"):
        box.take_back()
    assert replies(box, "abcd") == {"a": "yes"}
    assert "2 requests of the batch" in caplog.text
    assert "batch_expired This batch expired" in caplog.text
    assert "1 results" in caplog.text
    for key in "bcd":  # d has no result at all
        assert isinstance(box.defer(key, "extract", {"model": "m"}, 100, []), Deferred)


def test_a_reply_counts_whatever_other_results_the_request_has(tmp_path: Path) -> None:
    box = outbox(tmp_path, ["a", "b"])
    put(tmp_path, bad("a", 500, "down"), good("b", "first"), good("b", "second"), name="1")
    put(tmp_path, good("a"), bad("b", 400, TOO_LONG), name="2")
    for again in (box, outbox(tmp_path)):  # repeating the command changes nothing
        again.take_back()
        assert replies(box, "ab") == {"a": "yes", "b": "first"}


def test_results_without_a_reply_are_failures(tmp_path: Path) -> None:
    keys = [f"k{number}" for number in range(6)]
    box = outbox(tmp_path, keys)
    responses: list[Any] = [None, "done", {"status_code": 200}, {"status_code": 200, "body": None}, {}]
    broken = [{"custom_id": key, "response": response} for key, response in zip(keys, responses, strict=False)]
    put(tmp_path, *broken, bad("k5", 429, None))
    box.take_back()
    assert replies(box, keys) == {}
    for key in keys:
        assert isinstance(box.defer(key, "extract", {"model": "m"}, 100, []), Deferred)


def test_a_refused_request_fails_and_is_written_again_on_request(tmp_path: Path) -> None:
    box = outbox(tmp_path, ["a", "b"])
    put(tmp_path, bad("a", 400, TOO_LONG), bad("b", 503, "busy"))
    box.take_back()
    said = box.defer("a", "extract", {"model": "m"}, 100, [])
    assert isinstance(said, ModelRefused)
    assert "400 context_length_exceeded" in str(said)
    assert isinstance(box.defer("b", "extract", {"model": "m"}, 100, []), Deferred)
    box.take_back(retry=True)
    assert isinstance(box.defer("a", "extract", {"model": "m"}, 100, []), Deferred)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"custom_id": "a", "respon', r"out\.jsonl, line 2, is not whole .* download it again"),
        ("[]", r"out\.jsonl, line 2: not a result"),
        ('{"custom_id": "a", "method": "POST", "body": {}}', "put its output file there instead"),
    ],
)
def test_a_file_that_is_not_of_results_is_told_with_its_line(tmp_path: Path, line: str, told: str) -> None:
    box = outbox(tmp_path, ["a", "b"])
    put(tmp_path, good("b"), line)
    with pytest.raises(InputError, match=told):
        box.take_back()


def test_a_byte_order_mark_and_line_separators_in_texts_are_read(tmp_path: Path) -> None:
    box = outbox(tmp_path, ["a"])
    put(tmp_path, "\ufeff" + json.dumps(good("a", "one\u2028two"), ensure_ascii=False) + "\r\n\r\n")
    box.take_back()
    assert replies(box, "a") == {"a": "one\u2028two"}


def test_a_changed_list_of_requests_is_told(tmp_path: Path) -> None:
    box = outbox(tmp_path, ["a"])
    put(tmp_path, {"custom_id": "a"}, name="requests")
    with pytest.raises(InputError, match="was changed"):
        box.take_back()
