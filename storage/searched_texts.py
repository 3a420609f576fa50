"""The searched texts of chunks."""

from collections.abc import Iterator, Sequence

from conspectus.storage.arrays import Rows
from conspectus.storage.made_rows import MadeRows
from conspectus.storage.records import Chunk, Document
from conspectus.storage.text.embedded import chunk_text


class SearchedTexts(MadeRows[str]):
    """The searched texts of chunks (see `chunk_text`), each made when it is asked for.

    Args:
        chunks: the chunks.
        documents: documents.
        of_chunk: the row of the document of each chunk.
    """

    def __init__(self, chunks: Sequence[Chunk], documents: Sequence[Document], of_chunk: Sequence[int] | Rows) -> None:
        self._chunks = chunks
        self._documents = documents
        self._of_chunk = of_chunk

    def __len__(self) -> int:
        return len(self._chunks)

    def _made(self, row: int) -> str:
        return chunk_text(self._chunks[row], self._documents[self._of_chunk[row]])

    def __iter__(self) -> Iterator[str]:
        for chunk, document in zip(self._chunks, self._of_chunk, strict=True):
            yield chunk_text(chunk, self._documents[document])
