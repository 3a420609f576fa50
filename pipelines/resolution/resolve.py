"""Entity resolution: propose pairs of names, let a model vote on uncertain ones, cluster, and rewrite."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np
from conspectus.pipelines.backends.base import Extraction
from conspectus.pipelines.resolution.alias_patterns import acronyms, stated, titled
from conspectus.pipelines.resolution.apply import applied, claims_applied
from conspectus.pipelines.resolution.cluster import Alias, UndoneMerges, grouped, split
from conspectus.pipelines.resolution.features import NameFeatures, Names
from conspectus.pipelines.resolution.llm_vote import voted
from conspectus.pipelines.resolution.pairs import NamePair, barred, best_of, pair_of
from conspectus.pipelines.resolution.partial_names import initialled, parts
from conspectus.pipelines.resolution.spelling import slips, spelt_alike
from conspectus.pipelines.runner import Progress, no_progress
from conspectus.pipelines.steps.synonyms import find_synonyms
from conspectus.prompts.client.event_loop import wait_for
from conspectus.prompts.language_model import LanguageModel
from conspectus.storage.arrays import Vectors
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Chunk, Document, Failure, Merge
from conspectus.storage.settings import Settings
from conspectus.storage.tables import sorted_by_id

LEAST = 0.3
"""Pairs with a lower score are discarded."""

_SPELT = 0.9
_KINDS_AGREE, _KINDS_DIFFER = 0.02, 0.06
_NEAR, _NEAR_FROM = 0.02, 0.8
_PAIRS_AT_ONCE = 1 << 14


def candidates(
    names: Names, imported: Collection[str], near: Iterable[NamePair] = (), least: float = LEAST
) -> list[NamePair]:
    """Return the candidate pairs, sorted by their ends, that have evidence and violate no cannot-link constraint.

    `imported` are the ids of the entities of an imported graph; two of them are never paired, because the graph already
    distinguishes them. `near` are further pairs, of names with similar embeddings. A pair with a lower score than
    `least` is discarded.
    """
    explicit, apart = stated(names)
    first, last = (titled, spelt_alike, partial(acronyms, least=least - _KINDS_AGREE), slips), (initialled, parts)

    def allowed() -> Iterator[NamePair]:
        for pair in chain(explicit, *(rule(names) for rule in first), near, *(rule(names) for rule in last)):
            if round(pair.score + _KINDS_AGREE, 4) < least and not pair.explicit:
                continue
            if pair.left in imported and pair.right in imported:
                continue
            if (pair.left, pair.right) in apart and not pair.explicit and pair.score < _SPELT:
                continue
            left, right = names[pair.left], names[pair.right]
            if not barred(left, right, explicit=pair.explicit):
                yield _of_kinds(pair, left, right)

    best = (item for item in best_of(allowed()).values() if item.score >= least or item.explicit)
    return sorted(best, key=lambda item: (item.left, item.right))


def _of_kinds(pair: NamePair, left: NameFeatures, right: NameFeatures) -> NamePair:
    """Return a pair whose score is adjusted by the types of its names."""
    if pair.explicit or not left.kinds or not right.kinds:
        return pair
    change = _KINDS_AGREE if left.kinds & right.kinds else -_KINDS_DIFFER
    return replace(pair, score=round(min(pair.score + change, 1.0), 4))


def with_cosines(pairs: Sequence[NamePair], cosines: Mapping[tuple[str, str], float]) -> list[NamePair]:
    """Return the pairs with scores adjusted by the cosines of their names, the weakest evidence."""
    return [
        replace(pair, score=round(min(pair.score + _NEAR, 1.0), 4))
        if cosines.get((pair.left, pair.right), 0.0) >= _NEAR_FROM
        else pair
        for pair in pairs
    ]


Embed = Callable[[Sequence[str]], Vectors]
"""Embeds n texts as unit vectors (n, d)."""

_NEAR_ENOUGH = 0.86
"""Minimum cosine at which a pair that no rule proposes is put to the model's vote."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The extraction with aliases merged, the rows of the `merges` table, and the failures."""

    found: Extraction
    merges: list[Merge]
    failures: list[Failure]


