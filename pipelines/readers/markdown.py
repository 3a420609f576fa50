"""Read Markdown by way of HTML: markdown-it renders it, and the reader of web pages takes text, headings and links.

What is not content is left out: comments, pictures, raw tags, marks of footnotes and blocks. Line breaks within a
paragraph stay, because notes often have one thought a line. The additions of Obsidian are read as it shows them: links
to pages, properties (`Owner:: Ada`), comments between %%, callouts.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import regex
import yaml
from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.plain import numbered_parts
from conspectus.pipelines.readers.rows import Draft, Row, as_title, labelled, strings
from conspectus.pipelines.readers.web.page import add_elements, parse_page
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

_DEEPEST = 100
_LEAST_WRAPPED = 40
"""The least characters of the longest line of a paragraph that an editor has wrapped."""
_FRONT_MATTER = regex.compile(r"---[ \t]*\n(?P<block>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", regex.S | regex.M)
_FRONT_MATTER_REACH = 1 << 16
_SAID = re.compile(r"^(?![\[{])(?=.*(?:[^\W\d_]{2}|\d{4}-\d))(?!(?:true|false)$)")
"""A value that says something by itself: no list, no bare number, no switch."""
_FENCED_DIV = re.compile(r"^ {0,3}:::.*$", re.M)
_NOT_SHOWN = re.compile(
    r"!\[\[[^\[\]\n]{1,300}\]\]|%%(?s:.{0,10000}?)%%|\[\^[^\[\]\s]{1,80}\]:?|\[![A-Za-z]{1,30}\][-+]?"
)
"""An embedded file, a comment, the mark of a footnote, and the kind of a callout."""
_BLOCK_ID = re.compile(r"\^[\w-]{1,60}[ \t]*(?=\n|\Z)")
_PAGE_LINK = re.compile(r"\[\[(?P<page>[^\[\]\n|]{1,200})(?:\|(?P<label>[^\[\]\n]{0,200}))?\]\]")
_PROPERTY = re.compile(r"(?:^|\n)[ \t]*(?:[-*+][ \t])?[^\W\d_][\w -]{0,39}\Z")
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)")


def read_markdown(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a Markdown text, in numbered parts if it is very long.

    Front matter is metadata of all parts, and its names and dates are the first line, so that they can be quoted;
    headings are places; links and anchors are preserved.
    """
    title = None
    metadata: dict[str, str] = {}
    for number, text in numbered_parts(path, settings):
        if number in (None, 1):
            metadata, text = _front_matter(text)
            title = as_title(metadata.pop(settings.title_column, None))
        draft = Draft(settings)
        if number in (None, 1):
            draft.add(labelled({name: value for name, value in metadata.items() if _SAID.search(value)}))
        add_markdown(draft, text)
        title = title or next((place.label for place in draft.places if place.level == 1), None)
        if draft:
            yield replace(draft.row(title, metadata), number=number)
        elif number is None:
            raise Unreadable("empty")


def add_markdown(draft: Draft, text: str) -> None:
    """Add the blocks of a Markdown text to a draft; raises Unreadable for one that costs too much to parse."""
    page = parse_page(_parser().render(_FENCED_DIV.sub("", text)))
    if page is not None:
        add_elements(page, draft)


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True, "breaks": True, "maxNesting": _DEEPEST})
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.before("link", "notes", _note)
    parser.core.ruler.push("anchors", _name_headings)
    parser.core.ruler.push("wrapped", _join_wrapped)
    for kind in ("html_inline", "html_block"):
        parser.add_render_rule(kind, lambda _, tokens, at, *__: _shown_tags(tokens[at].content))
    return parser


def _note(state: "StateInline", silent: bool) -> bool:
    """Read the additions of notes; return whether one begins here."""
    text, at = state.src, state.pos
    if text[at] not in "![%^:":
        return False
    if link := _PAGE_LINK.match(text, at):
        page, _, section = link["page"].partition("#")
        label = link["label"] or section.lstrip("^") or page
        shown, end = f'<a href="{escape(link["page"])}">{escape(label)}</a>', link.end()
    elif found := _NOT_SHOWN.match(text, at) or _BLOCK_ID.match(text, at):
        shown, end = "", found.end()
    elif text.startswith(":: ", at) and _PROPERTY.search(text, max(0, at - 60), at):
        shown, end = ":", at + 2
    else:
        return False
    if not silent:
        state.push("html_inline", "", 0).content = shown
    state.pos = end
    return True


def _name_headings(state) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Give each heading the id that GitHub gives it."""
    for opening, content in zip(state.tokens, state.tokens[1:], strict=False):
        if opening.type == "heading_open":
            opening.attrSet("id", re.sub(r"[^\w\- ]", "", content.content.lower()).strip().replace(" ", "-"))


def _join_wrapped(state) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Join the lines of paragraphs that an editor has wrapped: one line is long, and one ends within a sentence."""
    for token in state.tokens:
        lines = token.content.split("\n") if token.type == "inline" else []
        wrapped = len(lines) > 1 and max(map(len, lines[:-1])) >= _LEAST_WRAPPED
        if wrapped and any(line[-1:].isalnum() and after[:1].islower() for line, after in pairwise(lines)):
            for child in token.children or ():
                if child.type == "softbreak":
                    child.type, child.content = "text", " "


def _shown_tags(markup: str) -> str:
    """Return raw HTML, and anything else between < and > as text: "<file>" is what a person wrote."""
    from lxml.html.defs import tags

    names = {found[1].lower() for found in _TAG.finditer(markup)}
    return markup if names <= tags or markup.startswith("<!") else escape(markup)


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the metadata at the beginning of a text, and the rest of the text."""
    front = _FRONT_MATTER.match(text, 0, _FRONT_MATTER_REACH)
    values = _mapping(front["block"]) if front else None
    return (values, text[front.end() :]) if front and values is not None else ({}, text)


def _mapping(block: str) -> dict[str, str] | None:
    """Return the mapping of a YAML block, None if it is not a mapping (the block is then part of the text)."""
    try:
        values = yaml.safe_load(block)
        return strings(values) if isinstance(values, dict) else None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):  # also for values without a text form
        return None
