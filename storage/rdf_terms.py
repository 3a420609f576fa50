"""The IRIs of our RDF, exported or queried: established vocabularies if there are any, our own otherwise.

urn:conspectus:entity:<id>          rdfs:label is its name; <entity> <predicate> <entity> is a relation
urn:conspectus:predicate:<text>     the predicate, percent-encoded
urn:conspectus:relation:<id>        an rdf:Statement of that relation, with weight, description, chunks
urn:conspectus:mention:<id>         a place in a chunk that states an entity or relation
urn:conspectus:chunk:<id>  urn:conspectus:document:<id>
urn:conspectus:vocabulary#<column>  a column of our tables

Only for queries (`query/sparql`):

urn:conspectus:value:<text>         from an entity to the typed literal that is the object of this predicate
urn:conspectus:qualifier:<text>     from a statement of a relation (urn:conspectus:relation:<id>/<n>) to a qualifier
"""

import re
from urllib.parse import quote

OWN = "urn:conspectus:"
ENTITY = f"{OWN}entity:"
PREDICATE = f"{OWN}predicate:"
RELATION = f"{OWN}relation:"
MENTION = f"{OWN}mention:"
CHUNK = f"{OWN}chunk:"
DOCUMENT = f"{OWN}document:"
TYPE_OF = f"{OWN}type:"
VALUE = f"{OWN}value:"
QUALIFIER = f"{OWN}qualifier:"
VOCABULARY = f"{OWN}vocabulary#"

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
XSD = "http://www.w3.org/2001/XMLSchema#"
PROV = "http://www.w3.org/ns/prov#"
DERIVED = f"{PROV}wasDerivedFrom"
DESCRIPTION = "http://purl.org/dc/terms/description"

_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile('[\\\\"\x00-\x1f\x7f-\x9f\ufffe\uffff]')


def iri(text: str) -> str:
    """Return an IRI in the syntax of N-Triples and SPARQL."""
    return f"<{text}>"


def named(prefix: str, text: str) -> str:
    """Return the IRI for a text such as a predicate, percent-encoded."""
    return prefix + quote(text, safe="")


def literal(text: str, datatype: str = "") -> str:
    """Return a literal in the syntax of N-Triples and SPARQL.

    >>> literal('a "b"', XSD + "string")
    '"a \\\\"b\\\\""^^<http://www.w3.org/2001/XMLSchema#string>'
    """
    escaped = _ESCAPED.sub(_escape, text)
    return f'"{escaped}"^^<{datatype}>' if datatype else f'"{escaped}"'


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or f"\\u{ord(found[0]):04X}"
