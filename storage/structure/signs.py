"""What documents have that links come from: found once for a large index, so that links of a part read few texts."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from conspectus.storage.arrays import UNREADABLE_ARRAY
from conspectus.storage.derived import derived_folder
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.records import Document
from conspectus.storage.structure.contents_lists import may_list
from conspectus.storage.structure.corpus import Sign, Signs
from conspectus.storage.structure.mail_threads import is_message
from conspectus.storage.structure.references import may_refer
from conspectus.storage.structure.terms import defines

FORM = 1
"""Raised when the content of the file changes."""
_FILE = "signs.npy"


def signs_of(documents: Iterable[Document]) -> Signs:
    """Return the signs of documents (see `Sign`), (documents,). A text may have one without a link."""
    return np.fromiter(map(_signs, documents), np.uint8)


@per_index
def document_signs(index: StoredIndex) -> Signs:
    """Return the signs of the documents of a large index."""

    def write(place: Path) -> None:
        place.mkdir()
        np.save(place / _FILE, signs_of(index.each(Document)))

    path = derived_folder(index, "signs", FORM, write) / _FILE
    try:
        found: Signs = np.load(path, mmap_mode="r").view(np.ndarray)
    except UNREADABLE_ARRAY as error:
        raise IndexCorrupt(f"{path} cannot be read ({error}); delete it, and it is made again") from error
    return found


def _signs(document: Document) -> int:
    text = document.text
    return (
        Sign.PLACES * bool(document.places)
        | Sign.HYPERLINKS * bool(document.hyperlinks)
        | Sign.REFERENCES * may_refer(text)
        | Sign.LISTS * may_list(text)
        | Sign.DEFINITIONS * defines(text)
        | Sign.MESSAGE * is_message(document)
    )
