"""Write the map of an index as one self-contained HTML file that makes no requests.

Content from documents is in it as JSON only, in which no character can end the enclosing element; the script inserts it
as text. A content security policy allows this script and this style sheet, by their hashes, and nothing else: no
request of any kind, no other script.
"""

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from conspectus.map.data import Content, MapLimits, content_of
from conspectus.pipelines.exchange.exports import ExportResult
from conspectus.storage.records import Document

if TYPE_CHECKING:
    from conspectus.storage.index import StoredIndex

_SCRIPTS = ("dom", "data", "layout", "colour", "camera", "draw", "labels", "panel", "search", "main")
SHARED = ("base.css", "dom.js")
"""Files that the page of the server uses too."""
_EXPORT = re.compile("^export ", re.MULTILINE)
_PLACE = re.compile(r"\{\{(\w+)\}\}")
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="#cfd8ea"/>'
    '<circle cx="5.4" cy="8" r="4" fill="#5b74b5"/><circle cx="11.7" cy="8" r="2.6" fill="#a4472c"/></svg>'
)


def write_html(
    index: "StoredIndex", to: Path, *, title: str | None = None, limits: MapLimits | None = None
) -> ExportResult:
    """Write the map of an index as one page; return its contents, with notes about missing content.

    `title` is the heading of the page; by default the titles of up to three documents, or the name of the index's
    folder if there are more. The same index and title give the same bytes.
    """
    content = content_of(index, title or _title(index), limits or MapLimits())
    to.write_text(page(content), "utf-8", newline="\n")
    return ExportResult((to,), content.rows, content.notes)


def page(content: Content) -> str:
    """Return the page for a content."""
    policy = (
        f"default-src 'none'; script-src {_hash(script())}; style-src {_hash(style())}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return _filled(
        policy=policy,
        title=escape(content.map["title"]),
        style=f"<style>{style()}</style>",
        map=_json(content.map),
        texts=_json(content.texts),
        script=f"<script>{script()}</script>",
    )


def frame(policy: str, style_address: str, script_address: str) -> str:
    """Return the page without its data, for a server: the page around it puts them in, and then runs `script()`."""
    return _filled(
        policy=escape(policy),
        title="Map",
        style=f'<link rel="stylesheet" href="{escape(style_address)}">',
        map="",
        texts="",
        script=f'<script src="{escape(script_address)}"></script>',
    )


def style() -> str:
    """Return the style sheet."""
    return part("base.css") + part("style.css")


def _filled(**values: str) -> str:
    values["icon"] = f"data:image/svg+xml,{quote(_ICON)}"
    return _PLACE.sub(lambda place: values[place[1]], part("page.html"))


def _title(index: "StoredIndex") -> str:
    documents = index.rows(Document)
    if 0 < len(documents) <= 3:
        return ", ".join(sorted(document.title or document.uri or document.id for document in documents))
    folders = [index.root.absolute(), *index.root.absolute().parents]
    names = [folder.name.removesuffix(".index") for folder in folders]
    return next((name for name in names if name and name != "index" and not name.startswith(".")), "StoredIndex")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _json(value: Any) -> str:  # noqa: ANN401  (any JSON)
    """Return a value as JSON that is safe in a script element: without "<" nothing begins or ends there."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


@cache
def script() -> str:
    """Return the scripts as one, in a separate scope, after d3-hierarchy with its licence."""
    own = "\n".join(_EXPORT.sub("", part(f"{name}.js")) for name in _SCRIPTS)
    library = f"/* {part('d3-hierarchy.LICENSE')} */\n{part('d3-hierarchy.js')}"
    return f'{library}(() => {{\n"use strict";\n{own}\n}})();'


def part(name: str) -> str:
    """Return a file that the page is made of."""
    return files("conspectus.map").joinpath("page_parts", name).read_text("utf-8")
