"""Read source code and notebooks: code in Markdown fences, comments and docstrings as the text between them."""

import json
import re
import textwrap
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.formats import CODE
from conspectus.pipelines.readers.markdown import add_markdown
from conspectus.pipelines.readers.plain import read_whole
from conspectus.pipelines.readers.rows import Draft, Row, fenced, items, mapping
from conspectus.storage.settings import InputSettings
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, String

_DEFINITION = re.compile(
    r"""(?x) ^(?P<indent>[ \t]*) (?: (?:export|default|public|private|protected|internal|static|final|abstract|async|pub
    (?:\(\w+\))? | unsafe|data|sealed|open|override|inline|virtual)\s+ )*
    (?P<what> (?:def|class|function\*?|fn|func|interface|struct|enum|trait|impl|module|namespace|object|record|sub
    | (?:CREATE\ (?:OR\ REPLACE\ )?(?:TABLE|VIEW|FUNCTION|PROCEDURE|TRIGGER|INDEX)) ) \s+ [\w.:"`$]+ )"""
)
"""A line that begins a function, a class or a similar definition."""
_METHOD = re.compile(
    r"""(?x) ^(?P<indent>[ \t]+) (?: (?:public|private|protected|internal|static|final|abstract|async|override|virtual
    |get|set|readonly)\s+ )*
    (?!(?:if|for|while|switch|catch|return|function|else|do|with|new|throw|await|super|assert)\b)
    (?P<name>\w+)\s*\([^;{}]*\)\s*(?::\s*[^;{}=]+)?\{"""
)
"""A line that begins a method in JavaScript or TypeScript."""
_SIGNATURE = re.compile(
    r"\b(?:def|function\*?|fn|func|fun)\s+(?P<name>\w+)\s*\("
    r"|^[ \t]*(?:\w+\s+)*(?P<method>\w+)\s*\((?=[^;]*\{)",
    re.M,
)
_DEFAULT = re.compile(
    r"(?:^|[\s&*$.])(\w+)\s*(?::[^=]+)?=\s*(-?\d[\w.]*|\"[^\"\n]{1,60}\"|'[^'\n]{1,60}'|[Tt]rue|[Ff]alse)\s*$"
)
"""A parameter with a number, a string or a truth value as its default."""
_FIELD = re.compile(
    r"^[ \t]+(\w+):[ ]*[\w\[\], |.]+?[ ]*=[ ]*(-?\d[\w.]*|\"[^\"\n]{1,60}\"|'[^'\n]{1,60}'|True|False)[ ]*$", re.M
)
_CONSTRUCTORS = ("__init__", "constructor", "initialize", "__construct", "init")
_LONGEST_SIGNATURE = 2_000
_SAID = dict.fromkeys(("def", "fn", "func", "sub", "function*"), "function")
"""Words of definitions as people say them."""

_LEXERS = {"jsx": "javascript", "tsx": "typescript"}
_FRAME = re.compile(r"^[ \t]*(?:/\*+!?|\*+/|\*(?!\w)|//+!?|#+!?|--+|;+)[ ]?|[ ]*\*+/[ \t]*$", re.M)
_WORDS = re.compile(r"[^\W\d_]{2,}\W+[^\W\d_]{2,}\W+[^\W\d_]{2,}")
"""Three words in a row: a comment without them is commented-out code, or a rule."""

_Level = tuple[int, str, str]
"""A definition around others: its indentation, its word, its name."""

_MOST_OUTPUT = 2_000
"""Maximum characters of a cell's output: longer output is data."""


def read_code(path: Path, _: InputSettings) -> Iterator[Row]:
    """Yield a file of source code as one text: code in fences, comments and docstrings between them.

    Comments above a definition and docstrings begin with its name.

    Definitions of functions, classes etc. are places, as headings; their level is the depth of their indentation.
    """
    text = read_whole(path).expandtabs(4)
    language = CODE.get(path.suffix.lower(), "")
    lines = text.split("\n")
    draft = Draft()
    levels: list[_Level] = []
    prose = [*_prose(text, language), (len(lines), len(lines))]
    at, begun = 0, False
    for (start, end), after in zip_longest(prose, prose[1:], fillvalue=prose[-1]):
        _add_code(draft, lines[at:start], language, levels, begun=begun)
        said = _FRAME.sub("", "\n".join(lines[start:end])) if start < end else ""
        below = next((line for line in lines[end : after[0]] if not line.lstrip().startswith("@")), "")
        found = _definition(below, language) if said else None
        begun = found is not None
        if found is not None:  # what a comment above a definition says, is about it
            draft.add(_begin(draft, found, levels))
        said = textwrap.dedent(said.strip().strip("\"'")).strip()
        is_docstring = language == "python" and "".join(lines[at:start]).rstrip().endswith(":")
        about = levels[-1][2] if said and levels and (begun or is_docstring) else ""
        draft.add(f"{about}: {said}" if about else said)
        at = end
    yield draft.row(None, {"programming_language": language})


def _definition(line: str, language: str) -> re.Match[str] | None:
    """Return the match of a line that begins a definition."""
    return _DEFINITION.match(line) or (_METHOD.match(line) if language in ("javascript", "typescript") else None)


