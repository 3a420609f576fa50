"""Why the baselines found a passage: the words that it shares with the question, its cosine, its ranks."""

import asyncio
from collections import Counter

from conspectus.query.context import Context
from conspectus.query.explain.types import Explained, Part
from conspectus.query.methods.baselines.bm25 import Bm25Retriever
from conspectus.query.methods.baselines.dense import DenseRetriever
from conspectus.query.methods.baselines.hybrid import CONSTANT, DEPTH, HybridRetriever
from conspectus.query.question.question import open_question
from conspectus.query.types import Evidence, Passage


async def by_words(context: Context, question: str, k: int) -> tuple[Evidence, list[Explained]]:
    """Return what BM25 finds; the parts of a score are those of the question's words."""
    found = await Bm25Retriever(context).retrieve(question, k)
    counts = Counter(open_question(context, question).content_words.split())
    scores = {word: context.bm25.scores(word) * count for word, count in counts.items()}

    def parts(passage: Passage) -> tuple[Part, ...]:
        row = context.chunk_rows[passage.chunk_id]
        held = sorted(((float(each[row]), word) for word, each in scores.items() if each[row] > 0), reverse=True)
        return tuple(Part(word, value, "a word of the question") for value, word in held)

    return found, _ranked(found, {each.chunk_id: parts(each) for each in found.passages})


async def by_meaning(context: Context, question: str, k: int) -> tuple[Evidence, list[Explained]]:
    """Return what dense retrieval finds; a score is a cosine."""
    found = await DenseRetriever(context).retrieve(question, k)
    return found, _ranked(
        found, {each.chunk_id: (Part("cosine", each.score, "with the question"),) for each in found.passages}
    )


async def by_ranks(context: Context, question: str, k: int) -> tuple[Evidence, list[Explained]]:
    """Return what both together find; the parts of a score are those of the two ranks."""
    found, words, meaning = await asyncio.gather(
        HybridRetriever(context).retrieve(question, k),
        Bm25Retriever(context).retrieve(question, max(k, DEPTH)),
        DenseRetriever(context).retrieve(question, max(k, DEPTH)),
    )
    parts: dict[str, list[Part]] = {}
    for name, ranking in (("bm25", words), ("dense", meaning)):
        for rank, each in enumerate(ranking.passages, start=1):
            part = Part(name, 1 / (CONSTANT + rank), f"rank {rank}, with score {each.score:.4f}")
            parts.setdefault(each.chunk_id, []).append(part)
    return found, _ranked(found, {id_: tuple(each) for id_, each in parts.items()})


def _ranked(found: Evidence, parts: dict[str, tuple[Part, ...]]) -> list[Explained]:
    return [Explained(rank, each, parts[each.chunk_id]) for rank, each in enumerate(found.passages, start=1)]
