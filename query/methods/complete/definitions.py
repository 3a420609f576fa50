"""The definitions in source code as rows: classes, functions, methods and exceptions, each where it begins."""

from collections import defaultdict

import regex
from conspectus.query.methods.complete.sets import DOCUMENT, TITLE, Rows, Table
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.locators import HEADING
from conspectus.storage.records import Document

CLASS, FUNCTION, METHOD, EXCEPTION = KINDS = ("class", "function", "method", "exception")
"""Names of columns of yes and no, and roles in `words.txt`."""
_NAMES = (
    "code",
    "module",
    "script",
    "Modul",
    "Skript",
    "módulo",
    "modulo",
    "moduł",
    "модуль",
    "モジュール",
    "模块",
    "모듈",
)
"""What source code is called, beside files."""
_BASES = regex.compile(r"class\s+[\w.]+\s*(?:<[^<>]*>)?\s*(?:\(|extends\s|:(?!:)|<)\s*((?:[\w.]+[ ]?,?[ ]?)+)")
_RAISED = regex.compile(r"(?:Error|Exception|Throwable|Failure)$")


@per_index
def definitions(index: StoredIndex) -> Table:
    """Return the classes, functions and methods of the files of source code.

    An exception is a class that is called so, or whose base is one, also in other files.
    """
    found = []
    bases: defaultdict[str, set[str]] = defaultdict(set)
    for document in index.each(Document):
        if "programming_language" not in document.metadata:
            continue
        within: list[str] = []
        for place in document.places:
            kind, _, name = place.label.partition(" ")
            within = within[: max(place.level - 1, 0)]
            if place.kind == HEADING and kind in (CLASS, FUNCTION) and name:
                is_method = kind == FUNCTION and within[-1:] == [CLASS]
                found.append((document, place.start, METHOD if is_method else kind, name))
                declared = _BASES.search(document.text, place.start, place.start + 1_000) if kind == CLASS else None
                if declared and regex.match(rf"class\s+{regex.escape(name)}\b", declared[0]):
                    bases[name].update(each.strip().rpartition(".")[2] for each in declared[1].split(","))
            within.append(kind)
    raised = {base for every in bases.values() for base in every if _RAISED.search(base)}
    raised |= {name for _, _, kind, name in found if kind == CLASS and _RAISED.search(name)}
    before = 0
    while len(raised) > before:
        before = len(raised)
        raised |= {name for name, every in bases.items() if not raised.isdisjoint(every)}
    rows = Rows("definitions", *_NAMES)
    for document, start, kind, name in found:
        cells = {each: "yes" if each == kind else "no" for each in (CLASS, FUNCTION, METHOD)}
        cells[EXCEPTION] = "yes" if kind == CLASS and name in raised else "no"
        line = regex.compile(rf"[^\n]*\b{regex.escape(name)}\b[^\n]*").search(document.text, start)
        at, end = line.span() if line else (start, start + len(name))
        rows.add(document.id, at, end, {TITLE: name} | cells | {DOCUMENT: document.title})
    return rows.table()
