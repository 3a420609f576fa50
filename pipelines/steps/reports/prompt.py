"""The records of a report's prompt: entities, relations, claims and the reports on parts, each with its places.

The rules are those of GraphRAG (Edge et al. 2024, section 3.1.5). The elements of a community are ordered by the
prominence of its edges. The prompt contains everything if it fits; otherwise the most prominent elements, and for a
community that is divided further the reports on its parts instead of the parts' elements.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from conspectus.storage.hashing import digest, short_id
from conspectus.storage.joins import Groups
from conspectus.storage.mapped import ById
from conspectus.storage.records import Chunk, Claim, Entity, Finding, Mention, Relation, Report, Span
from conspectus.storage.spans import span_in
from conspectus.storage.spilled import rows_by_id
from conspectus.storage.tables import arrow_of, rows_among
from conspectus.storage.text.tokens import count_each

_MOST_KEPT = 8192
"""Elements, and rows of tables, beyond which the earlier ones are made or read again when they are asked for."""

Kind = Literal["S", "E", "R", "C"]
"""The letter before a record's number: reports on parts of a community, entities, relations, claims."""


@dataclass(frozen=True, slots=True)
class ReportPart:
    """A finding of a report that represents a part of a community; it has a number below the report's."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """One record of a prompt, without its number.

    `order` sorts records of a kind by name. `about` are the entities it belongs to: itself, its two ends, a claim's
    subject and object. `spans` are the places that state it. `n_tokens` includes the text and its parts; 0 if they
    are not counted.
    """

    kind: Kind
    order: tuple[str, ...]
    text: str
    about: tuple[str, ...]
    spans: tuple[Span, ...]
    parts: tuple[ReportPart, ...] = ()
    n_tokens: int = 0


class Elements:
    """All elements by id. Each is made when it is asked for: its description may not be ready before.

    Only the last ones are kept, and rows of large tables are read when they are needed. `claims_of` has the claims that
    are linked to an entity, `chunks` the chunks, `entities` the entities.
    """

    def __init__(
        self,
        entities: Sequence[Entity],
        relations: Sequence[Relation],
        claims: Iterable[Claim],
        mentions: Sequence[Mention],
        chunks: Sequence[Chunk],
        descriptions: Mapping[str, str] | None = None,
        n_documents: int = 0,
    ) -> None:
        """`descriptions` by id are read when an element is made; an id without one has the description of its row."""
        self._row_of = rows_by_id(entities), rows_by_id(relations)
        self.entities = entities
        self._entity = lru_cache(_MOST_KEPT)(lambda id_: entities[self._row_of[0][id_]])
        self._relation = lru_cache(_MOST_KEPT)(lambda id_: relations[self._row_of[1][id_]])
        self._descriptions = {} if descriptions is None else descriptions
        self._mentions = _Mentions(entities, relations, mentions, chunks)
        self._made: dict[str, Element] = {}
        self.chunks: Mapping[str, Chunk] = ById(rows_by_id(chunks), chunks)
        self.collection = _collection(n_documents, len(chunks), len(entities))
        self._stated = sorted(claims, key=lambda claim: claim.id)

    @cached_property
    def claims_of(self) -> Mapping[str, Sequence[Element]]:
        """The claims that are linked to an entity, by its id."""
        return self._linked(self._stated)

    def of(self, entity_ids: Iterable[str], relation_ids: Iterable[str], *, measured: bool = True) -> list[Element]:
        """Return the elements of some entities and the relations among them, each once, in order of prominence.

        For each relation in decreasing combined degree of its ends: the source, the target, the claims linked to
        them, the relation. Then the entities without a relation in decreasing degree, each with its claims.
        Ties go by name. Tokens are not counted unless they are `measured`.
        """
        if len(self._made) > _MOST_KEPT:
            self._made.clear()
        entities = sorted(entity_ids, key=self._prominence)
        relations = sorted(relation_ids, key=self._prominence)
        self._make([*entities, *relations], measured=measured)
        found: dict[int, Element] = {}

        def add(*elements: Element) -> None:
            found.update((id(element), element) for element in elements)

        for relation in (self._made[id_] for id_ in relations):
            self._make(relation.about, measured=measured)
            add(*(self._made[id_] for id_ in relation.about))
            for id_ in relation.about:
                add(*self.claims_of.get(id_, ()))
            add(relation)
        for id_ in entities:
            add(self._made[id_], *self.claims_of.get(id_, ()))
        return list(found.values())

    def sources(self, chunk_ids: Iterable[str]) -> tuple[str, ...]:
        """Return the digests of the texts of some chunks, sorted."""
        return tuple(sorted({digest(self.chunks[id_].text) for id_ in chunk_ids}))

    def _name_of(self, id_: str) -> str:
        return _line(self._entity(id_).name)

    def _prominence(self, id_: str) -> tuple[int, tuple[str, ...], str]:
        if id_ in self._row_of[0]:
            entity = self._entity(id_)
            return (-entity.degree, _order_of_entity(entity), id_)
        relation = self._relation(id_)
        combined = self._entity(relation.source_id).degree + self._entity(relation.target_id).degree
        return (-combined, _order_of_relation(relation, self._name_of), id_)

    def _make(self, ids: Sequence[str], *, measured: bool) -> None:
        self._made |= {id_: self._element(id_) for id_ in ids if id_ not in self._made}
        if measured:
            bare = [id_ for id_ in ids if not self._made[id_].n_tokens]
            self._made |= zip(bare, _measured([self._made[id_] for id_ in bare]), strict=True)

    def _element(self, id_: str) -> Element:
        if id_ in self._row_of[0]:
            entity = self._entity(id_)
            told = self._descriptions.get(id_, entity.description)
            return _entity(entity, told, self._mentions.spans(self._row_of[0][id_]))
        relation = self._relation(id_)
        spans = self._mentions.spans(len(self.entities) + self._row_of[1][id_])
        if not spans:
            named = {span_in(self.chunks[chunk]) for chunk in relation.chunk_ids}
            spans = tuple(sorted(named, key=in_text_order))
        return _relation(relation, self._descriptions.get(id_, relation.description), self._name_of, spans)

    def _claims(self, id_: str, group: Sequence[Claim]) -> Element:
        """Return the record of claims that state the same thing, with the places of all."""
        distinct = dict.fromkeys(_line(claim.description) for claim in group)
        told = self._descriptions.get(id_) or " ".join(sorted(distinct))
        places = {span_in(self.chunks[claim.chunk_id], claim.start, claim.end) for claim in group}
        return _claim(group[0], told, self._name_of, tuple(sorted(places, key=in_text_order)))

    def _linked(self, claims: Iterable[Claim]) -> Mapping[str, Sequence[Element]]:
        groups: defaultdict[str, list[Claim]] = defaultdict(list)
        for each in claims:
            groups[claim_group(each)].append(each)
        found = _measured([self._claims(id_, group) for id_, group in groups.items()])
        claims_of: defaultdict[str, list[Element]] = defaultdict(list)
        for claim in sorted(found, key=lambda element: (element.order, element.text)):
            for id_ in dict.fromkeys(claim.about):
                claims_of[id_].append(claim)
        return claims_of


class _Mentions:
    """Where entities and relations are mentioned, in columns of numbers."""

    def __init__(
        self,
        entities: Sequence[Entity],
        relations: Sequence[Relation],
        mentions: Sequence[Mention],
        chunks: Sequence[Chunk],
    ) -> None:
        named = arrow_of(Mention, mentions, ["entity_id", "relation_id", "chunk_id", "start", "end"])
        owners = rows_among(named["entity_id"], arrow_of(Entity, entities, ["id"])["id"])
        stated = rows_among(named["relation_id"], arrow_of(Relation, relations, ["id"])["id"])
        owners = np.where((owners < 0) & (stated >= 0), stated + len(entities), owners)
        self._of = Groups.of(owners, None, len(entities) + len(relations))
        self._chunks, self._rows = chunks, rows_among(named["chunk_id"], arrow_of(Chunk, chunks, ["id"])["id"])
        self._starts, self._ends = (named[name].fill_null(-1).to_numpy() for name in ("start", "end"))

    def spans(self, owner: int) -> tuple[Span, ...]:
        """Return the places that name an entity (by its row) or state a relation (its row follows the entities)."""
        rows = self._of[owner]
        columns = (column[rows].tolist() for column in (self._rows, self._starts, self._ends))
        places = {span_in(self._chunks[chunk], start, end) for chunk, start, end in zip(*columns, strict=True)}
        return tuple(sorted(places, key=in_text_order))


def claim_group(claim: Claim) -> str:
    """Return the key of claims that state the same thing: same kind, status, ends and time."""
    said = (claim.type.casefold(), claim.status, claim.start_date or "", claim.end_date or "")
    return short_id("claims", claim.subject_id, claim.object_id or "", *said)


def _collection(n_documents: int, n_chunks: int, n_entities: int) -> str:
    """Return the size of the collection in words.

    It is rounded up to powers of two, so that one more document does not change the prompts of all reports.
    """
    sizes = [(n_documents, "documents"), (n_chunks, "passages"), (n_entities, "entities")]
    told = [f"about {1 << (count - 1).bit_length()} {what}" for count, what in sizes if count]
    return ", ".join(told) or "unknown"


def report_element(report: Report) -> Element:
    """Return a report as the record that represents the elements of its community."""
    head = f"{_line(report.title)}: {_line(report.summary)}"
    parts = tuple(ReportPart(finding_text(finding), finding.citations) for finding in report.findings)
    spans = tuple(dict.fromkeys(span for finding in report.findings for span in finding.citations))
    tokens = sum(count_each([head, *(part.text for part in parts)]))
    return Element("S", (_line(report.title),), head, (), spans, parts, tokens)


def without_findings(element: Element) -> Element:
    """Return a report's record cut down to its title and summary."""
    return replace(element, parts=(), n_tokens=count_each([element.text])[0])


