"""Features of a name: its parsed form, types, documents, gender; found when a rule asks for them."""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np
from conspectus.pipelines.resolution.evidence import Evidence, int32_of
from conspectus.pipelines.resolution.keys import KINDS, SHORT, VARIANT, keys_of
from conspectus.pipelines.resolution.parsed_name import Form, form_of
from conspectus.pipelines.resolution.person_names import Person, person_of
from conspectus.pipelines.resolution.words import CORPORATE, FEMALE, GENERATIONS, HONORIFICS, MALE, NO_FIRST_NAMES
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.storage.records import Chunk, Document, Entity
from conspectus.storage.spilled import rows_by_id, text_column
from conspectus.storage.tables import arrow_of
from conspectus.storage.text.identifiers import IDENTIFIERS
from conspectus.storage.text.nlp import CONCEPT, NAME
from conspectus.storage.text.postings import PostingsMaker

_NO_THINGS = frozenset({"DATE", "TIME", "CARDINAL", "ORDINAL", "PERCENT", "MONEY", "QUANTITY"})
_NO_NAMES = HONORIFICS | GENERATIONS.keys() | CORPORATE.keys()
"""Words that are no name by themselves."""
_KINDS = {
    "person": {"person", "per", "people"},
    "place": {"gpe", "loc", "fac", "geo", "place", "location", "city", "country", "region"},
    "organisation": {"org", "organization", "organisation", "company"},
    "other": {"work_of_art", "event", "product", "law", "language", "norp", "work"},
}
_MALE, _FEMALE = re.compile(r"\b(?:he|him|his)\b", re.IGNORECASE), re.compile(r"\b(?:she|her|hers)\b", re.IGNORECASE)
_AFTER = 160
"""Window after a name, in characters, within which a pronoun probably refers to it."""
_DATE = r"(?:\d{1,2} \w+ \d{4}|\w+ \d{1,2}, \d{4})"
_DATES = re.compile(rf"[\"”]?\s*\((?:[^()]*\bborn\b|[^()]*; |[^()]*née )?[^()]*{_DATE}")
_BORN = re.compile(rf"\b(?:was )?born\b|\(\s*(?:[^()]*; )?{_DATE}\s*[–-]\s*{_DATE}")
_HEAD = 250
"""Characters at the beginning of a text that may give a date of birth."""
_ROWS_AT_ONCE, _KEPT = 1 << 12, 1 << 14
"""Names that are parsed at once, and names whose features are kept after they were asked for."""


@dataclass(eq=False)
class NameFeatures:
    """A name and the evidence about it in the documents, found when it is asked for.

    Attributes:
        row: The row of the entity.
        name: Its name.
        types: Its types.
        frequency: The number of chunks that mention it.
        form: The parsed name.
        evidence: What the documents say about entities.
    """

    row: int
    name: str
    types: tuple[str, ...]
    frequency: int
    form: Form
    evidence: Evidence

    @property
    def id(self) -> str:
        """The id of the entity."""
        return self.evidence.entity_ids[self.row]

    @property
    def kinds(self) -> frozenset[str]:
        """The coarse types: person, place, organisation, other; empty if unknown."""
        return _kinds(self.types)

    @cached_property
    def documents(self) -> dict[int, int]:
        """The rows of the documents that contain the name, and its first offset in each, -1 if it is the title."""
        return self.evidence.first_offsets(self.row)

    @property
    def titles(self) -> frozenset[int]:
        """The rows of the documents with the name as title."""
        return frozenset(self.evidence.titled[self.row].tolist())

    @cached_property
    def person(self) -> Person | None:
        """The name parsed as a person's, None if it cannot be one."""
        return person_of(self.form)

    @cached_property
    def gender(self) -> str:
        """ "m" or "f" if ranks or pronouns are unambiguous, else empty."""
        if not MALE.isdisjoint(self.form.ranks):
            return "m"
        if not FEMALE.isdisjoint(self.form.ranks):
            return "f"
        after = "\n".join(self.evidence.after(self.row, 50, _AFTER))
        he, she = len(_MALE.findall(after)), len(_FEMALE.findall(after))
        if he + she < 2 or max(he, she) < 3 * min(he, she):
            return ""
        return "m" if he > she else "f"

    @cached_property
    def born(self) -> bool:
        """Whether a document with this title gives a date of birth."""
        heads = (self.evidence.texts[row][:_HEAD] for row in self.titles)
        return any(("born" in head or "(" in head) and _BORN.search(head) is not None for head in heads)

    @cached_property
    def introduced(self) -> bool:
        """Whether a text gives dates in brackets after the name, as after a full name."""
        return any(_DATES.match(after) for after in self.evidence.after(self.row, 5, 60))

    @property
    def is_person(self) -> bool:
        """Whether the name is a person's, judged by type, date of birth, rank, or pronouns alone."""
        if "person" in self.kinds or self.form.ranks or self.born:
            return True
        return self.is_untyped and bool(self.gender)

    @property
    def is_persons(self) -> bool:
        """Whether the name is a person's by type and first word."""
        return "person" in self.kinds and self.form.words[0] not in NO_FIRST_NAMES

    @property
    def is_untyped(self) -> bool:
        """Whether nothing is known about the type of the name."""
        return not self.kinds and NAME in self.types

    def shares_document(self, other: "NameFeatures") -> bool:
        """Return whether a document contains both names."""
        return not self.documents.keys().isdisjoint(other.documents.keys())

    def is_only_beside(self, other: "NameFeatures") -> bool:
        """Return whether each document of this name contains the other one too."""
        return bool(self.documents) and self.documents.keys() <= other.documents.keys()


