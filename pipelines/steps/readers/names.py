"""Names of files: how they are stored, and which are passed over."""

from collections.abc import Iterable

_CLUTTER = frozenset({"Thumbs.db", "desktop.ini", "__MACOSX", "__pycache__", "settings.yaml"})


def storable(name: str) -> str:
    """Return a file name with ? for each byte that is no UTF-8 (Python shows them as lone surrogates)."""
    return name.encode("utf-8", "replace").decode("utf-8")


def is_wanted(parts: Iterable[str], hidden_too: bool = False) -> bool:
    """Tell whether a path below an input, in its parts, is neither hidden nor clutter (editors' `name~` too)."""
    return not any(
        part.endswith("~") or part in _CLUTTER or (part.startswith(".") and not hidden_too) for part in parts
    )
