"""An index that another program made: what it brings, and that it is not mixed with what is built here."""

from dataclasses import dataclass
from pathlib import Path

from conspectus.pipelines.backends.backend import Judgement
from conspectus.storage.errors import UsageError
from conspectus.storage.manifest import Manifest
from conspectus.storage.records import Chunk

IMPORTED = "imported"
"""The section of a manifest's settings that says which program an index was imported from."""


@dataclass(frozen=True, slots=True)
class Brought:
    """What another program (`maker`) made of the documents, in the place of what we would: `digest` is that of it."""

    maker: str
    digest: str
    chunks: list[Chunk]
    judgement: Judgement
    notes: tuple[str, ...] = ()


def check_maker(index: Path, current: Manifest | None, maker: str) -> None:
    """Refuse to replace what another program made by what we make of documents, or the other way round."""
    if current is None:
        return
    made_by = str(current.settings.get(IMPORTED, {}).get("from", ""))
    if made_by and made_by != maker:
        raise UsageError(
            f"{index} was imported from {made_by}: change its documents there and import them again, or build an "
            f"index of them in another folder with: conspectus index INPUT --index FOLDER"
        )
    if maker and not made_by:
        raise UsageError(f"{index} was built from documents; name another folder with --index to import into")
