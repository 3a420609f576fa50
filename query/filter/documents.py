"""Permitted documents: those that match the filter and whose access tags the caller has."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from conspectus.query.filter.expressions import values_of
from conspectus.query.filter.parsing import parse
from conspectus.storage.errors import UsageError, did_you_mean
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Document
from conspectus.storage.settings import AccessSettings

_MOST_KEYS = 20
"""Most keys listed in a message."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A metadata filter and access tags.

    Attributes:
        where: The filter expression; "" for none.
        access: The access tags of the caller; () for none. With None, the setting `access.unasked` decides.
    """

    where: str = ""
    access: tuple[str, ...] | None = None

    def __str__(self) -> str:
        """Return a description for a trace."""
        parts = [f"where {' '.join(self.where.split())}"] if self.where.strip() else []
        if self.access is not None:
            parts.append(f"access {', '.join(self.access) or 'without a tag'}")
        return "; ".join(parts) or "access by the settings"


def asked(where: str | None, access: Sequence[str] | None) -> Filter:
    """Return a validated filter.

    Raises:
        UsageError: The expression is empty or invalid, or `access` is not a list of tags.
    """
    if where is not None:
        if not where.strip():
            raise UsageError("the filter is empty; leave --where out, or write one like: year >= 2020")
        parse(where)
    if isinstance(access, str):
        raise UsageError("access is a list of tags, not one text")
    tags = None if access is None else tuple(dict.fromkeys(item.strip() for item in access))
    if tags and not all(tags):
        raise UsageError("an access tag is empty")
    return Filter(where or "", tags)


def permitted_documents(index: StoredIndex, narrowed: Filter, settings: AccessSettings) -> frozenset[str]:
    """Return the ids of the documents that the caller may read and that match the filter.

    The keys of a filter are metadata keys; `id`, `title` and `uri` refer to the document itself unless its metadata
    has a key of that name.

    Raises:
        UsageError: No readable document has one of the filter's keys. Keys of other documents are not revealed.
    """
    expression = parse(narrowed.where) if narrowed.where.strip() else None
    table = index.arrow(Document, "id", "title", "uri", "metadata")
    found = set()
    keys: set[str] = set()
    for row in table.to_pylist():
        metadata = dict(row["metadata"])
        values = {"id": row["id"], "title": row["title"], "uri": row["uri"]} | metadata
        if not _may_be_read(tags_of(metadata.get(settings.key, "")), narrowed.access, settings):
            continue
        keys |= values.keys()
        if expression is None or expression.holds(values):
            found.add(row["id"])
    if expression is not None and keys:
        _check_keys(expression.keys, keys)
    return frozenset(found)


def _check_keys(wanted: Iterable[str], known: Collection[str]) -> None:
    """Reject a key that no document has: a misspelt key would silently match nothing."""
    for key in sorted(set(wanted).difference(known)):
        raise UsageError(
            f"no document has the key {key!r}{did_you_mean(key, known) or f'; the keys are: {_listed(known)}'}"
        )


def _listed(keys: Collection[str]) -> str:
    shown = sorted(keys)
    return ", ".join(shown[:_MOST_KEYS]) + (", ..." if len(shown) > _MOST_KEYS else "")


def tags_of(text: str) -> frozenset[str]:
    """Return the access tags in a metadata text: a JSON list, or tags separated by commas.

    >>> sorted(tags_of("team-a, team-b")), sorted(tags_of('["team, a"]')), sorted(tags_of(" "))
    (['team-a', 'team-b'], ['team, a'], [])
    """
    listed = values_of(text.strip())
    parts = listed if listed != [text.strip()] else text.split(",")
    return frozenset(part.strip() for part in parts) - {""}


def _may_be_read(tags: frozenset[str], access: Sequence[str] | None, settings: AccessSettings) -> bool:
    if access is None and settings.unasked == "all":
        return True
    return not tags.isdisjoint(access or ()) if tags else settings.untagged == "public"
