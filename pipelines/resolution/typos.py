"""Slips of the pen: two names in one document that one inner letter of one long word tells apart."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from conspectus.pipelines.resolution.candidate_pair import Pair, pair_of
from conspectus.pipelines.resolution.features import Known

_LONG = 7
_MOST_OF_A_KEY = 30


def slips(known: Sequence[Known]) -> Iterator[Pair]:
    """Yield the pairs of names of several words that are spelt the same but for one letter of a long word."""
    of_key: defaultdict[tuple[str, ...], list[Known]] = defaultdict(list)
    for each in known:
        words = each.form.words
        if len(words) > 1 and not each.form.numbers:
            for place, word in enumerate(words):
                if len(word) >= _LONG:
                    of_key[(*words[:place], f"{word[0]}{word[-1]}*", *words[place + 1 :])].append(each)
    for group in of_key.values():
        if len(group) <= _MOST_OF_A_KEY:
            for left, right in combinations(group, 2):
                if left.documents.keys() & right.documents.keys() and _one_slip(left, right):
                    yield pair_of(left.id, right.id, "spelt the same but for one letter of a long word", 0.77)


def _one_slip(left: Known, right: Known) -> bool:
    different = [(a, b) for a, b in zip(left.form.words, right.form.words, strict=True) if a != b]
    return len(different) == 1 and is_one_edit(*different[0])


def is_one_edit(one: str, other: str) -> bool:
    """Return whether one letter, not the first or the last, is added, left out, changed or moved by one place.

    >>> is_one_edit("aristophanes", "aristophenes"), is_one_edit("austria", "australia")
    (True, False)
    """
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1 or short[0] != long[0] or short[-1] != long[-1]:
        return False
    start = next((place for place, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    rest_short, rest_long = short[start:], long[start:]
    if len(short) < len(long):
        return rest_short == rest_long[1:]
    swapped = rest_short[1::-1] + rest_short[2:]
    return rest_short[1:] == rest_long[1:] or swapped == rest_long