def finding_text(finding: Finding) -> str:
    """Return a finding as one line."""
    return ": ".join(filter(None, (_line(finding.summary).rstrip("."), _line(finding.explanation))))


def in_text_order(span: Span) -> tuple[str, int, int, str]:
    """Sort spans by document, then by position."""
    return (span.document_id, span.start, span.end, span.chunk_id)


def _line(text: str) -> str:
    return " ".join(text.split())


def _order_of_entity(entity: Entity) -> tuple[str, str]:
    return (_line(entity.name), _line(entity.type))


def _entity(entity: Entity, told: str, spans: tuple[Span, ...]) -> Element:
    name, kind = order = _order_of_entity(entity)
    seen = [_counted(entity.frequency, "passage"), _counted(entity.degree, "relationship")]
    return Element("E", order, _described(name, [kind, *seen], told), (entity.id,), spans)


def _order_of_relation(relation: Relation, name_of: Callable[[str], str]) -> tuple[str, str, str]:
    return (name_of(relation.source_id), name_of(relation.target_id), _line(relation.predicate))


def _relation(relation: Relation, told: str, name_of: Callable[[str], str], spans: tuple[Span, ...]) -> Element:
    *ends, predicate = order = _order_of_relation(relation, name_of)
    # Relations described by a model may have no predicate apart from the description.
    facts = [] if predicate == _line(told) else [predicate]
    facts.append(f"stated {_times(round(relation.weight))}" if relation.weight > 1 else "")
    facts.append(f"strength {relation.strength:.0f}" if relation.strength is not None else "")
    text = _described(" -> ".join(ends), facts, told)
    return Element("R", order, text, (relation.source_id, relation.target_id), spans)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}" if count else ""


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _claim(claim: Claim, told: str, name_of: Callable[[str], str], spans: tuple[Span, ...]) -> Element:
    about = [claim.subject_id] + ([claim.object_id] if claim.object_id else [])
    names = [name_of(id_) for id_ in about]
    dates = " to ".join(dict.fromkeys(filter(None, (claim.start_date, claim.end_date))))
    text = _described(" -> ".join(names), [claim.type, claim.status, dates], told)
    return Element("C", (*names, _line(claim.type), dates), text, tuple(about), spans)


