"""The SPARQL queries that read a live graph, and the syntax of its terms.

They use only SPARQL 1.1 without extensions, so that any endpoint understands them. Names are therefore found by
equality, for which every store has an index, or by a scan of all labels.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar
from urllib.parse import unquote

from conspectus.query.sparql.result import Term
from conspectus.storage.rdf_terms import LABEL, XSD, iri, literal
from conspectus.storage.settings.asking import EndpointSettings

Item = TypeVar("Item")
_IRI = re.compile(r"[^\x00-\x20<>\"{}|^`\\]+")
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
_NAMED_BY = iri("http://wikiba.se/ontology#directClaim")  # from a property of a Wikibase to its predicate
_LONGEST = 300
"""Maximum length of a literal that is read as a thing; longer ones are descriptions."""


def term_text(term: Term | None) -> str:
    """Return a term in SPARQL syntax, or "" if a query cannot contain it: a blank node, long text or invalid IRI.

    >>> term_text(Term("uri", "http://ex.org/a")), term_text(Term("uri", "http://ex.org/> } DROP ALL"))
    ('<http://ex.org/a>', '')
    >>> term_text(Term("literal", "Grey Heron", "", "en"))
    '"Grey Heron"@en'
    """
    if term is None or term.kind == "bnode":
        return ""
    if term.kind == "uri":
        return iri(term.value) if _IRI.fullmatch(term.value) else ""
    if len(term.value) > _LONGEST or not term.value.strip() or (term.datatype and not _IRI.fullmatch(term.datatype)):
        return ""
    if term.language:
        return f"{literal(term.value)}@{term.language}" if _LANGUAGE.fullmatch(term.language) else ""
    return literal(term.value, term.datatype)


def batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Yield items in groups of a size; the last may be smaller."""
    return (items[start : start + size] for start in range(0, len(items), size))


def local_name(value: str) -> str:
    """Return the last part of an IRI, which serves as its name if it has no label.

    >>> local_name("http://dbpedia.org/resource/Grey_Heron"), local_name("urn:conspectus:predicate:directed%20by")
    ('Grey_Heron', 'directed by')
    """
    return unquote(re.split(r"[/#:]", value.rstrip("/#:"))[-1]) or value


_NOT_READ = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#subject",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#predicate",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#object",
    "http://www.w3.org/2000/01/rdf-schema#comment",
    "http://www.w3.org/2002/07/owl#",
    "http://www.w3.org/ns/prov#",
    "http://purl.org/dc/terms/description",
    "http://schema.org/description",
    "http://wikiba.se/ontology#",
    "http://www.wikidata.org/prop/P",
    "http://dbpedia.org/ontology/wikiPage",
    "http://dbpedia.org/property/wikiPage",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#Statement",
    "urn:conspectus:vocabulary#",
    "urn:conspectus:type:NAME",
)
"""Beginnings of the IRIs of predicates and things that are not read: descriptions and housekeeping answer nothing."""


