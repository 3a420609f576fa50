"""Read source code and notebooks: code in Markdown fences, comments and docstrings as the text between them."""

import ast
import json
import re
import textwrap
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.formats import CODE
from conspectus.pipelines.readers.markdown import add_markdown
from conspectus.pipelines.readers.plain import read_whole
from conspectus.pipelines.readers.rows import Draft, Row, fenced
from conspectus.storage.settings import InputSettings

_DEFINITION = re.compile(
    r"""(?x) ^(?P<indent>[ \t]*) (?: (?:export|default|public|private|protected|internal|static|final|abstract|async|pub
    (?:\(\w+\))? | unsafe|data|sealed|open|override|inline|virtual)\s+ )*
    (?P<what> (?:def|class|function\*?|fn|func|interface|struct|enum|trait|impl|module|namespace|object|record|sub
    | (?:CREATE\ (?:OR\ REPLACE\ )?(?:TABLE|VIEW|FUNCTION|PROCEDURE|TRIGGER|INDEX)) ) \s+ [\w.:"`$]+ )"""
)
"""A line that begins a function, a class or a similar definition."""
_SAID = dict.fromkeys(("def", "fn", "func", "sub", "function*"), "function")
"""Words of definitions as people say them."""

_LINE_COMMENTS = {
    "python": "#", "ruby": "#", "r": "#", "julia": "#", "perl": "#", "bash": "#", "powershell": "#", "sql": "--",
    "lua": "--", "haskell": "--", "lisp": ";", "php": "//",
}  # fmt: skip
_FRAME = re.compile(r"^[ \t]*(?:/\*+!?|\*+/|\*(?!\w)|//+!?|#+!?|--+|;+)[ ]?|[ ]*\*+/[ \t]*$", re.M)
_BLOCK = re.compile(r"^[ \t]*/\*(?:(?!\*/)(?s:.))*+\*/[ \t]*$", re.M)
_WORDS = re.compile(r"[^\W\d_]{2,}\W+[^\W\d_]{2,}\W+[^\W\d_]{2,}")
"""Three words in a row: a comment without them is commented-out code, or a rule."""

_MOST_OUTPUT = 2_000
"""Maximum characters of a cell's output: longer output is data."""


def read_code(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a file of source code as one text: code in fences, comments and docstrings between them.

    Definitions of functions, classes etc. are places, as headings; their level is the depth of their indentation.
    """
    text = read_whole(path, settings).expandtabs(4)
    language = CODE.get(path.suffix.lower(), "")
    lines = text.split("\n")
    draft = Draft(settings)
    levels: list[int] = []
    at = 0
    for start, end in [*_prose(text, lines, language), (len(lines), len(lines))]:
        _add_code(draft, lines[at:start], language, levels)
        said = _FRAME.sub("", "\n".join(lines[start:end])) if start < end else ""
        draft.add(textwrap.dedent(said.strip().strip("\"'")).strip())
        at = end
    yield draft.row(None, {"programming_language": language})


def _add_code(draft: Draft, lines: Sequence[str], language: str, levels: list[int]) -> None:
    """Add lines of code, a block for each definition; `levels` are the indentations of the enclosing definitions."""
    block: list[str] = []
    for line in [*lines, None]:
        found = _DEFINITION.match(line) if line is not None else None
        if (found or line is None) and "".join(block).strip():
            draft.add(fenced("\n".join(block).strip("\n"), language))
            block = []
        if found:
            depth = len(found["indent"])
            while levels and levels[-1] >= depth:
                levels.pop()
            levels.append(depth)
            word, *name = found["what"].split()
            draft.begin("heading", " ".join([_SAID.get(word, word), *name]).rstrip(":"), len(levels))
        if line is not None:
            block.append(line)


def _prose(text: str, lines: Sequence[str], language: str) -> list[tuple[int, int]]:
    """Return the lines [start, end) of comments and docstrings, in order and disjoint."""
    spans = _docstrings(text) if language == "python" else _block_comments(text)
    mark = _LINE_COMMENTS.get(language, "//")
    taken = {line for start, end in spans for line in range(start, end)}
    numbered = groupby(enumerate(lines), key=lambda each: each[1].lstrip().startswith(mark) and each[0] not in taken)
    for is_comment, run in numbered:
        (begin, _), *rest = run
        spans += [(begin, begin + 1 + len(rest))] if is_comment else []
    return sorted(span for span in spans if _WORDS.search("\n".join(lines[slice(*span)])))


def _block_comments(text: str) -> list[tuple[int, int]]:
    """Return the lines of comments between /* and */ that are alone on their lines."""
    ends = [at for at, sign in enumerate(text) if sign == "\n"]
    return [(bisect_left(ends, found.start()), bisect_left(ends, found.end()) + 1) for found in _BLOCK.finditer(text)]


def _docstrings(text: str) -> list[tuple[int, int]]:
    """Return the lines of the docstrings of a Python file; none if this Python cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    spans = []
    lines = text.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                begins_line = not lines[first.lineno - 1][: first.col_offset].strip()
                if isinstance(first.value.value, str) and begins_line:
                    spans.append((first.lineno - 1, first.end_lineno or first.lineno))
    return spans


def read_notebook(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a Jupyter notebook as one text: the cells in order, code in fences, followed by outputs that are text.

    Headings of Markdown cells are places. Raises Unreadable if the file is not a notebook.
    """
    text = read_whole(path, settings).expandtabs(4)
    try:
        book = json.loads(text)
        cells = book["cells"] if "cells" in book else [cell for sheet in book["worksheets"] for cell in sheet["cells"]]
        language = str(book.get("metadata", {}).get("kernelspec", {}).get("language") or "python")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Unreadable("not a notebook", f"{type(error).__name__}: {error}"[:200]) from error
    draft = Draft(settings)
    for cell in cells if isinstance(cells, list) else []:
        if not isinstance(cell, dict):
            continue
        source = clean(_joined(cell.get("source", cell.get("input", "")))).strip("\n")
        if cell.get("cell_type") == "code":
            if source.strip():
                draft.add(fenced(source, re.sub(r"\W", "", language)))
            outputs = cell.get("outputs")
            for output in filter(None, map(_output, outputs if isinstance(outputs, list) else [])):
                draft.add(fenced(output, "text"))
        else:
            add_markdown(draft, source)
    title = next((place.label for place in draft.places if place.kind == "heading"), None)
    yield draft.row(title, {"programming_language": language})


def _output(output: Any) -> str:  # noqa: ANN401  (any JSON)
    """Return the text of an output, "" for a picture or similar output."""
    if not isinstance(output, dict):
        return ""
    data = output.get("data")
    said = _joined(output.get("text") or (data.get("text/plain", "") if isinstance(data, dict) else ""))
    if output.get("output_type") == "error":
        said = f"{output.get('ename', '')}: {output.get('evalue', '')}"
    return clean(said).strip("\n")[:_MOST_OUTPUT] if said.strip(" \n:") else ""


def _joined(lines: Any) -> str:  # noqa: ANN401  (any JSON)
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")
