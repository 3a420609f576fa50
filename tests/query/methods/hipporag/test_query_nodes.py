"""What a question names, without a model, and the phrases nearest to it (with one: see test_hipporag.py)."""

import asyncio

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.methods.hipporag.query_nodes import named_entities, nearest_phrases
from conspectus.storage.records import Entity


def names_of(context: Context, question: str) -> tuple[str, ...]:
    return asyncio.run(named_entities(context, question)).names


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Does the author of The Oak House live in Oxford?", ("The Oak House", "Oxford")),
        ("Did Angela Merkel visit Oxford, oxford and OXFORD?", ("Angela Merkel", "Oxford")),
        ("is there a famous prize for a young author?", ("famous prize", "young author")),
        ("?!", ()),
        ("", ()),
    ],
)
def test_names_or_else_noun_phrases(question: str, names: tuple[str, ...], sample_context: Context) -> None:
    assert names_of(sample_context, question) == names


def test_each_is_linked_with_its_nearest_phrase(sample_context: Context) -> None:
    entities = sample_context.index.rows(Entity)
    rows = nearest_phrases(sample_context, ("Oxford", "oxford", "Oak House"))
    assert {entities[row].name for row in rows} == {"Oxford", "Oak House"}
    assert rows.tolist() == sorted(set(rows.tolist()))
    assert nearest_phrases(sample_context, ()).dtype == np.int64


def test_a_name_may_be_longer_than_the_encoder_reads(sample_context: Context) -> None:
    assert len(nearest_phrases(sample_context, ("Oxford " * 1000,))) == 1
