"""Which names are compared at all: those that share a key or a document."""

import numpy as np
from conspectus.pipelines.resolution.features import Names
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.resolution.marked import corpus


@given(st.lists(st.lists(st.sampled_from(["Vey", "Ei", "Orla", "Quist"]), max_size=4), min_size=1, max_size=6))
def test_documents_are_shared_by_the_names_that_they_contain(texts: list[list[str]]) -> None:
    marked = [f"{number}: {' '.join(f'[{name}|GPE]' for name in text)}" for number, text in enumerate(texts)]
    documents, chunks, found = corpus(marked)
    names = Names(documents, chunks, found.knowledge)
    rows = np.flatnonzero(names.known).tolist()
    texts_with = {row: {place for place, text in enumerate(texts) if names.at(row).name in text} for row in rows}
    for one, own in texts_with.items():
        sharing = {other for other, others in texts_with.items() if own & others}
        assert set(names.evidence.sharing(one, rows)) == sharing - {one}
        assert len(names.at(one).documents) == len(own)
        assert {row for row in rows if names.at(row).shares_document(names.at(one))} == sharing
