"""The names that a chunk seems to hold: stand-ins for the entities that a model will find in it."""

from collections import Counter
from functools import lru_cache

from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.regex_annotator import RegexAnnotator


@lru_cache(1 << 14)
def names_in(text: str) -> tuple[str, ...]:
    """Return distinct names, those that stand in the text most often first."""
    phrases = RegexAnnotator().annotate(text).phrases
    first: dict[str, str] = {}
    for each in sorted(phrases, key=lambda each: each.start):
        first.setdefault(entity_key(each.text), " ".join(each.text.split()))
    counts = Counter(entity_key(each.text) for each in phrases)
    order = {key: place for place, key in enumerate(first)}
    return tuple(first[key] for key in sorted(first, key=lambda key: (-counts[key], order[key])))


def has_capitals(text: str) -> bool:
    """Return whether most letters are of a script with capitals, so that names can be told from other words.

    >>> has_capitals("In Oz."), has_capitals("北京 is not Oz"), has_capitals("北京大学")
    (True, True, False)
    """
    letters = [each for each in text if each.isalpha()]
    return 2 * sum(each.lower() != each.upper() for each in letters) > len(letters)
