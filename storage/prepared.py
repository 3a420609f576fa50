"""Make the files from which questions to a large index are answered, so that no question waits for them."""

from conspectus.storage import joins
from conspectus.storage.index import StoredIndex
from conspectus.storage.name_tables import entity_table, title_table
from conspectus.storage.records import Chunk, Community, Document, Entity, Mention, Name, Relation, Report

ASKED = (Document, Chunk, Entity, Relation, Mention, Name, Community, Report)
"""The tables that most questions read."""


def prepare(index: StoredIndex) -> None:
    """Make what is mapped of an index, if it is large (see `mapped`); what is there is not made again."""
    for record in ASKED:
        if index.is_mapped(record):
            index.arrow(record)
    for kind, make in ((Entity, entity_table), (Name, title_table), *((Mention, make) for make in joins.ALL)):
        if index.is_mapped(kind):
            make(index)
