"""P3: LangChain's own standard tests, and the same found both ways."""

import asyncio
from pathlib import Path
from typing import Any

import conspectus
import pytest
from conspectus.integrations.langchain import ConspectusRetriever
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

QUESTION = "Who directed the film shot at Marrow, Vey in 1962?"


class TestStandard(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _open(self, index_root: Path) -> None:
        self._index = conspectus.open(index_root)

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return ConspectusRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self._index}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


def test_p3_sync_and_async_find_the_same(index_root: Path) -> None:
    index = conspectus.open(index_root)
    retriever = ConspectusRetriever(index=index, method="hybrid", k=4)
    found = retriever.invoke(QUESTION)
    assert asyncio.run(retriever.ainvoke(QUESTION)) == found
    passages = index.retrieve(QUESTION, "hybrid", 4).passages
    assert [(one.id, one.page_content, one.metadata["score"]) for one in found] == [
        (one.chunk_id, one.text, one.score) for one in passages
    ]
    [document] = [
        row for row in index.tables()["documents"].to_pylist() if row["id"] == found[0].metadata["document_id"]
    ]
    start, end = found[0].metadata["start"], found[0].metadata["end"]
    assert document["text"][start:end] == found[0].page_content
    assert found[0].metadata["source"] == document["uri"]
