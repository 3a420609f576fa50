"""Word lists for names: `words.toml` has them and says what they are for. Words are lower case, without accents."""

import tomllib
from pathlib import Path

_LISTS = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name].split())


def _spellings(name: str) -> dict[str, str]:
    return {word: spelt for word, _, spelt in (item.partition(":") for item in _LISTS[name].split())}


MALE, FEMALE = _words("male"), _words("female")
HONORIFICS = MALE | FEMALE | _words("honorifics")
WITH_FIRST_NAME, EPITHETS, POST_NOMINALS = map(_words, ("with_first_name", "epithets", "post_nominals"))
ARTICLES, SMALL_WORDS, NO_FIRST_NAMES = map(_words, ("articles", "small_words", "no_first_names"))
TURNED, STATES, WORKS, FAMILY, PARTICLES = map(_words, ("turned", "states", "works", "family", "particles"))
GENERATIONS, CORPORATE, ABBREVIATIONS = map(_spellings, ("generations", "corporate", "abbreviations"))
SOUNDS = tuple(_spellings("sounds").items())
NICKNAMES = {nickname: frozenset(names.split(",")) for nickname, names in _spellings("nicknames").items()}
WELL_KNOWN: dict[str, str] = _LISTS["well_known"]
