"""The version that a build replaces, as far as it decides what the new one is."""

from pathlib import Path

from conspectus.pipelines.steps.communities import Before, Earlier
from conspectus.pipelines.steps.sentence_index import place_sentences
from conspectus.storage.index import Index
from conspectus.storage.manifest import Manifest, damaged_files
from conspectus.storage.records import Chunk, Community, Document, Entity, Mention, Relation
from conspectus.storage.settings import CommunitySettings, Settings


def earlier_of(root: Path, current: Manifest | None, settings: Settings) -> Earlier | None:
    """Return what reads the communities that a build is to keep where it can.

    None where it is to divide anew: on request, where there is no sound version, and where that was divided by other
    settings.
    """
    if current is None or settings.communities.update == "exact":
        return None
    divided_by = CommunitySettings.model_validate({**current.settings["communities"], "update": "stable"})
    if divided_by != settings.communities:
        return None
    if damaged_files(root, current):
        return None
    index = Index(root, current)

    def read(sentences: bool) -> Before:
        named = None
        if sentences:
            named = place_sentences(index.rows(Document), index.rows(Chunk), index.rows(Mention)).of_entity
        return Before(index.rows(Entity), index.rows(Relation), named, index.rows(Community))

    return read
