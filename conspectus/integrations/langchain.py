"""An index as a retriever of LangChain: `pip install 'conspectus[langchain]'`.

from conspectus.integrations.langchain import ConspectusRetriever

retriever = ConspectusRetriever(index=conspectus.open("papers.index"), k=5)
retriever.invoke("Who funded the second study?")
"""

from typing import Annotated, Any

from conspectus.api import Index
from conspectus.integrations import metadata_of
from conspectus.query.citations.numbered import documents_by_id
from conspectus.query.menu import DEFAULT_RETRIEVER
from conspectus.query.types import Evidence
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import AfterValidator, Field


def _an_index(given: object) -> Index:
    # Not a type of pydantic's: it would look into the dataclass and into all that an index holds.
    if not isinstance(given, Index):
        raise ValueError("index should be an index that conspectus.open returned")
    return given


class ConspectusRetriever(BaseRetriever):
    """Finds passages of an index. The metadata of each have its document, its characters, its place and its score.

    Attributes:
        index: The index; `index.filter(where, access)` restricts what is found.
        method: Any method that retrieves (`conspectus methods`).
        k: The number of passages; `invoke(question, k=3)` asks for another.
    """

    index: Annotated[Any, AfterValidator(_an_index)]
    method: str = DEFAULT_RETRIEVER
    k: int = Field(default=5, ge=1)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002  (LangChain's signature)
        k: int | None = None,
    ) -> list[Document]:
        return self._documents(self.index.retrieve(query, self.method, k or self.k))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
    ) -> list[Document]:
        return self._documents(await self.index.aio.retrieve(query, self.method, k or self.k))

    def _documents(self, evidence: Evidence) -> list[Document]:
        uris = {id_: document.uri for id_, document in documents_by_id(self.index.filter().context).items()}
        return [
            Document(id=one.chunk_id, page_content=one.text, metadata=metadata_of(one, uris))
            for one in evidence.passages
        ]
