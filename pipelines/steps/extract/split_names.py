"""Split a name of several things where a correction says so: by document, by passage, or by the words beside it."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property, lru_cache

from conspectus.pipelines.resolution.corrections import Rule
from conspectus.pipelines.steps.documents import lies_in
from conspectus.pipelines.steps.extract.find_names import Sighting
from conspectus.storage.records import Chunk, Document
from conspectus.storage.spilled import text_column
from conspectus.storage.text.analysis import stem_in_language
from conspectus.storage.text.language import language_of
from conspectus.storage.text.names import word_keys
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.sentences import sentence_spans


class Splits:
    """The splits of a file of corrections, and where they apply.

    >>> split = Rule("split", ("Mercury",), ("Mercury (planet)",), "words", ("orbits",))
    >>> chunk = Chunk("c", "d", 0, 0, 29, "Mercury has the fastest orbit", 5)
    >>> Splits([split], []).key_at(chunk, "mercury", 0)
    'mercury (planet)'
    """

    def __init__(self, rules: Sequence[Rule], documents: Sequence[Document]) -> None:
        self._documents = documents
        self._rules: defaultdict[str, list[Rule]] = defaultdict(list)
        for rule in rules:
            if rule.kind == "split":
                self._rules[entity_key(rule.names[0])].append(rule)
        self._seen: defaultdict[tuple[str, str], list[tuple[int | None, str]]] = defaultdict(list)
        self._languages: dict[str, str] = {}
        self.names = {entity_key(rule.to[0]): rule.to[0] for rules in self._rules.values() for rule in rules}

    def __bool__(self) -> bool:
        return bool(self._rules)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {id_: row for row, id_ in enumerate(text_column(self._documents, "id"))}

    def _document(self, chunk: Chunk) -> Document | None:
        row = self._rows.get(chunk.document_id)
        return None if row is None else self._documents[row]

    def placed(self, sighting: Sighting) -> Sighting:
        """Return a sighting under the name that it has at its place."""
        if sighting.key not in self._rules:
            return sighting
        key = self.key_at(sighting.chunk, sighting.key, sighting.start)
        self._seen[sighting.chunk.id, sighting.key].append((sighting.start, key))
        return sighting._replace(key=key)

    def stated(self, chunk: Chunk, key: str, start: int | None = None, end: int | None = None) -> str:
        """Return the name that most sightings of a key have in a sentence of a chunk, or in the whole chunk."""
        seen = self._seen.get((chunk.id, key), ())
        within = [now for at, now in seen if start is None or end is None or at is None or start <= at < end]
        return Counter(within or [now for _, now in seen]).most_common(1)[0][0] if seen else key

    def key_at(self, chunk: Chunk, key: str, start: int | None) -> str:
        """Return the key of a name at a place: that of the first split that applies, or else its own."""
        rules = (rule for rule in self._rules.get(key, ()) if self.applies(rule, chunk, start))
        return next((entity_key(rule.to[0]) for rule in rules), key)

    def applies(self, rule: Rule, chunk: Chunk, start: int | None) -> bool:
        """Return whether a split applies at a character of a document, or in a whole chunk.

        Words stand beside a name if its sentence has them.
        """
        if rule.where == "passage":
            return chunk.id in rule.at
        document = self._document(chunk)
        if rule.where == "document":
            uri = document.uri if document else ""
            return any(name == chunk.document_id or lies_in(uri, name) for name in rule.at)
        text = chunk.text
        if start is not None:
            first, last = next(span for span in _sentences(text) if start - chunk.start < span[1])
            text = text[first:last]
        return bool(self._stems(" ".join(rule.at), document) & self._stems(text, document))

    def _stems(self, text: str, document: Document | None) -> set[str]:
        id_ = document.id if document else ""
        if id_ not in self._languages:
            self._languages[id_] = language_of(document.text, document.metadata) if document else "en"
        return {stem_in_language(key, self._languages[id_]) for key in word_keys(text)}


_sentences = lru_cache(64)(sentence_spans)
NO_SPLITS = Splits((), ())
