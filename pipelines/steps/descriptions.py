"""What an entity is, in the corpus's own words: its most central mention sentences."""

from collections.abc import Sequence

from conspectus.pipelines.steps.sentence_index import Sentences
from conspectus.storage.records import Entity
from conspectus.storage.settings import DescriptionSettings


def describe(entities: Sequence[Entity], sentences: Sentences, settings: DescriptionSettings) -> dict[str, str]:
    """Return a description by entity id: up to `settings.sentences` sentences that mention it, in text order."""
    descriptions = {}
    for entity in entities:
        rows = sentences.of_entity.get(entity.id)
        if rows is not None:
            chosen = sorted(sentences.most_central(rows, settings.sentences))
            descriptions[entity.id] = " ".join(" ".join(sentences.texts[row].split()) for row in chosen)
    return descriptions
