from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import pytest
from conspectus.pipelines.steps.extract.find_names import Sighting
from conspectus.pipelines.steps.extract.merge import Findings, Knowledge, merge
from conspectus.storage import sql_engine
from conspectus.storage.hashing import entity_id, short_id
from conspectus.storage.records import Chunk, Document, Mention
from conspectus.storage.spilled import spilling_to
from conspectus.storage.text.nlp import CONCEPT, Annotation, Phrase, Triple
from conspectus.storage.text.normalise import entity_key
from hypothesis import given
from hypothesis import strategies as st

from tests import samples


@pytest.fixture(scope="module")
def corpus() -> tuple[list[Document], list[Chunk], list[Annotation]]:
    documents = samples.documents()
    chunks = samples.chunks(documents)
    return documents, chunks, samples.annotations(chunks)


@pytest.fixture(scope="module")
def knowledge(corpus: tuple[list[Document], list[Chunk], list[Annotation]]) -> Knowledge:
    return merge(*corpus)


def id_of(name: str) -> str:
    return entity_id(entity_key(name))


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


def one_chunk(text: str, *, title: str = "") -> tuple[list[Document], list[Chunk]]:
    document = Document("d", title, "d.txt", text, {}, len(text), "")
    return [document], [Chunk("k", "d", 0, 0, len(text), text, 9)]


def test_a_noun_phrase_needs_a_second_place_or_a_statement() -> None:
    documents, chunks = one_chunk("big cat saw small dog near old barn and old barn")
    cat, dog = Phrase(0, 7, "big cat", CONCEPT), Phrase(12, 21, "small dog", CONCEPT)
    barns = (Phrase(27, 35, "old barn", CONCEPT), Phrase(40, 48, "old barn", CONCEPT))
    stated = Annotation((cat, dog, *barns), (Triple(cat, "see", dog, 0, 48),))
    assert {each.name for each in merge(documents, chunks, [stated]).entities} == {
        "big cat", "small dog", "old barn",
    }  # fmt: skip
    unstated = replace(stated, triples=())
    assert {each.name for each in merge(documents, chunks, [unstated]).entities} == {"old barn"}


_CHUNKS = [Chunk(f"c{number}", f"d{number // 2}", 0, 0, 9, "", 1) for number in range(4)]
_NAMED = st.builds(
    Sighting,
    st.sampled_from(_CHUNKS),
    st.sampled_from(["ada", "bo", "key"]),
    st.sampled_from(["Ada", "ada", " A  da", "Bo"]),
    st.sampled_from([None, "PERSON", "ORG", CONCEPT]),
    st.sampled_from([None, 0, 3]),
    st.just(None),
    st.sampled_from(["exact", "alias", "chunk"]),
)


def knowledge_of(sightings: list[Sighting]) -> Knowledge:
    with Findings() as findings:
        for each in sightings:
            findings.add([each])
        return findings.knowledge()


def place(each: Sighting) -> tuple[str, int | None]:
    return each.chunk.document_id, each.start


def ranked(votes: Counter[str]) -> list[str]:
    return sorted(votes, key=lambda vote: (-votes[vote], vote))


@given(st.lists(_NAMED.map(lambda each: each._replace(end=None if each.start is None else each.start + 2))))
def test_tables_give_what_dictionaries_give(
    tmp_path_factory: pytest.TempPathFactory, sightings: list[Sighting]
) -> None:
    """The rules written out, a sighting at a time."""
    kept = {each.key for each in sightings if each.type != CONCEPT}
    kept |= {each.key for each in sightings if len({place(other) for other in sightings if other.key == each.key}) > 1}
    found = knowledge_of(sightings)
    assert {each.id for each in found.entities} == set(map(entity_id, kept))
    for key in kept:
        own = [each for each in sightings if each.key == key]
        named: dict[object, str] = {}
        for each in own:
            if each.match != "alias":
                named.setdefault(place(each), " ".join(each.surface.split()))
        types = Counter(kind for _, kind in {(place(each), each.type) for each in own} if kind)
        (entity,) = [each for each in found.entities if each.id == entity_id(key)]
        assert entity.name == [*ranked(Counter(named.values())), key][0]
        assert entity.types == tuple(ranked(types) or ["TITLE"])
        assert entity.frequency == len({each.chunk.id for each in own})
    mentions: dict[str, Mention] = {}
    for each in sightings:
        if each.key in kept:
            owner = entity_id(each.key)
            id_ = short_id("mention", each.chunk.id, owner, str(each.start), str(each.end))
            made = Mention(id_, each.chunk.id, owner, None, each.start, each.end, each.match, each.surface, "")
            mentions.setdefault(id_, made)
    assert list(found.mentions) == [mentions[id_] for id_ in sorted(mentions)]
    with spilling_to(tmp_path_factory.getbasetemp()), patch.object(sql_engine, "_INSERTED_AT_ONCE", 2):
        assert knowledge_of(sightings) == found
