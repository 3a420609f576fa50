"""Communities of what may be read, and what is said about them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from conspectus.pipelines.permitted.knowledge import Narrowed
from conspectus.pipelines.steps.reports.extractive import report_communities
from conspectus.pipelines.steps.sentences import Sentences
from conspectus.storage.records import Community, Entity, Report
from conspectus.storage.settings import ReportSettings


def kept_communities(communities: Sequence[Community], known: Narrowed) -> list[Community]:
    """Return the communities with the members that are known, in table order; those without a member are left out.

    Of the relations and chunks of a community those of such members are left. Each level still holds every entity once.
    """
    entity_ids = {each.id for each in known.entities}
    relation_ids = {each.id for each in known.relations}
    chunks_of = _chunks_of(known)
    kept = []
    for each in communities:
        members = tuple(id_ for id_ in each.entity_ids if id_ in entity_ids)
        if members:
            kept.append(
                replace(
                    each,
                    entity_ids=members,
                    relation_ids=tuple(id_ for id_ in each.relation_ids if id_ in relation_ids),
                    chunk_ids=tuple(sorted(set().union(*(chunks_of.get(id_, ()) for id_ in members)))),
                    size=len(members),
                )
            )
    return kept


def _chunks_of(known: Narrowed) -> dict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for each in known.mentions:
        if each.entity_id is not None:
            found[each.entity_id].add(each.chunk_id)
    return dict(found)


def kept_reports(
    reports: Sequence[Report], before: Sequence[Community], communities: Sequence[Community], known: Narrowed
) -> list[Report]:
    """Return the reports on communities that nothing was taken from: none of their members, and nothing of these."""
    whole = known.whole
    size_before = {each.id: each.size for each in before}
    untouched = {
        each.id for each in communities if each.size == size_before[each.id] and whole.issuperset(each.entity_ids)
    }
    return [each for each in reports if each.community_id in untouched]


def renewed_reports(
    kept: Sequence[Report],
    communities: Sequence[Community],
    entities: Sequence[Entity],
    sentences: Sentences,
    n_chunks: int,
    settings: ReportSettings,
) -> list[Report]:
    """Return the kept reports and, of the other communities, extractive ones, in table order."""
    reported = {each.community_id for each in kept}
    others = [each for each in communities if each.id not in reported]
    renewed = report_communities(others, entities, sentences, n_chunks, settings)
    return sorted([*kept, *renewed], key=lambda each: each.id)


def with_descriptions(
    entities: Sequence[Entity], whole: AbstractSet[str], descriptions: Mapping[str, str]
) -> list[Entity]:
    """Return the entities with a description each; those of `whole` keep theirs."""
    return [each if each.id in whole else replace(each, description=descriptions.get(each.id, "")) for each in entities]
