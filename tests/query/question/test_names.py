"""Names, terms and topic entities of a question."""

import math
from pathlib import Path

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.question.linking import Links, open_linker
from conspectus.query.question.question import open_question
from conspectus.query.question.topics import find_topics, link_topics, ranked_topics
from conspectus.query.walk.graph import is_id, open_graph
from conspectus.storage.records import Entity, Name
from conspectus.storage.text.names import words
from conspectus.storage.text.nlp import CONCEPT
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Build
from tests.query import films


def named(context: Context, found: Links) -> set[str]:
    entities = context.index.rows(Entity)
    return {each.name for each in found.names} | {entities[row].name for row in found.entity_rows}


def test_every_name_is_found_where_it_stands(context: Context) -> None:
    linker = open_linker(context.index)
    for name in context.index.rows(Name):
        assert name in linker.link(f"Tell me about {name.name}, please.").names
    for row, entity in enumerate(context.index.rows(Entity)):
        found = linker.link(f"Tell me about {entity.name}, please.").entity_rows
        assert (row in found) == any(kind != CONCEPT for kind in entity.types)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who wrote The Oak House?", {"The Oak House"}),
        ("who is paul marlow", {"Paul Marlow"}),
        ("北京大学在哪里？", {"北京大学"}),
        ("Did Paul Marlow's novel win the Greenwell Award?", {"Paul Marlow", "Greenwell Award"}),
    ],
)
def test_names_in_any_script_and_case(question: str, names: set[str], context: Context) -> None:
    assert names <= named(context, open_linker(context.index).link(question))


def test_the_longest_name_of_its_kind_holds(context: Context) -> None:
    """Names that stand for chunks and entities are looked for apart."""
    linker = open_linker(context.index)
    entities = context.index.rows(Entity)
    found = linker.link("Who founded the University of Oxford?")
    assert [entities[row].name for row in found.entity_rows] == ["University of Oxford"]
    assert [each.name for each in found.names] == ["Oxford"]
    assert [each.name for each in linker.link("Who wrote The Oak House (novel)?").names] == ["The Oak House (novel)"]


@pytest.fixture(scope="module")
def stems_of_chunks(context: Context) -> list[set[str]]:
    """The stems in each chunk's title and text."""
    return [
        set(context.bm25.analysis.stems(f"{context.titles[chunk.document_id]}\n{chunk.text}", row))
        for row, chunk in enumerate(context.chunks)
    ]


question_texts = st.lists(
    st.sampled_from(
        "film films directed novel author the of who wrote 1986 city cities zebra's C++ 北京大学 ?".split()
    ),
    max_size=8,
).map(" ".join)


@given(question_texts)
def test_terms_are_what_a_scan_of_all_chunks_says(
    context: Context, stems_of_chunks: list[set[str]], question: str
) -> None:
    terms = open_question(context, question).terms
    assert len(terms.weights) == len(terms.chunks)
    if len(terms.weights):
        assert terms.weights.sum() == pytest.approx(1)
        assert (terms.weights > 0).all()
    content = [word.key for word in words(question) if word.key not in {"the", "of", "who", "'s"}]
    asked = sorted({context.bm25.term(key, open_question(context, question).language) for key in content})
    holders = [[row for row, held in enumerate(stems_of_chunks) if each in held] for each in asked]
    assert [each.tolist() for each in terms.chunks] == holders
    n = len(stems_of_chunks)
    idf = np.array([math.log(1 + (n - len(rows) + 0.5) / (len(rows) + 0.5)) for rows in holders])
    np.testing.assert_allclose(terms.weights, idf / idf.sum() if len(idf) else idf)

    rows = np.array([5, 0, n - 1])
    held = terms.contained_in(rows)
    assert held.shape == (3, len(asked))
    assert held.tolist() == [[float(each in stems_of_chunks[row]) for each in asked] for row in rows]


@pytest.fixture(scope="module")
def texts(build: Build) -> Context:
    return build(
        [
            ("Red Rock", "A film based on a novel. The novel has a red cover."),
            ("Novel films", "Based films are rare; a novel on film is not."),
            ("Other", "Nothing of that."),
        ]
    )


def linked(context: Context, question: str) -> list[str]:
    return [open_graph(context).names[row] for row in link_topics(context, question)]


def test_a_name_in_part_is_enough_and_what_its_triples_say_decides(tmp_path: Path) -> None:
    context = films.build(tmp_path, [("Mary Quill", "born_in", "Tarn"), ("Quill Street", "lies_in", "Tarn")])
    assert linked(context, "where was Quill born") == ["Mary Quill"]
    assert linked(context, "in which town lies Quill") == ["Quill Street"]


@pytest.mark.parametrize("name", ["m.0h3d7qb", "/m/0abc1", "Q4115", "g.11b6d", "_:b0", "http://example.org/a1"])
def test_ids(name: str) -> None:
    assert is_id(name)


@pytest.mark.parametrize(
    ("question", "name", "places"),
    [
        ("which films did Mirren direct", "Ada Mirren", {3}),
        ("who wrote pans of salt", "Salt Pans", {2, 3, 4}),
        ("what genre is grey herons", "Grey Heron", {3, 4}),
    ],
)
def test_names_in_part_and_in_other_words(films_index: Context, question: str, name: str, places: set[int]) -> None:
    best = ranked_topics(films_index, question)[0]
    assert open_graph(films_index).names[best.row] == name
    assert best.places == places
    assert 0.4 < best.likeness < 1


def test_given_topics_are_looked_up_and_missing_names_reported(films_index: Context) -> None:
    found = find_topics(films_index, "who?", ["Grey Heron", "Nobody"])
    assert [open_graph(films_index).names[row] for row in found.rows] == ["Grey Heron"]
    assert found.step.detail == "given: Grey Heron, Nobody; the graph lacks Nobody"
    assert find_topics(films_index, "who directed Grey Heron").step.detail.endswith(": Grey Heron")
    assert find_topics(films_index, "how deep is the sea").step.detail.endswith(": none")
