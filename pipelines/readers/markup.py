"""Read LaTeX: its text and tables without commands of layout, with headings; its full syntax is not interpreted.

What a rule says that a pattern and a replacement can express is in `markup.toml`, for other markup too (`markdown`).
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from conspectus.pipelines.readers.plain import read_whole
from conspectus.pipelines.readers.rows import Draft, Row, as_title, markdown_table
from conspectus.storage.settings import InputSettings

_TEX_BODY = re.compile(r"\\begin\{document\}(.*?)(?:\\end\{document\}|\Z)", re.S)
_TEX_COMMENT = re.compile(r"(?<!\\)%.*$", re.M)
_TEX_SECTION = re.compile(
    r"\\(part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?(?:\[[^\]]*\])?"
    r"\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}"
)
_TEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_NESTED = r"(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*+\})*+"
_GROUP = f"({_NESTED})"
"""What stands between braces, which may nest twice."""
_TEX_TITLE = re.compile(rf"\\title(?:\[[^\]]*\])?\{{{_GROUP}\}}")
_TEX_AUTHOR = re.compile(rf"\\author(?:\[[^\]]*\])?\{{{_GROUP}\}}")
_TEX_AND = re.compile(r"\\(?:and|AND|And)\b|(?<=\w),(?=\s+[A-Z])|\s+and\s+")
_TEX_ASIDE = re.compile(
    r"\\(?:thanks|footnotemark|inst|texttt|email|orcid\w*|footnote|affil\w*|institute|[A-Za-z]*authorblockA"
    rf"|[A-Za-z]*(?:ref|refmark|note|mark))\*?(?:\[[^\]]*\])?(?:\{{{_GROUP}\}})?"
    r"|\$[^$]{0,40}\$|\\\\(?:(?!\\and\b|\\AND\b|\\And\b)[^\\]|\\(?!and\b|AND\b|And\b))*"
)
"""What stands beside a name: notes, addresses, and the lines below it."""
_TEX_AROUND = re.compile(r"\\[A-Za-z]+\*?\{([^{}]*)\}")
_TEX_MACRO = re.compile(
    r"\\(?:(?:re|provide)?newcommand\*?|def)[ ]*\{?\\(?P<name>[A-Za-z@]{1,40})\}?(?:\[(?P<count>\d)\])?"
    rf"\{{(?P<body>{_NESTED})\}}[ \t]*\n?"
)
_MOST_MACROS, _LONGEST_MACRO = 200, 300
_TEX_NOTE = re.compile(rf"\\(?:footnote|footnotetext)(?:\[[^\]]*\])?\{{{_GROUP}\}}")
_TEX_TABLE = re.compile(
    r"\\begin\{(?:tabular[x*]?|longtable)\}(?:\{[^{}]*\}|\[[^\]]*\])*+((?:(?!\\begin\{(?:tabular|longtable))(?s:.))*?)"
    r"\\end\{(?:tabular[x*]?|longtable)\}"
)

Replacement = str | Callable[[re.Match[str]], str]


@cache
def rules_of(form: str) -> list[tuple[str, str]]:
    """Return the rules of `markup.toml` for a form of markup: patterns and what stands for them, in order."""
    table = tomllib.loads(Path(__file__).with_name("markup.toml").read_text("utf-8"))
    return [(rule, by) for rule, by in table[form]]


def by_rules(form: str, text: str, made: Mapping[str, Replacement] = MappingProxyType({})) -> str:
    """Return a text changed by the rules of `markup.toml` for a form of markup.

    `made` has the functions that the rules name.

    >>> by_rules("latex", "90 \\\\percent")
    '90 %'
    """
    for rule, by in rules_of(form):
        text = re.sub(rule, made.get(by, by), text, flags=re.M)
    return text


def read_latex(path: Path, _: InputSettings) -> Iterator[Row]:
    """Yield a LaTeX file: authors, abstract and body without comments and commands of layout, sections as places.

    Short macros without options are replaced, footnotes follow their paragraph, the bibliography is a section.
    """
    source = _expanded(_TEX_COMMENT.sub("", read_whole(path)))
    titles, authors = ([found[1] for found in rule.finditer(source)] for rule in (_TEX_TITLE, _TEX_AUTHOR))
    title = as_title(re.sub(r"\\\\(?:\[[^\]]*\])?|\\[a-zA-Z]++(?!\{)", " ", _inline(titles[0]))) if titles else None
    plain = [_TEX_AROUND.sub(r"\1", _inline(_TEX_ASIDE.sub("", every))) for every in authors]
    names = [" ".join(name.split()) for every in plain for name in _TEX_AND.split(every)]
    body = _TEX_BODY.search(source)
    text = _TEX_TABLE.sub(_table, by_rules("latex", body[1] if body else source))
    draft = Draft()
    metadata = {"author": ", ".join(filter(None, names))} if any(names) else {}
    draft.add_heading(title or "", 1)
    draft.add(f"Authors: {metadata['author']}" if metadata else "")
    at = 0
    for found in _TEX_SECTION.finditer(text):
        _add_latex(draft, text[at : found.start()])
        draft.add_heading(_tidy(found[2]), _TEX_LEVELS.index(found[1]) + 1)
        at = found.end()
    _add_latex(draft, text[at:])
    yield draft.row(title, metadata)


def _expanded(source: str) -> str:
    """Return a source with its own short macros replaced, those that use others included; the growth is bounded."""
    macros = {found["name"]: (int(found["count"] or 0), found["body"]) for found in _TEX_MACRO.finditer(source)}
    source = _TEX_MACRO.sub("", source)
    if not macros:
        return source
    names = "|".join(sorted((re.escape(name) for name in list(macros)[:_MOST_MACROS]), key=len, reverse=True))
    use = re.compile(rf"\\(?P<name>{names})(?![A-Za-z@])(?P<options>(?:\{{[^{{}}]*\}}){{0,9}})[ ]?")
    longest = 2 * len(source) + 10_000
    for _ in range(3):
        after = use.sub(lambda found: _replaced(found, macros), source)
        if after == source or len(after) > longest:
            break
        source = after
    return source


def _replaced(found: re.Match[str], macros: dict[str, tuple[int, str]]) -> str:
    count, body = macros[found["name"]]
    given = re.findall(r"\{([^{}]*)\}", found["options"])
    if len(body) > _LONGEST_MACRO or len(given) < count:
        return found[0]
    rest = "".join(f"{{{one}}}" for one in given[count:] if one)
    space = " " if found[0].endswith(" ") else ""
    return re.sub(r"#([1-9])", lambda at: given[int(at[1]) - 1] if int(at[1]) <= count else "", body) + rest + space


def _inline(text: str) -> str:
    return by_rules("latex_inline", text)


def _add_latex(draft: Draft, text: str) -> None:
    for paragraph in re.split(r"\n[ \t]*\n", text):
        notes = [found[1] for found in _TEX_NOTE.finditer(paragraph)]
        for said in (_TEX_NOTE.sub("", paragraph), *notes):
            draft.add(_tidy(said))


def _table(found: re.Match[str]) -> str:
    """Return a table as rows of Markdown; & and \\\\ end its cells and rows."""
    body = by_rules("latex_table", found[1])
    rows = [re.split(r"(?<!\\)&", line) for line in re.split(r"\\\\(?:\[[^\]]*\])?", body) if line.strip()]
    return f"\n\n{markdown_table([[' '.join(_inline(cell).split()) for cell in row] for row in rows])}\n\n"


def _tidy(text: str) -> str:
    return by_rules("latex_text", _inline(text)).strip()
