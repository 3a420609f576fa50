"""All pairs of names that may be one thing's, each with the best of what speaks for it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from conspectus.pipelines.resolution.acronyms import acronyms
from conspectus.pipelines.resolution.alias_patterns import stated, titled
from conspectus.pipelines.resolution.candidate_pair import Pair, best_of
from conspectus.pipelines.resolution.constraints import barred
from conspectus.pipelines.resolution.features import Known, Neighbours, Placed
from conspectus.pipelines.resolution.given_names import initialled
from conspectus.pipelines.resolution.name_index import names_of
from conspectus.pipelines.resolution.normalisation import spelt_alike
from conspectus.pipelines.resolution.partial_names import parts
from conspectus.pipelines.resolution.typos import slips
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.storage.records import Document

LEAST = 0.3
"""Score below which a pair is not worth a thought."""

_SPELT = 0.9
_KINDS_AGREE, _KINDS_DIFFER = 0.02, 0.06
_NEAR, _NEAR_FROM = 0.02, 0.8


def candidates(
    documents: Sequence[Document],
    known: Sequence[Known],
    placed: Placed,
    found: Knowledge,
    brought: Collection[str],
    near: Iterable[Pair] = (),
) -> list[Pair]:
    """Return the pairs, sorted by their ends, that nothing keeps apart and something speaks for.

    `brought` are the ids of entities that a graph has which was brought along: it says itself which of them are one.
    `near` are more pairs, of names near in meaning.
    """
    of_id = {each.id: each for each in known}
    names = names_of(known)
    told, apart = stated(known, placed)
    neighbours = Neighbours(known, found)
    proposed = [*told, *titled(known, placed, documents), *spelt_alike(known, neighbours), *acronyms(known)]
    proposed += [*slips(known), *near, *initialled(names, neighbours)]
    proposed += parts(known, names)
    kept = []
    for each in proposed:
        left, right = of_id[each.left], of_id[each.right]
        if barred(left, right, told=each.told) or (each.left in brought and each.right in brought):
            continue
        if (each.left, each.right) in apart and not each.told and each.score < _SPELT:
            continue
        kept.append(_of_kinds(each, left, right))
    best = (each for each in best_of(kept).values() if each.score >= LEAST)
    return sorted(best, key=lambda each: (each.left, each.right))


def _of_kinds(pair: Pair, left: Known, right: Known) -> Pair:
    """Return a pair with what types add to what its rule says."""
    if pair.told or not left.kinds or not right.kinds:
        return pair
    change = _KINDS_AGREE if left.kinds & right.kinds else -_KINDS_DIFFER
    return replace(pair, score=round(min(pair.score + change, 1.0), 4))


def with_cosines(pairs: Sequence[Pair], cosines: Mapping[tuple[str, str], float]) -> list[Pair]:
    """Return pairs with what the cosines of their names add, the weakest of the signs."""
    return [
        replace(each, score=round(min(each.score + _NEAR, 1.0), 4))
        if cosines.get((each.left, each.right), 0.0) >= _NEAR_FROM
        else each
        for each in pairs
    ]
