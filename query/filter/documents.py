"""Permitted documents, which match the filter and whose access tags the caller has, and indexes narrowed to them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from conspectus.query.context import Context
from conspectus.query.filter.expressions import values_of
from conspectus.query.filter.parsing import parse
from conspectus.query.types import Step
from conspectus.storage.arrays import Bools, Ints
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


def filtered(
    context: Context,
    where: str | None = None,
    access: Sequence[str] | None = None,
    as_of: str | None = None,
    between: Sequence[str] | None = None,
) -> Context:
    """Return a context whose index is restricted to the documents that a filter permits, and to what held at a time.

    Args:
        context: a context of the whole index or of a view; filters of a view combine with AND.
        where: a condition over the documents' metadata; None for none.
        access: the access tags of the reader; None leaves it to the settings.
        as_of: a date: what is later, or had ended by then, is left out.
        between: two dates: what is later, or was over before, is left out.

    Raises:
        UsageError: the condition, a tag or a date cannot be read.
    """
    settings = context.settings.access
    chosen = asked(where, access)
    if as_of is not None or between is not None:
        from conspectus.query.filter.dates import view_in, window_of
        from conspectus.query.filter.view import Views

        window, context = window_of(as_of, between), filtered(context, where, access)
        index, embedder, public = context.index, context.embedder, settings.graph == "public"
        view = index.once(Views, Views).get(window, lambda: view_in(index, window, embedder, graph=public))
        told = f"as of {as_of}" if as_of is not None else f"between {' and '.join(between or ())}"
        return replace(context, index=view, narrowed="; ".join(filter(None, (context.narrowed, told))))
    if chosen == Filter() and (context.narrowed or (settings.unasked, settings.graph) == ("all", "public")):
        return context
    from conspectus.query.filter.view import Views, view_of  # an index without a filter does not need its libraries

    whole, embedder, public = context.index, context.embedder, settings.graph == "public"
    documents = permitted_documents(whole, chosen, settings)
    index = whole.once(Views, Views).get((documents, public), lambda: view_of(whole, documents, embedder, graph=public))
    words = "; ".join(filter(None, (context.narrowed, str(chosen))))
    return replace(context, index=index, narrowed=words)


def filter_steps(context: Context) -> tuple[Step, ...]:
    """Return the first step of a trace, which describes the filter; () if there is none."""
    if not context.narrowed:
        return ()
    count = context.index.manifest.rows["documents"]
    return (Step("filter", f"{context.narrowed}: {count} document{'s' if count != 1 else ''}"),)


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
    has a key of that name. Tags and conditions are read once for each distinct value, not once for each document.

    Raises:
        UsageError: No readable document has one of the filter's keys. Keys of other documents are not revealed.
    """
    expression = parse(narrowed.where) if narrowed.where.strip() else None
    metadata = index.once(_Metadata, lambda: _Metadata(index))
    texts, codes = metadata.column(settings.key)
    allowed = [_may_be_read(tags_of(text or ""), narrowed.access, settings) for text in texts]
    readable = np.array(allowed, np.bool_)[codes]
    found = readable
    if expression is not None and readable.any():
        rows = np.flatnonzero(readable)
        columns = {key: metadata.column(key, key if key in _OWN else None) for key in sorted(expression.keys)}
        combined = np.zeros(len(rows), np.int64)
        for key, (texts, codes) in columns.items():
            if not np.array([text is not None for text in texts])[codes[rows]].any():
                _check_key(key, metadata.keys(readable))
            combined = np.unique(combined * len(texts) + codes[rows], return_inverse=True)[1]
        example = np.zeros(int(combined.max()) + 1, np.int64)  # a document with each combination of values
        example[combined] = rows
        held = []
        for row in example.tolist():
            values = {key: texts[codes[row]] for key, (texts, codes) in columns.items()}
            held.append(expression.holds({key: text for key, text in values.items() if text is not None}) is True)
        found = np.zeros(len(readable), np.bool_)
        found[rows[np.array(held, np.bool_)[combined]]] = True
    return frozenset(index.arrow(Document, "id").column("id").filter(found).to_pylist())


_Column = tuple[Sequence[str | None], Ints]
"""The distinct values of a key, None for no value, and the number of each document's, (n,)."""


class _Metadata:
    """The metadata of the documents of an index, by columns."""

    def __init__(self, index: StoredIndex) -> None:
        import pyarrow as pa

        self._index = index
        self._columns: dict[tuple[str, str | None], _Column] = {}
        counts: list[Ints] = [np.zeros(0, np.int64)]
        keys: list[pa.Array] = []
        values: list[pa.Array] = []
        for chunk in index.arrow(Document, "metadata").column("metadata").chunks:
            offsets = chunk.offsets.to_numpy()
            counts.append(np.diff(offsets))
            keys.append(chunk.keys.slice(offsets[0], offsets[-1] - offsets[0]))
            values.append(chunk.items.slice(offsets[0], offsets[-1] - offsets[0]))
        each = np.concatenate(counts)
        self._documents = np.repeat(np.arange(len(each)), each)
        self._keys, self._values = (pa.chunked_array(parts, pa.string()) for parts in (keys, values))

    def keys(self, documents: Bools) -> set[str]:
        """Return the keys that some documents have."""
        return {*_OWN, *self._keys.filter(documents[self._documents]).unique().to_pylist()}

    def column(self, key: str, own: str | None = None) -> _Column:
        """Return the values of a key of the metadata, else those of a column of the documents."""
        import pyarrow as pa
        from pyarrow import compute

        if (key, own) in self._columns:
            return self._columns[key, own]
        of_key = compute.equal(self._keys, key).to_numpy()
        # Of several values of a key in one document the last counts, as in a dictionary.
        rows = np.full(self._index.manifest.rows["documents"], -1, np.int64)
        rows[self._documents[of_key]] = np.flatnonzero(of_key)
        texts = self._values.take(pa.array(rows, mask=rows < 0)).combine_chunks()
        if own is not None:
            texts = compute.coalesce(texts, self._index.arrow(Document, own).column(own).combine_chunks())
        coded = texts.dictionary_encode("encode")
        codes = coded.indices.to_numpy().astype(np.int64)
        return self._columns.setdefault((key, own), (coded.dictionary.to_pylist(), codes))


_OWN = ("id", "title", "uri")
"""What a filter may compare beside metadata."""


def _check_key(key: str, known: Collection[str]) -> None:
    """Reject a key that no document has: a misspelt key would silently match nothing."""
    if key not in known:
        shown = ", ".join(sorted(known)[:_MOST_KEYS]) + (", ..." if len(known) > _MOST_KEYS else "")
        raise UsageError(f"no document has the key {key!r}{did_you_mean(key, known) or f'; the keys are: {shown}'}")


def tags_of(text: str) -> frozenset[str]:
    """Return the access tags in a metadata text: a JSON list, or tags separated by commas.

    >>> sorted(tags_of("team-a, team-b")), sorted(tags_of('["team, a"]')), sorted(tags_of(" "))
    (['team-a', 'team-b'], ['team, a'], [])
    """
    listed = values_of(text.strip())
    parts = listed if listed != (text.strip(),) else text.split(",")
    return frozenset(part.strip() for part in parts) - {""}


def _may_be_read(tags: frozenset[str], access: Sequence[str] | None, settings: AccessSettings) -> bool:
    if access is None and settings.unasked == "all":
        return True
    return not tags.isdisjoint(access or ()) if tags else settings.untagged == "public"
