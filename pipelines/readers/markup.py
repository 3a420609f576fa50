"""Read reStructuredText, Org and LaTeX: the source text, with headings, links and anchors if easy to find.

Their full syntax is not interpreted: the source is readable enough for answers.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from conspectus.pipelines.readers.encodings import Unreadable, clean, open_text
from conspectus.pipelines.readers.rows import Draft, Row, as_title, too_long
from conspectus.storage.records import Anchor, Hyperlink, Place
from conspectus.storage.settings import InputSettings

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*$")
_RST_LINK = re.compile(r"`(?P<text>[^`<>]+?)\s*<(?P<target>[^<>`\s]+)>`__?")
_RST_TARGET = re.compile(r"^\.\. _`?(?P<name>[^:`]+)`?:[ \t]*(?P<target>\S*)[ \t]*$", re.M)
_RST_REFERENCE = re.compile(r"`(?P<text>[^`<>]+)`_(?!_)|(?<![\w`])(?P<word>\w[\w.-]*\w)_(?![\w_])")
_RST_ROLE = re.compile(r":(?:ref|doc|numref):`(?:(?P<text>[^`<>]+?)\s*<)?(?P<target>[^<>`]+)>?`")
_ORG_HEADING = re.compile(r"^(\*{1,8}) (?:(?:TODO|DONE) )?(.+?)(?:[ \t]+:[\w:@]+:)?[ \t]*$", re.M)
_ORG_LINK = re.compile(r"\[\[(?P<target>[^\[\]]+)\](?:\[(?P<text>[^\[\]]+)\])?\]")
_ORG_TITLE = re.compile(r"^#\+title:[ \t]*(.+)$", re.M | re.I)
_TEX_BODY = re.compile(r"\\begin\{document\}(.*?)(?:\\end\{document\}|\Z)", re.S)
_TEX_COMMENT = re.compile(r"(?<!\\)%.*$", re.M)
_TEX_SECTION = re.compile(
    r"\\(part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?(?:\[[^\]]*\])?"
    r"\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}"
)
_TEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_TEX_UNWRAPPED = re.compile(
    r"\\(?:emph|textbf|textit|texttt|textsc|textrm|textsf|underline|mbox|footnote|caption|title|url|verb)\*?\{([^{}]*)\}"
)
_TEX_DROPPED = re.compile(
    r"\\(?:label|index|vspace|hspace|includegraphics|bibliography|bibliographystyle|usepackage|input)\*?(?:\[[^\]]*\])?\{[^{}]*\}"
    r"|\\(?:maketitle|tableofcontents|noindent|centering|newpage|clearpage|bigskip|medskip|smallskip)\b"
)
_TEX_TITLE = re.compile(r"\\title\{([^{}]*)\}")
_TEX_CODE = re.compile(r"\\(?:begin|end)\{(?:verbatim|lstlisting|minted)\*?\}(?:\[[^\]]*\])?(?:\{\w+\})?\n?")
_TEX_ENVIRONMENT = re.compile(r"\\(?:begin|end)\{[\w*]+\}(?:\[[^\]]*\])?")


def read_rst(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a reStructuredText file with its headings as places, its links, and its explicit targets as anchors."""
    text = read_whole(path, settings)
    places = tuple(_rst_headings(text))
    external = {found["name"].casefold(): found["target"] for found in _RST_TARGET.finditer(text) if found["target"]}
    links = [Hyperlink(*found.span("text"), found["target"]) for found in _RST_LINK.finditer(text)]
    for found in _RST_REFERENCE.finditer(text):
        name = found["text"] or found["word"]
        group = "text" if found["text"] else "word"
        links.append(Hyperlink(*found.span(group), external.get(name.casefold(), f"#{_slug(name)}")))
    for found in _RST_ROLE.finditer(text):
        group = "text" if found["text"] else "target"
        is_document = found[0].startswith(":doc:")
        target = f"{found['target']}.rst" if is_document else f"#{_slug(found['target'])}"
        links.append(Hyperlink(*found.span(group), target))
    anchors = {_slug(place.label): place.start for place in reversed(places)}
    anchors |= {_slug(one["name"]): one.start() for one in _RST_TARGET.finditer(text) if not one["target"]}
    known = [link for link in links if not link.target.startswith("#") or link.target[1:] in anchors]
    yield _row(text, places[0].label if places else None, places, known, anchors)


