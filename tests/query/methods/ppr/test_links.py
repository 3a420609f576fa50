"""Which passages are linked: by names that the question leaves out, and by titles."""

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.methods.ppr.links import joined_by_titles, linked_by_names
from conspectus.query.question.linking import Links, open_linker

from tests.conftest import Build


@pytest.fixture(scope="module")
def texts(build: Build) -> Context:
    return build(
        [
            ("Red Rock", "Red Rock is a film by Ilse Varga."),
            ("Ilse Varga", "Ilse Varga was born in Tihany on Lake Balaton."),
            ("Boats", "They sail on Lake Balaton in summer."),
            ("Boats", "Nobody sails in winter."),
            ("Other", "Nothing of that."),
        ]
    )


def pairs(context: Context, links: np.ndarray) -> set[frozenset[str]]:
    assert (links == links.T).all()
    assert not links.diagonal().any()
    names = [f"{context.titles[each.document_id]}: {each.text[:6]}" for each in context.chunks]
    return {frozenset({names[i], names[j]}) for i, j in zip(*np.nonzero(links), strict=True)}


def test_titles_join_their_holders_and_one_another(texts: Context) -> None:
    graph, rows = texts.index.graph(), np.arange(len(texts.chunks))
    assert pairs(texts, joined_by_titles(texts, graph, rows)) == {
        frozenset({"Red Rock: Red Ro", "Ilse Varga: Ilse V"}),
        frozenset({"Boats: They s", "Boats: Nobody"}),
    }


def test_names_link_unless_the_question_holds_them(texts: Context) -> None:
    graph, rows, n = texts.index.graph(), np.arange(len(texts.chunks)), len(texts.chunks)
    lake = frozenset({"Ilse Varga: Ilse V", "Boats: They s"})
    assert lake in pairs(texts, linked_by_names(graph, rows, Links((), ()), n))
    asked = open_linker(texts.index).link("Who was born on Lake Balaton?")
    assert asked.entity_rows
    assert lake not in pairs(texts, linked_by_names(graph, rows, asked, n))


def test_the_order_of_the_pool_is_kept(texts: Context) -> None:
    graph, rows = texts.index.graph(), np.arange(len(texts.chunks))
    turned = rows[::-1].copy()
    whole = joined_by_titles(texts, graph, rows)
    assert (joined_by_titles(texts, graph, turned) == whole[::-1, ::-1]).all()
