"""Embeddings without a model: texts that share words have similar vectors."""

import base64
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from conspectus.prompts.fake.refused import Refused
from conspectus.prompts.fake.tokens import Count, pieces
from conspectus.storage.arrays import Ints, Vectors

_PLACES = 8
"""The dimensions that a word stands in: enough that two words hardly ever stand in the same ones."""


def embed(words: Sequence[str], dimensions: int) -> Vectors:
    """Return a unit vector: every word adds 1 or -1 in a few dimensions that its hash picks."""
    vector = np.zeros(dimensions, dtype=np.float32)
    for word in words:
        places, signs = _hashed(word, dimensions)
        np.add.at(vector, places, signs)
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        vector[0] = length = 1.0
    return vector / np.float32(length)


@lru_cache(maxsize=1 << 16)
def _hashed(word: str, dimensions: int) -> tuple[Ints, Vectors]:
    numbers = np.frombuffer(blake2b(word.encode(errors="replace"), digest_size=4 * _PLACES).digest(), dtype="<u4")
    return (numbers >> 1).astype(np.int64) % dimensions, np.where(numbers & 1, 1.0, -1.0).astype(np.float32)


def inputs(body: Mapping[str, Any], largest: int) -> list[list[str]]:
    """Return the words of every input: of a string, of strings, of token ids or of lists of them.

    Refused, as OpenAI does, for a missing, empty or badly typed input and for more than `largest` of them.
    """
    given = body.get("input")
    if given is None:
        raise Refused(400, "Missing required parameter: 'input'.", param="input", code="missing_required_parameter")
    if isinstance(given, str):
        given = [given]
    if isinstance(given, list) and given and all(isinstance(each, int) for each in given):
        given = [given]
    if not isinstance(given, list):
        raise Refused(400, "'$.input' is invalid. Please check the API reference.", param="input")
    if not given:
        told = "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead."
        raise Refused(400, told, param="input", code="empty_array")
    if len(given) > largest:
        told = (
            f"Invalid 'input': array too long. Expected an array with maximum length {largest}, "
            f"but got an array with length {len(given)} instead."
        )
        raise Refused(400, told, param="input", code="array_above_max_length")
    return [_words(each) for each in given]


def _words(given: object) -> list[str]:
    if isinstance(given, str) and given:
        return [piece.strip() for piece in pieces(given.lower())]
    if isinstance(given, list) and given and all(isinstance(each, int) for each in given):
        return [f"token {each}" for each in given]
    raise Refused(400, "'$.input' is invalid: an input cannot be empty.", param="input")


def tokens(body: Mapping[str, Any], words: Sequence[Sequence[str]], count: Count) -> int:
    """Return the tokens of all inputs: token ids are counted as they are, texts as the server counts."""
    given = body["input"]
    texts = [given] if isinstance(given, str) else [each for each in given if isinstance(each, str)]
    return sum(map(count, texts)) if texts else sum(map(len, words))


def payload(
    body: Mapping[str, Any], words: Sequence[Sequence[str]], dimensions: int, used: int | None, model: str
) -> dict[str, Any]:
    """Return the payload of an embeddings reply, floats or base64 (little-endian float32) as asked for."""
    wanted = body.get("dimensions")
    if wanted is not None and (not isinstance(wanted, int) or wanted < 1):
        raise Refused(400, f"Invalid value for 'dimensions': {wanted}.", param="dimensions")
    coding = body.get("encoding_format") or "float"
    if coding not in ("float", "base64"):
        told = f"Invalid value: '{coding}'. Supported values are: 'float' and 'base64'."
        raise Refused(400, told, param="encoding_format", code="invalid_value")
    vectors = [embed(each, wanted or dimensions) for each in words]
    data = [
        {
            "object": "embedding",
            "index": place,
            "embedding": base64.b64encode(vector.astype("<f4").tobytes()).decode()
            if coding == "base64"
            else vector.tolist(),
        }
        for place, vector in enumerate(vectors)
    ]
    made: dict[str, Any] = {"object": "list", "data": data, "model": model}
    if used is not None:
        made["usage"] = {"prompt_tokens": used, "total_tokens": used}
    return made
