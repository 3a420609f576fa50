"""Which files are read, and the reader for each suffix. A new format is a row of `formats.txt`, or a plug-in.

A module is imported when the first file of its format is read."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.readers.encodings import UnknownFormat, Unreadable
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.storage.errors import PluginFailed
from conspectus.storage.plugins import Plugin, plugins
from conspectus.storage.settings import InputSettings
from conspectus.storage.text.language_tables import by_language

if TYPE_CHECKING:
    from conspectus.pipelines.readers.archives import Nest

_TABLE = by_language("conspectus.pipelines.readers", "formats.txt")
READERS: Mapping[str, str] = {
    "": "plain.read_unnamed",
    **{suffix: reader for reader, rows in _TABLE.items() for suffixes in rows.values() for suffix in suffixes.split()},
}
"""The module (in this folder) and function that read a format, by its suffix.

A reader takes (path, settings), that of a container also its nest. It yields `Row` and `Lost`, and raises Unreadable.
"""

CODE = {suffix: language for language, suffixes in _TABLE["code.read_code"].items() for suffix in suffixes.split()}
"""Suffixes of source code, and the names of the languages after a Markdown fence."""

PICTURES = frozenset(suffix for suffix, reader in READERS.items() if reader == "scans.read_picture")
"""Suffixes of pictures, which are read where OCR is installed."""

WITH_PICTURES = frozenset(".docx .pptx .xlsx .xlsm .odt .odp .ods .epub .html .htm .xhtml".split())
"""Suffixes of files whose pictures can be read too."""

NAMED_WITH_SUFFIX = frozenset({*CODE, *".log .yaml .yml .toml .json .ini .cfg .conf .patch .diff".split()})
"""Formats whose files are titled by their whole name (`pump.py`)."""

PACKED = frozenset({".gz", ".bz2", ".xz", ".zst"})
"""Formats that pack one file, whose suffix stands before theirs."""

CONTAINERS = frozenset(suffix for suffix, reader in READERS.items() if reader.startswith(("mail.", "archives.")))
"""Formats that contain files of any format."""

_CLUTTER = frozenset({"Thumbs.db", "desktop.ini", "__MACOSX", "__pycache__", "settings.yaml"})
_ADVICE = {
    ".doc": "save it as .docx",
    ".ppt": "save it as .pptx",
    ".7z": "unpack it, or pack it as .zip",
    ".rar": "unpack it, or pack it as .zip",
    **dict.fromkeys(PICTURES, "pip install 'conspectus[ocr]' reads pictures"),
}


def storable(name: str) -> str:
    """Return a file name with ? for every byte that is not UTF-8 (in Python a lone surrogate)."""
    return name.encode("utf-8", "replace").decode("utf-8")


def is_wanted(parts: Iterable[str], hidden_too: bool = False) -> bool:
    """Return whether a path below an input is neither hidden nor a temporary file (such as `name~`)."""
    return not any(
        part.endswith("~") or part in _CLUTTER or (part.startswith(".") and not hidden_too) for part in parts
    )


def read_rows(path: Path, settings: InputSettings, nest: "Nest | None" = None) -> Iterator[Row | Lost]:
    """Yield the rows of a file with the reader for its suffix, and `Lost` for every part that cannot be read.

    `nest` are the containers that the file is in, None for a file on disk. Raises Unreadable if the file, or the part
    after the rows that were yielded, cannot be read.
    """
    suffix = readable_suffix(path.name, settings.suffixes)
    if not path.is_file():
        raise Unreadable("not a regular file")
    last = PurePosixPath(suffix).suffix or suffix
    if last not in READERS:
        return _read_by_plugin(plugins("readers")[last], path, settings)
    if last and not path.stat().st_size:
        raise Unreadable("empty")
    module, _, function = READERS[last].rpartition(".")
    reader: Any = getattr(import_module(f"conspectus.pipelines.readers.{module}"), function)
    rows: Iterator[Row | Lost]
    if last in CONTAINERS:
        from conspectus.pipelines.readers.archives import Nest

        rows = reader(path, settings, nest or Nest.outermost(settings))
    else:
        rows = reader(path, settings)
    rows = (_not_too_long(row, settings) for row in rows)
    if settings.ocr == "pictures" and last in WITH_PICTURES and can_recognise():
        from conspectus.pipelines.readers.scans import rows_and_pictures

        return rows_and_pictures(rows, path, settings)
    return rows


def _not_too_long(row: Row | Lost, settings: InputSettings) -> Row | Lost:
    if isinstance(row, Lost) or len(row.text) <= settings.max_characters:
        return row
    return Lost(row.number, f"longer than input.max_characters ({settings.max_characters})", within=row.within)


def _read_by_plugin(plugin: Plugin, path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Read a file with a plug-in. Any error of the plug-in affects this file only."""
    try:
        for row in plugin.load()(path, settings):
            if not isinstance(row, Row | Lost):
                raise TypeError(f"yielded a {type(row).__name__}, not a Row or Lost")
            yield row
    except (Unreadable, OSError, MemoryError, RecursionError):
        raise
    except PluginFailed as error:
        raise Unreadable("its reader cannot be used", str(error)) from error
    except Exception as error:
        raise Unreadable("its reader failed", plugin.complaint(error)) from error


@cache
def can_recognise() -> bool:
    """Return whether OCR is installed."""
    return find_spec("rapidocr") is not None


def _read_here() -> set[str]:
    return {*READERS, *plugins("readers")} - (set() if can_recognise() else PICTURES - {*plugins("readers")})


def readable_suffix(name: str, suffixes: Mapping[str, str] | None = None) -> str:
    """Return the suffix of a file name in lower case; raises UnknownFormat if no reader exists for it.

    A name without a suffix (README) is read if it is text. `suffixes` are those that are read like others.

    >>> readable_suffix("Report.2024.PDF"), readable_suffix("corpus.jsonl.gz"), readable_suffix("README")
    ('.pdf', '.jsonl.gz', '')
    >>> readable_suffix("minutes.memo", {".memo": ".md"})
    '.md'
    """
    path = PurePosixPath(name.lower())
    suffix = (suffixes or {}).get(path.suffix, path.suffix)
    if suffix in PACKED:
        inner = path.with_suffix("").suffix
        if inner not in _read_here() or inner in {*PACKED, ".tgz"}:
            raise UnknownFormat(
                f"unsupported format {inner}{suffix}", f"before {suffix} stands the suffix of a format that is read"
            )
        return inner + suffix
    if suffix not in _read_here():
        advice = _ADVICE.get(suffix, f"these are read: {known_formats()}")
        raise UnknownFormat(f"unsupported format {suffix}", advice)
    return suffix


def known_formats() -> str:
    """Return the suffixes of formats, one for each format and one for all source code."""
    own = [".py", *(suffix for rows in _TABLE.values() for suffix in rows.get("listed", "").split())]
    return " ".join([*own, *(suffix for suffix in plugins("readers") if suffix not in READERS)])