class Names:
    """The names that may have variants, by id; the features of each are made when they are asked for.

    Noun phrases without a capital, dates, amounts, and names without a letter are left out.

    Args:
        documents: All documents.
        chunks: All chunks.
        found: The extraction.

    Attributes:
        names: (n,) the names of all entities.
        known: (n,) whether each entity is a name that may have variants.
        at: The features of a name, by the row of its entity.
        evidence: What the documents say about entities.
        keys: The names by their keys, for each kind of key.
    """

    def __init__(self, documents: Sequence[Document], chunks: Sequence[Chunk], found: Knowledge) -> None:
        evidence, keys = Evidence(documents, chunks, found.entities, found.mentions), [PostingsMaker() for _ in KINDS]
        table = arrow_of(Entity, found.entities, ["name", "types", "frequency"])
        self.names, frequencies = text_column(found.entities, "name"), int32_of(table["frequency"])
        number_of: dict[tuple[str, ...], int] = {}
        types = array("i")
        self.known = np.zeros(len(table), np.bool_)
        blocks = table.select(["name", "types"]).to_batches(_ROWS_AT_ONCE)
        parts = (zip(*(column.to_pylist() for column in block.columns), strict=True) for block in blocks)
        for row, (name, own) in enumerate(chain.from_iterable(parts)):
            own_types = tuple(own)
            types.append(number_of.setdefault(own_types, len(number_of)))
            form = _form_of_name(name, own_types) if frequencies[row] else None
            if form is not None:
                self.known[row] = True
                for kind, key in keys_of(NameFeatures(row, name, own_types, int(frequencies[row]), form, evidence)):
                    keys[kind].add(key, row)
        names, types_of = self.names, list(number_of)

        def made(row: int) -> NameFeatures:
            name = names[row]
            return NameFeatures(row, name, types_of[types[row]], int(frequencies[row]), form_of(name), evidence)

        # Not a method: with a reference to itself the evidence would stay in memory until cycles are collected.
        self.at = lru_cache(_KEPT)(made)
        self.keys = [made.postings() for made in keys]
        self.evidence, self._row_of = evidence, rows_by_id(found.entities)

    def __contains__(self, id_: str) -> bool:
        row = self._row_of.get(id_)
        return row is not None and bool(self.known[row])

    def __getitem__(self, id_: str) -> NameFeatures:
        return self.at(self._row_of[id_])

    def shortened(self) -> list[NameFeatures]:
        """Return the names whose letters are those of a short form of a name."""
        return list(map(self.at, self.keys[VARIANT].with_keys_of(self.keys[SHORT])))

    def spelt(self, letters: str) -> list[NameFeatures]:
        """Return the names that have some letters."""
        return list(map(self.at, self.keys[VARIANT].get(letters)))

    def with_short(self, short: str, beside: NameFeatures | None = None) -> list[NameFeatures]:
        """Return the names that have a short form, on request those in the documents of another name."""
        rows = self.keys[SHORT].get(short)
        return list(map(self.at, self.evidence.sharing(beside.row, rows) if beside else rows))


def _form_of_name(name: str, types: tuple[str, ...]) -> Form | None:
    """Return the parsed name of an entity that may have variants, None of another.

    Identifiers are distinguished by case and punctuation: CFLAGS is not --cflags.
    """
    own = set(types) - _NO_THINGS
    if not own or own & IDENTIFIERS or not any(map(str.isalpha, name)):
        return None
    if own == {CONCEPT}:
        capitals = all(word[:1] != word[:1].lower() for word in name.split() if len(word) > 3)
        return form_of(name) if capitals else None
    form = form_of(name)
    return None if _NO_NAMES.issuperset(form.words) else form


@lru_cache(maxsize=1_000)
def _kinds(types: tuple[str, ...]) -> frozenset[str]:
    folded = {item.casefold() for item in types}
    return frozenset(kind for kind, words in _KINDS.items() if folded & words)
