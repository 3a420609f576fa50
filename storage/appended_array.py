"""An array that is made part by part, in memory or in an unnamed file, which is gone when nobody maps it any more."""

from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
from conspectus.storage.arrays import Ints
from numpy.typing import NDArray


class AppendedArray:
    """An int32 array (n,), made part by part.

    Args:
        folder: a folder on whose disk it is; None for memory.
    """

    def __init__(self, folder: Path | None) -> None:
        self._parts = [np.zeros(0, np.int32)]
        self._file = None if folder is None else TemporaryFile(dir=folder)  # noqa: SIM115  (mapped at the end)

    def append(self, part: Ints) -> None:
        """Add a part at the end."""
        if self._file is None:
            self._parts.append(part.astype(np.int32))
        else:
            part.astype(np.int32).tofile(self._file)

    def array(self) -> NDArray[np.int32]:
        """Return the whole array; no part can be added after that."""
        if self._file is None or not self._file.tell():
            return np.concatenate(self._parts)
        with self._file:
            self._file.flush()
            return np.memmap(self._file, np.int32, "r+").view(np.ndarray)
