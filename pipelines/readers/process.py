"""Read files in a process of its own, with limits of time and memory: a file that ends it is a loss, with the cause."""

import os
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgpack
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.storage.child_process import ChildProcess
from conspectus.storage.plugins import SWITCH
from conspectus.storage.records import Anchor, Hyperlink, Place
from conspectus.storage.settings import InputSettings, KgSettings

_WORKER = str(Path(__file__).with_name("worker.py"))
_START = 60.0
"""Further seconds until the process has started."""
MOST_AHEAD = 8
"""Files that are asked for at a time; their requests fit in a pipe, so that no write waits for a read."""
ReadFiles = Callable[[Sequence[object]], Iterator[Row | Lost]]
"""Yields the rows of the first of some files; see `FileReader.rows`."""

_idle: list["FileReader"] = []


class FileReader:
    """A process that reads files one after the other; it is started again after a file that ended it.

    `asked` are the files that it was asked for and has not read.
    """

    def __init__(self, settings: InputSettings) -> None:
        self.environment = _environment()
        self.memory = settings.max_memory
        self._process = ChildProcess([_WORKER], self.memory, self.environment)
        self.asked: deque[Path] = deque()
        self._unpacker = _unpacker()

    def rows(
        self, paths: Sequence[object], folder: str, settings: InputSettings, graph: KgSettings | None = None
    ) -> Iterator[Row | Lost]:
        """Yield the rows of the first of some files; those after it will be asked for next, and are read meanwhile.

        Remote files, which are no paths, are not asked for ahead. With the section kg as `graph`, the rows are the
        statements of a graph. `folder` is one for temporary files.
        """
        seconds = settings.max_seconds
        try:
            for path in takewhile(lambda each: isinstance(each, Path), paths[len(self.asked) : MOST_AHEAD]):
                assert isinstance(path, Path)
                request = [os.fsencode(path.absolute()), folder, settings.model_dump(), graph and graph.model_dump()]
                seconds += _START * self._process.send(msgpack.packb(request))
                self.asked.append(path)
        except BrokenPipeError:
            pass  # there is nothing to receive then
        while True:
            for values in self._unpacker:
                if values is None:
                    self.asked.popleft()
                    return
                if values is True:
                    seconds = settings.max_seconds
                else:
                    yield _made(values)
            block = self._process.receive(seconds)
            if not block:
                ended_by = "SIGXCPU" if block is None else self._process.ended_by()
                self.stop()
                yield _loss(ended_by, settings)
                return
            self._unpacker.feed(block)

    def stop(self) -> None:
        """End the process and forget what it was asked."""
        self._process.stop()
        self.asked.clear()
        self._unpacker = _unpacker()


@contextmanager
def file_reader(settings: InputSettings, graph: KgSettings | None = None) -> Iterator[ReadFiles]:
    """Lend `FileReader.rows` of a process: one that was used before, because to start one takes half a second."""
    try:
        reader = _idle.pop()
    except IndexError:
        reader = FileReader(settings)
    if (reader.environment, reader.memory) != (_environment(), settings.max_memory):
        reader.stop()
        reader = FileReader(settings)
    with tempfile.TemporaryDirectory(prefix="conspectus-") as folder:
        try:
            yield lambda paths: reader.rows(paths, folder, settings, graph)
        finally:
            if reader.asked:
                reader.stop()
            _idle.append(reader)


def _environment() -> dict[str, str]:
    """Return the variables that decide which plug-ins the process finds."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), SWITCH: os.environ.get(SWITCH, "")}


def _unpacker() -> msgpack.Unpacker:
    return msgpack.Unpacker(max_buffer_size=0, unicode_errors="surrogatepass")


def _made(values: list[Any]) -> Any:  # noqa: ANN401  (a row, a loss, or a statement of a graph, which has a name)
    if isinstance(values[0], str):
        return values
    if len(values) == len(Lost.__slots__):
        return Lost(*values)
    number, id_, title, text, metadata, places, within, links, anchors = values
    places = tuple(Place(*each) for each in places)
    links, anchors = tuple(Hyperlink(*each) for each in links), tuple(Anchor(*each) for each in anchors)
    return Row(number, id_, title, text, metadata, places, within, links, anchors)


def _loss(ended_by: str, settings: InputSettings) -> Lost:
    """Return the loss of a file that ended the process."""
    if ended_by == "SIGXCPU":
        return Lost(None, "takes too long", f"more than input.max_seconds ({settings.max_seconds:g})")
    if ended_by == "SIGKILL":
        return Lost(None, "takes too much memory", "the system ended its reader")
    return Lost(None, "its reader crashed", ended_by)
