"""Check that a text is a query that reads: nothing is changed, and no other server is asked."""

from collections.abc import Iterator

import regex
from conspectus.storage.errors import SparqlError

LONGEST = 100_000
"""Characters of a query."""
_CODE = regex.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))")
_TOKENS = regex.compile(
    r"(?P<iri><[^<>\"{}|^`\\\x00-\x20]*>)"
    r"|(?P<text>\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*\"\"\"|'''(?:[^'\\]|\\.|'(?!''))*'''|\"(?:[^\"\\\n\r]|\\.)*\"|'(?:[^'\\\n\r]|\\.)*')"
    r"|(?P<comment>#[^\n\r]*)"
    r"|(?P<name>[?$][\w·]+|[\p{L}_][\w.·-]*:[^\s(){}\[\];,^|/*+?!=<>\"'#]*|:[^\s(){}\[\];,^|/*+?!=<>\"'#]*)"
    r"|(?P<word>[\p{L}_][\w-]*)"
    r"|(?P<other>.)",
    regex.DOTALL,
)
_UPDATES = frozenset("INSERT DELETE LOAD CLEAR CREATE DROP COPY MOVE ADD WITH".split())
_FORMS = frozenset("SELECT ASK CONSTRUCT DESCRIBE".split())


def checked(query: str) -> str:
    """Return a query with its escapes resolved, as it may be executed.

    Raises:
        SparqlError: It is empty or too long, an update, or asks another server (SERVICE).

    >>> checked("SELECT ?x { ?x rdfs:label 'INSERT' }")
    "SELECT ?x { ?x rdfs:label 'INSERT' }"
    """
    if not query.strip():
        raise SparqlError("the query is empty; see: conspectus query --schema")
    if len(query) > LONGEST:
        raise SparqlError(f"the query has {len(query):,} characters, of {LONGEST:,} that it may have")
    query = _CODE.sub(_character, query)  # resolved before anything is read, as SPARQL 1.1 says
    form = ""
    for word in words(query):
        if word == "SERVICE":
            raise SparqlError("SERVICE would ask another server; only the graph of the index is queried")
        if not form and word in _UPDATES:
            raise SparqlError(f"{word} would change the graph, which is read-only: use SELECT, ASK or CONSTRUCT")
        form = form or (word if word in _FORMS else "")
    if not form:
        raise SparqlError("not a SPARQL 1.1 query: there is no SELECT, ASK, CONSTRUCT or DESCRIBE")
    return _TOKENS.sub(_escaped_dots, query)


def _escaped_dots(found: "regex.Match[str]") -> str:
    """Return a token as oxigraph 0.5 reads it: dots inside of names, which SPARQL allows, it reads only escaped."""
    name = found["name"]
    return found[0] if not name or name[0] in "?$" else _INNER_DOT.sub(r"\\.", name)


_INNER_DOT = regex.compile(r"(?<=[^\\])\.(?=[\w%-])")


def declared(query: str) -> dict[str, str]:
    """Return the prefixes that a query declares, and their IRIs."""
    return dict(_DECLARED.findall(query))


_DECLARED = regex.compile(r"PREFIX\s+([\w-]*):\s*<([^>]*)>", regex.I)


def tokens(query: str) -> "Iterator[regex.Match[str]]":
    """Yield the tokens of a query: of its groups iri, text, comment, name, word and other one is not None."""
    yield from _TOKENS.finditer(query)


def words(query: str) -> list[str]:
    """Return the keywords of a query in capitals: words outside of texts, IRIs, names and comments."""
    return [found["word"].upper() for found in _TOKENS.finditer(query) if found["word"]]


def _character(found: "regex.Match[str]") -> str:
    code = int(found[1] or found[2], 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise SparqlError(f"{found[0]} is no character")
    return chr(code)
