from collections import Counter
from dataclasses import replace

import pytest
from conspectus.pipelines.steps.extract.merge import Knowledge, merge
from conspectus.storage.hashing import entity_id
from conspectus.storage.records import Chunk, Document
from conspectus.storage.settings import ChunkSettings, NameSettings
from conspectus.storage.text.nlp import CONCEPT, Annotation, Phrase, Triple
from conspectus.storage.text.normalise import entity_key

from tests import samples


@pytest.fixture(scope="module")
def corpus() -> tuple[list[Document], list[Chunk], list[Annotation]]:
    documents = samples.documents()
    chunks = samples.chunks(documents)
    return documents, chunks, samples.annotations(chunks)


@pytest.fixture(scope="module")
def knowledge(corpus: tuple[list[Document], list[Chunk], list[Annotation]]) -> Knowledge:
    return merge(*corpus, NameSettings())


def id_of(name: str) -> str:
    return entity_id(entity_key(name))


def test_every_title_is_an_entity_under_its_own_name(knowledge: Knowledge) -> None:
    names = {each.name for each in knowledge.entities}
    assert set(samples.PASSAGES) <= names


def test_a_title_is_found_in_other_documents_also_without_its_parenthesis(
    knowledge: Knowledge, corpus: tuple[list[Document], list[Chunk], list[Annotation]]
) -> None:
    document_of = {chunk.id: chunk.document_id for chunk in corpus[1]}
    seen = {
        (document_of[each.chunk_id], each.match)
        for each in knowledge.mentions
        if each.entity_id == id_of("Paul Marlow")
    }
    assert ("d0", "exact") in seen
    novel = [each for each in knowledge.mentions if each.entity_id == id_of("The Oak House (novel)")]
    assert {each.match for each in novel} == {"alias", "chunk"}
    assert {each.surface for each in novel if each.match == "alias"} == {"The Oak House"}


def test_mentions_hold_the_words_at_their_spans(
    knowledge: Knowledge, corpus: tuple[list[Document], list[Chunk], list[Annotation]]
) -> None:
    text_of = {each.id: each.text for each in corpus[0]}
    chunk_of = {each.id: each for each in corpus[1]}
    for each in knowledge.mentions:
        if each.start is not None:
            assert text_of[chunk_of[each.chunk_id].document_id][each.start : each.end] == each.surface


def test_a_longer_known_name_hides_the_shorter_inside_it(knowledge: Knowledge) -> None:
    inside = [
        each
        for each in knowledge.mentions
        if each.entity_id == id_of("Oxford") and each.surface == "Oxford" and each.start is not None
    ]
    text = samples.PASSAGES["Oxford"]
    assert text.index("University of Oxford") + len("University of ") not in {each.start for each in inside}


def test_names_in_any_script_and_with_signs_survive(knowledge: Knowledge) -> None:
    names = {each.name for each in knowledge.entities}
    assert {"北京大学", "C++", "红楼梦", "Bjarne Stroustrup"} <= names


def test_relations_join_existing_entities_and_count_their_sentences(knowledge: Knowledge) -> None:
    ids = {each.id for each in knowledge.entities}
    mentioned = Counter(each.relation_id for each in knowledge.mentions if each.relation_id)
    assert knowledge.relations
    for each in knowledge.relations:
        assert {each.source_id, each.target_id} <= ids
        assert each.weight == mentioned[each.id]


def test_a_relation_of_a_dropped_or_covered_phrase_goes_to_the_name_that_stands_there(
    knowledge: Knowledge,
) -> None:
    stated = {(each.source_id, each.predicate, each.target_id) for each in knowledge.relations}
    assert (id_of("Paul Marlow"), "is", id_of("English novelist")) in stated


def test_lists_are_sorted_and_ids_unique(knowledge: Knowledge) -> None:
    for rows in (knowledge.entities, knowledge.relations, knowledge.mentions):
        ids = [each.id for each in rows]  # type: ignore[attr-defined]  # all three records have an id
        assert ids == sorted(set(ids))