def resolve(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    found: Extraction,
    settings: Settings,
    *,
    embed: Embed,
    marks: UndoneMerges = (),
    imported: Collection[str] = frozenset(),
    model: LanguageModel | None = None,
    progress: Progress = no_progress,
) -> Resolved:
    """Cluster the name variants in an extraction and merge each cluster into one entity.

    Clusters are formed as if nothing had been undone; undone merges are then split off. An undo followed by a redo
    therefore restores the original result.

    Args:
        documents: All documents; titles and opening sentences are evidence.
        chunks: All chunks.
        found: The extraction: entities, relations, mentions, and claims or descriptions if a model made them.
        settings: The settings; `settings.resolution` has the thresholds.
        embed: Embeds names as unit vectors (n, d).
        marks: The merges that were undone and must stay undone.
        imported: Ids of the entities of an imported graph; two of them are never merged.
        model: Votes on uncertain pairs; None to use the rules alone.
        progress: Called with the progress of the step.

    Returns:
        The resolved extraction, the rows of `merges` (undone ones included), and the failures of the vote.

    Raises:
        BudgetReached: The model's budget does not cover the vote.
    """
    if settings.resolution.method == "off":
        return Resolved(found, [], [])
    kept_of, merges, failures = _merges(
        documents, chunks, found, settings, embed, marks=marks, imported=imported, model=model, progress=progress
    )
    return Resolved(_merged(found, kept_of), merges, failures)


def _merges(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    found: Extraction,
    settings: Settings,
    embed: Embed,
    *,
    marks: UndoneMerges,
    imported: Collection[str],
    model: LanguageModel | None,
    progress: Progress,
) -> tuple[dict[str, str], list[Merge], list[Failure]]:
    """Return the canonical entity of each merged alias, the rows of `merges`, and the failures of the vote."""
    section = settings.resolution
    names = Names(documents, chunks, found.knowledge)
    asks = model is not None and section.vote != "off"
    near = _near(names, embed, settings) if asks else []
    # Without a vote only a pair matters that reaches the threshold with all that its vectors can add.
    pairs = candidates(names, imported, near, LEAST if asks else max(LEAST, round(section.threshold - _NEAR, 4)))
    pairs = with_cosines(pairs, _cosines(pairs, names, embed))
    failures: list[Failure] = []
    if asks and model is not None:
        pairs, failures = wait_for(voted(pairs, names, model, progress))
    aliases = grouped(names, pairs, section.threshold, imported)
    return *_decided(aliases, marks, names), failures


def _near(known: Names, embed: Embed, settings: Settings) -> list[NamePair]:
    """Return pairs of names with similar embeddings; only a model's vote can merge them."""
    if not known.known.any():
        return []
    threshold = settings.synonyms.model_copy(update={"threshold": _NEAR_ENOUGH, "max_neighbours": 5})
    rows = np.flatnonzero(known.known).tolist()
    ids, names = [known.evidence.entity_ids[row] for row in rows], [known.names[row] for row in rows]
    found = find_synonyms(ids, names, embed(names), threshold, settings.communities.seed)
    return [pair_of(item.source_id, item.target_id, "near in meaning", 0.5) for item in found]


def _cosines(pairs: Sequence[NamePair], names: Names, embed: Embed) -> Mapping[tuple[str, str], float]:
    """Return the cosine of each pair's names, to 6 decimals."""
    if not pairs:
        return {}
    ids = sorted({id_ for pair in pairs for id_ in (pair.left, pair.right)})
    row_of = {id_: row for row, id_ in enumerate(ids)}
    vectors = embed([names[id_].name for id_ in ids])
    cosines: dict[tuple[str, str], float] = {}
    for first in range(0, len(pairs), _PAIRS_AT_ONCE):
        some = pairs[first : first + _PAIRS_AT_ONCE]
        left, right = (
            vectors[[row_of[id_] for id_ in side]].astype(np.float64)
            for side in ([pair.left for pair in some], [pair.right for pair in some])
        )
        found = np.round(np.einsum("ij,ij->i", left, right), 6).tolist()
        cosines.update(((pair.left, pair.right), cosine) for pair, cosine in zip(some, found, strict=True))
    return cosines


