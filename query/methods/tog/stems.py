"""Words of one stem."""

from functools import lru_cache


def stem_share(first: str, second: str) -> float:
    """Return the share of the shorter word that both have as a stem, 0 where it is less than 0.55.

    A stem begins one of the words and stands in the other; one of three letters must begin both.

    >>> round(stem_share("screenwriter", "written"), 2), stem_share("acted", "directed")
    (0.57, 0.0)
    """
    shorter = min(len(first), len(second))
    if shorter < 3:
        return 0.0
    best = 0
    for one, other in ((first, second), (second, first)):
        length = 0
        while length < len(one) and one[: length + 1] in other:
            length += 1
        if length >= 4 or (length == 3 and other.startswith(one[:3])):
            best = max(best, length)
    share = best / shorter
    return share if share >= 0.55 else 0.0


@lru_cache(maxsize=200_000)
def stem_in(word: str, phrase: str) -> float:
    """Return the greatest share of a stem that a word has in common with a word of a phrase."""
    return max((stem_share(word, each) for each in phrase.split()), default=0.0)
