"""GraphRAG's relationships and covariates as relations and claims of ours."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conspectus.pipelines.build_report import IMPORT
from conspectus.pipelines.exchange.graphrag.entities import NO_NAME, names_of_claim, shown
from conspectus.pipelines.exchange.graphrag.schema import CovariateRow, RelationshipRow
from conspectus.pipelines.readers.encodings import clean
from conspectus.storage.hashing import entity_id, short_id
from conspectus.storage.records import Chunk, Claim, Failure, Relation
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.names import NameMatcher
from conspectus.storage.text.normalise import entity_key


@dataclass(frozen=True, slots=True)
class Related:
    """Relations sorted by id, the relation of each row, and what could not be used."""

    relations: list[Relation]
    row_ids: list[str]
    failures: list[Failure]


def relations_of(rows: Sequence[RelationshipRow], chunks_of_unit: Mapping[str, tuple[str, ...]]) -> Related:
    """Return the relations: one for each pair of names, whichever way round its rows state it.

    Rows of one pair are merged as we merge what a model states of a pair in several chunks (see merge_model.py): the
    direction is that of most text units. `weight` counts text units, as often as they are named; `strength` is the
    rest of GraphRAG's sum of strengths, None where each has 1.0, which it writes where a model stated none.
    """
    of_pair: defaultdict[tuple[str, str], list[RelationshipRow]] = defaultdict(list)
    row_ids: list[str] = []
    failures: list[Failure] = []
    for row in rows:
        source, target = _keys(row)
        pair = (source, target) if source < target else (target, source)
        of_pair[pair].append(row)
        row_ids.append(_id(pair))
        failures += (
            Failure(IMPORT, f"relationship {row.id}", "a text unit that is not there", clean(each))
            for each in row.text_unit_ids or ()
            if each not in chunks_of_unit
        )
    made = [_relation(pair, group, chunks_of_unit) for pair, group in of_pair.items()]
    return Related(sorted_by_id(made), row_ids, failures)


def _keys(row: RelationshipRow) -> tuple[str, str]:
    return entity_key(shown(row.source)), entity_key(shown(row.target))


def _id(pair: tuple[str, str]) -> str:
    return short_id("relation", pair[0], "", pair[1])


def _relation(
    pair: tuple[str, str], group: Sequence[RelationshipRow], chunks_of_unit: Mapping[str, tuple[str, ...]]
) -> Relation:
    ways: defaultdict[tuple[str, str], int] = defaultdict(int)
    for row in group:
        ways[_keys(row)] += max(1, len(row.text_unit_ids or ()))
    source, target = min(ways, key=lambda way: (-ways[way], way))
    instances = sum(ways.values())
    stated = [row.weight for row in group if row.weight is not None]
    mean = sum(sorted(stated)) / instances if len(stated) == len(group) else None
    chunk_ids = {chunk for row in group for unit in row.text_unit_ids or () for chunk in chunks_of_unit.get(unit, ())}
    descriptions = sorted({clean(row.description or "").strip() for row in group} - {""})
    return Relation(
        id=_id(pair),
        source_id=entity_id(source),
        target_id=entity_id(target),
        predicate="",
        description=" ".join(descriptions),
        weight=float(instances),
        chunk_ids=tuple(sorted(chunk_ids)),
        strength=None if mean == 1.0 else mean,
    )


@dataclass(frozen=True, slots=True)
class Claimed:
    """Claims sorted by id, the claim of each row ("" for none), and what could not be used."""

    claims: list[Claim]
    row_ids: list[str]
    failures: list[Failure]


def claims_of(
    rows: Sequence[CovariateRow], chunks_of_unit: Mapping[str, tuple[str, ...]], chunk_of: Mapping[str, Chunk]
) -> Claimed:
    """Return the claims; of a text that stands in several documents those of the first chunk."""
    claims: dict[str, Claim] = {}
    row_ids: list[str] = []
    failures: list[Failure] = []
    for row in rows:
        names = names_of_claim(row)
        chunks = chunks_of_unit.get(row.text_unit_id or "", ())
        if not names or not chunks:
            why = "a text unit that is not there" if names else "a claim without a subject"
            failures.append(Failure(IMPORT, f"covariate {row.id}", why, clean(row.description or "")[:200]))
            row_ids.append("")
            continue
        claim = _claim(row, names, chunk_of[chunks[0]])
        claims[claim.id] = claim
        row_ids.append(claim.id)
    return Claimed(sorted_by_id(claims.values()), row_ids, failures)


def _claim(row: CovariateRow, names: tuple[str, ...], chunk: Chunk) -> Claim:
    keys = [entity_key(each) for each in names]
    said = [clean(each or "").strip() for each in (row.type, row.status, row.description)]
    start_date, end_date = _date(row.start_date), _date(row.end_date)
    span = _quoted(chunk, clean(row.source_text or "").strip())
    return Claim(
        id=short_id("claim", chunk.id, keys[0], *keys[1:2], *said, start_date or "", end_date or ""),
        subject_id=entity_id(keys[0]),
        object_id=entity_id(keys[1]) if len(keys) > 1 else None,
        type=said[0],
        status=said[1].upper(),
        description=said[2],
        start_date=start_date,
        end_date=end_date,
        chunk_id=chunk.id,
        start=span[0] if span else None,
        end=span[1] if span else None,
    )


def _date(text: str | None) -> str | None:
    found = clean(text or "").strip()
    return None if found.upper() in NO_NAME else found


def _quoted(chunk: Chunk, quote: str) -> tuple[int, int] | None:
    """Return where a claim's source text stands in the document, letter by letter or but for signs between words."""
    at = chunk.text.find(quote)
    if quote and at >= 0:
        return chunk.start + at, chunk.start + at + len(quote)
    for match in NameMatcher({quote: None}).find(chunk.text):
        return chunk.start + match.start, chunk.start + match.end
    return None
