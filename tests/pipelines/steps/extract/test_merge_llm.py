"""Records of a model merged: whose they are, where they stand, and that none is lost."""

import random

import pytest
from conspectus.pipelines.steps.chunks import split_document
from conspectus.pipelines.steps.extract.llm import ChunkExtraction
from conspectus.pipelines.steps.extract.merge_llm import ModelKnowledge, merge_extractions
from conspectus.prompts.replies.records import ClaimRecord, EntityRecord, RelationRecord
from conspectus.storage.hashing import entity_id
from conspectus.storage.records import Chunk, Document, Entity, Relation
from conspectus.storage.settings import ChunkSettings
from conspectus.storage.text.normalise import entity_key

Passage = tuple[str, ChunkExtraction]


def person(name: str, says: str = "", kind: str = "person") -> EntityRecord:
    return EntityRecord(name, kind, says or f"{name} is told of.")


def met(source: str, target: str, strength: float | None = 7, says: str = "") -> RelationRecord:
    return RelationRecord(source, target, says or f"{source} met {target}.", strength)


def claim(subject: str, quote: str | None, target: str | None = None) -> ClaimRecord:
    return ClaimRecord(subject, target, "work", "true", "1843", None, f"{subject} did it.", quote)


def found(*records: EntityRecord | RelationRecord | ClaimRecord) -> ChunkExtraction:
    return ChunkExtraction(
        tuple(each for each in records if isinstance(each, EntityRecord)),
        tuple(each for each in records if isinstance(each, RelationRecord)),
        tuple(each for each in records if isinstance(each, ClaimRecord)),
    )


def corpus(passages: dict[str, Passage]) -> tuple[list[Document], list[Chunk], list[ChunkExtraction]]:
    """Return a document of one chunk for each passage; a key that is a number gives it no title."""
    documents, chunks = [], []
    for number, (title, (text, _)) in enumerate(passages.items()):
        title = "" if title.isdigit() else title
        documents.append(Document(f"d{number}", title, f"{number}.txt", text, {}, len(text), ""))
        chunks.append(Chunk(f"c{number}", f"d{number}", 0, 0, len(text), text, 9))
    return documents, chunks, [extraction for _, extraction in passages.values()]


def merged(passages: dict[str, Passage]) -> ModelKnowledge:
    return merge_extractions(*corpus(passages))


def id_of(name: str) -> str:
    return entity_id(entity_key(name))


def named(made: ModelKnowledge, name: str) -> Entity:
    return next(each for each in made.knowledge.entities if each.id == id_of(name))


def between(made: ModelKnowledge, one: str, other: str) -> Relation:
    ends = {id_of(one), id_of(other)}
    return next(each for each in made.knowledge.relations if {each.source_id, each.target_id} == ends)


def places(made: ModelKnowledge, name: str) -> set[tuple[str, int | None, str, str]]:
    """Return chunk, start, how it is tied and surface of an entity's mentions."""
    return {
        (each.chunk_id, each.start, each.match, each.surface)
        for each in made.knowledge.mentions
        if each.entity_id == id_of(name)
    }


ADA = "Ada Lovelace met Charles Babbage in London. Babbage had built an engine. ADA LOVELACE wrote of it."
PASSAGES: dict[str, Passage] = {
    "Ada Lovelace": (
        ADA,
        found(
            person("Ada Lovelace", "Ada Lovelace wrote of an engine."),
            person("Charles Babbage", "Charles Babbage built an engine."),
            person("Analytical Engine", "A machine.", "machine"),
            met("Ada Lovelace", "Charles Babbage", 8),
            met("Charles Babbage", "Analytical Engine", 9, "Charles Babbage built it."),
            met("Charles Babbage", "London", 2),
            claim("Ada Lovelace", "ADA LOVELACE wrote of it.", "Royal Society"),
        ),
    ),
    "Charles Babbage": (
        "Charles Babbage knew Ada Lovelace. He died in 1871.",
        found(
            person("Charles Babbage", "Charles Babbage died in 1871.", "Person"),
            person("ada lovelace", "A friend of Babbage.", "countess"),
            met("Charles Babbage", "Ada Lovelace", 5, "He knew her."),
        ),
    ),
    "2": ("London is a city. Ada  Lovelace was born there.", found(person("London", "A city.", "geo"))),
}


@pytest.fixture(scope="module")
def made() -> ModelKnowledge:
    return merged(PASSAGES)


def test_one_name_is_one_entity_of_the_majority_type(made: ModelKnowledge) -> None:
    names = {each.name for each in made.knowledge.entities}
    assert names == {"Ada Lovelace", "Charles Babbage", "Analytical Engine", "London", "Royal Society"}
    assert (named(made, "Charles Babbage").type, named(made, "Charles Babbage").types) == ("person", ("person",))
    assert named(made, "Ada Lovelace").types == ("countess", "person"), "a tie goes by the alphabet"
    assert named(made, "Ada Lovelace").frequency == 3, "also where only its name stands"
    assert named(made, "Charles Babbage").degree == 3


def test_descriptions_stand_with_the_chunk_they_come_from(made: ModelKnowledge) -> None:
    told = {
        (each.chunk_id, each.description)
        for each in made.knowledge.mentions
        if each.entity_id == id_of("Ada Lovelace") and each.description
    }
    assert told == {("c0", "Ada Lovelace wrote of an engine."), ("c1", "A friend of Babbage.")}
    both = ["A friend of Babbage.", "Ada Lovelace wrote of an engine."]
    assert [*made.entity_descriptions[id_of("Ada Lovelace")]] == both
    assert named(made, "Ada Lovelace").description == "", "a later step describes it"
    assert id_of("Royal Society") not in made.entity_descriptions


