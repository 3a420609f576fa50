"""Entity resolution: propose pairs of names, let a model vote on uncertain ones, cluster, and rewrite."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

import numpy as np
from conspectus.pipelines.backends.base import Extraction
from conspectus.pipelines.resolution.apply import applied, claims_applied
from conspectus.pipelines.resolution.cluster import grouped
from conspectus.pipelines.resolution.features import Names
from conspectus.pipelines.resolution.llm_vote import DOUBT, voted
from conspectus.pipelines.resolution.rules import NamePair, barred, best_of, pair_of
from conspectus.pipelines.resolution.short_forms import short_forms
from conspectus.pipelines.resolution.stated import stated
from conspectus.pipelines.resolution.variants import same_persons, variants
from conspectus.pipelines.runner import Progress, no_progress
from conspectus.pipelines.steps.synonyms import find_synonyms
from conspectus.prompts.client.event_loop import wait_for
from conspectus.prompts.language_model import LanguageModel
from conspectus.storage.arrays import Vectors
from conspectus.storage.hashing import short_id
from conspectus.storage.mapped import Changed
from conspectus.storage.records import Chunk, Document, Failure, Merge
from conspectus.storage.settings import Settings
from conspectus.storage.tables import sorted_by_id

_NEAR_ENOUGH = 0.86
"""Minimum cosine at which a pair that no rule proposes is put to the model's vote."""

_Value = TypeVar("_Value")
Embed = Callable[[Sequence[str]], Vectors]
"""Embeds n texts as unit vectors (n, d)."""


def candidates(names: Names, imported: Collection[str], least: float, near: Iterable[NamePair] = ()) -> list[NamePair]:
    """Return the candidate pairs, sorted by their ends, that have evidence and violate no cannot-link constraint.

    `imported` are the ids of the entities of an imported graph; two of them are never paired, because the graph already
    distinguishes them. A pair with a lower score than `least` is discarded. `near` are further pairs, of names with
    similar embeddings.
    """
    found = chain(stated(names), variants(names), same_persons(names), short_forms(names), near)
    return best_of(
        pair
        for pair in found
        if (pair.explicit or pair.score >= least)
        and not (pair.left in imported and pair.right in imported)
        and not barred(names[pair.left], names[pair.right], explicit=pair.explicit)
    )


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
    apart: Collection[tuple[str, str]] = (),
    imported: Collection[str] = frozenset(),
    model: LanguageModel | None = None,
    progress: Progress = no_progress,
) -> Resolved:
    """Cluster the name variants in an extraction and merge each cluster into one entity.

    Clusters are formed as if there were no corrections; what these keep apart is then split off. Without them the
    result is therefore the original one.

    Args:
        documents: All documents; titles and opening sentences are evidence.
        chunks: All chunks.
        found: The extraction: entities, relations, mentions, and claims or descriptions if a model made them.
        settings: The settings; `settings.resolution` has the thresholds.
        embed: Embeds names as unit vectors (n, d).
        apart: Pairs of entities, by id, that corrections keep apart.
        imported: Ids of the entities of an imported graph; two of them are never merged.
        model: Votes on uncertain pairs; None to use the rules alone.
        progress: Called with the progress of the step.

    Returns:
        The resolved extraction, the rows of `merges` (undone ones included), and the failures of the vote.

    Raises:
        BudgetReached: The model's budget does not cover the vote.
    """
    section = settings.resolution
    if section.method == "off":
        return Resolved(found, [], [])
    names = Names(documents, chunks, found.knowledge)
    failures: list[Failure] = []
    if model is None or section.vote == "off":
        pairs = candidates(names, imported, section.threshold)
    else:
        pairs = candidates(names, imported, min(DOUBT, section.threshold), _near(names, embed, settings))
        pairs, failures = wait_for(voted(pairs, names, model, progress))
    kept_of, rows = _decided(grouped(names, pairs, section.threshold, imported), apart, names)
    del names, pairs  # their memory is needed for the tables
    return Resolved(merged(found, kept_of), rows, failures)


def _near(known: Names, embed: Embed, settings: Settings) -> list[NamePair]:
    """Return pairs of names with similar embeddings; only a model's vote can merge them."""
    if not known.known.any():
        return []
    threshold = settings.synonyms.model_copy(update={"threshold": _NEAR_ENOUGH, "max_neighbours": 5})
    rows = np.flatnonzero(known.known).tolist()
    ids, names = [known.evidence.entity_ids[row] for row in rows], [known.names[row] for row in rows]
    found = find_synonyms(ids, names, embed(names), threshold, settings.communities.seed)
    return [pair_of("meaning", known[item.source_id], known[item.target_id]) for item in found]


def _decided(
    groups: Iterable[tuple[str, dict[str, NamePair]]], apart: Collection[tuple[str, str]], known: Names
) -> tuple[dict[str, str], list[Merge]]:
    """Return the canonical entity of each merged alias, and all rows of `merges`, undone ones included."""
    kept_of: dict[str, str] = {}
    rows: list[Merge] = []
    for kept, why in groups:
        members = {kept, *why}
        out = {one if other == kept else other for one, other in apart if one in members and other in members}
        for alias, pair in why.items():
            name, other = known[kept].name, known[alias].name
            id_ = short_id("merge", alias, kept)
            rows.append(Merge(id_, kept, name, alias, other, pair.reason, pair.score, pair.vote, alias in out))
            if alias not in out:
                kept_of[alias] = kept
    return kept_of, sorted_by_id(rows)


def merged(found: Extraction, kept_of: Mapping[str, str]) -> Extraction:
    """Return an extraction with each alias (a key) merged into its value (`applied`)."""
    knowledge, new_id = applied(found.knowledge, kept_of)
    return replace(
        found,
        knowledge=knowledge,
        claims=claims_applied(found.claims, kept_of),
        entity_descriptions=moved(found.entity_descriptions, kept_of, distinct),
        relation_descriptions=moved(found.relation_descriptions, new_id, distinct),
        predicates=moved(
            found.predicates,
            new_id,
            lambda instances: sorted((kept_of.get(source, source), said) for source, said in instances),
        ),
    )


def moved(
    values: Mapping[str, Sequence[_Value]],
    new_id: Mapping[str, str],
    joined: Callable[[Iterable[_Value]], Sequence[_Value]],
) -> Mapping[str, Sequence[_Value]]:
    """Return lists by new id, those that come together `joined`; those of deleted relations are dropped."""
    together: dict[str, list[_Value]] = {}
    for id_, now in new_id.items():
        if now and id_ in values:
            if now not in together and now not in new_id:
                together[now] = [*values.get(now, ())]
            together.setdefault(now, []).extend(values[id_])
    return Changed(values, {**dict.fromkeys(new_id), **{id_: joined(some) for id_, some in together.items()}})


def distinct(descriptions: Iterable[str]) -> list[str]:
    """Return descriptions sorted, each once."""
    return sorted(set(descriptions))
