"""Triples in N-Triples (W3C recommendation of 2014), and the first three terms of N-Quads."""

import re
from pathlib import Path

from conspectus.pipelines.exchange.kg.builder import Collector
from conspectus.pipelines.exchange.kg.files import lines_of
from conspectus.pipelines.exchange.kg.native import OwnStatements
from conspectus.pipelines.exchange.ntriples_terms import OWN

_IRI = r'<((?:[^\x00-\x20<>"{}|^`\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})+)>'
_BLANK = r"_:([\w:](?:[\w:.\-·]*[\w:\-·])?)"
_LITERAL = rf'"((?:[^"\\\n\r]|\\.)*)"(?:\^\^{_IRI}|@([A-Za-z]+(?:-[A-Za-z0-9]+)*))?'
_LINE = re.compile(
    rf"\s*(?:{_IRI}|{_BLANK})\s*{_IRI}\s*(?:{_IRI}|{_BLANK}|{_LITERAL})\s*(?:{_IRI}|{_BLANK})?\s*\.\s*(?:#.*)?"
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}

LABELS = {
    "http://www.w3.org/2000/01/rdf-schema#label": 0,
    "http://www.w3.org/2004/02/skos/core#prefLabel": 1,
}
"""Predicates that say what a thing is called, the better first; they make no triple."""


def read_ntriples(path: Path, into: Collector, language: str) -> None:
    """Read a line a triple: IRIs and blank nodes are ids, literals are names, and labels name the ids.

    Literals in other languages than `language` are left out, and how many these are is noted; of labels one without a
    language, or in another, serves where there is none. What we exported ourselves is read as `OwnStatements` does.
    """
    foreign = 0
    own = OwnStatements(path, into)
    for number, line in lines_of(path):
        item = f"{path.name}:{number}"
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            into.fail(item, "not UTF-8", line.decode("utf-8", "replace"))
            continue
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(text)
        if found is None:
            into.fail(item, "no triple of N-Triples", text)
            continue
        iri, blank, predicate, target_iri, target_blank, literal, _, tag = found.groups()[:8]
        try:
            subject = unescaped(iri) if iri else _blank(blank, path)
            predicate = unescaped(predicate)
            value = None if literal is None else unescaped(literal)
            thing = unescaped(target_iri) if target_iri else _blank(target_blank, path) if target_blank else ""
        except ValueError as error:
            into.fail(item, str(error), text)
            continue
        if subject.startswith(OWN):
            own.take(item, subject, predicate, value, thing)
        elif value is not None and not value.strip():
            into.fail(item, "an empty literal", text)
        elif value is not None and predicate in LABELS:
            into.label(subject, value, 10 * _distance(tag, language) + LABELS[predicate])
        elif value is not None and _distance(tag, language) > 2:
            foreign += 1
        else:
            target = into.id(thing) if value is None else into.name(value)
            into.add(into.id(subject), into.predicate(predicate), target)
    own.end()
    if foreign:
        into.notes.append(f"{foreign:,} texts of {path.name} in other languages left out (kg.language is {language})")


def unescaped(text: str) -> str:
    r"""Return a text with its escapes resolved; ValueError for one that there is not.

    >>> unescaped(r"Caf\u00E9 \"Flore\"")
    'Café "Flore"'
    """
    return _ESCAPE.sub(_escape, text) if "\\" in text else text


def _escape(found: re.Match[str]) -> str:
    short, long, sign = found.groups()
    if sign is not None:
        if sign not in _SHORT:
            raise ValueError(f"an unknown escape \\{sign}")
        return _SHORT[sign]
    code = int(short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"an escape of no character {found[0]}")
    return chr(code)


def _blank(label: str, path: Path) -> str:
    """Return the id of a blank node, which is one within its file only."""
    return f"_:{label}@{path.name}"


def _distance(tag: str | None, language: str) -> int:
    """Return 0 for the wanted language, 1 for a kind of it (en-GB for en), 2 for none, 3 for another."""
    if not tag:
        return 2
    wanted, has = language.lower(), tag.lower()
    if has == wanted:
        return 0
    return 1 if has.split("-")[0] == wanted.split("-")[0] else 3