def _rst_headings(text: str) -> Iterator[Place]:
    """Yield the titles of sections: lines underlined, and perhaps overlined, at their full length.

    The level of an adornment style is its rank in the order of first occurrence.
    """
    kinds: list[tuple[str, bool]] = []
    lines = text.split("\n")
    start = 0
    for at, line in enumerate(lines):
        below = _RULE.fullmatch(lines[at + 1].rstrip()) if at + 1 < len(lines) else None
        title = line.strip()
        if below and title and not _RULE.fullmatch(title) and len(lines[at + 1].rstrip()) >= len(line.rstrip()):
            over = at > 0 and lines[at - 1].rstrip() == lines[at + 1].rstrip()
            if (over or not line[:1].isspace()) and (over or at == 0 or not lines[at - 1].strip()):
                kind = (below[1], over)
                if kind not in kinds:
                    kinds.append(kind)
                label = as_title(title.replace("``", "").replace("`", ""))
                if label:
                    yield Place(start + len(line) - len(line.lstrip()), "heading", label, kinds.index(kind) + 1)
        start += len(line) + 1


def read_org(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield an Org file with its headings as places, and its links."""
    text = read_whole(path, settings)
    places = [
        Place(found.start(), "heading", label, len(found[1]))
        for found in _ORG_HEADING.finditer(text)
        if (label := as_title(found[2]))
    ]
    links = [
        Hyperlink(*found.span("text" if found["text"] else "target"), found["target"].removeprefix("file:"))
        for found in _ORG_LINK.finditer(text)
    ]
    title = _ORG_TITLE.search(text)
    anchors = {_slug(place.label): place.start for place in reversed(places)}
    yield _row(text, title[1] if title else (places[0].label if places else None), tuple(places), links, anchors)


def read_latex(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a LaTeX file: the body without comments and commands of layout, sections as places."""
    source = read_whole(path, settings)
    title = _TEX_TITLE.search(source)
    body = _TEX_BODY.search(source)
    text = _TEX_COMMENT.sub("", body[1] if body else source)
    text = _TEX_CODE.sub("\n```\n", _TEX_DROPPED.sub("", text))
    for _ in range(3):  # nested ones
        text = _TEX_UNWRAPPED.sub(r"\1", text)
    text = re.sub(r"\\item\b[ ]?(?:\[([^\]]*)\])?", lambda one: f"- {one[1]}: " if one[1] else "- ", text)
    draft = Draft(settings)
    at = 0
    for found in _TEX_SECTION.finditer(text):
        draft.add(_tidy(text[at : found.start()]))
        draft.add_heading(found[2], _TEX_LEVELS.index(found[1]) + 1)
        at = found.end()
    draft.add(_tidy(text[at:]))
    yield draft.row(as_title(title[1]) if title else None, {})


def _tidy(text: str) -> str:
    text = _TEX_ENVIRONMENT.sub("\n", text).replace("~", " ").replace("``", "“").replace("''", "”")
    text = re.sub(r"\\([%&$#_{}])", r"\1", text)
    return re.sub(r"\n\s*\n+", "\n\n", re.sub(r"“`", "```", text)).strip()


def read_whole(path: Path, settings: InputSettings) -> str:
    """Return the cleaned text of a file; Unreadable where it is empty or longer than `input.max_characters`."""
    with open_text(path) as stream:
        text = clean(stream.read(settings.max_characters + 1))
    if len(text) > settings.max_characters:
        raise too_long(settings)
    if not text.strip():
        raise Unreadable("empty")
    return text


def _row(
    text: str, title: str | None, places: tuple[Place, ...], links: list[Hyperlink], anchors: dict[str, int]
) -> Row:
    sorted_anchors = sorted((Anchor(start, name) for name, start in anchors.items()), key=lambda one: one.start)
    sorted_links = sorted(links, key=lambda link: (link.start, link.end))
    return Row(
        None, None, as_title(title), text, {}, places, hyperlinks=tuple(sorted_links), anchors=tuple(sorted_anchors)
    )


def _slug(name: str) -> str:
    """Return the anchor of a heading or target, as docutils and GitHub generate it.

    >>> _slug("How to  mend a Pump?")
    'how-to-mend-a-pump'
    """
    return re.sub(r"[\s_-]+", "-", re.sub(r"[^\w\s-]", "", name.casefold())).strip("-")
