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
