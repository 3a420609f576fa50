"""What documents have that links come from."""

from collections.abc import Iterable

import numpy as np
from conspectus.storage.records import Document
from conspectus.storage.structure.contents_lists import may_list
from conspectus.storage.structure.corpus import Sign, Signs
from conspectus.storage.structure.mail_threads import is_message
from conspectus.storage.structure.references import may_refer
from conspectus.storage.structure.terms import defines


def signs_of(documents: Iterable[Document]) -> Signs:
    """Return the signs of documents (see `Sign`), (documents,). A text may have one without a link."""
    return np.fromiter(map(_signs, documents), np.uint8)


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
