"""Synonyms of relations: which predicates a word of a question may mean, beyond its own stem and its vector.

`relation_words.txt` lists relations that are common in graphs, with the words that predicates use for them and the
words that people use in questions ("who came up with", "behind the camera"). English.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from conspectus.storage.text.analysis import stem_in_language
from conspectus.storage.text.language_tables import base_of
from conspectus.storage.text.words import base_form, irregular_forms

PERSON, PLACE, CLASS, DATE, NUMBER, TEXT, THING = "person", "place", "class", "date", "number", "text", "thing"
LONGEST_PHRASE = 4


@dataclass(frozen=True, slots=True)
class RelationWords:
    """A relation: the kind of its objects, whether it is symmetric or transitive, and its words.

    `named` contains the phrases used in predicates, `inverse` those of them that lead the other way ("works written"),
    and `asked` the phrases used in questions. Each phrase is a tuple of stems.
    """

    kind: str
    symmetric: bool
    transitive: bool
    named: frozenset[tuple[str, ...]]
    inverse: frozenset[tuple[str, ...]]
    asked: frozenset[tuple[str, ...]]


@lru_cache(maxsize=50_000)
def stem_of(word: str) -> str:
    """Return the stem of an English word; irregular forms of common words get the stem of the base form.

    >>> [stem_of(word) for word in ("directed", "wrote", "wives")]
    ['direct', 'write', 'wife']
    """
    return _RELATED.get(word) or stem_in_language(base_form(word), "en")


def stems_of(text: str) -> tuple[str, ...]:
    """Return the stems of the words of a short lower-case text."""
    return tuple(stem_of(word) for word in text.replace("-", " ").split())


def verbs_of(word: str) -> set[str]:
    """Return the stems of the verbs that a noun for a person may come from.

    >>> sorted(verbs_of("keeper")), sorted(verbs_of("director")), sorted(verbs_of("film"))
    (['keep'], ['direct'], [])
    """
    bare = word[:-2] if len(word) > 4 and word.endswith(("er", "or")) else ""
    return {stem_of(bare)} if bare else set()


@cache
def relations() -> tuple[RelationWords, ...]:
    """Return the relations in `relation_words.txt`, read once."""
    found = []
    for line in _lines():
        if not line.startswith("of "):
            kind, _, said = line.partition(":")
            named, _, asked = said.partition("<")
            own = frozenset(_phrases(named.replace("^", "")))
            inverse = frozenset(_phrases(",".join(part.strip()[1:] for part in named.split(",") if "^" in part)))
            found.append(
                RelationWords(
                    kind.rstrip(" ~>"), "~" in kind, ">" in kind, own, inverse, own | frozenset(_phrases(asked))
                )
            )
    return tuple(found)


@cache
def passive_verbs() -> frozenset[str]:
    """Return the stems of the verbs of which `relation_words.txt` has the passive with a person ("led by")."""
    named = (phrase for relation in relations() if relation.kind == PERSON for phrase in relation.named if phrase[1:])
    return frozenset(phrase[0] for phrase in named if phrase[1:] == ("by",))


@cache
def nouns() -> tuple[tuple[frozenset[str], frozenset[tuple[str, ...]]], ...]:
    """Return groups of noun stems, each with the phrases of predicates that such things are subjects of."""
    found = []
    for line in _lines():
        if line.startswith("of "):
            said, _, stated = line.removeprefix("of ").partition("<")
            found.append((frozenset(phrase[-1] for phrase in _phrases(said)), frozenset(_phrases(stated))))
    return tuple(found)


@cache
def _lines() -> tuple[str, ...]:
    text = files("conspectus.query.graph_question").joinpath("relation_words.txt").read_text("utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


def relations_in(stems: Sequence[str], *, of_predicate: bool = False) -> Iterator[tuple[int, int, int]]:
    """Yield every (start, end, relation) for words [start, end) of a question, or of a predicate, that mean a relation.

    Words used only in questions mean nothing in a predicate.
    """
    index = _index(of_predicate)
    for start in range(len(stems)):
        for end in range(start + 1, min(len(stems), start + LONGEST_PHRASE) + 1):
            for number in index.get(tuple(stems[start:end]), ()):
                yield start, end, number


@cache
def _index(of_predicate: bool) -> dict[tuple[str, ...], tuple[int, ...]]:
    found: dict[tuple[str, ...], list[int]] = {}
    for number, relation in enumerate(relations()):
        for phrase in relation.named if of_predicate else relation.asked:
            found.setdefault(phrase, []).append(number)
    return {phrase: tuple(numbers) for phrase, numbers in found.items()}


def _phrases(text: str) -> Iterator[tuple[str, ...]]:
    for phrase in text.split(","):
        if phrase.strip():
            yield stems_of(phrase.strip())


_RELATED = base_of("one relation")
"""Words that graphs and questions use for one relation, by their common stem."""


@cache
def question_words() -> frozenset[str]:
    """Return the words in `relation_words.txt` as written, and their usual inflections."""
    lines = [line.removeprefix("of ") if line.startswith("of ") else line.partition(":")[2] for line in _lines()]
    text = " ".join(lines).translate(str.maketrans("<,^", "   "))
    plain = {word for word in text.split() if word.isalpha()}
    endings = ("", "s", "es", "ed", "ing")
    forms = {form for word in plain for form in (*(word + ending for ending in endings), f"{word.rstrip('e')}ed")}
    return frozenset(forms | _RELATED.keys() | irregular_forms())
