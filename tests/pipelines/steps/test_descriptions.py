from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from conspectus.pipelines.steps.descriptions import quoted
from conspectus.pipelines.steps.extract.merge import with_descriptions
from conspectus.pipelines.steps.sentences import Sentences, sentences_of
from conspectus.query.context import Context
from conspectus.storage.records import Chunk, Document, Entity, Mention

TEXT = (
    "Ilse Varga makes films about lakes and boats. It rained. "
    "Ilse Varga makes films about lakes and\nboats! "
    "The films of Ilse Varga show lakes at dawn. "
    "A prize for salt went to Ilse Varga in 1986."
)


def corpus() -> tuple[list[Document], list[Chunk], list[Mention]]:
    one = Document("a", "", "a", TEXT, {}, len(TEXT), "")
    only = Chunk("c", "a", 0, 0, len(TEXT), TEXT, 1)
    places = [i for i in range(len(TEXT)) if TEXT.startswith("Ilse Varga", i)]
    mentions = [Mention(str(i), "c", "e", None, i, i + 10, "exact", "Ilse Varga", "") for i in places]
    rain = TEXT.index("It rained")
    return [one], [only], [*mentions, Mention("r", "c", "rain", None, rain, rain + 2, "exact", "It", "")]


def describe(entities: Sequence[Entity], sentences: Sentences) -> dict[str, str]:
    return {each.id: quoted(sentences.placed.of_entity.get(each.id, np.array([], int)), sentences) for each in entities}


def entity(id_: str) -> Entity:
    return Entity(id_, id_, "PERSON", ("PERSON",), "", 1, 0)


def test_the_most_central_sentences_in_text_order_each_said_once() -> None:
    sentences = sentences_of(*corpus())
    found = describe([entity("e"), entity("rain"), entity("unseen")], sentences)
    assert found == {
        "e": "Ilse Varga makes films about lakes and boats. The films of Ilse Varga show lakes at dawn.",
        "rain": "",  # too short a sentence to quote
        "unseen": "",
    }


def test_descriptions_of_an_index_are_its_documents_words(context: Context) -> None:
    index = context.index
    entities = index.rows(Entity)
    sentences = sentences_of(index.rows(Document), index.rows(Chunk), index.rows(Mention))
    found = describe(entities, sentences)
    plain = [" ".join(text.split()) for text in map(sentences.placed.text, range(len(sentences.placed)))]
    for each in entities:
        assert each.description == found.get(each.id, "")
        said = [plain[row] for row in sentences.placed.of_entity.get(each.id, np.array([], int))]
        chosen = [text for text in said if text in each.description]
        assert len(each.description) == 0 or chosen
        assert len(each.description) <= sum(map(len, chosen)) + 1
    assert np.mean([bool(each.description) for each in entities]) > 0.9


def test_descriptions_are_filled_in_in_order() -> None:
    some = [entity("a"), entity("b")]
    assert with_descriptions(some, ["", "said"]) == [
        some[0],
        replace(some[1], description="said"),
    ]
