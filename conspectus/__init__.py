"""Graph RAG over your documents: build one index, ask it with every published method.

    import conspectus

    index = conspectus.build("papers/", "papers.index")
    print(index.ask("Who funded the second study?").text)

Everything that the command line does is a line or two here (see `conspectus.api`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conspectus.api import AsyncIndex, Index, open_index
    from conspectus.api import open_index as open  # noqa: A004  (conspectus.open reads as gzip.open does)
    from conspectus.building import (
        add,
        build,
        estimate,
        evaluate,
        import_graphrag,
        migrate,
        preview,
        prune,
        redo_merges,
        remove,
        undo_merges,
    )
    from conspectus.chat import Chat
    from conspectus.query.conversation.history import Conversation
    from conspectus.query.types import Answer, Citation, Evidence, Passage
    from conspectus.storage.errors import ConspectusError
    from conspectus.storage.settings import Settings, load_settings

_HOMES = {
    "conspectus.api": "AsyncIndex Index open_index",
    "conspectus.building": (
        "add build estimate evaluate import_graphrag migrate preview prune redo_merges remove undo_merges"
    ),
    "conspectus.chat": "Chat",
    "conspectus.query.conversation.history": "Conversation",
    "conspectus.query.types": "Answer Citation Evidence Passage",
    "conspectus.storage.errors": "ConspectusError",
    "conspectus.storage.settings": "Settings load_settings",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Answer",
    "AsyncIndex",
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
    "estimate",
    "evaluate",
    "import_graphrag",
    "load_settings",
    "migrate",
    "open",
    "open_index",
    "preview",
    "prune",
    "redo_merges",
    "remove",
    "undo_merges",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    # Importing any module of the package runs this file first, so it must import nothing itself.
    if name == "open":
        name = "open_index"
    if name not in _HOME_OF:
        raise AttributeError(f"module 'conspectus' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
