"""Features of a name: its parsed form, types, documents, gender and neighbours; and an index of names by word."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from conspectus.pipelines.resolution.parsed_name import Form, form_of
from conspectus.pipelines.resolution.person_names import Person, person_of
from conspectus.pipelines.resolution.wordlists import CORPORATE, FEMALE, GENERATIONS, HONORIFICS, MALE
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.storage.arrays import Rows
from conspectus.storage.hashing import entity_id
from conspectus.storage.joins import Groups
from conspectus.storage.records import Chunk, Document, Entity, Mention
from conspectus.storage.tables import arrow_of, codes_of
from conspectus.storage.text.identifiers import IDENTIFIERS
from conspectus.storage.text.nlp import CONCEPT, NAME
from conspectus.storage.text.normalise import entity_key

_NO_THINGS = frozenset({"DATE", "TIME", "CARDINAL", "ORDINAL", "PERCENT", "MONEY", "QUANTITY"})
_PERSON = frozenset({"person", "per", "people"})
_PLACE = frozenset({"gpe", "loc", "fac", "geo", "place", "location", "city", "country", "region"})
_ORGANISATION = frozenset({"org", "organization", "organisation", "company"})
_OTHER = frozenset({"work_of_art", "event", "product", "law", "language", "norp", "work"})
_MALE, _FEMALE = re.compile(r"\b(?:he|him|his)\b", re.IGNORECASE), re.compile(r"\b(?:she|her|hers)\b", re.IGNORECASE)
_AFTER = 160
"""Window after a name, in characters, within which a pronoun probably refers to it."""

_DATE = r"(?:\d{1,2} \w+ \d{4}|\w+ \d{1,2}, \d{4})"
_DATES = re.compile(rf"[\"”]?\s*\((?:[^()]*\bborn\b|[^()]*; |[^()]*née )?[^()]*{_DATE}")
_BORN = re.compile(rf"\b(?:was )?born\b|\(\s*(?:[^()]*; )?{_DATE}\s*[–-]\s*{_DATE}")


@dataclass(frozen=True, slots=True)
class NameFeatures:
    """A name and the evidence about it in the documents.

    `kinds` are its coarse types: person, place, organisation, other; empty if unknown. `documents` maps a document
    that contains the name to its first offset (-1 if it is the title); `titles` are the documents so titled. `gender`
    is "m" or "f" if ranks or pronouns are unambiguous. `born`: a document with this title gives a date of birth.
    `introduced`: a text gives dates in brackets after the name, as after a full name.
    """

    entity: Entity
    form: Form
    kinds: frozenset[str]
    documents: Mapping[str, int]
    titles: frozenset[str]
    chunks: frozenset[str]
    gender: str
    born: bool
    introduced: bool

    @property
    def id(self) -> str:
        """The id of the entity."""
        return self.entity.id

    @property
    def is_person(self) -> bool:
        """Whether the name is a person's, judged by type, date of birth, rank, or pronouns alone."""
        if self.form.is_heading:
            return False
        if "person" in self.kinds or self.born or self.form.ranks:
            return True
        return bool(self.gender) and not self.kinds and NAME in self.entity.types


class Located(NamedTuple):
    """A mention of a name at characters [start, end) of a chunk's document; None without a span."""

    entity_id: str
    chunk_id: str
    start: int | None
    end: int | None


