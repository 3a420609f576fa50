"""Read Markdown by way of HTML: markdown-it renders it, and the reader of web pages takes text, headings and links.

What is not content is left out: comments, pictures, raw tags, marks of footnotes and blocks. Line breaks within a
paragraph stay, because notes often have one thought a line. The additions of Obsidian are read as it shows them: links
to pages, properties (`Owner:: Ada`), comments between %%, callouts.

AsciiDoc, Org, reStructuredText, MediaWiki markup and manual pages become Markdown first: a table of rules for each
format replaces lines and short spans; what they do not know stays as it is written. Nothing is included or run.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import regex
import yaml
from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.formats import readable_suffix
from conspectus.pipelines.readers.markup import by_rules, rules_of
from conspectus.pipelines.readers.plain import numbered_parts, read_plain, read_whole
from conspectus.pipelines.readers.rows import Draft, Row, as_title, labelled, markdown_table, strings
from conspectus.pipelines.readers.web.page import add_elements, parse_page
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

_DEEPEST = 100
_LEAST_WRAPPED = 40
"""The least characters of the longest line of a paragraph that an editor has wrapped."""
_FRONT_MATTER = regex.compile(
    r"(?:---[ \t]*\n(?P<block>.*?)^(?:---|\.\.\.)|\+\+\+[ \t]*\n(?P<toml>.*?)^\+\+\+)[ \t]*(?:\n|\Z)", regex.S | regex.M
)
_FRONT_MATTER_REACH = 1 << 16
_SAID = re.compile(r"^(?![\[{])(?=.*(?:[^\W\d_]{2}|\d{4}-\d))(?!(?:true|false)$)")
"""A value that says something by itself: no list, no bare number, no switch."""
_COUNTED = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)+: \d")
"""A number whose name is in words, as a person writes it: no setting of a program."""
_NOT_SHOWN = re.compile(
    r"\{%-?\s*comment\b(?s:.{0,10000}?)endcomment\s*-?%\}|\{%[^{}]{1,300}%\}|\{\{[^{}]{1,500}\}\}|\{:[^{}\n]{1,200}\}|"
    r"!\[\[[^\[\]\n]{1,300}\]\]|%%(?s:.{0,10000}?)%%|\[\^[^\[\]\s]{1,80}\]:?|\[![A-Za-z]{1,30}\][-+]?"
)
"""What fills a template of Liquid, Hugo or kramdown, an embedded file, a comment, the mark of a footnote, and the kind
of a callout."""
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
        draft = Draft()
        if number in (None, 1):
            metadata, text = _front_matter(text)
            title = as_title(metadata.pop(settings.title_column, None))
            said = {
                name: value
                for name, value in metadata.items()
                if _SAID.search(value) or _COUNTED.match(f"{name}: {value}")
            }
            draft.add(labelled(said))
        add_markdown(draft, text)
        title = title or draft.heading(1)
        if draft:
            yield replace(draft.row(title, metadata), number=number)
        elif number is None:
            raise Unreadable("empty")


def add_markdown(draft: Draft, text: str) -> None:
    """Add the blocks of a Markdown text to a draft; raises Unreadable for one that costs too much to parse."""
    page = parse_page(_parser().render(by_rules("pandoc", text, {"@aside": _aside})))
    if page is not None:
        add_elements(page, draft)


def _aside(found: re.Match[str]) -> str:
    """Return the title and the text of an admonition or a tab, which stands deeper."""
    return f"{found[1] or ''}\n{dedent(found[2])}\n"


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True, "breaks": True, "maxNesting": _DEEPEST})
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.before("link", "notes", _note)
    parser.core.ruler.push("finish", _finish)
    for kind in ("html_inline", "html_block"):
        parser.add_render_rule(kind, lambda _, tokens, at, *__: _shown_tags(tokens[at].content))
    return parser


def _note(state: "StateInline", silent: bool) -> bool:
    """Read the additions of notes; return whether one begins here."""
    text, at = state.src, state.pos
    if text[at] not in "![%^:{":
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


def _finish(state) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Give each heading the id that GitHub gives it, and join the lines of paragraphs that an editor has wrapped.

    Of these one line is long, and one ends within a sentence.
    """
    for before, token in pairwise(state.tokens):
        if before.type == "heading_open":
            before.attrSet("id", _slug(token.content))
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
    if front:
        with suppress(yaml.YAMLError, ValueError, TypeError, RecursionError):  # also for values without a text form
            values = yaml.safe_load(front["block"]) if front["toml"] is None else tomllib.loads(front["toml"])
            if isinstance(values, dict):
                return strings(values), text[front.end() :]
    return {}, text


