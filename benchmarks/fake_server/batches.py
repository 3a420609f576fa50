"""The endpoints of OpenAI's batch API on a fake server: files, batches, and immediate results."""

import json
from collections.abc import Callable, Mapping
from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, cast

Answer = Callable[[Mapping[str, Any]], tuple[int, dict[str, Any]]]
"""Answers the body of a chat completion: its status and body."""


class Batches:
    """Files and batches. A batch is completed when it is created."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, dict[str, Any]] = {}

    def handle(self, method: str, path: str, content_type: str, raw: bytes) -> object | None:
        """Return the response to a request to these endpoints: JSON or bytes; None for other paths."""
        parts = path.removeprefix("/v1/").strip("/").split("/")
        if method == "POST" and parts == ["files"]:
            return self._file(_uploaded(content_type, raw), "batch")
        if method == "POST" and parts == ["batches"]:
            return self._batch(json.loads(raw))
        if parts[0] == "batches" and len(parts) == 2:
            return self._batches.get(parts[1])
        if parts[0] == "files" and parts[2:] == ["content"]:
            return self._files.get(parts[1])
        return None

    def _file(self, content: bytes, purpose: str) -> dict[str, Any]:
        id_ = f"file-{len(self._files) + 1}"
        self._files[id_] = content
        return {"id": id_, "object": "file", "bytes": len(content), "created_at": 0, "filename": f"{id_}.jsonl",
                "purpose": purpose, "status": "processed"}  # fmt: skip

    def _batch(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        lines = [json.loads(line) for line in self._files[asked["input_file_id"]].decode().splitlines()]
        results: list[str] = []
        errors: list[str] = []
        for line in lines:
            status, body = self._answer(line["body"])
            response = {"status_code": status, "request_id": line["custom_id"], "body": body}
            result = {
                "id": f"r-{line['custom_id']}",
                "custom_id": line["custom_id"],
                "response": response,
                "error": None,
            }
            (results if status == 200 else errors).append(json.dumps(result))
        id_ = f"batch-{len(self._batches) + 1}"
        made = self._batches[id_] = {
            "id": id_, "object": "batch", "endpoint": asked["endpoint"], "input_file_id": asked["input_file_id"],
            "completion_window": asked["completion_window"], "status": "completed", "created_at": 0,
            "output_file_id": self._file("\n".join(results).encode(), "batch_output")["id"],
            "error_file_id": self._file("\n".join(errors).encode(), "batch_output")["id"] if errors else None,
            "request_counts": {"total": len(lines), "completed": len(results), "failed": len(errors)},
        }  # fmt: skip
        return made


def _uploaded(content_type: str, raw: bytes) -> bytes:
    """Return the file in a multipart form."""
    whole = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode() + raw)
    for part in cast("list[Message]", whole.get_payload()):
        if part.get_param("name", header="content-disposition") == "file":
            return cast("bytes", part.get_payload(decode=True))
    return b""
