"""Purge the parts in a store, by the rules by which `conspectus.pipelines.purge` purges the memo of a machine."""

import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

from conspectus.pipelines.purge import Held
from conspectus.pipelines.remote_index.objects import Gone, Store
from conspectus.pipelines.remote_index.parts import Listing, Parts, PurgedMeanwhile
from conspectus.pipelines.remote_index.shared_memo import SharedMemo
from conspectus.storage.errors import IndexBusy, IndexCorrupt, IndexUnusable
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import MEMO
from conspectus.storage.memo import Memo
from conspectus.storage.settings import Settings

_AT_A_TIME = 64
"""Parts whose results are compared with the index together."""


def purge_parts(store: Store, root: Path, settings: Settings) -> dict[str, int]:
    """Delete from the parts in a store what was made of texts that the current version does not contain.

    Parts that hold some of it are rewritten; an object that is no part is deleted. Each is read whole.

    Args:
        store: The store.
        root: The local folder of the index, whose memo was purged.
        settings: Its settings.

    Returns:
        The number of deleted results by kind.

    Raises:
        IndexBusy: Another machine began to purge the store at the same time.
        IndexUnusable: The store refuses, or gives no answer.
    """
    try:
        return _purge(Parts(store), root, settings)
    except PurgedMeanwhile as error:
        raise IndexBusy(f"another program purges {store.url} too: run the command again when it has ended") from error


def _purge(parts: Parts, root: Path, settings: Settings) -> dict[str, int]:
    purge = parts.begin_purge()
    held = Held.of(StoredIndex.open(root), settings)
    now = parts.listing()
    parts.delete(sorted(now.others))
    forgotten: Counter[str] = Counter()
    names = sorted(now.sizes)
    for start in range(0, len(names), _AT_A_TIME):
        forgotten.update(_purge_some(parts, names[start : start + _AT_A_TIME], now, held))
    parts.delete(sorted(now.purges - {purge}))
    SharedMemo(root / MEMO, parts).forget_parts(purge)
    return dict(forgotten)


def _purge_some(parts: Parts, names: list[str], now: Listing, held: Held) -> Counter[str]:
    """Purge parts that were listed after the purge had begun; return the number of deleted results by kind."""
    found: dict[str, tuple[str, list[str]]] = {}
    with tempfile.TemporaryDirectory(prefix="conspectus-") as folder:
        memo = Memo(Path(folder, "memo.sqlite"))
        for name in names:
            try:
                kind, results = parts.results(name, now.sizes[name])
            except IndexCorrupt:
                parts.delete([name])
            except Gone:  # merged with others by a writer: its results are in a part that the writer deletes again
                continue
            else:
                found[name] = kind, [result.key for result in results]
                memo.put_many(kind, dict.fromkeys(found[name][1], b""), {each.key: each.sources for each in results})
        try:
            forgotten = Counter(held.forget_others(memo))
        except IndexUnusable as error:
            raise IndexUnusable(f"{parts.url} holds results of an unknown kind: {error}") from error
        removed = {name: set(memo.missing(kind, keys)) for name, (kind, keys) in found.items()}
    for name in [name for name, keys in removed.items() if keys]:
        with suppress(Gone):
            kind, results = parts.results(name, now.sizes[name])
            rest = [result for result in results if result.key not in removed[name]]
            parts.write([(kind, rest)] if rest else [], now.purges, [name])
    return forgotten
