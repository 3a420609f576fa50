import asyncio

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.baselines import DenseRetriever
from conspectus.query.types import Passage
from conspectus.storage.records import Document
from conspectus.storage.text.embedded import chunk_windows

from tests.conftest import Build


def retrieve(context: Context, question: str, k: int = 5) -> tuple[Passage, ...]:
    return asyncio.run(DenseRetriever(context).retrieve(question, k)).passages


def cosine_with(context: Context, question: str) -> dict[str, float]:
    """The question's cosine with the best window of each chunk, all embedded here and now."""
    embedder = context.embedder
    vector = embedder.embed_query(question).astype(np.float64)
    document_of = {document.id: document for document in context.index.rows(Document)}
    return {
        chunk.id: max(embedder.embed(chunk_windows(chunk, document_of[chunk.document_id])).astype(np.float64) @ vector)
        for chunk in context.chunks
    }


def test_passages_and_scores_are_those_of_every_window_compared(build: Build) -> None:
    long = " ".join(f"The harbour master of port {i} keeps a list of ships." for i in range(60))
    context = build(
        {
            "Harbours": f"{long} In the cellar a violin maker works.",
            "Violins": "A violin has four strings and is played with a bow.",
            "Ships": "A ship is a large vessel that crosses the sea.",
            "": "Cats sleep for most of the day.",
        }.items()
    )
    for question in ("Who works in the cellar?", "How many strings has a violin?", "Do cats sleep?", "ports"):
        want = cosine_with(context, question)
        found = retrieve(context, question, 10)
        assert len(found) == len(want)
        np.testing.assert_allclose([each.score for each in found], [want[each.chunk_id] for each in found], atol=1e-6)
        assert [each.chunk_id for each in found] == sorted(want, key=lambda id_: (-want[id_], id_))


def test_meaning_is_found_without_a_shared_word(context: Context) -> None:
    assert retrieve(context, "a prize for books")[0].title == "Greenwell Award"
