"""Named entities and triples of open information extraction, merged and tied to the text."""

from collections.abc import Sequence

from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.pipelines.steps.extract.openie import Annotated, OpenExtraction, OpenTriple, merge_open, usable
from conspectus.storage.records import Chunk, Document, Entity, Mention, Relation
from conspectus.storage.text.nlp import CONCEPT, NAME, Annotation, Phrase, Triple


def chunk(id_: str, text: str, document: str = "d", start: int = 0) -> Chunk:
    return Chunk(id_, document, 0, start, start + len(text), text, 5)


def document(id_: str, text: str, title: str = "") -> Document:
    return Document(id_, title, "", text, {}, len(text), "")


def merged(found: Sequence[Annotated], title: str = "") -> Knowledge:
    documents = {each.chunk.document_id: document(each.chunk.document_id, each.chunk.text, title) for each in found}
    return merge_open(list(documents.values()), found)


def entity(knowledge: Knowledge, name: str) -> Entity:
    (found,) = [each for each in knowledge.entities if each.name == name]
    return found


def mentions(knowledge: Knowledge, owner: Entity | Relation) -> list[Mention]:
    return [each for each in knowledge.mentions if owner.id in (each.entity_id, each.relation_id)]


def extraction(entities: Sequence[str], *triples: tuple[str, str, str]) -> OpenExtraction:
    return usable(entities, triples)[0]


MAULE = chunk("c", "Ada Maule was born in Mora. She later ran the Tarn mill.")
FOUND = extraction(
    ["Ada Maule", "Mora", "1871"], ("Ada Maule", "was born in", "Mora"), ("Ada Maule", "ran", "old mill"),
    ("Ada Maule", "ran", "Tarn mill"),
)  # fmt: skip


def test_names_and_phrases_stand_where_the_text_has_them() -> None:
    knowledge = merged([Annotated(MAULE, FOUND)])
    assert {each.name: each.type for each in knowledge.entities} == {
        "Ada Maule": NAME,
        "Mora": NAME,
        "1871": NAME,
        "old mill": CONCEPT,
        "Tarn mill": CONCEPT,
    }
    for name in ("Ada Maule", "Mora", "Tarn mill"):
        (mention,) = mentions(knowledge, entity(knowledge, name))
        assert (mention.match, mention.surface) == ("exact", name)
        assert MAULE.text[mention.start : mention.end] == name
    for name in ("1871", "old mill"):
        (mention,) = mentions(knowledge, entity(knowledge, name))
        assert (mention.match, mention.start, mention.end) == ("chunk", None, None)


def test_a_triple_points_at_the_sentence_that_names_both_ends() -> None:
    knowledge = merged([Annotated(MAULE, FOUND)])
    name_of = {each.id: each.name for each in knowledge.entities}
    by_target = {name_of[each.target_id]: each for each in knowledge.relations}
    born = by_target["Mora"]
    assert (born.predicate, born.description, born.weight) == ("was born in", "Ada Maule was born in Mora.", 1.0)
    (mention,) = mentions(knowledge, born)
    assert (mention.match, mention.surface) == ("exact", "Ada Maule was born in Mora.")
    for target in ("old mill", "Tarn mill"):  # no sentence names both
        ran = by_target[target]
        assert (ran.description, ran.chunk_ids) == (f"Ada Maule ran {target}", ("c",))
        (mention,) = mentions(knowledge, ran)
        assert (mention.match, mention.start) == ("chunk", None)


def test_a_title_is_an_alias_and_stands_for_its_chunks() -> None:
    told = chunk("c", "Apollo toured Mora.")
    found = extraction(["Mora"], ("Apollo (band)", "toured", "Mora"))
    knowledge = merged([Annotated(told, found)], title="Apollo (band)")
    matches = {each.match: each.surface for each in mentions(knowledge, entity(knowledge, "Apollo (band)"))}
    assert matches == {"alias": "Apollo", "chunk": "Apollo (band)"}
    (relation,) = knowledge.relations
    assert relation.description == "Apollo toured Mora."


def test_annotated_chunks_stand_beside_extracted_ones() -> None:
    other = chunk("e", "Tom Reyes left Mora.", "f")
    tom, mora = Phrase(0, 9, "Tom Reyes", "PERSON"), Phrase(15, 19, "Mora", "GPE")
    annotation = Annotation((tom, mora), (Triple(tom, "left", mora, 0, 20),))
    knowledge = merged([Annotated(MAULE, FOUND), Annotated(other, annotation=annotation)])
    assert entity(knowledge, "Tom Reyes").type == "PERSON"
    assert set(entity(knowledge, "Mora").types) == {NAME, "GPE"}
    assert {each.predicate for each in knowledge.relations} == {"was born in", "ran", "left"}


def test_what_is_unusable_is_told() -> None:
    found, wrong = usable(
        ["Mora", " Mora ", "", "\u200b", 7],
        [["a", "is", "b"], ["a", "is", "b"], ["a", "b"], ["a", " ", "b"], ["A", "is", "a"], "a is b", ["a", 1, "b"]],
    )
    assert found == OpenExtraction(("Mora",), (OpenTriple("a", "is", "b"),))
    assert [each.split(":")[0] for each in wrong] == [
        *["no name"] * 3,
        "no triple of texts",
        "an empty part",
        "it joins a thing with itself",
        *["no triple of texts"] * 2,
    ]
