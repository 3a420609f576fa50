"""Keys of names: two names are compared only if they share a key, so never are all compared with all."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from conspectus.pipelines.resolution.parsed_name import Form, number_of
from conspectus.pipelines.resolution.person_names import sound
from conspectus.pipelines.resolution.words import SMALL_WORDS, STATES, WELL_KNOWN
from conspectus.storage.text.language_tables import words_of

if TYPE_CHECKING:
    from conspectus.pipelines.resolution.features import NameFeatures

_MOST_WORDS = 12
"""A name of more words has no initials."""
_NOT_COUNTED = frozenset({"the", "of"})

VARIANT, SHORT, FAMILY = KINDS = range(3)
"""Kinds of keys: of names that differ in spelling or order, of a name's short forms, of the persons of one family."""


def keys_of(name: "NameFeatures") -> Iterator[tuple[int, str]]:
    """Yield each kind and key of a name."""
    form, words = name.form, name.form.words
    yield VARIANT, form.letters
    counted = sorted(_number(word) or sound(word) for word in usual_words(form) if word not in _NOT_COUNTED)
    yield VARIANT, " ".join(["", *counted])
    if len(words) < 2:
        return
    if stem := without_case(form):
        yield VARIANT, stem
    acronyms = initials(form) if len(words) <= _MOST_WORDS else ()
    wholes = map("".join, (before_comma(form), state_in(form)))
    for short in {*words, *acronyms, *wholes} - {""}:
        yield SHORT, short
    if name.person and name.is_person:
        yield FAMILY, name.person.family


def _number(word: str) -> str | None:
    return number_of(word) or {"v": "5", "x": "10", "i": "1"}.get(word)


def same_counted(left: Form, right: Form) -> bool:
    """Return whether two names have the same words and numbers, regardless of order, notation, "of" and "the"."""
    mine, yours = (
        sorted(_number(word) or word for word in form.words if word not in _NOT_COUNTED) for form in (left, right)
    )
    return mine == yours


def usual_words(form: Form) -> tuple[str, ...]:
    """Return the words of a name, or those of the usual name of a state or union.

    >>> from conspectus.pipelines.resolution.parsed_name import form_of
    >>> usual_words(form_of("U.S.")), usual_words(form_of("us"))
    (('united', 'states'), ('us',))
    """
    if len(form.words) == 1 and not form.is_acronym:
        return form.words
    written = " ".join(form.words)
    return tuple(WELL_KNOWN[written].split()) if written in WELL_KNOWN else form.words


def without_case(form: Form) -> str:
    """Return a name of several Russian words without the endings of its case; "" for another name.

    >>> from conspectus.pipelines.resolution.parsed_name import form_of
    >>> without_case(form_of("Иваном Петровым")), without_case(form_of("Иван Петров")), without_case(form_of("Rome"))
    ('иван петров', 'иван петров', '')
    """
    words = [surface.casefold() for surface in form.surfaces]
    if len(words) < 2 or not all("а" <= word[-1] <= "я" for word in words):
        return ""
    ends = words_of("case ending", "ru")
    return " ".join(
        word.removesuffix(next((e for e in ends if word.endswith(e) and len(word) > len(e) + 2), "")) for word in words
    )


def initials(form: Form) -> set[str]:
    """Return the acronyms of a name: with and without its small words.

    >>> from conspectus.pipelines.resolution.parsed_name import form_of
    >>> sorted(initials(form_of("Bank of England")))
    ['be', 'boe']
    """
    main = [word for word in form.words if word not in SMALL_WORDS]
    return {"".join(word[0] for word in words) for words in (form.words, main) if len(words) > 1}


def state_in(form: Form) -> tuple[str, ...]:
    """Return the name of a state in its full name, () for another name.

    >>> from conspectus.pipelines.resolution.parsed_name import form_of
    >>> state_in(form_of("Republic of Ireland"))
    ('ireland',)
    """
    at = form.words.index("of") if "of" in form.words else 0
    return form.words[at + 1 :] if at and form.words[at - 1] in STATES else ()


def before_comma(form: Form) -> tuple[str, ...]:
    """Return the words of a place without what it lies in, () for another name: Marrow, Vey."""
    if not form.after_comma or not {"and", "of"}.isdisjoint(form.words):
        return ()
    return form.words[: -len(form.after_comma)]
