"""Permitted documents: those that match the filter and whose access tags the caller has."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from conspectus.query.filter.expressions import values_of
from conspectus.query.filter.parsing import parse
from conspectus.storage.errors import UsageError, did_you_mean
from conspectus.storage.index import Index
from conspectus.storage.records import Document
from conspectus.storage.settings import AccessSettings

_MOST_KEYS = 20
"""Keys that a message names."""


@dataclass(frozen=True, slots=True)
class Filter:
    """What narrows an index: a filter over the documents' metadata ("": none), and the access tags that are held.

    `access` is None where nobody said which tags are held: the settings then say what that means. No tags are ().
    """

    where: str = ""
    access: tuple[str, ...] | None = None

    def __str__(self) -> str:
        """Return it in words, for a trace."""
        said = [f"where {' '.join(self.where.split())}"] if self.where.strip() else []
        if self.access is not None:
            said.append(f"access {', '.join(self.access) or 'without a tag'}")
        return "; ".join(said) or "access as the settings have it"


def asked(where: str | None, access: Sequence[str] | None) -> Filter:
    """Return the filter that was asked for; UsageError for what is none."""
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


def permitted_documents(index: Index, narrowed: Filter, settings: AccessSettings) -> frozenset[str]:
    """Return the ids of the documents that may be used.

    A filter's keys are those of the metadata; `id`, `title` and `uri` are the document's own where its metadata has
    none of that name.

    Raises:
        UsageError: No document that may be read has one of the filter's keys, and there are such documents. (Keys
            that only other documents have are not told.)
    """
    expression = parse(narrowed.where) if narrowed.where.strip() else None
    table = index.arrow(Document, "id", "title", "uri", "metadata")
    found = set()
    keys: set[str] = set()
    for row in table.to_pylist():
        metadata = dict(row["metadata"])
        told = {"id": row["id"], "title": row["title"], "uri": row["uri"]} | metadata
        if not _may_be_read(tags_of(metadata.get(settings.key, "")), narrowed.access, settings):
            continue
        keys |= told.keys()
        if expression is None or expression.holds(told):
            found.add(row["id"])
    if expression is not None and keys:
        _check_keys(expression.keys, keys)
    return frozenset(found)


def _check_keys(wanted: Iterable[str], known: Collection[str]) -> None:
    """Refuse a key that no document has: it is a typing error, and would silently find nothing."""
    for key in sorted(set(wanted).difference(known)):
        raise UsageError(
            f"no document has the key {key!r}{did_you_mean(key, known) or f'; the keys are: {_listed(known)}'}"
        )


def _listed(keys: Collection[str]) -> str:
    shown = sorted(keys)
    return ", ".join(shown[:_MOST_KEYS]) + (", ..." if len(shown) > _MOST_KEYS else "")


def tags_of(told: str) -> frozenset[str]:
    """Return the access tags that metadata tells: a JSON list, or tags with commas between them.

    >>> sorted(tags_of("team-a, team-b")), sorted(tags_of('["team, a"]')), sorted(tags_of(" "))
    (['team-a', 'team-b'], ['team, a'], [])
    """
    listed = values_of(told.strip())
    parts = listed if listed != [told.strip()] else told.split(",")
    return frozenset(part.strip() for part in parts) - {""}


def _may_be_read(tags: frozenset[str], held: Sequence[str] | None, settings: AccessSettings) -> bool:
    if held is None and settings.unasked == "all":
        return True
    return not tags.isdisjoint(held or ()) if tags else settings.untagged == "public"
