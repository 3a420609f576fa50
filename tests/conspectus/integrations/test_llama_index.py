"""P3: LlamaIndex's base class, used as its query engines use it."""

import asyncio
from pathlib import Path

import conspectus
from conspectus.integrations.llama_index import ConspectusRetriever
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import MetadataMode, QueryBundle

QUESTION = "Who directed the film shot at Marrow, Vey in 1962?"


def test_p3_sync_and_async_find_the_same(index_root: Path) -> None:
    index = conspectus.open(index_root)
    retriever: BaseRetriever = ConspectusRetriever(index, method="hybrid", k=4)
    found = retriever.retrieve(QUESTION)
    assert asyncio.run(retriever.aretrieve(QueryBundle(QUESTION))) == found
    passages = index.retrieve(QUESTION, "hybrid", 4).passages
    assert [(one.node_id, one.text, one.score) for one in found] == [
        (one.chunk_id, one.text, one.score) for one in passages
    ]
    shown = found[0].node.get_content(MetadataMode.LLM)
    assert passages[0].title in shown
    assert passages[0].chunk_id not in shown
