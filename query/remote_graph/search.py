"""Find the things of a live graph that a question names: by labels equal to its words, then by a scan of all labels.

Every store finds labels by equality quickly, so each run of words is looked up as written, in lower case, and
capitalised. If a capitalised word of the question is then in no name found, or nothing is found, all labels are
searched in any case and by parts. A large endpoint may refuse that, which is recorded.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from conspectus.query.question.bounds import MOST_CLOSELY, first_words
from conspectus.query.remote_graph.patterns import batches, term_text
from conspectus.query.sparql.result import Term
from conspectus.query.walk.graph import spoken
from conspectus.storage.errors import SparqlError
from conspectus.storage.text.names import Word, words
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.words import FUNCTION_WORDS, REQUESTS

if TYPE_CHECKING:
    from conspectus.query.remote_graph.graph import LiveGraph

_LONGEST = 7
"""Maximum number of words in a name."""
_NAMES = 100
"""Maximum number of names in one query."""
_MOST = 500
"""Maximum number of things that one query finds."""
_SCANNED = 100
"""Maximum number of things that a scan finds."""
_PER_NAME = 3
"""Number of things with the same name that are used: those with the most statements."""
_LEAST_LETTERS = 4
"""Minimum length of a word to scan labels for."""
_NO_NAMES = FUNCTION_WORDS | REQUESTS


def find_things(graph: "LiveGraph", question: str, given: Sequence[str] | None) -> dict[str, list[int]]:
    """Return the numbers of the things that a question mentions, or of given names, by name, most statements first.

    Args:
        graph: The graph; the things are added to it.
        question: The question.
        given: Names of things; None to search the question.
    """
    if given is not None:
        exact = _labelled(graph, [form for name in given for form in _forms(spoken(name))])
        return {name: _ranked(graph, exact.get(entity_key(spoken(name)), [])) for name in given}
    text = first_words(spoken(question), MOST_CLOSELY)
    spans = _spans(text, words(text))
    exact = _labelled(graph, [form for _, _, said in spans for form in _forms(said)])
    found: dict[str, list[int]] = {}
    taken: set[int] = set()
    for start, end, said in spans:  # the longest first
        rows = exact.get(entity_key(said), [])
        if rows and not taken & set(range(start, end)):
            found[said] = _ranked(graph, rows)
            taken |= set(range(start, end))
    for place, word in enumerate(words(text)):
        if word.key.isdigit() and place not in taken and (rows := _stated(graph, word.key)):
            found[word.key] = rows
            taken.add(place)
    return found | _scanned(graph, text, spans, taken, nothing=not found)


def _spans(text: str, found: Sequence[Word]) -> list[tuple[int, int, str]]:
    """Return the runs of words that may be a name, (start, end, as written), the longest first."""
    runs = [
        (start, end, text[found[start].start : found[end - 1].end])
        for start in range(len(found))
        for end in range(start + 1, min(len(found), start + _LONGEST) + 1)
        if any(word.key not in _NO_NAMES for word in found[start:end])
    ]
    return sorted(runs, key=lambda run: (run[0] - run[1], run[0]))


def _forms(said: str) -> list[str]:
    """Return the spellings of a name to look up: as written, lower case, first word capitalised, all capitalised."""
    small = said.lower()
    capitals = " ".join(word[:1].upper() + word[1:] for word in small.split(" "))
    return list(dict.fromkeys([said, small, small[:1].upper() + small[1:], capitals]))


def _labelled(graph: "LiveGraph", names: Sequence[str]) -> dict[str, list[int]]:
    """Return the things labelled with one of the names, by the name's key."""
    found: dict[str, list[Term]] = {}
    for group in batches(list(dict.fromkeys(names)), _NAMES):
        for at, label in graph.endpoint.pages(graph.patterns.named(group), _MOST):
            if at and label:
                found.setdefault(entity_key(label.value), []).append(at)
    return {key: list(dict.fromkeys(graph.add_terms(terms))) for key, terms in found.items()}


def _ranked(graph: "LiveGraph", rows: Sequence[int]) -> list[int]:
    """Return the up to three things with the most statements, best first."""
    if len(rows) < 2:
        return list(rows)
    degrees = dict(zip(rows, graph.degrees_of(rows).tolist(), strict=True))
    return sorted(rows, key=lambda row: (-degrees[row], row))[:_PER_NAME]


def _stated(graph: "LiveGraph", text: str) -> list[int]:
    """Return the literals by which a number or year is stated."""
    literals = graph.patterns.values(text)
    rows = graph.endpoint.query(graph.patterns.stated(literals), len(literals)).rows
    return graph.add_terms(at for (at,) in rows if term_text(at) in literals)


def _scanned(
    graph: "LiveGraph", text: str, spans: Sequence[tuple[int, int, str]], taken: set[int], *, nothing: bool
) -> dict[str, list[int]]:
    """Return the things whose labels equal runs of words in any case, or contain a word that is in no name yet."""
    found = words(text)
    left = {
        text[word.start : word.end]
        for place, word in enumerate(found)
        if place not in taken and word.key not in _NO_NAMES and len(word.key) >= _LEAST_LETTERS
    }
    capital = {word for word in left if word[0].isupper()}
    parts = sorted(capital or (left if nothing else set()))
    if not parts:
        return {}
    names = sorted({said.casefold() for start, end, said in spans if not taken & set(range(start, end))})
    try:
        rows = list(graph.endpoint.pages(graph.patterns.scanned(names, parts), _SCANNED))
    except SparqlError as error:
        graph.note(f"labels were not scanned for {', '.join(parts)}: {error}")
        return {}
    if len(rows) == _SCANNED:
        graph.note(f"more than {_SCANNED} labels have one of {', '.join(parts)}; the others were not read")
    by_name: dict[str, list[Term]] = {}
    for at, label in rows:
        if at and label:
            by_name.setdefault(label.value, []).append(at)
    chosen = [name for name in by_name if name.casefold() in names] or by_name
    return {name: _ranked(graph, graph.add_terms(by_name[name])) for name in sorted(chosen, key=len)}
