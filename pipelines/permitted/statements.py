"""Relations from those of their mentions that may be read, as the steps of a build would make them from these alone."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from conspectus.storage.records import Chunk, Mention, Relation
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.tokens import count_each


def restated(
    relation: Relation,
    mentions: Sequence[Mention],
    chunk_of: Mapping[str, Chunk],
    name_of: Mapping[str, str],
    most_tokens: int,
) -> Relation:
    """Return a relation as some of its mentions support it: chunks, weight and description are theirs alone.

    The description is what a model said of each, in at most `most_tokens`, or else the shortest sentence that states
    it, or else its own words. The predicate is written as these sentences write it, and folded where they do not: all
    mentions have one predicate, but for the case of its letters. How strong a model found the relation a mention does
    not tell, and so it is not known.
    """
    relation = replace(relation, predicate=_predicate(relation.predicate, mentions))
    return replace(
        relation,
        description=_description(relation, mentions, name_of, most_tokens),
        weight=float(_weight(mentions, chunk_of)),
        chunk_ids=tuple(sorted({each.chunk_id for each in mentions})),
        strength=None,
    )


def _predicate(predicate: str, mentions: Iterable[Mention]) -> str:
    written = re.compile(re.escape(predicate).replace(r"\ ", r"\s+"), re.IGNORECASE)
    found = {" ".join(form.split()) for each in mentions for form in written.findall(each.surface)}
    key = entity_key(predicate)
    return min((form for form in found if entity_key(form) == key), default=key)


def joined(told: Iterable[str], most_tokens: int) -> str:
    """Return descriptions, each once and sorted, until the next would pass `most_tokens`; at least one of them."""
    descriptions = sorted(set(told) - {""})
    total = 0
    for place, length in enumerate(count_each(descriptions)):
        total += length
        if place and total > most_tokens:
            return " ".join(descriptions[:place])
    return " ".join(descriptions)


def _description(relation: Relation, mentions: Sequence[Mention], name_of: Mapping[str, str], most_tokens: int) -> str:
    told = joined((each.description for each in mentions), most_tokens)
    if told:
        return told
    sentences = {each.surface for each in mentions} - {""}
    if sentences:
        return " ".join(min(sentences, key=lambda text: (len(text), text)).split())
    return " ".join(f"{name_of[relation.source_id]} {relation.predicate} {name_of[relation.target_id]}".split())


def _weight(mentions: Sequence[Mention], chunk_of: Mapping[str, Chunk]) -> int:
    """Return the number of mentions; of one place in a document that several chunks hold, the most that one states."""
    of_place: defaultdict[tuple[str, int | None, int | None], defaultdict[str, set[str]]]
    of_place = defaultdict(lambda: defaultdict(set))
    for each in mentions:
        document = chunk_of[each.chunk_id].document_id if each.start is not None else each.chunk_id
        of_place[document, each.start, each.end][each.chunk_id].add(each.description)
    return sum(max(map(len, of_chunk.values())) for of_chunk in of_place.values())