def _described(head: str, facts: Iterable[str], description: str) -> str:
    """Return `head (fact, fact): description` without what is empty."""
    inside = ", ".join(filter(None, map(_line, facts)))
    return ": ".join(filter(None, (f"{head} ({inside})" if inside else head, _line(description))))


def _measured(elements: Sequence[Element]) -> list[Element]:
    counts = count_each(element.text for element in elements)
    return [replace(element, n_tokens=tokens) for element, tokens in zip(elements, counts, strict=True)]


_SECTIONS: tuple[Literal["S", "E", "R", "C"], ...] = ("S", "E", "R", "C")


@dataclass(frozen=True, slots=True)
class CitedRecord:
    """The target of a record's number; `is_name`: its places only name the entity."""

    spans: tuple[Span, ...]
    is_name: bool


def tokens_of(elements: Iterable[Element], most: int) -> int:
    """Return the tokens that records take in a prompt of at most `most`, numbers included; an upper bound.

    A prompt of `most` tokens has fewer than `most` records, and a number has no more tokens than characters.
    """
    label = len("[E]") + len(str(most))
    return sum(
        element.n_tokens + label + len(element.parts) * (label + len(".") + len(str(len(element.parts))))
        for element in elements
    )


def surely_fit(elements: Sequence[Element], most: int) -> bool:
    """Return whether records fit into a prompt by the bytes of their texts, each of which is at most a token."""
    return tokens_of(elements, most) + sum(len(each.text.encode()) for each in elements) <= most