class LocatedMentions:
    """The mentions of names, by entity and, if they have a span, in text order by chunk. Each is made when asked for.

    Args:
        chunks: All chunks.
        mentions: The mentions; those under another name are left out.
    """

    def __init__(self, chunks: Sequence[Chunk], mentions: Sequence[Mention]) -> None:
        from pyarrow import compute

        table = arrow_of(Mention, mentions, ["entity_id", "chunk_id", "start", "end", "match"])
        kept = compute.and_(table["entity_id"].is_valid(), compute.not_equal(table["match"], "alias"))
        table = table.filter(kept)
        self.chunks = {chunk.id: chunk for chunk in chunks}
        self._entity, self._entity_ids = codes_of(table["entity_id"])
        self._chunk, self._chunk_ids = codes_of(table["chunk_id"])
        self._start, self._end = (table[name].fill_null(-1).to_numpy() for name in ("start", "end"))
        self._number = {id_: number for number, id_ in enumerate(self._entity_ids)}
        rows = np.arange(len(table))
        self._of_entity = Groups.of(self._entity, rows, len(self._entity_ids))
        located = np.flatnonzero(self._start >= 0)
        order = np.lexsort((located, self._end[located], self._start[located], self._chunk[located]))
        self._in_text = located[order]

    def of_entity(self, id_: str) -> list[Located]:
        """Return the mentions of an entity, in the order of their ids."""
        return self._made(self._of_entity[self._number[id_]]) if id_ in self._number else []

    def by_chunk(self, known: Collection[str]) -> Iterator[tuple[Chunk, list[Located]]]:
        """Yield each chunk that contains known names, and their mentions with a span in text order."""
        wanted = np.array([id_ in known for id_ in self._entity_ids], np.bool_)
        rows = self._in_text[wanted[self._entity[self._in_text]]] if len(wanted) else self._in_text
        if not len(rows):
            return
        starts = np.concatenate([[0], np.flatnonzero(np.diff(self._chunk[rows])) + 1])
        ends = np.append(starts[1:], len(rows))
        for place in np.argsort(np.minimum.reduceat(rows, starts)).tolist():  # as the table names them first
            own = rows[starts[place] : ends[place]]
            yield self.chunks[self._chunk_ids[self._chunk[own[0]]]], self._made(own)

    def _made(self, rows: Rows) -> list[Located]:
        columns = (column[rows].tolist() for column in (self._entity, self._chunk, self._start, self._end))
        return [
            Located(self._entity_ids[entity], self._chunk_ids[chunk], start, end)
            if start >= 0
            else Located(self._entity_ids[entity], self._chunk_ids[chunk], None, None)
            for entity, chunk, start, end in zip(*columns, strict=True)
        ]


def known_of(
    documents: Sequence[Document], chunks: Sequence[Chunk], found: Knowledge
) -> tuple[list[NameFeatures], LocatedMentions]:
    """Return the features of all names that may have variants, sorted by id, and their mentions.

    Noun phrases without a capital, dates, amounts, and names without a letter are left out.
    """
    placed = LocatedMentions(chunks, found.mentions)
    chunk_of = placed.chunks
    titled: defaultdict[str, set[str]] = defaultdict(set)
    for document in documents:
        if document.title.strip():
            titled[entity_id(entity_key(document.title))].add(document.id)
    text_of = {item.id: item.text for item in documents}

    known = []
    for entity in found.entities:
        form = _form_of_name(entity)
        if form is not None:
            own = placed.of_entity(entity.id)
            places: dict[str, int] = {}
            for mention in own:
                within = chunk_of[mention.chunk_id].document_id
                start = -1 if mention.start is None else mention.start
                places[within] = min(start, places.get(within, start))
            titles = frozenset(titled.get(entity.id, ()))
            known.append(
                NameFeatures(
                    entity,
                    form,
                    _kinds(entity.types),
                    places,
                    titles,
                    frozenset(mention.chunk_id for mention in own),
                    _gender(form, own, chunk_of),
                    any(_BORN.search(text_of[id_][:250]) is not None for id_ in titles),
                    _is_introduced(own, chunk_of),
                )
            )
    return known, placed


def _form_of_name(entity: Entity) -> Form | None:
    """Return the parsed name of an entity that may have variants, None of another."""
    types = set(entity.types)
    if not entity.frequency or types <= _NO_THINGS or not any(sign.isalpha() for sign in entity.name):
        return None
    if types & IDENTIFIERS:  # distinguished by case and punctuation: CFLAGS is not --cflags
        return None
    if types <= {CONCEPT} | _NO_THINGS:
        capitals = all(word[:1] != word[:1].lower() for word in entity.name.split() if len(word) > 3)
        return form_of(entity.name) if capitals else None
    form = form_of(entity.name)
    return form if set(form.words) - HONORIFICS - GENERATIONS.keys() - CORPORATE.keys() else None


@lru_cache(maxsize=1_000)
def _kinds(types: tuple[str, ...]) -> frozenset[str]:
    kinds = set()
    for item in types:
        folded = item.casefold()
        for kind, words in (("person", _PERSON), ("place", _PLACE), ("organisation", _ORGANISATION), ("other", _OTHER)):
            if folded in words:
                kinds.add(kind)
    return frozenset(kinds)


