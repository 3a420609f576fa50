"""What a server's reply to a request for embeddings holds: read strictly, so that no vector is silently wrong."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from conspectus.prompts.client.retry import TryAgain
from conspectus.storage.arrays import Vectors


@dataclass(frozen=True, slots=True)
class EmbeddingReply:
    """Unit vectors (n, dimension), and the tokens that the server counted (None where it did not)."""

    rows: Vectors
    tokens: int | None


def read_vectors(body: Mapping[str, Any], n_texts: int) -> EmbeddingReply:
    """Return the vectors of a reply in the order of the texts that were sent, each of length 1.

    Floats and base64 (little-endian float32) are read. TryAgain where there is not one vector for each text, all of
    one dimension, of finite numbers that are not all zero.
    """
    data = body.get("data")
    if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
        raise _spoilt(f"a reply without vectors: {str(dict(body))[:200]}")
    if len(data) != n_texts:
        raise _spoilt(f"{len(data)} vectors for {n_texts} texts")
    rows = [_numbers(each.get("embedding")) for each in _in_order(data)]
    if len({len(each) for each in rows}) != 1:
        raise _spoilt("vectors of several lengths in one reply")
    found = np.stack(rows)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise _spoilt("a vector without a direction: its numbers are all zero, infinite or no numbers")
    return EmbeddingReply((found / lengths).astype(np.float32), _tokens(body.get("usage")))


def _in_order(data: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows by their index; as they come where the server gives none."""
    places = [each.get("index") for each in data]
    if all(each is None for each in places):
        return list(data)
    row_of = {place: row for place, row in zip(places, data, strict=True) if type(place) is int}
    if row_of.keys() != set(range(len(data))):
        raise _spoilt(f"vectors whose indices are not those of the texts: {str(places)[:200]}")
    return [row_of[place] for place in range(len(data))]


def _numbers(given: object) -> npt.NDArray[np.float64]:
    try:
        if isinstance(given, str):
            return np.frombuffer(base64.b64decode(given, validate=True), "<f4").astype(np.float64)
        found = np.asarray(given, np.float64)
    except (binascii.Error, ValueError, TypeError) as error:
        raise _spoilt(f"a vector that cannot be read: {error}") from error
    if found.ndim != 1 or not found.size:
        raise _spoilt(f"a vector that is no list of numbers: {str(given)[:100]}")
    return found


def _tokens(usage: object) -> int | None:
    """Return the tokens of the texts; None where the server does not tell."""
    if not isinstance(usage, dict):
        return None
    counts = (usage.get("prompt_tokens"), usage.get("total_tokens"))
    return next((each for each in counts if type(each) is int and each > 0), None)


def _spoilt(reason: str) -> TryAgain:
    return TryAgain(reason, taken=True)
