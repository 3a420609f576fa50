"""What a predicate of a knowledge graph says, in words a person would read."""

import re

_PATH = re.compile(r"[./]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN = re.compile(r"[_\s]+")
_IRI = re.compile(r"[a-z][a-z0-9+.-]*:[^\s]*[/#:](?P<name>[^/#:\s]+)[/#]?", re.IGNORECASE)


def predicate_words(predicate: str) -> str:
    """Return a predicate in small words; of a path its last two steps, of an IRI its last, "" where it has none.

    The step before the last names the type of thing that is spoken of, which tells apart predicates that end alike;
    where the last step says it too, it is left out.

    >>> [predicate_words(each) for each in ("written_by", "people.person.place_of_birth", "film.film.directed_by")]
    ['written by', 'person place of birth', 'film directed by']
    >>> predicate_words("http://dbpedia.org/ontology/birthPlace")
    'birth place'
    """
    found = _IRI.fullmatch(predicate.strip())
    steps = [found["name"]] if found else [each for each in _PATH.split(predicate) if each.strip()]
    if not found and " " in predicate.strip():
        steps = [predicate]  # a phrase: its full stops separate no path
    spoken = [_spoken(each) for each in steps[-2:]]
    if len(spoken) == 2 and set(spoken[0].split()) <= set(spoken[1].split()):
        spoken = spoken[1:]
    return " ".join(spoken)


def _spoken(step: str) -> str:
    return " ".join(_BETWEEN.sub(" ", _CAMEL.sub(" ", step)).lower().split())