def test_the_order_of_documents_leaves_no_trace(
    knowledge: Knowledge, corpus: tuple[list[Document], list[Chunk], list[Annotation]]
) -> None:
    documents, chunks, annotations = corpus
    assert merge(documents[::-1], chunks[::-1], annotations[::-1], NameSettings()) == knowledge


def test_text_repeated_by_overlapping_chunks_counts_once() -> None:
    from conspectus.pipelines.steps.chunks import split_document

    sentence = "Ada Lovelace met Charles Babbage in London in the spring of that year."
    text = " ".join([sentence] * 8)
    document = Document("d", "", "d.txt", text, {}, len(text), "")
    chunks = split_document(document, ChunkSettings(chunk_size=40, chunk_overlap=20))
    assert sum(len(chunk.text) for chunk in chunks) > len(text), "the chunks must overlap"
    annotations = samples.annotations(chunks)
    whole = merge([document], chunks, annotations, NameSettings())
    met = next(each for each in whole.relations if each.predicate == "meet")
    assert met.weight == 8
    ada = next(each for each in whole.entities if each.name == "Ada Lovelace")
    assert ada.frequency == len(chunks)


def one_chunk(text: str, *, title: str = "") -> tuple[list[Document], list[Chunk]]:
    document = Document("d", title, "d.txt", text, {}, len(text), "")
    return [document], [Chunk("k", "d", 0, 0, len(text), text, 9)]


def test_the_majority_names_and_types_an_entity() -> None:
    documents, chunks = one_chunk("APPLE Apple Apple pear")
    spans = [(0, 5, "ORG"), (6, 11, "FRUIT"), (12, 17, "FRUIT")]
    phrases = tuple(Phrase(start, end, chunks[0].text[start:end], kind) for start, end, kind in spans)
    (entity,) = merge(documents, chunks, [Annotation(phrases, ())], NameSettings()).entities
    assert (entity.name, entity.type, entity.types) == ("Apple", "FRUIT", ("FRUIT", "ORG"))


def test_a_tie_goes_by_the_alphabet() -> None:
    documents, chunks = one_chunk("Apple apple")
    phrases = (Phrase(0, 5, "Apple", "ORG"), Phrase(6, 11, "apple", "FRUIT"))
    (entity,) = merge(documents, chunks, [Annotation(phrases, ())], NameSettings()).entities
    assert (entity.name, entity.type) == ("Apple", "FRUIT")


def test_a_noun_phrase_needs_a_second_place_or_a_statement() -> None:
    documents, chunks = one_chunk("big cat saw small dog near old barn and old barn")
    cat, dog = Phrase(0, 7, "big cat", CONCEPT), Phrase(12, 21, "small dog", CONCEPT)
    barns = (Phrase(27, 35, "old barn", CONCEPT), Phrase(40, 48, "old barn", CONCEPT))
    stated = Annotation((cat, dog, *barns), (Triple(cat, "see", dog, 0, 48),))
    assert {each.name for each in merge(documents, chunks, [stated], NameSettings()).entities} == {
        "big cat", "small dog", "old barn",
    }  # fmt: skip
    unstated = replace(stated, triples=())
    assert {each.name for each in merge(documents, chunks, [unstated], NameSettings()).entities} == {"old barn"}


def test_a_lone_short_or_lower_case_word_is_not_looked_for() -> None:
    first, second = "He flew with Ed and watched Speed.", "The speed of it: Ed did not see the film Speed."
    documents = [Document(id_, "", id_, text, {}, len(text), "") for id_, text in (("a", first), ("b", second))]
    chunks = [Chunk(each.id, each.id, 0, 0, each.n_chars, each.text, 9) for each in documents]
    phrases = (Phrase(13, 15, "Ed", "PERSON"), Phrase(28, 33, "Speed", "WORK_OF_ART"))
    found = merge(documents, chunks, [Annotation(phrases, ()), Annotation((), ())], NameSettings())
    elsewhere = {(each.surface, each.start) for each in found.mentions if each.chunk_id == "b"}
    assert elsewhere == {("Speed", second.index("Speed"))}


def test_nothing_in_nothing_out() -> None:
    assert merge([], [], [], NameSettings()) == Knowledge([], [], [])
