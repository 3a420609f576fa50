"""Read what a PDF contains besides its pages: form fields and embedded files.

Both are trees in which a damaged file can create a cycle or endless depth, so the number of visited nodes is bounded.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.readers.encodings import clean

if TYPE_CHECKING:
    from pypdf import PdfReader

_FILLED = ("/Tx", "/Ch")


def filled_fields(reader: "PdfReader") -> list[str]:
    """Return a line "name: value" for every text and choice field that is filled in, in the order of the form."""
    lines = []
    for node, inherited in _nodes(_at(reader.root_object, "/AcroForm"), "/Fields"):
        value = _at(node, "/V")
        if inherited.get("/FT") in _FILLED and isinstance(value, str) and (text := " ".join(clean(value).split())):
            label = " ".join(clean(str(inherited.get("/TU") or inherited.get("/T") or "")).split())
            lines.append(f"{label}: {text}" if label else text)
    return lines


def embedded_files(reader: "PdfReader") -> list[str]:
    """Return the names of the embedded files."""
    names = []
    for node, _ in _nodes(_at(reader.root_object, "/Names", "/EmbeddedFiles"), "/Kids"):
        found = _at(node, "/Names")
        names += [" ".join(clean(str(item)).split()) for item in found[::2]] if isinstance(found, list) else []
    return names


def _nodes(root: Any, key: str) -> Iterator[tuple[Any, dict[str, Any]]]:  # noqa: ANN401  (whatever the file holds)
    """Yield the nodes of a tree in preorder, with the properties that they have or inherit."""
    seen: set[int] = set()
    waiting: list[tuple[Any, dict[str, Any], str]] = [(root, {}, key)]
    while waiting:
        node, above, children = waiting.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        own = {name: said for name in ("/FT", "/T", "/TU") if (said := _at(node, name)) is not None}
        yield node, above | own
        kids = _at(node, children)
        if isinstance(kids, list):
            waiting += [(kid.get_object(), above | own, "/Kids") for kid in reversed(kids)]


def _at(node: Any, *path: str) -> Any:  # noqa: ANN401  (whatever the file holds)
    """Return the value at a path of keys, following references; None if there is none."""
    for name in path:
        node = node.get(name) if isinstance(node, dict) else None
        node = node.get_object() if node is not None else None
    return node