def _begin(draft: Draft, found: re.Match[str], levels: list[_Level]) -> str:
    """Begin the place of a definition and return its heading; `levels` are those around it."""
    depth = len(found["indent"])
    while levels and levels[-1][0] >= depth:
        levels.pop()
    if found.re is _METHOD:
        word, name = "function", [found["name"]]
    else:
        word, *name = found["what"].split()
    levels.append((depth, word, " ".join(name).rstrip(":")))
    heading = " ".join([_SAID.get(word, word), *name]).rstrip(":")
    draft.begin("heading", heading, len(levels))
    return heading


def _add_code(draft: Draft, lines: Sequence[str], language: str, levels: list[_Level], *, begun: bool) -> None:
    """Add lines of code, a block for each definition, and below it the defaults that it gives.

    `begun`: the place of the first definition is begun.
    """
    block: list[str] = []
    for line in [*lines, None]:
        found = _definition(line, language) if line is not None else None
        if (found or line is None) and "".join(block).strip():
            draft.add(fenced("\n".join(block).strip("\n"), language))
            draft.add("\n".join(_defaults("\n".join(block), levels)))
            block = []
        if found and not begun:
            _begin(draft, found, levels)
        begun = begun and not found
        if line is not None:
            block.append(line)


def _defaults(block: str, levels: Sequence[_Level]) -> Iterator[str]:
    """Yield what the parameters of the functions in a block are by default, and the fields of a class in Python.

    >>> list(_defaults("def prune(folder, keep=6):", []))
    ['prune: keep is 6 by default.']
    """
    for found in _SIGNATURE.finditer(block):
        name = found["name"] or found["method"]
        outer = [around for *_, around in levels if around != name]
        owner = (outer[-1] if outer else "") if name in _CONSTRUCTORS else name
        given = [default for each in _parameters(block, found.end()) if (default := _DEFAULT.search(each))]
        if owner and given:
            yield f"{owner}: {'; '.join(f'{each[1]} is {each[2]} by default' for each in given)}."
    if levels and levels[-1][1] == "class":
        for field in _FIELD.finditer(block):
            yield f"{levels[-1][2]}: {field[1]} is {field[2]} by default."


def _parameters(text: str, start: int) -> Iterator[str]:
    """Yield the parameters of a signature from the character after its opening bracket on."""
    depth, begin = 0, start
    for at in range(start, min(len(text), start + _LONGEST_SIGNATURE)):
        if depth == 0 and text[at] in ",)":
            yield text[begin:at]
            begin = at + 1
            if text[at] == ")":
                return
        depth += (text[at] in "([{<") - (text[at] in ")]}>")


def _prose(text: str, language: str) -> list[tuple[int, int]]:
    """Return the lines [start, end) of comments and docstrings that are alone on their lines, in order and disjoint."""
    ends = [-1, *(at for at, sign in enumerate(text) if sign == "\n"), len(text)]
    spans: list[tuple[int, int]] = []
    joined, before = False, ""
    lexer = get_lexer_by_name(_LEXERS.get(language, language or "javascript"))
    for start, kind, said in lexer.get_tokens_unprocessed(text):
        is_python_doc = kind is String.Doc and language == "python"
        is_comment = kind in Comment and kind not in Comment.Preproc and kind not in Comment.PreprocFile
        is_comment = is_comment or (kind is String.Doc and not is_python_doc)
        if not is_comment and (not is_python_doc or before not in ("", ":")):
            joined = joined and not said.strip()
            before = said.strip() or before
            continue
        end = start + len(said.rstrip())
        first, last = bisect_left(ends, start) - 1, bisect_left(ends, end)
        if (text[ends[first] + 1 : start] + text[end : ends[last]]).strip():
            continue
        spans.append((spans.pop()[0] if joined and is_comment and spans[-1][1] == first else first, last))
        joined = is_comment
    return [span for span in spans if _WORDS.search(text, ends[span[0]] + 1, ends[span[1]])]


def read_notebook(path: Path, _: InputSettings) -> Iterator[Row]:
    """Yield a Jupyter notebook as one text: the cells in order, code in fences, followed by outputs that are text.

    Headings of Markdown cells are places. Raises Unreadable if the file is not a notebook.
    """
    text = read_whole(path).expandtabs(4)
    try:
        book = json.loads(text)
        cells = book["cells"] if "cells" in book else [cell for sheet in book["worksheets"] for cell in sheet["cells"]]
        language = str(book.get("metadata", {}).get("kernelspec", {}).get("language") or "python")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Unreadable("not a notebook", f"{type(error).__name__}: {error}"[:200]) from error
    draft = Draft()
    for cell in map(mapping, items(cells)):
        source = clean(_joined(cell.get("source", cell.get("input", "")))).strip("\n")
        if cell.get("cell_type") == "code":
            if source.strip():
                draft.add(fenced(source, re.sub(r"\W", "", language)))
            for output in filter(None, map(_output, map(mapping, items(cell.get("outputs"))))):
                draft.add(fenced(output, "text"))
        else:
            add_markdown(draft, source)
    yield draft.row(draft.heading(), {"programming_language": language})


def _output(output: dict[str, Any]) -> str:
    """Return the text of an output, "" for a picture or similar output."""
    said = _joined(output.get("text") or mapping(output.get("data")).get("text/plain", ""))
    if output.get("output_type") == "error":
        said = f"{output.get('ename', '')}: {output.get('evalue', '')}"
    return clean(said).strip("\n")[:_MOST_OUTPUT] if said.strip(" \n:") else ""


def _joined(lines: Any) -> str:  # noqa: ANN401  (any JSON)
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")
