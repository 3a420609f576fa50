"""The searched texts of chunks, and how often each has each term, which a large index maps (see `derived`)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from conspectus.storage.arrays import Rows
from conspectus.storage.derived import derived_folder
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.joins import joined
from conspectus.storage.made_rows import MadeRows
from conspectus.storage.records import Chunk, Document
from conspectus.storage.text.embedded import chunk_text
from conspectus.storage.text.term_counts import TermCounts


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


@per_index
def term_counts(index: StoredIndex) -> TermCounts:
    """Return how often each chunk of a large index has each term of its lexical index; a build has counted them."""
    lexical = index.lexical()
    texts = SearchedTexts(index.each(Chunk), index.each(Document), joined(index).documents.tolist())

    def write(place: Path) -> None:
        bags = (lexical.analysis.terms(text, row) for row, text in enumerate(texts))
        TermCounts.of(bags, lexical.columns(), place.parent).write(place)

    return TermCounts.open(derived_folder(index, TermCounts.NAME, TermCounts.FORM, write))