def without(elements: Iterable[Element], part: frozenset[str], whole: frozenset[str]) -> list[Element]:
    """Return the elements of a community (`whole`, by its entities) that are not also those of a `part` of it.

    An edge between two parts belongs to neither. A claim belongs to its subject, or to its object if the subject is
    outside.
    """

    def is_gone(each: Element) -> bool:
        if each.kind == "C":
            return next(id_ for id_ in each.about if id_ in whole) in part
        return part.issuperset(each.about)

    return [element for element in elements if not is_gone(element)]


def packed(reports: Sequence[Element], elements: Sequence[Element], most: int) -> list[Element]:
    """Return the reports and then the elements, both in their order, until the next does not fit.

    If not all reports fit, they are cut down to title and summary, the last first, so that as many parts as possible
    are mentioned.
    """
    chosen = list(reports)
    for place in reversed(range(len(chosen))):
        if tokens_of(chosen, most) <= most:
            break
        chosen[place] = without_findings(chosen[place])
    chosen = _until_full(chosen, most, most)
    left = most - tokens_of(chosen, most)
    return [*chosen, *(_until_full(elements, left, most) if len(chosen) == len(reports) else [])]


def _until_full(elements: Iterable[Element], room: int, most: int) -> list[Element]:
    taken = []
    for element in elements:
        room -= tokens_of([element], most)
        if room < 0:
            break
        taken.append(element)
    return taken


def listed(elements: Iterable[Element]) -> tuple[str, dict[str, CitedRecord]]:
    """Return the records as text, sorted by kind and name, and the target of each number in it."""
    sections: defaultdict[str, list[Element]] = defaultdict(list)
    for element in elements:
        sections[element.kind].append(element)
    lines: list[str] = []
    cited: dict[str, CitedRecord] = {}
    for kind in _SECTIONS:
        in_name_order = sorted(sections[kind], key=lambda element: (element.order, element.text))
        for number, item in enumerate(in_name_order, 1):
            _list(item, f"{kind}{number}", lines, cited)
    return "\n".join(lines), cited


def _list(element: Element, label: str, lines: list[str], cited: dict[str, CitedRecord]) -> None:
    lines.append(f"[{label}] {element.text}")
    cited[label] = CitedRecord(element.spans, element.kind == "E")
    for number, part in enumerate(element.parts, 1):
        lines.append(f"[{label}.{number}] {part.text}")
        cited[f"{label}.{number}"] = CitedRecord(part.spans, False)


def largest_first(parts: Mapping[str, Sequence[Element]], most: int) -> list[str]:
    """Return the keys of the parts of a community in decreasing tokens of their elements; ties go by name."""

    def key(part: str) -> tuple[int, list[tuple[str, ...]]]:
        return (-tokens_of(parts[part], most), sorted(item.order for item in parts[part]))

    return sorted(parts, key=key)
