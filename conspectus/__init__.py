"""Graph RAG over your documents: build one index, ask it with every published method.

    import conspectus

    index = conspectus.build("papers/", "papers.index")
    print(index.ask("Who funded the second study?").text)

Everything that the command line can do takes a line or two of Python (see `conspectus.api`).
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Libraries report to their makers unless these say no, and read them when they are imported: docs/security.md.
os.environ.update(ORT_DISABLE_TELEMETRY="1", DO_NOT_TRACK="1", PREFECT_SERVER_ANALYTICS_ENABLED="false")

if TYPE_CHECKING:
    from conspectus.api import AsyncIndex, Index, open_index
    from conspectus.api import open_index as open  # noqa: A004  (conspectus.open reads as gzip.open does)
    from conspectus.building import (
        add,
        build,
        correct,
        estimate,
        evaluate,
        import_graphrag,
        preview,
        prune,
        remove,
        rollback,
    )
    from conspectus.chat import Chat
    from conspectus.endpoint import GraphEndpoint, open_endpoint
    from conspectus.query.conversation.history import Conversation
    from conspectus.query.types import Answer, Citation, Evidence, Passage
    from conspectus.storage.errors import ConspectusError
    from conspectus.storage.settings import Settings, load_settings

_HOMES = {
    "conspectus.api": "AsyncIndex Index open_index",
    "conspectus.building": "add build correct estimate evaluate import_graphrag preview prune remove rollback",
    "conspectus.chat": "Chat",
    "conspectus.endpoint": "GraphEndpoint open_endpoint",
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
    "GraphEndpoint",
    "Index",
    "Passage",
    "Settings",
    "add",
    "build",
    "correct",
    "estimate",
    "evaluate",
    "import_graphrag",
    "load_settings",
    "open",
    "open_endpoint",
    "open_index",
    "preview",
    "prune",
    "remove",
    "rollback",
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