def _decided(aliases: Sequence[Alias], marks: UndoneMerges, known: Names) -> tuple[dict[str, str], list[Merge]]:
    """Return the canonical entity of each merged alias, and all rows of `merges`, undone ones included."""
    groups: dict[str, list[Alias]] = {}
    for alias in aliases:
        groups.setdefault(alias.kept, []).append(alias)
    kept_of: dict[str, str] = {}
    rows: list[Merge] = []
    for kept, group in groups.items():
        members = {kept, *(member.alias for member in group)}
        out = split(members, marks)
        if kept in out:
            group, kept = _renamed(group, kept, sorted(members - out), known)
        for member in group:
            rows.append(_row(member, kept, known, undone=member.alias in out))
            if member.alias not in out:
                kept_of[member.alias] = kept
    held = {row.id for row in rows}
    rows += [
        replace(mark.row, undone=True)
        for mark in marks
        if mark.row.id not in held and mark.alias_id in known and mark.entity_id in known
    ]
    return kept_of, sorted_by_id(rows)


def _renamed(group: Sequence[Alias], kept: str, others: Sequence[str], known: Names) -> tuple[list[Alias], str]:
    """Return a group after its canonical name was split off, under the most frequent remaining name."""
    new = min(others, key=lambda id_: (-known[id_].frequency, known[id_].name, id_)) if others else kept
    pair_with = {member.alias: member.pair for member in group}
    if new == kept:
        return list(group), kept
    renamed = [replace(member, kept=new) for member in group if member.alias != new]
    return [*renamed, Alias(kept, new, pair_with[new])], new


def _row(alias: Alias, kept: str, known: Names, *, undone: bool) -> Merge:
    return Merge(
        id=short_id("merge", alias.alias, kept),
        entity_id=kept,
        name=known[kept].name,
        alias_id=alias.alias,
        alias=known[alias.alias].name,
        reason=alias.pair.reason,
        score=alias.pair.score,
        vote=alias.pair.vote,
        undone=undone,
    )


def _merged(found: Extraction, kept_of: Mapping[str, str]) -> Extraction:
    knowledge, new_id = applied(found.knowledge, kept_of)
    return replace(
        found,
        knowledge=knowledge,
        claims=claims_applied(found.claims, kept_of),
        entity_descriptions=_joined(found.entity_descriptions, kept_of),
        relation_descriptions=_joined(found.relation_descriptions, new_id),
        predicates=_moved(found.predicates, new_id, kept_of),
    )


def _moved(
    predicates: Mapping[str, Sequence[tuple[str, str]]], new_id: Mapping[str, str], kept_of: Mapping[str, str]
) -> dict[str, list[tuple[str, str]]]:
    """Return the predicates by the new ids of relations and sources; those of deleted relations are dropped."""
    moved: dict[str, list[tuple[str, str]]] = {}
    for id_, instances in predicates.items():
        now = new_id.get(id_, id_)
        if now:
            moved.setdefault(now, []).extend((kept_of.get(source, source), said) for source, said in instances)
    return {id_: sorted(moved[id_]) for id_ in sorted(moved)}


def _joined(descriptions: Mapping[str, Sequence[str]], new_id: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the descriptions by new id, sorted and without repeats; those of deleted relations are dropped."""
    joined: dict[str, set[str]] = {}
    for id_, texts in descriptions.items():
        now = new_id.get(id_, id_)
        if now:
            joined.setdefault(now, set()).update(texts)
    return {id_: sorted(joined[id_]) for id_ in sorted(joined)}
