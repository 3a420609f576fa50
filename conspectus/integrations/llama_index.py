"""An index as a retriever of LlamaIndex: `pip install 'conspectus[llama-index]'`.

from conspectus.integrations.llama_index import ConspectusRetriever

retriever = ConspectusRetriever(conspectus.open("papers.index"), k=5)
retriever.retrieve("Who funded the second study?")
"""

from conspectus.api import Index
from conspectus.integrations import metadata_of
from conspectus.query.citations.numbered import documents_by_id
from conspectus.query.menu import DEFAULT_RETRIEVER
from conspectus.query.types import Evidence
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode


class ConspectusRetriever(BaseRetriever):
    """Finds passages of an index. The metadata of each have its document, its characters, its place and its score."""

    def __init__(self, index: Index, method: str = DEFAULT_RETRIEVER, k: int = 5) -> None:
        """Make a retriever.

        Args:
            index: The index; `index.filter(where, access)` restricts what is found.
            method: Any method that retrieves (`conspectus methods`).
            k: The number of passages.
        """
        self._index = index
        self._method = method
        self._k = k
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes(self._index.retrieve(query_bundle.query_str, self._method, self._k))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes(await self._index.aio.retrieve(query_bundle.query_str, self._method, self._k))

    def _nodes(self, evidence: Evidence) -> list[NodeWithScore]:
        uris = {id_: document.uri for id_, document in documents_by_id(self._index.filter().context).items()}
        found = []
        for one in evidence.passages:
            node = TextNode(
                id_=one.chunk_id,
                text=one.text,
                metadata=metadata_of(one, uris),
                start_char_idx=one.start,
                end_char_idx=one.end,
                relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=one.document_id)},
                # What is put before a model besides the text: its title and place, not its ids and numbers.
                excluded_llm_metadata_keys=["document_id", "chunk_id", "start", "end", "score", "source"],
                excluded_embed_metadata_keys=["document_id", "chunk_id", "start", "end", "score", "source"],
            )
            found.append(NodeWithScore(node=node, score=one.score))
        return found