def test_an_end_that_no_record_names_is_an_entity_too(made: ModelKnowledge) -> None:
    assert named(made, "London").type == "geo", "another chunk has a record of it"
    assert ("c0", ADA.index("London"), "exact", "London") in places(made, "London")
    society = named(made, "Royal Society")
    assert (society.type, society.types, society.frequency) == ("", ("",), 1)
    without = merged({"Turing (film)": ("A film.", found(met("Turing (film)", "Alan Turing")))})
    assert named(without, "Turing (film)").type == "TITLE"
    assert named(without, "Alan Turing").type == ""


def test_both_ways_of_stating_a_relation_are_one(made: ModelKnowledge) -> None:
    pair = between(made, "Ada Lovelace", "Charles Babbage")
    assert (pair.weight, pair.strength, pair.chunk_ids) == (2, 6.5, ("c0", "c1"))
    assert pair.predicate == ""
    told = ["Ada Lovelace met Charles Babbage.", "He knew her."]
    assert [*made.relation_descriptions[pair.id]] == told
    assert pair.description == " ".join(told)
    assert pair.source_id == id_of("Ada Lovelace"), "a tie goes by the names"
    third = ("Babbage knew Ada.", found(met("Charles Babbage", "Ada Lovelace", None)))
    turned = between(merged({**PASSAGES, "3": third}), "Ada Lovelace", "Charles Babbage")
    assert (turned.id, turned.source_id, turned.weight) == (pair.id, id_of("Charles Babbage"), 3)
    assert turned.strength == 6.5, "a strength that is not stated counts for nothing"


def test_the_evidence_of_a_relation_is_the_sentence_that_names_both_ends(made: ModelKnowledge) -> None:
    evidence = {
        (each.relation_id, each.chunk_id): (each.start, each.end, each.match, each.surface, each.description)
        for each in made.knowledge.mentions
        if each.relation_id
    }
    pair = between(made, "Ada Lovelace", "Charles Babbage").id
    first = ADA[: ADA.index(" Babbage had")]
    assert evidence[pair, "c0"] == (0, len(first), "exact", first, "Ada Lovelace met Charles Babbage.")
    engine = between(made, "Charles Babbage", "Analytical Engine").id
    assert evidence[engine, "c0"] == (None, None, "chunk", "", "Charles Babbage built it.")


@pytest.mark.parametrize(
    ("quote", "span"),
    [("built an engine", (12, 27)), ("He had\nbuilt “an” engine", (5, 27)), ("He sold it.", None), (None, None)],
)
def test_quotations_are_found_but_for_spaces_and_marks(quote: str | None, span: tuple[int, int] | None) -> None:
    made = merged({"0": ("Yes. He had built an engine.", found(claim("Babbage", quote)))})
    assert (made.claims[0].start, made.claims[0].end) == (span or (None, None))


def test_what_names_nothing_is_a_row_of_failures() -> None:
    records = found(
        person("\u200b", "nobody"),
        met("Ada", "ADA ", 1, "the same"),
        met("Ada", "\u00ad", 1, "no end"),
        claim("\u200b", None),
        person("!!!", "A band."),
        person("This is the story of a ship. " * 8, "a passage"),
    )
    made = merged({"0": ("Ada.", records)})
    assert {each.name for each in made.knowledge.entities} == {"!!!"}
    assert not made.knowledge.relations
    assert not made.claims
    assert [(each.stage, each.item_id, each.reason) for each in made.failures] == [("extract", "c0", "lost record")] * 5
    assert sorted(each.detail for each in made.failures if "story" not in each.detail) == [
        "an end of 'Ada' and '\\xad' has no name: no end",
        "the entity '\\u200b' has no name: nobody",
        "the relationship joins 'Ada' with itself: the same",
        "the subject '\\u200b' of the claim has no name: \u200b did it.",
    ]


def test_what_overlapping_chunks_both_state_counts_once() -> None:
    sentence = "Ada Lovelace met Charles Babbage in London in the spring of that year."
    text = " ".join([sentence] * 6)
    document = Document("d", "", "d.txt", text, {}, len(text), "")
    chunks = split_document(document, ChunkSettings(chunk_size=40, chunk_overlap=20))
    one = found(met("Ada Lovelace", "Charles Babbage"))
    pair = between(merge_extractions([document], chunks, [one] * len(chunks)), "Ada Lovelace", "Charles Babbage")
    starts = {chunk.start for chunk in chunks}
    assert len(pair.chunk_ids) == len(chunks)
    assert pair.weight == len(starts), "each chunk's first sentence is its evidence"
    same = [chunks[0], Chunk("again", "d", 9, 0, chunks[0].end, chunks[0].text, 9)]
    twice = merge_extractions([document], same, [one, one])
    assert between(twice, "Ada Lovelace", "Charles Babbage").weight == 1


def test_the_order_of_chunks_and_documents_leaves_no_trace(made: ModelKnowledge) -> None:
    documents, chunks, extractions = corpus(PASSAGES)
    pairs = list(zip(chunks, extractions, strict=True))
    for seed in range(5):
        random.Random(seed).shuffle(pairs)
        random.Random(seed).shuffle(documents)
        shuffled = merge_extractions(documents, [each for each, _ in pairs], [each for _, each in pairs])
        assert shuffled == made
