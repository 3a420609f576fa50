"""Titles of communities."""

from conspectus.pipelines.steps.reports.titles import Titles
from conspectus.pipelines.steps.sentences import sentences_of
from conspectus.storage.records import Chunk, Document, Entity, Mention, Place

TEXT = "The harbour has a crane. The crane lifts 12. The crane hook is new. The harbour sleeps. The harbour is old."


def titles(places: tuple[Place, ...] = ()) -> tuple[Titles, dict[str, Entity]]:
    """Return the titles of a page, and its entities by name."""
    page = Document("d", "", "d", TEXT, {}, len(TEXT), "", places)
    names = ("harbour", "crane", "crane hook", "12")
    mentions = [
        Mention(f"{name}{at}", "c", name, None, at, at + len(name), "exact", name, "")
        for name in names
        for at in range(len(TEXT))
        if TEXT.startswith(name, at)
    ]
    sentences = sentences_of([page], [Chunk("c", "d", 0, 0, len(TEXT), TEXT, 20)], mentions)
    return Titles([page], sentences.placed), {
        name: Entity(name, name, "CONCEPT", ("CONCEPT",), "", 1, 0) for name in names
    }


def test_names_that_meet_others_lead_and_numbers_alone_do_not_stand_in_a_title() -> None:
    made, entities = titles()
    title = made.of(list(entities.values()))
    assert title.startswith("crane hook")
    assert "12" not in title
    assert title.count("crane") == 1  # its main word says no more


def test_a_heading_above_most_sentences_leads_the_title() -> None:
    made, entities = titles((Place(0, "heading", "3. Cranes of the quay", 1),))
    assert made.of([entities["crane"], entities["12"]]) == "Cranes of the quay"
    assert made.of([entities["harbour"], entities["12"]]) == "Cranes of the quay: harbour"
