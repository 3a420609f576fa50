"""An array that is made part by part, in memory or in an unnamed file, which is gone when nobody maps it any more."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", np.int32, np.int64, np.float32, np.float64, np.uint8)


class AppendedArray(Generic[Number]):
    """An array (n,) of numbers, made part by part.

    Args:
        folder: a folder on whose disk it is; None for memory.
        kind: the type of its numbers.
    """

    def __init__(self, folder: Path | None, kind: type[Number] = np.int32) -> None:  # type: ignore[assignment]
        self._kind: type[Any] = kind
        self._parts: list[NDArray[Any]] = [np.zeros(0, kind)]
        self._file = None if folder is None else TemporaryFile(dir=folder)  # noqa: SIM115  (mapped at the end)

    def append(self, part: "NDArray[Any]") -> None:
        """Add a part at the end."""
        if self._file is None:
            self._parts.append(part.astype(self._kind))
        else:
            part.astype(self._kind, copy=False).tofile(self._file)

    def array(self) -> NDArray[Number]:
        """Return the whole array; no part can be added after that."""
        if self._file is None or not self._file.tell():
            return np.concatenate(self._parts)
        with self._file:
            self._file.flush()
            return np.memmap(self._file, self._kind, "r+").view(np.ndarray)


def append_each(columns: "Iterable[AppendedArray[Any]]", parts: "Iterable[NDArray[Any]]") -> None:
    """Add a part at the end of each of several arrays."""
    for column, part in zip(columns, parts, strict=True):
        column.append(part)
