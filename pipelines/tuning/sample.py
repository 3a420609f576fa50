"""Select a small, diverse sample that represents a corpus.

Passages are chosen greedily so that every passage of the corpus is near a chosen one (facility location; Lin and
Bilmes 2011, section 3): the first is the most typical, and outliers come late.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from conspectus.pipelines.steps.chunks import split_document
from conspectus.storage.arrays import Vectors
from conspectus.storage.records import Chunk, Document
from conspectus.storage.settings import ChunkSettings
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_each, token_spans

Embed = Callable[[Sequence[str]], Vectors]
"""Returns the unit vectors of texts, one row each."""

_POOL = 10
"""Candidate passages per chosen one."""
_LEAST_TOKENS = 40
"""Length below which a passage (a heading, a caption) is chosen only if its document has no other."""


def sample(
    documents: Sequence[Document], settings: ChunkSettings, count: int, seed: int, embed: Embed | None = None
) -> list[Chunk]:
    """Return up to `count` chunks of different texts, the most typical first; the same for the same arguments.

    As many documents as possible are represented. Without `embed` the sample is random.
    """
    pool = _pool(documents, settings, _POOL * count, seed)
    if embed is None or len(pool) <= count:
        return pool[:count]
    vectors = embed([item.text for item in pool])
    return [pool[place] for place in representatives(vectors, [item.document_id for item in pool], count)]


def representatives(vectors: Vectors, owners: Sequence[str], count: int) -> list[int]:
    """Return `count` representative rows, best first, taking owners in turn. Ties go to the first row."""
    likeness = np.maximum(vectors @ vectors.T, 0.0)
    covered = np.zeros(len(vectors), np.float32)
    taken: Counter[str] = Counter()
    chosen: list[int] = []
    while len(chosen) < min(count, len(vectors)):
        left = [place for place in range(len(vectors)) if place not in chosen]
        turn = min(taken[owners[place]] for place in left)
        heard = [place for place in left if taken[owners[place]] == turn]
        gains = np.maximum(likeness[heard], covered).sum(axis=1, dtype=np.float64)
        best = heard[int(np.argmax(gains))]
        chosen.append(best)
        taken[owners[best]] += 1
        covered = np.maximum(covered, likeness[best])
    return chosen


def excerpt(text: str, most: int) -> str:
    """Return the first sentences within `most` tokens; a longer first sentence is truncated."""
    spans = sentence_spans(text)
    end, room = 0, most
    for (start, stop), tokens in zip(spans, count_each(text[start:stop] for start, stop in spans), strict=True):
        if tokens > room:
            if not end:
                return text[start : token_spans(text[start:stop])[most - 1][1] + start]
            break
        end, room = stop, room - tokens
    return text[:end].strip()


def _pool(documents: Sequence[Document], settings: ChunkSettings, most: int, seed: int) -> list[Chunk]:
    """Return up to `most` chunks in a random order that takes the documents in turn."""
    dice = np.random.default_rng(seed)
    texts: set[str] = set()
    pool: list[Chunk] = []
    drawn = [documents[place] for place in dice.permutation(len(documents))[:most]]
    waiting = [_shuffled(split_document(item, settings), dice) for item in drawn]
    while waiting and len(pool) < most:
        still = []
        for chunks in waiting:
            if (chunk := next(chunks, None)) is None:
                continue
            still.append(chunks)
            if chunk.text not in texts:
                texts.add(chunk.text)
                pool.append(chunk)
        waiting = still
    return pool[:most]


def _shuffled(chunks: Sequence[Chunk], dice: np.random.Generator) -> Iterator[Chunk]:
    telling = [chunk for chunk in chunks if chunk.n_tokens >= _LEAST_TOKENS] or list(chunks)
    return iter([telling[place] for place in dice.permutation(len(telling))])
