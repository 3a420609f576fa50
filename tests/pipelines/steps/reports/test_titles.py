"""Titles of communities."""

from conspectus.pipelines.steps.reports.titles import Titles
from conspectus.pipelines.steps.sentences import sentences_of
from conspectus.storage.records import Chunk, Document, Entity, Mention, Place

TEXT = "The harbour has a crane. The crane lifts 12. The crane hook is new. The harbour sleeps. The harbour is old."


NAMES = ("harbour", "crane", "crane hook", "12")


def title(members: tuple[str, ...], places: tuple[Place, ...] = ()) -> str:
    """Return the title of some names of a page."""
    page = Document("d", "", "d", TEXT, {}, len(TEXT), "", places)
    mentions = [
        Mention(f"{name}{at}", "c", name, None, at, at + len(name), "exact", name, "")
        for name in NAMES
        for at in range(len(TEXT))
        if TEXT.startswith(name, at)
    ]
    sentences = sentences_of([page], [Chunk("c", "d", 0, 0, len(TEXT), TEXT, 20)], mentions)
    entities = [Entity(name, name, "CONCEPT", ("CONCEPT",), "", 1, 0) for name in members]
    return Titles([page], sentences.placed).of(entities, [sentences.placed.of_entity[name] for name in members])


def test_names_that_meet_others_lead_and_numbers_alone_do_not_stand_in_a_title() -> None:
    found = title(NAMES)
    assert found.startswith("crane hook")
    assert "12" not in found
    assert found.count("crane") == 1  # its main word says no more


def test_a_heading_above_most_sentences_leads_the_title() -> None:
    heading = (Place(0, "heading", "3. Cranes of the quay", 1),)
    assert title(("crane", "12"), heading) == "Cranes of the quay"
    assert title(("harbour", "12"), heading) == "Cranes of the quay: harbour"