_Found = re.Match[str]


def _rows(lines: Sequence[Sequence[str]]) -> str:
    rows = [[" ".join(cell.split()) for cell in line] for line in lines if line]
    return f"\n{markdown_table(rows, 1 if len(rows) > 1 else 0)}\n"


def _adoc_table(found: _Found) -> str:
    lines = [line[1:].split("|") for line in found[1].split("\n") if line.startswith("|")]
    width = len(lines[0]) if lines else 1
    cells = [cell for line in lines for cell in line]
    return _rows([cells[at : at + width] for at in range(0, len(cells), width)])


def _wiki_table(found: _Found) -> str:
    rows: list[list[str]] = [[]]
    for line in found[1].split("\n"):
        if line.startswith("|-"):
            rows.append([])
        elif line[:1] in ("|", "!") and not line.startswith("|+"):
            cells = re.split(r"\|\||!!", line[1:])
            rows[-1] += [cell if "[[" in cell else cell.rpartition("|")[2] for cell in cells]
    return _rows(rows)


def _template(found: _Found) -> str:
    """Return the named values of a template, as an infobox has them; nothing of others."""
    named = (part.partition("=") for part in found[1].split("|")[1:])
    said = {name.strip().replace("_", " "): value.strip() for name, sign, value in named if sign}
    lines = [f"{name}: {value}" for name, value in said.items() if value]
    return "\n\n".join(["", *lines, ""]) if len(lines) > 1 else ""


_FORMS = {".rst": "rst", ".adoc": "adoc", ".asciidoc": "adoc", ".org": "org", ".wiki": "wiki", ".mediawiki": "wiki"}
_LINE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}")
_ORG_TITLE = re.compile(r"^#\+title:[ \t]*(.+)$", re.M | re.I)


