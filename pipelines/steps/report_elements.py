"""What the graph knows, as lines of a report's prompt: each with its length and with where it stands in the documents.

The order of the elements of a community is that of GraphRAG (Edge et al. 2024, section 3.1.5): by the prominence of
its edges.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from storage.hashing import digest
from storage.records import Chunk, Claim, Entity, Finding, Mention, Relation, Report, Span
from storage.text.tokens import count_each, count_tokens

Kind = Literal["S", "E", "R", "C"]
"""Reports on parts of a community, entities, relations, claims: the letter before a record's number."""


@dataclass(frozen=True, slots=True)
class Part:
    """A finding of a report that stands for a part of a community; it has a number below the report's."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """One record of a prompt, without its number.

    `order` sorts records of a kind by name. `about` are the entities it belongs to: itself, its two ends, a claim's
    subject and object. `spans` are where the documents state it. `n_tokens` are those of the text and its parts.
    """

    kind: Kind
    order: tuple[str, ...]
    text: str
    about: tuple[str, ...]
    spans: tuple[Span, ...]
    parts: tuple[Part, ...] = ()
    n_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Elements:
    """All elements by id; `claims_of` has the claims that are linked to an entity."""

    entities: Mapping[str, Element]
    relations: Mapping[str, Element]
    claims_of: Mapping[str, Sequence[Element]]
    degree: Mapping[str, int]
    chunks: Mapping[str, Chunk]

    def of(self, entity_ids: Iterable[str], relation_ids: Iterable[str]) -> list[Element]:
        """Return the elements of some entities and the relations among them, each once, in order of prominence.

        For each relation in decreasing combined degree of its ends: the source, the target, the claims linked to
        them, the relation. Then the entities without a relation in decreasing degree, each with its claims.
        Ties go by name.
        """
        found: dict[int, Element] = {}

        def add(*elements: Element) -> None:
            found.update((id(each), each) for each in elements)

        for relation in sorted((self.relations[id_] for id_ in relation_ids), key=self._prominence):
            add(*(self.entities[id_] for id_ in relation.about))
            for id_ in relation.about:
                add(*self.claims_of.get(id_, ()))
            add(relation)
        for entity in sorted((self.entities[id_] for id_ in entity_ids), key=self._prominence):
            add(entity, *self.claims_of.get(entity.about[0], ()))
        return list(found.values())

    def sources(self, chunk_ids: Iterable[str]) -> tuple[str, ...]:
        """Return the digests of the texts of some chunks, sorted."""
        return tuple(sorted({digest(self.chunks[id_].text) for id_ in chunk_ids}))

    def _prominence(self, element: Element) -> tuple[int, tuple[str, ...], str]:
        return (-sum(self.degree[id_] for id_ in element.about), element.order, element.text)


def elements_of(
    entities: Iterable[Entity],
    relations: Iterable[Relation],
    claims: Iterable[Claim],
    mentions: Iterable[Mention],
    chunks: Iterable[Chunk],
) -> Elements:
    """Return all elements with their lengths and places."""
    entities, relations, claims = list(entities), list(relations), list(claims)
    name_of = {each.id: _line(each.name) for each in entities}
    chunk_of = {each.id: each for each in chunks}
    places: defaultdict[str, set[Span]] = defaultdict(set)
    for mention in mentions:
        owner = mention.entity_id or mention.relation_id
        if owner is not None:
            places[owner].add(_span(chunk_of[mention.chunk_id], mention.start, mention.end))

    def standing(owner: str, chunk_ids: Iterable[str] = ()) -> tuple[Span, ...]:
        known = places.get(owner) or {_span(chunk_of[id_], None, None) for id_ in chunk_ids}
        return tuple(sorted(known, key=in_text_order))

    found_entities = _measured([_entity(each, standing(each.id)) for each in entities])
    found_relations = _measured([_relation(each, name_of, standing(each.id, each.chunk_ids)) for each in relations])
    found_claims = _measured(
        [_claim(each, name_of, (_span(chunk_of[each.chunk_id], each.start, each.end),)) for each in claims]
    )
    claims_of: defaultdict[str, list[Element]] = defaultdict(list)
    for claim in sorted(found_claims, key=lambda each: (each.order, each.text)):
        for id_ in dict.fromkeys(claim.about):
            claims_of[id_].append(claim)
    return Elements(
        {each.id: found for each, found in zip(entities, found_entities, strict=True)},
        {each.id: found for each, found in zip(relations, found_relations, strict=True)},
        claims_of,
        {each.id: each.degree for each in entities},
        chunk_of,
    )


def report_element(report: Report) -> Element:
    """Return a report as the record that stands for the elements of its community."""
    head = f"{_line(report.title)}: {_line(report.summary)}"
    parts = tuple(Part(finding_text(each), each.citations) for each in report.findings)
    spans = tuple(dict.fromkeys(span for each in report.findings for span in each.citations))
    tokens = sum(count_each([head, *(each.text for each in parts)]))
    return Element("S", (_line(report.title),), head, (), spans, parts, tokens)


def without_findings(element: Element) -> Element:
    """Return a report's record cut down to its title and summary."""
    return replace(element, parts=(), n_tokens=count_tokens(element.text))


def finding_text(finding: Finding) -> str:
    """Return a finding as one line."""
    return ": ".join(filter(None, (_line(finding.summary).rstrip("."), _line(finding.explanation))))


def in_text_order(span: Span) -> tuple[str, int, int, str]:
    """Sort spans by document, then by where they stand."""
    return (span.document_id, span.start, span.end, span.chunk_id)


def _span(chunk: Chunk, start: int | None, end: int | None) -> Span:
    if start is None or end is None:
        return Span(chunk.document_id, chunk.id, chunk.start, chunk.end)
    return Span(chunk.document_id, chunk.id, start, end)


def _line(text: str) -> str:
    return " ".join(text.split())


def _entity(entity: Entity, spans: tuple[Span, ...]) -> Element:
    name, kind = _line(entity.name), _line(entity.type)
    return Element("E", (name, kind), _described(name, [kind], entity.description), (entity.id,), spans)


def _relation(relation: Relation, name_of: Mapping[str, str], spans: tuple[Span, ...]) -> Element:
    ends = (name_of[relation.source_id], name_of[relation.target_id])
    predicate = _line(relation.predicate)
    # Relations that a model described may have no predicate beside what is said of them.
    facts = [] if predicate == _line(relation.description) else [predicate]
    text = _described(" -> ".join(ends), facts, relation.description)
    return Element("R", (*ends, predicate), text, (relation.source_id, relation.target_id), spans)


def _claim(claim: Claim, name_of: Mapping[str, str], spans: tuple[Span, ...]) -> Element:
    about = [claim.subject_id] + ([claim.object_id] if claim.object_id else [])
    names = [name_of[id_] for id_ in about]
    dates = " to ".join(dict.fromkeys(filter(None, (claim.start_date, claim.end_date))))
    text = _described(" -> ".join(names), [claim.type, claim.status, dates], claim.description)
    return Element("C", (*names, _line(claim.type), dates), text, tuple(about), spans)


def _described(head: str, facts: Iterable[str], description: str) -> str:
    """Return `head (fact, fact): description` without what is empty."""
    inside = ", ".join(filter(None, map(_line, facts)))
    return ": ".join(filter(None, (f"{head} ({inside})" if inside else head, _line(description))))


def _measured(elements: Sequence[Element]) -> list[Element]:
    counts = count_each(each.text for each in elements)
    return [replace(each, n_tokens=tokens) for each, tokens in zip(elements, counts, strict=True)]
