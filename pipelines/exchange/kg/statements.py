"""What readers of a graph read, and what they state, which is sent to the process that builds the graph."""

import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from conspectus.pipelines.exchange.kg.builder import ThingAttributes, TripleAttributes, strength_of, weight_of
from conspectus.pipelines.readers.encodings import encoding_of
from conspectus.storage.errors import InputError

BOM = b"\xef\xbb\xbf"
_LONGEST_DETAIL = 1000

Thing = str | tuple[str, ...]
"""A thing by its name, or a pair of "id" or "literal" and a text; or "quantity", an amount and the id of its unit."""


def thing_with_id(text: str) -> Thing:
    """Return the thing with an id, which is displayed by the label of the id."""
    return "id", text


def literal(text: str) -> Thing:
    """Return a thing that is only a text, even if the text equals an id."""
    return "literal", text


class Statements:
    """Takes triples of things, and labels of ids, in any order, and sends them."""

    def __init__(self, send: Callable[[Any], None]) -> None:
        self._send = send
        self._first_predicates: set[str] = set()

    def form(self, text: str) -> None:
        """State how a file is understood, before its triples."""
        self._send(("form", text))

    def add(
        self,
        source: Thing,
        predicate: str,
        target: Thing,
        attributes: TripleAttributes | None = None,
        ids: Iterable[str] = (),
    ) -> None:
        """Add a triple. Its predicate, and the predicates and values of its qualifiers in `ids`, may have labels."""
        self._send(("add", source, predicate, target, *((attributes, list(ids)) if attributes else ())))

    def shown_predicate(self, text: str) -> str:
        """Return a predicate that is displayed unchanged, even if it looks like an IRI."""
        text = " ".join(text.split())
        if ("://" in text or text.startswith("urn:")) and text not in self._first_predicates:
            self._first_predicates.add(text)
            self.label(text, text)
        return text

    def thing(self, thing: Thing, attributes: ThingAttributes) -> None:
        """Add the attributes of a thing, which puts it in the graph even if no triple uses it."""
        self._send(("thing", thing, attributes))

    def label(self, id_: str, text: str, rank: int = 0) -> None:
        """Add a label of an id; see `GraphBuilder.label`."""
        self._send(("label", id_, text, rank))

    def note(self, text: str) -> None:
        """Add a sentence about omitted content."""
        self._send(("note", text))

    def fail(self, item: str, reason: str, detail: str = "") -> None:
        """Add an item that could not be read."""
        self._send(("fail", item, reason, detail[:_LONGEST_DETAIL]))

    def measures(self, item: str, fields: Mapping[str, str]) -> tuple[float, float | None]:
        """Return the weight and the strength among fields, 1 and None without; a text that is not one is a failure."""
        found: list[float | None] = []
        for name, read in (("weight", weight_of), ("strength", strength_of)):
            text = fields.get(name, "").strip()
            found.append(read(text) if text else None)
            if text and found[-1] is None:
                self.fail(item, f"not a {name}", text)
        return found[0] or 1.0, found[1]


def suffix_of(path: Path) -> str:
    """Return the suffix of a file in lower case, without that of its compression.

    >>> suffix_of(Path("dump.NT.gz"))
    '.nt'
    """
    names = [suffix.lower() for suffix in path.suffixes]
    if names and names[-1] in {".gz", ".bz2"}:
        names.pop()
    return names[-1] if names else ""


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file, numbered from 1, without line ends; InputError if the file cannot be read."""
    with opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            yield number, (line.removeprefix(BOM) if number == 1 else line).rstrip(b"\r\n")


def text_of(path: Path) -> Iterator[str]:
    """Yield the lines of a text in its encoding, whatever its line ends; InputError if the file cannot be read.

    A byte that the encoding does not have becomes a lone surrogate.
    """
    with opened(path) as stream:
        encoding = encoding_of(stream)
        stream.seek(0)
        yield from io.TextIOWrapper(stream, encoding, "surrogateescape")


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, compressed or not, to read its bytes; InputError if it cannot be read, now or later."""
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
    try:
        with openers.get(path.suffix.lower(), open)(path, "rb") as stream:
            yield stream
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
