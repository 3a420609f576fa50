"""Cluster pairs of names, best score first, under cannot-link constraints."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from conspectus.pipelines.resolution.features import NameFeatures, Names
from conspectus.pipelines.resolution.rules import NamePair, barred

_MOST_OF_A_GROUP = 60


def grouped(
    names: Names, pairs: Sequence[NamePair], threshold: float, imported: Collection[str] = frozenset()
) -> Iterator[tuple[str, dict[str, NamePair]]]:
    """Cluster the pairs that reach the threshold, best score first; yield each canonical id with its aliases' pairs.

    The pair of an alias is that with the canonical name, or else the best one with another name of the group.

    Two groups are merged only if no cannot-link constraint holds between any of their names, except for pairs that a
    text states explicitly. A chain of doubtful pairs therefore never merges names that must not be merged. The result
    does not depend on the order of the rows.
    """
    pairs = sorted(
        (pair for pair in pairs if pair.score >= threshold), key=lambda pair: (-pair.score, pair.left, pair.right)
    )
    explicit = {(pair.left, pair.right) for pair in pairs if pair.explicit}
    group_of: dict[str, list[str]] = {}
    pairs_of: defaultdict[str, list[NamePair]] = defaultdict(list)
    for pair in pairs:
        pairs_of[pair.left].append(pair)
        pairs_of[pair.right].append(pair)
        left, right = group_of.get(pair.left, [pair.left]), group_of.get(pair.right, [pair.right])
        if left is right or len(left) + len(right) > _MOST_OF_A_GROUP:
            continue
        ends = [(min(one, other), max(one, other)) for one in left for other in right]
        if any(
            barred(names[one], names[other], explicit=pair.explicit or (one, other) in explicit) for one, other in ends
        ):
            continue
        if any(one in imported for one in left) and any(other in imported for other in right):
            continue
        both = left + right
        group_of.update(dict.fromkeys(both, both))
    for members in {id(item): item for item in group_of.values()}.values():
        within = {id_: [pair for pair in pairs_of[id_] if {pair.left, pair.right} <= set(members)] for id_ in members}
        short = {pair.short for pairs in within.values() for pair in pairs}
        kept = _kept_of([names[member] for member in members], short, imported)

        def order(pair: NamePair, kept: str = kept) -> tuple[object, ...]:
            return kept not in (pair.left, pair.right), -pair.score, pair.left, pair.right

        yield kept, {id_: min(within[id_], key=order) for id_ in members if id_ != kept}


def _kept_of(members: Sequence[NameFeatures], short: Collection[str], imported: Collection[str]) -> str:
    """Return the id of the canonical name of a group.

    A name of an imported graph comes first, then a document's title, then the most frequent name that is not a short
    form. Ties go to the longest name, then to the first in alphabetical order.
    """

    def order(name: NameFeatures) -> tuple[object, ...]:
        first = name.id not in imported, not name.titles, name.id in short
        return *first, -name.frequency, -len(name.name), name.name, name.id

    return min(members, key=order).id
