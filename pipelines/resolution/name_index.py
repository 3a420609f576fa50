"""All names of a corpus, by what they may be shortened to."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from conspectus.pipelines.resolution.features import Known
from conspectus.pipelines.resolution.person_names import Person, person_of
from conspectus.storage.text.nlp import NAME


@dataclass(frozen=True, slots=True)
class Names:
    """All names by what they may be shortened to: their first and last words, and persons by family name.

    `heads` counts the letters of names that bear a parenthesis: without it they may be several things'. `alone` are
    persons' names of one word, `holding` all names of several by each of their words.
    """

    of_word: dict[str, list[Known]]
    persons: dict[str, list[tuple[Known, Person]]]
    heads: Counter[str]
    alone: dict[str, list[Known]]
    holding: dict[str, list[Known]]


def names_of(known: Sequence[Known]) -> Names:
    """Return the names by their words, and the persons by family name."""
    of_word: defaultdict[str, list[Known]] = defaultdict(list)
    persons: defaultdict[str, list[tuple[Known, Person]]] = defaultdict(list)
    for each in known:
        words = each.form.words
        if len(words) > 1:
            for word in {words[0], words[-1]}:
                of_word[word].append(each)
        person = person_of(each.form)
        if person and each.is_person:
            persons[person.family].append((each, person))
    alone: defaultdict[str, list[Known]] = defaultdict(list)
    holding: defaultdict[str, list[Known]] = defaultdict(list)
    for each in known:
        if len(each.form.words) > 1:
            for word in set(each.form.words):
                holding[word].append(each)
    for each in known:
        if len(each.form.words) == 1 and (each.is_person or is_name(each)):
            alone[each.form.words[0]].append(each)
    heads = Counter(each.form.letters for each in known if each.form.qualifier)
    return Names(dict(of_word), dict(persons), heads, dict(alone), dict(holding))


def is_name(known: Known) -> bool:
    """Return whether all that is known of a name is that it is one."""
    return not known.kinds and NAME in known.entity.types