def read_markup(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a text in AsciiDoc, Org, reStructuredText or MediaWiki markup with its headings as places."""
    text = read_whole(path)
    form = _FORMS[readable_suffix(path.name, settings.suffixes)]
    title = _ORG_TITLE.search(text) if form == "org" else None
    text = _underlined(text) if form == "rst" else text
    yield _row(by_rules(form, text, _MADE), title[1] if title else None)


def _underlined(text: str) -> str:
    """Return a text whose titles are underlined, and perhaps overlined, at their full length with titles of Markdown.

    Their level is the rank of the line in the order of first occurrence. Links to a title lead to it.
    """
    kinds: list[tuple[str, bool]] = []
    titles: dict[str, str] = {}
    lines = text.split("\n")
    for at in range(len(lines) - 1):
        line, below = lines[at].rstrip(), lines[at + 1].rstrip()
        title, before = line.strip(), lines[at - 1].rstrip() if at else ""
        if title and _LINE.fullmatch(below) and not _LINE.fullmatch(title) and len(below) >= len(line):
            over = before == below
            if (over or not line[0].isspace()) and (over or not before):
                kind = (below[0], over)
                kinds += [] if kind in kinds else [kind]
                lines[at] = f"{'#' * min(6, kinds.index(kind) + 1)} {title}"
                lines[at + 1] = ""
                lines[at - 1 : at] = [""] if over else lines[at - 1 : at]
                titles[title.casefold()] = _slug(title)
    return "\n".join([*lines, "", *(f"[{title}]: #{slug}" for title, slug in titles.items())])


def _slug(name: str) -> str:
    """Return the id that GitHub gives to a heading.

    >>> _slug("How to mend a Pump?")
    'how-to-mend-a-pump'
    """
    return re.sub(r"[^\w\- ]", "", name.lower()).strip().replace(" ", "-")


_MADE: Mapping[str, Callable[[_Found], str]] = {
    "@level": lambda found: f"\n{'#' * min(6, len(found[1]))} {found[2]}\n",
    "@nested": lambda found: f"{'   ' * (len(found[1]) - 1)}{'1.' if found[1][0] == '.' else '-'} ",
    "@anchor": lambda found: f'<a id="{_slug(found[1])}"></a>\n',
    "@reference": lambda found: f"[{found[1] or found[2]}](#{_slug(found[2])})",
    "@template": _template,
    "@adoc_table": _adoc_table,
    "@org_table": lambda found: _rows([line.strip().strip("|").split("|") for line in found[0].split("\n") if line]),
    "@wiki_table": _wiki_table,
}


def _row(text: str, title: str | None, level: int = 1) -> Row:
    draft = Draft()
    add_markdown(draft, text)
    return draft.row(as_title(title) or draft.heading(level), {})


_MANUAL = re.compile(r"^\.[ \t]*(?:TH|Dd|SH|Sh)\b", re.M)
_ESCAPE = re.compile(
    r"\\f(?:\[[^\]\n]*\]|\(..|.)|\\s[-+]?\d+|\\[&|^/,:%]|\\\*?\((..)|\\\*?\[([^\]\n]*)\]|\\(.)|\\$", re.M
)
_SIGNS = dict(rules_of("manual_signs"))
_MARKS = re.compile(r"([*_`<\[])")
_WORDS = re.compile(r'"((?:[^"\n]|"")*)"?|(\S+)')
_FONTS = frozenset("B I R BR RB BI IB IR RI SM SB".split())
_MDOC = frozenset("Nm Ar Pa Cm Op Xr Em Sy Ev Dv Li Ic Va Fa Ql Dq Sq Fl Bq Pq".split())
_TITLE_OF_MANUAL = re.compile(r"^\.[ \t]*(?:TH|Dt)[ ]+\"?([^\s\"]+)\"?(?:[ ]+\"?(\w+))?", re.M)
_NAME_OF_MANUAL = re.compile(r"^\.Nm[ ]+(\S+)", re.M)
_OTHER_MACRO = re.compile(r"^[.'].*\n?", re.M)
_BREAK = re.compile(r"(?<=[^\n])[ ]?\n(?=[^\n])")


def read_manual(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a manual page (roff): sections as places, an option with its description; any other file as text."""
    text = read_whole(path)
    if not _MANUAL.search(text):
        yield from read_plain(path, settings)
        return
    title = _TITLE_OF_MANUAL.search(text)
    if name := _NAME_OF_MANUAL.search(text):
        text = re.sub(r"^\.Nm[ ]*$", lambda _: name[0], text, flags=re.M)
    parts = _OTHER_MACRO.sub("", by_rules("manual", text, {"@shown": _shown})).split("```")
    parts[::2] = [_MARKS.sub(r"\\\1", _plain(_BREAK.sub(" ", part))) for part in parts[::2]]
    parts[1::2] = map(_plain, parts[1::2])
    yield _row("```".join(parts), f"{title[1]}({title[2]})" if title and title[2] else None, level=0)


def _shown(found: _Found) -> str:
    """Return the words of a line: without the names of macros of mdoc, with - before flags, or joined in two fonts."""
    macro = found[1]
    words = [word[1] if word[2] is None else word[2] for word in _WORDS.finditer(found[2] or "")]
    if macro in _FONTS:
        return ("" if len(macro) == 2 and macro not in ("SM", "SB") else " ").join(words)
    if macro not in _MDOC and macro != "It":
        return found[0]
    said = (f"-{word}" if before == "Fl" else word for before, word in pairwise([macro, *words]))
    text = " ".join(word for word in said if word.lstrip("-") not in _MDOC)
    return f"\n\n{text}: " if macro == "It" and words else text


def _plain(text: str) -> str:
    """Return text without the escapes of roff."""
    return _ESCAPE.sub(lambda found: _SIGNS.get(found[1] or found[2] or found[3] or "", ""), text)
