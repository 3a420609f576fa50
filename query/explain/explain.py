"""Explain a retrieval result: the parts of each passage's score and, for graph walks, the paths to it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from conspectus.query.context import Context
from conspectus.query.explain.ppr import MEMORIES, MemoryExplainer, WalkExplainer
from conspectus.query.explain.types import Explained, Explanation, ScorePart
from conspectus.query.menu import DEFAULT_RETRIEVER, find_method
from conspectus.query.methods.baselines import (
    RRF_CONSTANT,
    RRF_DEPTH,
    Bm25Retriever,
    DenseRetriever,
    HybridRetriever,
    fusion_weights,
)
from conspectus.query.methods.ppr.ppr import FORMULA, rank_passages
from conspectus.query.question.question import Question, open_question
from conspectus.query.types import Evidence, Passage, Step
from conspectus.storage.errors import UsageError


async def explain(
    context: Context,
    question: str,
    method: str = DEFAULT_RETRIEVER,
    k: int = 5,
    *,
    passage: int | None = None,
    chunk: str | None = None,
    paths: int = 5,
) -> Explanation:
    """Return why a method found its `k` best passages, at most `paths` paths for each.

    `passage` selects a single rank, `chunk` a single chunk id. With a walk (`ppr` and its variants) any chunk can be
    explained, including one that was not retrieved.

    Raises UnknownMethod for an unknown name; UsageError for a method that cannot be explained, both `passage` and
    `chunk`, a rank beyond `k`, or a chunk that is not in the index or not in the result.
    """
    find_method(method, context.settings)
    if method not in EXPLAINED:
        raise UsageError(f"the method {method!r} cannot be explained; those that can: {', '.join(EXPLAINED)}")
    if k < 1 or paths < 1:
        raise UsageError(f"k and paths must be at least 1, not {k} and {paths}")
    if passage is not None and chunk is not None:
        raise UsageError("a rank and a chunk id both name a passage; give one of them")
    if passage is not None and not 1 <= passage <= k:
        raise UsageError(f"there is no passage {passage} among the {k} best; ranks begin at 1")
    if chunk is not None and chunk not in context.chunk_rows:
        raise UsageError(f"the index has no chunk {chunk!r}; conspectus retrieve --json shows the ids")
    walk: WalkExplainer | MemoryExplainer | None = None
    found: list[Explained] = []
    if method == "ppr":
        ranking = rank_passages(context, question, k)
        if isinstance(ranking, Step):  # the reason why there is none
            return Explanation(question, method, "", tuple(_chosen([], passage, chunk)), (ranking,))
        walk, formula, trace = WalkExplainer(context, question, ranking, paths), FORMULA, ranking.trace()
    elif method in MEMORIES:
        retriever, formula = MEMORIES[method]
        memory = await retriever(context).rank(question, k)
        trace = memory.trace
        if isinstance(memory, Evidence):  # the fallback's result
            formula, (_, found) = "cosine", await _by_meaning(context, question, k)
        else:
            walk = MemoryExplainer(context, method, memory, paths)
    else:
        formula, explain_baseline = _EXPLAIN_BASELINE[method]
        evidence, found = await explain_baseline(context, question, k)
        trace = evidence.trace
    if walk:
        rows = [context.chunk_rows[chunk]] if chunk else walk.best(k)
        found = [walk.explained(row) for row in (rows if passage is None else rows[passage - 1 : passage])]
    return Explanation(question, method, formula, tuple(_chosen(found, passage, chunk)), trace)


def _chosen(found: Sequence[Explained], passage: int | None, chunk: str | None) -> list[Explained]:
    """Return the selected passage, or all."""
    if passage is None and chunk is None:
        return list(found)
    wanted = [result for result in found if result.rank == passage or result.passage.chunk_id == chunk]
    if not wanted:
        which = f"passage {passage}" if chunk is None else f"chunk {chunk!r}"
        raise UsageError(f"{which} is not in the result, which has {len(found)} passages; raise k or ask otherwise")
    return wanted


async def _by_words(context: Context, question: str, k: int) -> tuple[Evidence, list[Explained]]:
    """Explain BM25: the parts of a score are the question's words."""
    found = await Bm25Retriever(context).retrieve(question, k)
    asked = open_question(context, question)
    counts = Counter(asked.content_words.split())
    scores = {word: context.bm25.scores(word, asked.language) * count for word, count in counts.items()}

    def parts(passage: Passage) -> tuple[ScorePart, ...]:
        row = context.chunk_rows[passage.chunk_id]
        held = sorted(((float(score[row]), word) for word, score in scores.items() if score[row] > 0), reverse=True)
        words = tuple(ScorePart(word, value, "a word of the question") for value, word in held)
        return (*words, *_exchanged(asked, passage.score - sum(value for value, _ in held)))

    return found, _ranked(found, {passage.chunk_id: parts(passage) for passage in found.passages})


async def _by_meaning(context: Context, question: str, k: int) -> tuple[Evidence, list[Explained]]:
    """Explain dense retrieval: a score is a cosine."""
    found = await DenseRetriever(context).retrieve(question, k)
    asked = open_question(context, question)
    rows = np.array([context.chunk_rows[passage.chunk_id] for passage in found.passages], np.int64)
    cosines = context.chunk_vectors.scores(asked.vector[np.newaxis], rows)[0] if len(rows) else ()
    return found, _ranked(
        found,
        {
            passage.chunk_id: (
                ScorePart("cosine", float(cosine), "with the question"),
                *_exchanged(asked, passage.score - float(cosine)),
            )
            for passage, cosine in zip(found.passages, cosines, strict=True)
        },
    )


def _exchanged(asked: Question, gain: float) -> tuple[ScorePart, ...]:
    """Return what a passage gains by an exchange of places with one of its document, if the question names a time."""
    return (ScorePart("time", gain, "by its dates it has the place of another passage"),) if asked.time else ()


async def _by_ranks(context: Context, question: str, k: int) -> tuple[Evidence, list[Explained]]:
    """Explain reciprocal rank fusion: the parts of a score come from the two ranks."""
    found, words, meaning = await asyncio.gather(
        HybridRetriever(context).retrieve(question, k),
        Bm25Retriever(context).retrieve(question, max(k, RRF_DEPTH)),
        DenseRetriever(context).retrieve(question, max(k, RRF_DEPTH)),
    )
    parts: dict[str, list[ScorePart]] = {}
    weights = fusion_weights(context, question)
    for name, ranking, weight in zip(("bm25", "dense"), (words, meaning), weights, strict=True):
        for rank, passage in enumerate(ranking.passages, start=1):
            part = ScorePart(name, weight / (RRF_CONSTANT + rank), f"rank {rank}, with score {passage.score:.4f}")
            parts.setdefault(passage.chunk_id, []).append(part)
    return found, _ranked(found, {id_: tuple(part) for id_, part in parts.items()})


def _ranked(found: Evidence, parts: dict[str, tuple[ScorePart, ...]]) -> list[Explained]:
    return [Explained(rank, passage, parts[passage.chunk_id]) for rank, passage in enumerate(found.passages, start=1)]


_EXPLAIN_BASELINE: dict[str, tuple[str, Callable[[Context, str, int], Awaitable[tuple[Evidence, list[Explained]]]]]] = {
    "bm25": ("the sum over the question's words", _by_words),
    "dense": ("cosine", _by_meaning),
    "hybrid": ("bm25 + dense", _by_ranks),
}
"""The formula of a baseline, and the function that finds and explains its passages."""
EXPLAINED = ("ppr", *MEMORIES, *_EXPLAIN_BASELINE)
"""The methods that can be explained."""
