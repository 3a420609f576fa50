"""Open information extraction: with a model, and merged and tied to the text."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.pipelines.steps.extract.openie import (
    Annotated,
    OpenExtraction,
    OpenTriple,
    extract_open,
    merge_open,
    usable,
)
from conspectus.prompts.client.client import ModelClient
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Document, Entity, Failure, Mention, Relation
from conspectus.storage.settings import LlmSettings
from conspectus.storage.text.nlp import NAME, Annotation, Phrase, Triple

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer
from tests.tags import prompt_of


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


TEXT = "Ada Maule was born in Mora."
NER = {"entities": ["Ada Maule", "Mora"]}
TRIPLES = {"triples": [["Ada Maule", "was born in", "Mora"]]}
WHOLE = OpenExtraction(("Ada Maule", "Mora"), (OpenTriple("Ada Maule", "was born in", "Mora"),))

Said = Mapping[str, object] | str | FakeReply


def wants_triples(prompt: str) -> bool:
    return "\nNamed entities: " in prompt.rsplit("</text>", 1)[1]


def saying(ner: Said = NER, triples: Said = TRIPLES) -> Callable[[FakeRequest], str | FakeReply]:
    def reply(request: FakeRequest) -> str | FakeReply:
        said = triples if wants_triples(request.prompt) else ner
        return json.dumps(said) if isinstance(said, Mapping) else said

    return reply


def client(server: FakeServer, memo: Memo | None = None, **llm: Any) -> ModelClient:  # noqa: ANN401
    return ModelClient(LlmSettings(model="m", base_url=server.url, attempts=1, **llm), memo)


def chunks_of(*texts: str) -> list[Chunk]:
    return [Chunk(f"c{i}", "d", i, 0, len(text), text, 9) for i, text in enumerate(texts)]


def extract(
    server: FakeServer,
    *texts: str,
    **llm: Any,  # noqa: ANN401
) -> tuple[list[OpenExtraction], list[Failure]]:
    return asyncio.run(extract_open([], chunks_of(*texts), client(server, **llm)))


def prompts(server: FakeServer) -> list[str]:
    return [prompt_of(each.body) for each in server.requests if each.body and each.path.endswith("s")]


def test_entities_first_then_triples_that_are_given_them() -> None:
    with FakeServer(saying()) as server:
        found, failures = extract(server, TEXT)
    assert (found, failures) == ([WHOLE], [])
    first, second = prompts(server)
    assert first.endswith(f"<text>\n{TEXT}\n</text>")
    assert second.endswith(f'<text>\n{TEXT}\n</text>\nNamed entities: ["Ada Maule", "Mora"]')
    for prompt in (first, second):
        assert prompt.count("Example.") == 1  # one shot


def test_what_cannot_be_used_is_a_failure_of_its_chunk() -> None:
    said = {"triples": [*TRIPLES["triples"], ["Ada Maule", "left"], ["Mora", "is", "mora"]]}
    with FakeServer(saying({"entities": ["Ada Maule", "Mora", " "]}, said)) as server:
        found, failures = extract(server, TEXT)
    assert found == [WHOLE]
    assert [(each.stage, each.item_id, each.reason) for each in failures] == [("extract", "c0", "lost record")] * 3
    assert [each.detail.split(":")[0] for each in failures] == [
        "no name",
        "no triple of texts",
        "it joins a thing with itself",
    ]


@pytest.mark.parametrize(
    ("ner", "triples", "left", "step"),
    [
        ("I cannot.", TRIPLES, OpenExtraction((), WHOLE.triples), "openie_ner"),
        (NER, FakeReply(status=400), OpenExtraction(WHOLE.entities), "openie_triples"),
    ],
)
def test_one_call_that_fails_leaves_the_other(ner: Said, triples: Said, left: OpenExtraction, step: str) -> None:
    with FakeServer(saying(ner, triples)) as server:
        found, (failure,) = extract(server, TEXT)
    assert found == [left]
    assert failure.reason == f"the call of step {step} failed"
    assert failure.detail
