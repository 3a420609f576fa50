"""The wiki as a site: a page of HTML for each page of Markdown, for any browser or web server, without a script."""

import re
from functools import partial
from html import escape
from itertools import pairwise
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from conspectus.pipelines.exchange.exports import ExportResult
from conspectus.storage.index import StoredIndex
from conspectus.wiki.markdown import escaped
from conspectus.wiki.pages import write_pages
from markdown_it import MarkdownIt

_LINK = re.compile(r"\[\[(?P<page>[^\[\]|#]+)(?:#Passage (?P<passage>\d+))?\|(?P<label>[^\[\]|]*)\]\]")
_PAGE = """<!doctype html>
<html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title><style>
:root {{ color-scheme: light dark }}
body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }}
p, li, h1 {{ overflow-wrap: anywhere }}
</style></head><body>
<nav><a href="{contents}">Contents</a></nav>
{body}</body></html>
"""


def write_site(index: StoredIndex, to: Path) -> ExportResult:
    """Write the pages of the wiki as HTML into the folder `to`, which must not exist."""
    return write_pages(index, to, partial(_as_html, MarkdownIt("commonmark", {"html": False, "breaks": True})))


def _as_html(markdown: MarkdownIt, name: str, text: str) -> tuple[str, str]:
    """Return the name and the text of the file of a page."""
    page = PurePosixPath(name)
    if page.suffix != ".md":
        return name, re.sub(r"\.md\)$", ".html)", text, flags=re.MULTILINE)
    to_top = "../" * (len(page.parts) - 1)

    def link(found: re.Match[str]) -> str:
        part = f"#passage-{found['passage']}" if found["passage"] else ""
        return f"[{escaped(found['label'])}]({to_top}{quote(found['page'])}.html{part})"

    tokens = markdown.parse(_LINK.sub(link, text.split("---\n", 2)[2]))
    title = ""
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            title = title or "".join(part.content for part in inline.children or ())
            if inline.content.startswith("Passage "):
                opening.attrSet("id", inline.content.lower().replace(" ", "-"))
    body = markdown.renderer.render(tokens, markdown.options, {})
    as_html = _PAGE.format(title=escape(title), contents=f"{to_top}index.html", body=body)
    return str(page.with_suffix(".html")), as_html
