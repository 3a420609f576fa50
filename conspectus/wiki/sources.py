"""What pages say, with the places of the documents that say it."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby

from conspectus.pipelines.steps.reports.cite import sentence_around
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Claim, Mention, Span
from conspectus.storage.spans import span_in

Said = dict[str, dict[Span, None]]
"""Texts in order, each with the places that it comes from."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The sentences of the documents and the statements of a model, by what they are about.

    Attributes:
        described: For each entity, what a model said about it in each passage.
        named: For each entity, the sentences that name it; where no sentence does, whole passages (as "").
        stated: For each relation, what states it.
        claims: For each entity, the claims about it.
        entities: For each chunk, the entities that it names.
    """

    described: dict[str, Said]
    named: dict[str, Said]
    stated: dict[str, Said]
    claims: dict[str, Said]
    entities: dict[str, dict[str, None]]


def sources_of(index: StoredIndex) -> Sources:
    """Return what the documents of an index, or of a view of it, say; in text order within each document."""
    found = Sources(_said(), _said(), _said(), _said(), defaultdict(dict))
    chunks = index.ids(Chunk)
    of_chunk = groupby(sorted(index.rows(Mention), key=lambda each: each.chunk_id), key=lambda each: each.chunk_id)
    by_chunk = {chunk: list(mentions) for chunk, mentions in of_chunk}
    for chunk in sorted(index.rows(Chunk), key=lambda each: (each.document_id, each.ordinal)):
        quoted = set[str]()
        placed = [(mention, span_in(chunk, mention.start, mention.end)) for mention in by_chunk.get(chunk.id, ())]
        for mention, span in sorted(placed, key=lambda each: (each[1].start, each[1].end, each[0].id)):
            text = mention.description
            if mention.relation_id:
                _add(found.stated[mention.relation_id], text or mention.surface, span)
            elif mention.entity_id:
                if mention.start is not None:
                    span = sentence_around(chunk, span)
                if text:
                    _add(found.described[mention.entity_id], text, span)
                if mention.start is not None:
                    said = chunk.text[span.start - chunk.start : span.end - chunk.start]
                    _add(found.named[mention.entity_id], said, span)
                    quoted.add(mention.entity_id)
                found.entities[chunk.id][mention.entity_id] = None
        for entity in found.entities[chunk.id].keys() - quoted:
            _add(found.named[entity], "", span_in(chunk))
    for claim in index.rows(Claim):
        when = " to ".join(dict.fromkeys(filter(None, (claim.start_date, claim.end_date))))
        text = f"{claim.description} ({', '.join(filter(None, (claim.type, claim.status, when)))})"
        for entity in filter(None, (claim.subject_id, claim.object_id)):
            _add(found.claims[entity], text, span_in(index.each(Chunk)[chunks[claim.chunk_id]], claim.start, claim.end))
    return found


def _said() -> defaultdict[str, Said]:
    return defaultdict(lambda: defaultdict(dict))


def _add(said: Said, text: str, span: Span) -> None:
    said[" ".join(text.split())][span] = None