class Patterns:
    """Writes the queries to one endpoint according to its settings."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._labels = [iri(label) for label in settings.labels if _IRI.fullmatch(label)] or [iri(LABEL)]
        self._languages = ", ".join(literal(language) for language in (*settings.languages, ""))
        self._tags = [f"@{language}" for language in settings.languages if _LANGUAGE.fullmatch(language)]
        begins = [f"!STRSTARTS(STR(?by), {literal(begin)})" for begin in _NOT_READ]
        kept = [f"!STRSTARTS(STR(?other), {literal(begin)})" for begin in _NOT_READ]
        self._kept = f" && (!isIRI(?other) || ({' && '.join(kept)}))" if kept else ""
        self._read = " && ".join([f"?by NOT IN ({', '.join(self._labels)})", *begins])

    def edges(self, terms: Iterable[str] = (), *, outgoing: bool = True) -> str:
        """Return the query for the statements of some terms, or of all: ?at, ?by, ?other."""
        some = f"VALUES ?at {{ {named} }} " if (named := " ".join(terms)) else ""
        triple = "?at ?by ?other" if outgoing else "?other ?by ?at"
        spoken = f" && (!isLiteral(?other) || LANG(?other) IN ({self._languages})){self._kept}" if outgoing else ""
        where = f"{some}{triple} FILTER({self._read}{spoken})"
        return f"SELECT ?at ?by ?other WHERE {{ {where} }} ORDER BY ?at ?by ?other"

    def size(self, most: int) -> str:
        """Return the query for the number of statements, counted up to `most`: ?n."""
        return f"SELECT (COUNT(*) AS ?n) WHERE {{ SELECT ?at WHERE {{ ?at ?by ?other }} LIMIT {most} }}"

    def degrees(self, terms: Iterable[str]) -> str:
        """Return the query for the number of statements of some terms in both directions: ?at, ?n."""
        some = f"VALUES ?at {{ {' '.join(terms)} }}"
        where = f"{{ {some} ?at ?by ?other }} UNION {{ {some} ?other ?by ?at }} FILTER({self._read})"
        return f"SELECT ?at (COUNT(*) AS ?n) WHERE {{ {where} }} GROUP BY ?at ORDER BY ?at"

    def labels(self, terms: Iterable[str], *, of_predicates: bool = False) -> str:
        """Return the query for the names of some IRIs: ?at, ?by, ?label."""
        pairs = " ".join(f"({term} {label})" for term in terms for label in self._labels)
        some = f"VALUES (?at ?by) {{ {pairs} }}"  # with two separate VALUES lists, stores scan all labels
        stated = f"{{ {some} ?at ?by ?label }}"
        if of_predicates:
            stated += f" UNION {{ {some} ?property {_NAMED_BY} ?at . ?property ?by ?label }}"
        spoken = f"FILTER(LANG(?label) IN ({self._languages}))"
        return f"SELECT ?at ?by ?label WHERE {{ {stated} {spoken} }} ORDER BY ?at ?by ?label"

    def named(self, names: Iterable[str]) -> str:
        """Return the query for the things with exactly one of the given names: ?at, ?label."""
        written = [f"{literal(name)}{tag}" for name in names for tag in ("", *self._tags)]
        pairs = " ".join(f"({label} {name})" for label in self._labels for name in written)
        return (
            f"SELECT DISTINCT ?at ?label WHERE {{ VALUES (?by ?label) {{ {pairs} }} "
            "?at ?by ?label FILTER(isIRI(?at)) } ORDER BY ?at ?label"
        )

    def scanned(self, names: Sequence[str], parts: Sequence[str]) -> str:
        """Return the query for the things with one of the names in any case, or a name that contains one of `parts`."""
        lower = ", ".join(literal(name.casefold()) for name in names)
        holds = [f"LCASE(STR(?label)) IN ({lower})"] if names else []
        holds += [f"CONTAINS(LCASE(STR(?label)), {literal(part.casefold())})" for part in parts]
        return (
            f"SELECT DISTINCT ?at ?label WHERE {{ VALUES ?by {{ {' '.join(self._labels)} }} ?at ?by ?label "
            f"FILTER(isIRI(?at) && LANG(?label) IN ({self._languages}) && ({' || '.join(holds)})) }} "
            "ORDER BY ?at ?label"
        )

    def values(self, text: str) -> list[str]:
        """Return the literals by which a graph may state a number or year."""
        typed = [literal(text, XSD + kind) for kind in ("integer", "gYear", "decimal", "int")]
        return [literal(text), *(f"{literal(text)}{tag}" for tag in self._tags), *typed]

    def stated(self, literals: Iterable[str]) -> str:
        """Return the query for those of the literals that occur in the graph: ?at."""
        return f"SELECT DISTINCT ?at WHERE {{ VALUES ?at {{ {' '.join(literals)} }} ?thing ?by ?at }} ORDER BY ?at"
