"""File names: how they are stored, and which files are skipped."""

from collections.abc import Iterable

_CLUTTER = frozenset({"Thumbs.db", "desktop.ini", "__MACOSX", "__pycache__", "settings.yaml"})


def storable(name: str) -> str:
    """Return a file name with ? for every byte that is not UTF-8 (in Python a lone surrogate)."""
    return name.encode("utf-8", "replace").decode("utf-8")


def is_wanted(parts: Iterable[str], hidden_too: bool = False) -> bool:
    """Return whether a path below an input is neither hidden nor a temporary file (such as `name~`)."""
    return not any(
        part.endswith("~") or part in _CLUTTER or (part.startswith(".") and not hidden_too) for part in parts
    )
