"""The front door. Everything the command line does, in a line or two.

import conspectus

index = conspectus.build(["examples/corpus"], ".conspectus/demo")
print(index.ask("Who wrote the novel that the film was made from?").text)
"""

from conspectus.api import Chat, Index, add, build, import_graphrag, open_index, redo_merges, remove, undo_merges
from conspectus.query.conversation.history import Conversation
from conspectus.query.types import Answer, Citation, Evidence, Passage
from conspectus.storage.errors import ConspectusError
from conspectus.storage.settings import Settings, load_settings

open = open_index  # noqa: A001  (conspectus.open reads as gzip.open does)

__all__ = [
    "Answer",
    "Chat",
    "Citation",
    "ConspectusError",
    "Conversation",
    "Evidence",
    "Index",
    "Passage",
    "Settings",
    "add",
    "build",
    "import_graphrag",
    "load_settings",
    "open",
    "open_index",
    "redo_merges",
    "remove",
    "undo_merges",
]
