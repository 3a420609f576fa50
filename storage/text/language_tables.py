"""Tables of words and sentences with languages side by side: a key in brackets, then a line for each language."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def by_language(package: str, name: str) -> Mapping[str, Mapping[str, str]]:
    """Return what each key of a table has in each language.

    Args:
        package: The package of the table's file.
        name: Its name.

    Example:
        >>> by_language("conspectus.query", "sayings.txt")["name"]["de"]
        'Deutsch'
    """
    table: dict[str, dict[str, str]] = {}
    key = ""
    for line in files(package).joinpath(name).read_text("utf-8").splitlines():
        if line.startswith("["):
            key = line.strip("[]")
        elif line and not line.startswith("#"):
            language, _, text = line.partition(":")
            table.setdefault(key, {})[language] = text.strip()
    return table


@cache
def word_set(role: str) -> frozenset[str]:
    """Return the words of a role of `form_words.txt` in all languages; phrases if | separates them.

    >>> "appendix" in word_set("parts of documents"), "anhang" in word_set("parts of documents")
    (True, True)
    """
    text = " ".join(by_language("conspectus.storage.text", "form_words.txt")[role].values())
    return frozenset(text.split("|" if "|" in text else None))


@cache
def base_of(role: str) -> Mapping[str, str]:
    """Return what each form of a role of `form_words.txt` is a form of.

    >>> base_of("degrees")["taller"], base_of("nations")["british"]
    ('tall', 'united kingdom')
    """
    table = by_language("conspectus.storage.text", "form_words.txt")[role]
    return {form: base for base, forms in table.items() for form in forms.split()}


@cache
def words_of(role: str, language: str) -> tuple[str, ...]:
    """Return the words of a role of `name_words.txt` in a language, longer ones first.

    >>> words_of("person behind", "hi")
    ('साहिब', 'साहब', 'जी')
    """
    own = by_language("conspectus.storage.text", "name_words.txt")[role].get(language, "")
    return tuple(sorted(filter(None, map(str.strip, own.split(","))), key=len, reverse=True))
