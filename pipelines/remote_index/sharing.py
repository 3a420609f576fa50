"""While an index in an object store is written, its memo is shared with other writers (see `shared_memo`)."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.runner import Progress, no_progress
from conspectus.storage.memo import Memo, MemoReader

if TYPE_CHECKING:
    from conspectus.pipelines.remote_index.objects import Store
    from conspectus.pipelines.remote_index.shared_memo import SharedMemo, SharedMemoReader

SECONDS = 60.0
"""Results are sent so often while a build runs: a machine that is lost loses no more of what was paid for."""

_shared: "dict[Path, _Sharing]" = {}


def open_memo(path: Path, *, shares: bool, progress: Progress = no_progress) -> Memo:
    """Open the memo of a build.

    Args:
        path: Its file.
        shares: Whether it is shared with other writers, if its index is in an object store.
        progress: Called while many results are fetched.
    """
    sharing = _shared.get(path.absolute()) if shares else None
    return sharing.begin(progress) if sharing else Memo(path)


def open_memo_reader(path: Path, *, shares: bool) -> Memo:
    """Open the memo of a build to look at: nothing is sent. Arguments are those of `open_memo`."""
    sharing = _shared.get(path.absolute()) if shares else None
    return sharing.reader if sharing else MemoReader(path)


@contextmanager
def shared_memo(store: "Store", path: Path) -> Iterator[None]:
    """Share the memo at `path` while the block runs, and send its new results at the end, also after an error.

    After an interruption (Ctrl-C) nothing is sent: that may take long, and the next build does it.
    """
    sharing = _Sharing(store, path)
    _shared[path.absolute()] = sharing
    try:
        try:
            yield
        except Exception:
            sharing.finish()
            raise
        sharing.finish()
    finally:
        sharing.ended.set()
        del _shared[path.absolute()]


class _Sharing:
    def __init__(self, store: "Store", path: Path) -> None:
        from conspectus.pipelines.remote_index.parts import Parts

        self._parts = Parts(store)
        self.ended = threading.Event()
        self._path = path
        self._memo: SharedMemo | None = None
        self._thread = threading.Thread(target=self._keep_sending, name="send results", daemon=True)

    @cached_property
    def reader(self) -> "SharedMemoReader":
        from conspectus.pipelines.remote_index.shared_memo import SharedMemoReader

        return SharedMemoReader(self._path, self._parts)

    def begin(self, progress: Progress) -> "SharedMemo":
        from conspectus.pipelines.remote_index.shared_memo import SharedMemo

        if self._memo is None:
            self._memo = SharedMemo(self._path, self._parts, progress)
            self._thread.start()
        return self._memo

    def finish(self) -> None:
        self.ended.set()
        if self._memo:
            self._thread.join()
            self._memo.send()

    def _keep_sending(self) -> None:
        while self._memo and not self.ended.wait(SECONDS):
            self._memo.look_again()
            self._memo.send()