def _is_introduced(mentions: Sequence[Located], chunk_of: Mapping[str, Chunk]) -> bool:
    ends = [(chunk_of[mention.chunk_id], mention.end) for mention in mentions[:5] if mention.end is not None]
    return any(_DATES.match(chunk.text[end - chunk.start : end - chunk.start + 60]) for chunk, end in ends)


def _gender(form: Form, mentions: Sequence[Located], chunk_of: Mapping[str, Chunk]) -> str:
    if set(form.ranks) & MALE:
        return "m"
    if set(form.ranks) & FEMALE:
        return "f"
    he = she = 0
    for mention in mentions[:50]:
        if mention.end is not None:
            chunk = chunk_of[mention.chunk_id]
            after = chunk.text[mention.end - chunk.start : mention.end - chunk.start + _AFTER]
            he += len(_MALE.findall(after))
            she += len(_FEMALE.findall(after))
    if he + she < 2 or max(he, she) < 3 * min(he, she):
        return ""
    return "m" if he > she else "f"


class Neighbours:
    """The names that co-occur with each name in its chunks, and how many of them two names share."""

    _MOST = 12

    def __init__(self, known: Sequence[NameFeatures], found: Knowledge) -> None:
        table = arrow_of(Mention, found.mentions, ["entity_id", "chunk_id"])
        table = table.filter(table["entity_id"].is_valid())
        (entity, self._entities), (chunk, chunks) = (codes_of(table[name]) for name in ("entity_id", "chunk_id"))
        held = Groups.of(entity, chunk, len(self._entities))
        sizes = np.diff(held.starts)
        kept = np.repeat((sizes > 1) & (sizes <= self._MOST), sizes)
        self._at = Groups.of(held.members[kept], np.repeat(np.arange(len(sizes)), sizes)[kept], len(chunks))
        self._row_of = {id_: row for row, id_ in enumerate(chunks)}
        self._chunks = {name.id: name.chunks for name in known}

    def shared(self, left: str, right: str) -> int:
        """Return the number of rare names that co-occur with both, counting only chunks that contain one of the two."""
        mine, yours = self._chunks[left], self._chunks[right]
        first, second = self._named(mine - yours), self._named(yours - mine)
        return len({self._entities[number] for number in first & second} - {left, right})

    def _named(self, chunks: Iterable[str]) -> set[int]:
        """Return the numbers of the rare names in some chunks."""
        return {number for chunk in chunks for number in self._at[self._row_of[chunk]].tolist()}


def share_of_documents(short: NameFeatures, long: NameFeatures) -> float:
    """Return the share of the short name's documents that contain the long name too."""
    return sum(id_ in long.documents for id_ in short.documents) / max(len(short.documents), 1)


@dataclass(frozen=True, slots=True)
class NameIndex:
    """An index of names by possible short forms: first and last words, and persons by family name.

    `heads` counts names with a parenthesis by their letters: without it they are ambiguous. `alone` contains the
    persons' names of one word, `holding` the names of several words by each of their words.
    """

    of_word: dict[str, list[NameFeatures]]
    persons: dict[str, list[tuple[NameFeatures, Person]]]
    heads: Counter[str]
    alone: dict[str, list[NameFeatures]]
    holding: dict[str, list[NameFeatures]]


def names_of(known: Sequence[NameFeatures]) -> NameIndex:
    """Index names by their words, and persons by family name."""
    of_word: defaultdict[str, list[NameFeatures]] = defaultdict(list)
    persons: defaultdict[str, list[tuple[NameFeatures, Person]]] = defaultdict(list)
    for name in known:
        words = name.form.words
        if len(words) > 1:
            for word in {words[0], words[-1]}:
                of_word[word].append(name)
        person = person_of(name.form)
        if person and name.is_person:
            persons[person.family].append((name, person))
    alone: defaultdict[str, list[NameFeatures]] = defaultdict(list)
    holding: defaultdict[str, list[NameFeatures]] = defaultdict(list)
    for name in known:
        if len(name.form.words) > 1:
            for word in set(name.form.words):
                holding[word].append(name)
    for name in known:
        if len(name.form.words) == 1 and (name.is_person or is_name(name)):
            alone[name.form.words[0]].append(name)
    heads = Counter(name.form.letters for name in known if name.form.qualifier)
    return NameIndex(dict(of_word), dict(persons), heads, dict(alone), dict(holding))


def is_name(known: NameFeatures) -> bool:
    """Return whether nothing is known about the type of a name."""
    return not known.kinds and NAME in known.entity.types
