"""A graph behind a SPARQL endpoint, read as it is walked.

`LiveGraph` is a `WalkGraph`: it gives each thing, predicate and statement that it meets a permanent number, and asks
the endpoint for the neighbours of a thing on demand, page by page and up to a limit. Each question has its own; the
endpoint caches the replies. `notes` records what was left out.

Every store finds labels by equality quickly, so each run of words of a question is looked up as written, in lower case,
and capitalised. If a capitalised word is then in no name found, or nothing is found, all labels are searched in any
case and by parts. A large endpoint may refuse that, which is recorded.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.query.question.bounds import MOST_CLOSELY, first_words
from conspectus.query.remote_graph.patterns import Patterns, batches, local_name, term_text
from conspectus.query.sparql.endpoint import Endpoint, Row
from conspectus.query.sparql.result import Term
from conspectus.query.types import Step, Topics
from conspectus.query.walk.graph import IncidentEdges, predicate_words, spoken
from conspectus.storage.arrays import Ints, Vectors
from conspectus.storage.errors import SparqlError
from conspectus.storage.settings.asking import EndpointSettings
from conspectus.storage.text.names import Word, words
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.words import FUNCTION_WORDS, REQUESTS

_VECTORS = 20_000
"""Maximum number of vectors cached for later questions."""
MOST_EDGES = 1_000  # statements of one thing in each direction: a country has millions, which tell little
_TERMS = 100
"""Maximum number of terms in one query."""


class LiveGraph:
    """The part of an endpoint's graph that has been read. Not safe to share between threads.

    Attributes:
        names: The names of the things by number: their labels, or the last part of their IRIs.
        entity_ids: Their terms in SPARQL syntax.
        predicates: The names of the predicates; `predicate_iris` are their IRIs.
        sources, targets, stated: The ends and the predicate of each statement.
        relation_ids: The statements in N-Triples syntax.
        descriptions: None: every statement has a predicate.
        notes: What was not read and why, and what was counted, as (step of the trace, text).
        complete: Whether everything requested has been read.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        settings: EndpointSettings,
        embedder: Embedder,
        vectors: dict[str, Vectors] | None = None,
    ) -> None:
        """Start with nothing read; `vectors` caches vectors of texts from earlier questions."""
        self.endpoint = endpoint
        self.settings = settings
        self.patterns = Patterns(settings)
        self.names: list[str] = []
        self.entity_ids: list[str] = []
        self.predicates: list[str] = []
        self.predicate_iris: list[str] = []
        self.sources: list[int] = []
        self.targets: list[int] = []
        self.stated: list[int] = []
        self.relation_ids: list[str] = []
        self.descriptions: list[str] = []
        self.notes: dict[tuple[str, str], None] = {}
        self.complete = True
        self._embedder = embedder
        self._asked_before = endpoint.asked
        self._row: dict[str, int] = {}
        self._number: dict[str, int] = {}
        self._relation: dict[tuple[int, int, int], int] = {}
        self._edges: dict[int, dict[int, None]] = {}
        """The relations of each thing whose neighbours have been read; for things in `_cut` they are incomplete."""
        self._cut: set[int] = set()
        self._vectors = {} if vectors is None else vectors

    # Neighbours

    def edges_of(self, entities: Sequence[int] | Ints) -> IncidentEdges:
        """Return the edges of things in both directions, in the order of the things; unread ones are fetched."""
        rows = [int(row) for row in entities]
        self._read([row for row in dict.fromkeys(rows) if row not in self._edges])
        found: list[tuple[int, int, int, int, bool]] = []
        for row in rows:
            own = []
            for relation in self._edges[row]:
                for outgoing, here, other in ((True, self.sources, self.targets), (False, self.targets, self.sources)):
                    if here[relation] == row:
                        own.append((row, other[relation], self.stated[relation], relation, outgoing))
            found += sorted(own, key=lambda edge: (edge[2], edge[4], edge[1], edge[3]))
        table = np.array(found, np.int64).reshape(-1, 5)
        near, others, stated, relations, outward = table.T
        return IncidentEdges(near, others, stated.astype(np.int32), relations, outward.astype(bool))

    def degrees_of(self, entities: Sequence[int]) -> Ints:
        """Return the number of statements of each thing, int64, without reading them."""
        counts: dict[int, int] = {}
        for rows in batches(list(dict.fromkeys(entities)), _TERMS):
            text = self.patterns.degrees(self.entity_ids[row] for row in rows)
            for at, count in self.endpoint.pages(text, len(rows)):
                row = self._row.get(term_text(at))
                if row is not None and count and count.value.isdigit():
                    counts[row] = int(count.value)
        return np.array([counts.get(row, 0) for row in entities], np.int64)

    def size(self, most: int) -> int:
        """Return the number of statements of the endpoint, counted up to `most`."""
        [[count]] = self.endpoint.query(self.patterns.size(most), 1).rows or [[None]]
        return int(count.value) if count and count.value.isdigit() else most

    def read_everything(self, most: int) -> None:
        """Read all statements; afterwards the neighbours of all things are known."""
        self._add(self.endpoint.pages(self.patterns.edges(), most))
        for row in range(len(self.names)):
            self._edges.setdefault(row, {})
        for relation, (source, target) in enumerate(zip(self.sources, self.targets, strict=True)):
            self._edges[source][relation] = self._edges[target][relation] = None

    def _read(self, rows: Sequence[int]) -> None:
        """Fetch the statements of things, in batches; a thing with many statements is fetched separately."""
        if not rows:
            return
        degrees = dict(zip(rows, self.degrees_of(rows).tolist(), strict=True))
        self._edges |= {row: {} for row in rows}
        many = [row for row in rows if degrees[row] > MOST_EDGES]
        few = [row for row in rows if degrees[row] <= MOST_EDGES]
        groups = [(list(group), sum(degrees[row] for row in group)) for group in batches(few, _TERMS)]
        for group, bound in (*groups, *(([row], MOST_EDGES) for row in many)):
            for outgoing in (True, False):
                text = self.patterns.edges((self.entity_ids[row] for row in group), outgoing=outgoing)
                self._add(self.endpoint.pages(text, max(1, bound)), outgoing=outgoing)
        for row in many:
            self.complete = False
            self._cut.add(row)
            self.note(f"of the {degrees[row]:,} statements of {self.names[row]} at most {2 * MOST_EDGES:,} were read")

    def _add(self, rows: Iterable[Row], *, outgoing: bool = True) -> None:
        """Add statements (?at, ?by, ?other), to the edges of ?at if these are being read."""
        named = [(term_text(at), term_text(by), term_text(other), at, other) for at, by, other in rows]
        triples = [triple for triple in named if all(triple[:3]) and triple[1].startswith("<")]
        if lost := len(named) - len(triples):
            self.note(f"{lost:,} statements with blank nodes, long texts or IRIs that are none were left out")
        self.add_terms(term for triple in triples for term in triple[3:])
        self._add_predicates(dict.fromkeys(triple[1] for triple in triples))
        for at_text, by_text, other_text, *_ in triples:
            here, there, number = self._row[at_text], self._row[other_text], self._number[by_text]
            source, target = (here, there) if outgoing else (there, here)
            key = source, number, target
            if key not in self._relation:
                self._relation[key] = len(self.sources)
                self.sources.append(source)
                self.targets.append(target)
                self.stated.append(number)
                ids = self.entity_ids
                self.relation_ids.append(f"{ids[source]} {by_text} {ids[target]} .")
            if here in self._edges:
                self._edges[here][self._relation[key]] = None

    def has_all_of(self, term: str) -> bool:
        """Return whether all statements of the thing with this term have been read."""
        row = self._row.get(term)
        return row is not None and row in self._edges and row not in self._cut

    # Names

    def add_terms(self, terms: Iterable[Term | None]) -> list[int]:
        """Return the numbers of things; new ones are added and named by their labels."""
        new: dict[str, Term] = {}
        texts = []
        for term in terms:
            text = term_text(term)
            if term and text:
                texts.append(text)
                if text not in self._row:
                    new[text] = term
        labels = self._labels([text for text, term in new.items() if term.kind == "uri"], of_predicates=False)
        for text, term in new.items():
            self._row[text] = len(self.names)
            self.entity_ids.append(text)
            self.names.append(labels.get(text) or (local_name(term.value) if term.kind == "uri" else term.value))
        return [self._row[text] for text in texts]

    def _add_predicates(self, texts: Iterable[str]) -> None:
        new = [text for text in texts if text not in self._number]
        labels = self._labels(new, of_predicates=True)
        for text in new:
            self._number[text] = len(self.predicates)
            self.predicate_iris.append(text)
            self.predicates.append(labels.get(text) or local_name(text.strip("<>")))

    def _labels(self, texts: Sequence[str], *, of_predicates: bool) -> dict[str, str]:
        """Return the labels of IRIs, by the first label predicate and then the first language that has one."""
        found: dict[str, tuple[int, int, str]] = {}
        languages = (*self.settings.languages, "")
        for group in batches(texts, _TERMS):
            text = self.patterns.labels(group, of_predicates=of_predicates)
            most = len(group) * len(self.settings.labels) * (len(languages) + 2)
            for at, by, label in self.endpoint.pages(text, most):
                if at and by and label and label.value.strip():
                    name = " ".join(label.value.split())
                    rank = _place(self.settings.labels, by.value), _place(languages, label.language), name
                    found[term_text(at)] = min(found.get(term_text(at), rank), rank)
        return {key: label for key, (*_, label) in found.items()}

    # Search

    def topics(self, question: str, given: Sequence[str] | None, most: int) -> Topics:
        """Return the things that a question names by their labels (at most `most`), or those of the given names."""
        found = find_things(self, question, given)
        rows = tuple(dict.fromkeys(row for rows in found.values() for row in rows))
        if given is None:
            first = tuple(dict.fromkeys(rows[0] for rows in found.values() if rows))
            rows = tuple(dict.fromkeys((*first, *rows)))[:most]
            names = ", ".join(spoken(self.names[row]) for row in rows)
            return Topics(rows, Step("topics", f"labels of the endpoint in the question: {names or 'none'}"))
        missing = [name for name in given if not found.get(name)]
        lacks = f"; the endpoint lacks {', '.join(missing)}" if missing else ""
        return Topics(rows, Step("topics", f"given: {', '.join(given)}{lacks}"))

    def near_predicates(self, question: str) -> Vectors:
        """Return the cosine of each predicate read so far with a question, (p,)."""
        return self._cosines([predicate_words(text) for text in self.predicates], question)

    def near_names(self, question: str, entities: Sequence[int]) -> Vectors:
        """Return the cosine of the name of each thing with a question."""
        return self._cosines([spoken(self.names[row]) for row in entities], question)

    def _cosines(self, texts: Sequence[str], question: str) -> Vectors:
        found: Vectors = self.embed(texts) @ self._embedder.embed_query(question)
        return found

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the unit vectors of short texts, float32 (n, d); each text is embedded once."""
        if not texts:
            return np.zeros((0, self._embedder.dimension), np.float32)
        if len(self._vectors) > _VECTORS:
            self._vectors.clear()
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            first = [self._embedder.windows(text)[0] for text in new]
            self._vectors.update(zip(new, self._embedder.embed(first), strict=True))
        return np.stack([self._vectors[text] for text in texts])

    # What happened

    def note(self, text: str, step: str = "not read") -> None:
        """Record what was not read, or what another step did."""
        self.notes[step, text] = None

    def steps(self) -> Iterator[Step]:
        """Yield the steps of a trace: how much was read, and what was not."""
        yield Step(
            "endpoint",
            f"{self.endpoint.host}: {len(self.sources):,} statements of {len(self.names):,} things read, "
            f"{self.endpoint.asked - self._asked_before:,} queries",
        )
        for step, text in self.notes:
            yield Step(step, text)


def _place(preferred: Sequence[str], one: str) -> int:
    """Return the rank of a text among preferred ones; any other text ranks after them."""
    return preferred.index(one) if one in preferred else len(preferred)


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
